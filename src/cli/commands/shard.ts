import type { ShardReport } from '../../backup/run-shard.ts'
import type { ShardNumber } from '../../backup/shards.ts'
import { KafkaBackupError } from '../../errors.ts'
import { formatBytes, formatDuration } from '../../lib/units.ts'
import type { Session } from '../session.ts'
import { formatFields } from '../table.ts'
import { plural, printable } from '../text.ts'
import { sameCommand } from './follow-up.ts'
import { formatGaps } from './gap-table.ts'

/** `0/4` to `3/4`. Counted from 0, as the completion index of a Kubernetes Job is. */
export function parseShard(text: string, last: '--commit' | '--finish'): ShardNumber {
  const [, index, count] = /^(\d{1,6})\/(\d{1,6})$/.exec(text) ?? []
  const shard = { index: Number(index), count: Number(count) }
  if (count !== undefined && shard.count >= 1 && shard.index < shard.count) return shard
  throw new KafkaBackupError('USAGE', `--shard \`${text}\` is not i/n with i from 0 to n-1`, {
    help: `For four shards: \`--shard 0/4\`, \`--shard 1/4\`, \`--shard 2/4\` and \`--shard 3/4\`, then \`${last}\`.`,
  })
}

/** Prints the report and returns its JSON document. */
export function showShard(session: Session, report: ShardReport, location: string): unknown {
  const document = documentOf(report, location)
  session.print(
    () => formatReport(report, location, session),
    () => document,
  )
  return document
}

function documentOf(
  { backupId, generation, shard, key, durationMs, copied, newGaps, warnings }: ShardReport,
  location: string,
) {
  return {
    backup_id: backupId,
    location,
    generation,
    shard: shard.index,
    shards: shard.count,
    key,
    duration_ms: Math.round(durationMs),
    copied,
    gaps: newGaps,
    warnings,
  }
}

function formatReport(report: ShardReport, location: string, session: Session): string[] {
  const { style } = session
  const { backupId, generation, shard, key, durationMs, copied, newGaps } = report
  const amount = `${plural(copied.records, 'record')}, ${formatBytes(copied.bytes)} in ${formatDuration(durationMs)}`
  return [
    `${style.good('Copied')} shard ${shard.index} of ${shard.count} for ${style.bold(printable(backupId))} at ${printable(location)}`,
    ...formatFields(
      [
        ['  Copied', amount],
        ['  Written', printable(key)],
        ['  For', `generation ${generation}`],
      ],
      style,
    ),
    ...formatGaps('New gaps: lost at the source before they could be copied', newGaps, style),
    '',
    `When all shards are done: ${style.bold(`${sameCommand('backup', session)} --commit`)}`,
  ]
}
