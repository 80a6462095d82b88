import { formatDuration } from '../lib/units.ts'
import type { Log } from '../observe/log.ts'
import type { ProgressEvent } from '../observe/progress.ts'

/** A short wait belongs to every election of a leader; from here on it is worth a word. */
const NOTABLE_WAIT_MS = 1000

/** What happens on the way, as lines of the log. */
export function logEvent(log: Log, event: ProgressEvent): void {
  switch (event.type) {
    case 'planned': {
      const { topics, partitions, offsets } = event
      return log.write('info', 'planned', { topics, partitions, offsets })
    }
    case 'copied': {
      if (!log.has('debug')) return
      const { topic, partition, offsets, records, bytes } = event
      return log.write('debug', 'copied', { topic, partition, offsets, records, bytes })
    }
    case 'committed': {
      const { generation, complete } = event
      return log.write('info', `committed generation ${generation}`, { generation, complete })
    }
    case 'gap': {
      const { topic, partition, from, to, reason } = event
      const text = `${topic}/${partition}: offsets ${from} to ${to ?? 'unknown'} are lost to this backup (${reason})`
      return log.write('warn', text, { topic, partition, from, to, reason })
    }
    case 'retry': {
      const { what, delayMs } = event
      const level = delayMs >= NOTABLE_WAIT_MS ? 'warn' : 'info'
      return log.write(level, `${what}; trying again in ${formatDuration(delayMs)}`, { delay_ms: delayMs })
    }
    case 'warning':
      return log.write('warn', event.message)
    case 'checked': {
      if (!log.has('debug')) return
      const { objects, bytes, totalObjects, totalBytes } = event
      return log.write('debug', 'checked', { objects, bytes, total_objects: totalObjects, total_bytes: totalBytes })
    }
    default:
      event satisfies never
  }
}
