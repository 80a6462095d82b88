import type { KafkaBackupError } from '../../errors.ts'
import type { Segment } from '../manifest.ts'
import { ownerOf } from './as-manifest.ts'
import type { State } from './change.ts'
import { segmentId } from './segment-row.ts'

/** Partitions that one warning names. */
const MAX_NAMED = 5

/** A source that a merge could not read, because the store has lost it or holds other bytes. */
export interface DamagedSource {
  list: string
  source: Segment
  error: KafkaBackupError
}

/**
 * The sources that were found to be damaged. They stay as they are while the process runs, and what lies next to them is merged without
 * them: one damaged object must not keep a backup from being merged.
 */
export class DamagedSources {
  readonly #ids = new Set<string>()

  add({ source }: DamagedSource): void {
    this.#ids.add(segmentId(source))
  }

  has(source: Segment): boolean {
    return this.#ids.size > 0 && this.#ids.has(segmentId(source))
  }
}

/** Pure. A warning for each object: a pack may hold something of thousands of partitions. */
export function warningsOf(damaged: readonly DamagedSource[], { topics }: Pick<State, 'topics'>): string[] {
  const nameOf = ({ list }: DamagedSource) => {
    const { topic, partition } = ownerOf(list)
    return `${topics.get(topic)?.name ?? topic}/${partition}`
  }
  return [...Map.groupBy(damaged, ({ error }) => error.message)].map(([message, some]) => {
    const names = [...new Set(some.map(nameOf))]
    const more = names.length > MAX_NAMED ? ` and ${names.length - MAX_NAMED} more partitions` : ''
    const what = `small appends of ${names.slice(0, MAX_NAMED).join(', ')}${more} in it are not merged`
    const todo = 'Run `kafka-backup verify --deep` to see what is damaged, and `kafka-backup repair`'
    return `${message}; ${what}. ${todo}`
  })
}
