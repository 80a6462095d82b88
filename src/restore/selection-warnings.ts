import { isCompacted } from '../archive/effective-settings.ts'
import type { Manifest, ManifestPartition, ManifestTopic } from '../archive/manifest.ts'
import type { TimeWindow } from '../batch/needs.ts'
import { formatUtc } from '../lib/clock.ts'

interface RangedPartition {
  /** For messages. */
  name: string
  source: Pick<ManifestPartition, 'start_offset' | 'end_offset'>
  range: { start?: bigint; end?: bigint }
  isEmpty: boolean
}

/** Pure. What of the offsets that a job asks for is not in the backup. A range from offset 0 on means from the first one. */
export function rangeWarning({ name, source, range, isEmpty }: RangedPartition): string[] {
  const { start_offset: start, end_offset: end } = source
  const held = start === end ? 'no records' : `the offsets ${start} to ${end - 1n}`
  if (isEmpty) return [`${name}: nothing is in its range (restore.offset_ranges); the backup holds ${held} of it`]
  const isEarlier = range.start !== undefined && range.start > 0n && range.start < start
  const isLater = range.end !== undefined && range.end > end
  if (!isEarlier && !isLater) return []
  return [`${name}: a part of its range is not in the backup (restore.offset_ranges), which holds ${held} of it`]
}

/** Pure. A point in time that the backup does not reach: what was written between the two is missing. */
export function lateEndWarning(
  { generation, created_at }: Pick<Manifest, 'generation' | 'created_at'>,
  { end }: TimeWindow,
): string[] {
  const committedMs = Date.parse(created_at)
  if (end === undefined || Number.isNaN(committedMs) || end <= BigInt(committedMs)) return []
  const beyond = end <= 8_640_000_000_000_000n ? ` at ${formatUtc(Number(end))}` : ''
  return [
    `generation ${generation} was committed at ${created_at}, and the time window ends later${beyond}: records that were ` +
      'written in between are not in this generation; a later one may have them',
  ]
}

/** Pure. What was replaced or deleted after the window's end may have been compacted away before any run read it. */
export function windowWarning(topic: ManifestTopic, label: string, { end }: TimeWindow): string[] {
  const isCut = topic.partitions.some(({ last_timestamp: last }) => end !== undefined && last !== null && last >= end)
  if (!isCut || !isCompacted(topic)) return []
  return [
    `topic ${label}: it is compacted, so values that were replaced or deleted after the end of the time window may be ` +
      'missing; restore.generation or restore.as_of selects an earlier state of the backup',
  ]
}
