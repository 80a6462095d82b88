import { expiresRecords, isCompacted } from '../archive/effective-settings.ts'
import type { ManifestPartition, ManifestTopic, Segment } from '../archive/manifest.ts'
import { earlier, later } from '../archive/scalars.ts'

/** Leading segments of a partition that go, and the partition without them. */
export interface PartitionTrim {
  removed: Segment[]
  partition: Omit<ManifestPartition, 'indexes'>
}

/**
 * Pure. Cuts off the leading segments that were stored before the cutoff, by the store's own clock: the times of records
 * are what producers make of them. Undefined where nothing goes. As after retention at a source, the partition begins at
 * the first offset that is left; one without segments begins where it ends.
 */
export function trimPartition(
  { indexes: _, ...partition }: ManifestPartition,
  segments: readonly Segment[],
  storedMs: (segment: Segment) => number | undefined,
  cutoffMs: number,
): PartitionTrim | undefined {
  const isOld = (segment: Segment) => (storedMs(segment) ?? Number.POSITIVE_INFINITY) < cutoffMs
  const firstYoung = segments.findIndex(segment => !isOld(segment))
  const count = firstYoung === -1 ? segments.length : firstYoung
  if (count === 0) return undefined
  const left = segments.slice(count)
  const start = left[0]?.start_offset ?? partition.end_offset
  const sum = (pick: (segment: Segment) => number) => left.reduce((total, segment) => total + pick(segment), 0)
  return {
    removed: segments.slice(0, count),
    partition: {
      ...partition,
      start_offset: start,
      records: sum(s => s.records),
      aborted_records: sum(s => s.aborted_records),
      batches: sum(s => s.batches),
      bytes: sum(s => s.plain_size),
      stored_bytes: sum(s => s.size),
      segments: left.length,
      first_timestamp: left.reduce<bigint | null>((time, s) => earlier(time, s.first_timestamp), null),
      last_timestamp: left.reduce<bigint | null>((time, s) => later(time, s.last_timestamp), null),
      gaps: partition.gaps.filter(({ to }) => to === null || to > start),
      // A transaction whose marker was cut off has no record that is left.
      open_aborted: partition.open_aborted.filter(({ last_offset }) => last_offset === null || last_offset >= start),
    },
  }
}

/**
 * Pure. Whether leading segments may go. The last record of a key may be in the oldest segment of a compacted topic:
 * cutting it off would lose what the source still has. `unknown` where the backup does not say how the topic is cleaned up.
 */
export function judgeTrim(
  topic: Pick<ManifestTopic, 'configs' | 'effective_configs'>,
): 'cut' | 'compacted' | 'unknown' {
  const compacted = isCompacted(topic)
  if (compacted === undefined) return 'unknown'
  return !compacted || expiresRecords(topic) ? 'cut' : 'compacted'
}
