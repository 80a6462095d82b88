import type { OldFormat } from '../batch/old-messages.ts'
import type { AbortedTransaction, Gap, LastBatch, Manifest, ManifestPartition, Segment } from './manifest.ts'
import { earlier, later } from './scalars.ts'

export function emptyPartition(partition: number, startOffset: bigint): ManifestPartition {
  return {
    partition,
    start_offset: startOffset,
    end_offset: startOffset,
    high_watermark: startOffset,
    last_stable_offset: startOffset,
    last_epoch: -1,
    records: 0,
    aborted_records: 0,
    batches: 0,
    bytes: 0,
    stored_bytes: 0,
    segments: 0,
    first_timestamp: null,
    last_timestamp: null,
    gaps: [],
    open_aborted: [],
    indexes: [],
  }
}

/** The partition with one more durable segment at its end. */
export function withSegment(
  partition: ManifestPartition,
  segment: Segment,
  lastEpoch: number,
  openAborted: AbortedTransaction[],
  lastBatch?: LastBatch,
): ManifestPartition {
  return {
    ...withoutTail(partition, lastBatch),
    end_offset: segment.end_offset,
    last_epoch: lastEpoch,
    records: partition.records + segment.records,
    aborted_records: partition.aborted_records + segment.aborted_records,
    batches: partition.batches + segment.batches,
    bytes: partition.bytes + segment.plain_size,
    stored_bytes: partition.stored_bytes + segment.size,
    segments: partition.segments + 1,
    first_timestamp: earlier(partition.first_timestamp, segment.first_timestamp),
    last_timestamp: later(partition.last_timestamp, segment.last_timestamp),
    // What could not be read once, and is read now, is lost no longer.
    gaps: filtered(partition.gaps, ({ from, to }) => to !== null || from !== segment.start_offset),
    open_aborted: withOpen(partition.open_aborted, openAborted),
    ...(lastBatch && { last_batch: lastBatch }),
  }
}

/** Those whose end is known stay. */
function withOpen(known: AbortedTransaction[], open: AbortedTransaction[]): AbortedTransaction[] {
  const ended = filtered(known, ({ last_offset }) => last_offset !== null)
  return open.length === 0 ? ended : [...ended, ...open]
}

/** What it says of its last batch is replaced, where there is another one, or left out. */
function withoutTail(partition: ManifestPartition, next: LastBatch | undefined): ManifestPartition {
  // An object as it is can be copied at once; this is done for every partition of a round.
  if (next && partition.read_to === undefined) return partition
  const { read_to: _, last_batch: __, ...known } = partition
  return known
}

/** The same array where nothing is left out of it, as of most partitions. */
function filtered<T>(items: T[], keeps: (item: T) => boolean): T[] {
  return items.every(keeps) ? items : items.filter(keeps)
}

/** The partition with records up to an offset that the source held in old message formats. */
export function withConverted(
  partition: ManifestPartition,
  { formats, endOffset }: { formats: readonly OldFormat[]; endOffset: bigint },
): ManifestPartition {
  const known = partition.converted
  // An answer may reach further than what is stored of it.
  const reached = endOffset < partition.end_offset ? endOffset : partition.end_offset
  const all = new Set([...(known?.formats ?? []), ...formats])
  return {
    ...partition,
    converted: {
      formats: [...all].sort(),
      end_offset: known && known.end_offset > reached ? known.end_offset : reached,
    },
  }
}

/** The partition of a source that has no record up to an offset, because compaction or dropped markers left a hole. */
export function withHole(partition: ManifestPartition, to: bigint): ManifestPartition {
  return to > partition.end_offset ? { ...partition, read_to: to } : partition
}

/** The partition with records that the source lost before they could be read; reading continues after them. */
export function withGap(partition: ManifestPartition, gap: Gap): ManifestPartition {
  const isKnown = partition.gaps.some(
    ({ from, to, reason }) => from === gap.from && to === gap.to && reason === gap.reason,
  )
  // The unknown end of a gap may be known now.
  const others = partition.gaps.filter(({ from, to }) => gap.to === null || to !== null || from !== gap.from)
  const { read_to, last_batch, ...known } = partition
  return {
    ...known,
    end_offset: gap.to ?? partition.end_offset,
    gaps: isKnown ? partition.gaps : [...others, gap],
    // The markers of these are lost, too; the source does not speak of them again.
    open_aborted: partition.open_aborted.map(one =>
      gap.to === null || one.last_offset !== null ? one : { ...one, last_offset: gap.to - 1n },
    ),
    ...(gap.to === null && last_batch && { last_batch }),
    ...(gap.to === null && read_to !== undefined && { read_to }),
  }
}

export interface Totals {
  topics: number
  partitions: number
  records: number
  aborted_records: number
  batches: number
  bytes: number
  stored_bytes: number
  segments: number
  gaps: number
}

type Counted = Pick<ManifestPartition, 'gaps' | Exclude<keyof Totals, 'topics' | 'partitions' | 'gaps'>>

export function totalsOf(topics: readonly { partitions: readonly Counted[] }[]): Totals {
  const partitions = topics.flatMap(topic => topic.partitions)
  const sum = (pick: (partition: Counted) => number) => partitions.reduce((total, p) => total + pick(p), 0)
  return {
    topics: topics.length,
    partitions: partitions.length,
    records: sum(p => p.records),
    aborted_records: sum(p => p.aborted_records),
    batches: sum(p => p.batches),
    bytes: sum(p => p.bytes),
    stored_bytes: sum(p => p.stored_bytes),
    segments: sum(p => p.segments),
    gaps: sum(p => p.gaps.length),
  }
}

/** What a backup holds of a registry; undefined where none belongs to it. */
export function schemaTotalsOf({
  schema_registry,
}: Pick<Manifest, 'schema_registry'>): { subjects: number; versions: number } | undefined {
  if (!schema_registry) return undefined
  const { subjects } = schema_registry
  return { subjects: subjects.length, versions: subjects.reduce((sum, { versions }) => sum + versions.length, 0) }
}
