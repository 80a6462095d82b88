import type { ManifestPartition, Segment } from '../archive/manifest.ts'
import { hasBound, type TimeWindow } from '../batch/needs.ts'
import { runPool } from '../lib/pool.ts'
import type { Storage } from '../storage/storage.ts'
import { isOutside, shareOf } from './expected.ts'
import { inListOrder, legsFrom, ownShare, startOf } from './legs.ts'
import { type BackupReader, readSegments } from './outgoing-options.ts'
import type { PlannedLeg, PlannedStream, PlannedTopic } from './plan.ts'
import { type StreamProgress, streamKey } from './progress.ts'
import type { RecordsSurvey } from './survey-records.ts'

/** What is left to do for the records of a restore. */
export interface Workload {
  /** That are written to the target. */
  bytes: number
  records: number
  /** That are read from the store for it, as they are stored: more than once where keys decide. */
  storeBytes: number
  /** The partition that most is written to, since a partition is written to by one request at a time. */
  largest: { name: string; bytes: number } | undefined
  /** Partitions that are not filled. */
  streams: OpenStream[]
  /** A time window or a filter may leave less. */
  isMost: boolean
}

/** A partition of the target that is not filled, with what of the backup is left for it. */
export interface OpenStream {
  topic: PlannedTopic
  stream: PlannedStream
  legs: readonly PlannedLeg[]
  bytes: number
  records: number
  storeBytes: number
}

type Surveyed = Pick<RecordsSurvey, 'plan' | 'progress' | 'segments' | 'options' | 'isComplete'>

const TOPICS_AT_ONCE = 4
const LEGS_AT_ONCE = 8

/** From the indexes and lists of the backup, of few topics at a time. What earlier runs have written does not count. */
export async function readWorkload(
  { plan, progress, segments, options, isComplete }: Surveyed,
  storage: Storage,
  signal: AbortSignal,
): Promise<Workload> {
  const topics = isComplete ? [] : inListOrder(plan.topics)
  const found = await runPool(topics, TOPICS_AT_ONCE, async topic => {
    const open = topic.streams.flatMap(stream => {
      const noted = progress?.streams.get(streamKey({ topic: topic.name, partition: stream.partition }))
      return isFilled(noted) ? [] : [{ topic, stream, legs: legsFrom(stream, noted ?? startOf(stream)) }]
    })
    const bySource = await readLegs(open, { storage, segments }, signal)
    return open.map(one => measureStream(one, bySource, options.timeWindow))
  })
  const streams = found.flat()
  const [largest] = streams.toSorted((a, b) => b.bytes - a.bytes)
  return {
    bytes: sum(streams, one => one.bytes),
    records: sum(streams, one => one.records),
    storeBytes: sum(streams, one => one.storeBytes),
    largest:
      largest && largest.bytes > 0
        ? { name: streamKey({ topic: largest.topic.name, partition: largest.stream.partition }), bytes: largest.bytes }
        : undefined,
    streams,
    isMost: hasBound(options.timeWindow) || options.filter !== undefined,
  }
}

function isFilled(noted: StreamProgress | undefined): boolean {
  return noted !== undefined && (noted.isFilled || noted.isDone || noted.isFilledByShard === true)
}

type SegmentsBySource = ReadonlyMap<ManifestPartition, readonly Segment[]>

/** Each partition of the source once: where keys decide, all partitions of the target need it. */
async function readLegs(
  open: readonly Pick<OpenStream, 'legs'>[],
  backup: BackupReader,
  signal: AbortSignal,
): Promise<SegmentsBySource> {
  const bySource = new Map(open.flatMap(({ legs }) => legs.map(leg => [leg.source, leg] as const)))
  const read = await runPool([...bySource.values()], LEGS_AT_ONCE, async leg => {
    return [leg.source, await readSegments(backup, leg, signal)] as const
  })
  return new Map(read)
}

/** The segments of an open partition of which something is left. */
export async function readOpenSegments(
  stream: Pick<OpenStream, 'legs'>,
  backup: BackupReader,
  signal: AbortSignal,
): Promise<{ leg: PlannedLeg; segments: readonly Segment[] }[]> {
  const bySource = await readLegs([stream], backup, signal)
  return stream.legs.map(leg => ({ leg, segments: leftOf(leg, bySource) }))
}

function leftOf(leg: PlannedLeg, bySource: SegmentsBySource): Segment[] {
  const segments = bySource.get(leg.source) ?? []
  return segments.filter(one => one.end_offset > leg.start && one.start_offset < leg.end)
}

function measureStream(
  { topic, stream, legs }: Pick<OpenStream, 'topic' | 'stream' | 'legs'>,
  bySource: SegmentsBySource,
  timeWindow: TimeWindow,
): OpenStream {
  const parts = legs.flatMap(leg => leftOf(leg, bySource).map(segment => expect(segment, leg, timeWindow)))
  return {
    topic,
    stream,
    legs,
    bytes: ownShare(stream, Math.round(sum(parts, one => one.bytes))),
    records: ownShare(stream, Math.round(sum(parts, one => one.records))),
    storeBytes: sum(parts, one => one.storeBytes),
  }
}

/** A segment is read as a whole, also where only a part of it is restored. */
function expect(segment: Segment, { start, end }: PlannedLeg, timeWindow: TimeWindow) {
  const share = isOutside(segment, timeWindow)
    ? 0
    : shareOf({ start: segment.start_offset, end: segment.end_offset }, { start, end })
  const visible = segment.records === 0 ? 0 : (segment.records - segment.aborted_records) / segment.records
  return {
    storeBytes: segment.size,
    bytes: segment.plain_size * share * visible,
    records: (segment.records - segment.aborted_records) * share,
  }
}

function sum<T>(items: readonly T[], pick: (item: T) => number): number {
  return items.reduce((total, item) => total + pick(item), 0)
}
