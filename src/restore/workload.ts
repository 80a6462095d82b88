import type { Segment } from '../archive/manifest.ts'
import { hasBound, type TimeWindow } from '../batch/needs.ts'
import { isOutside, shareOf } from './expected.ts'
import { legsFrom, ownShare, startOf } from './legs.ts'
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
  /** A time window may leave less. */
  isMost: boolean
}

/** A partition of the target that is not filled, with what of the backup is left for it. */
export interface OpenStream {
  topic: PlannedTopic
  stream: PlannedStream
  legs: { leg: PlannedLeg; segments: readonly Segment[] }[]
  bytes: number
  records: number
  storeBytes: number
}

type Surveyed = Pick<RecordsSurvey, 'plan' | 'progress' | 'segments' | 'options' | 'isComplete'>

/** Pure: from the indexes of the backup. What earlier runs have written does not count. */
export function workloadOf({ plan, progress, segments, options, isComplete }: Surveyed): Workload {
  const topics = isComplete ? [] : plan.topics
  const streams = topics.flatMap(topic =>
    topic.streams.flatMap(stream => {
      const noted = progress?.streams.get(streamKey({ topic: topic.name, partition: stream.partition }))
      return isFilled(noted) ? [] : [openStream(topic, stream, noted, { segments, timeWindow: options.timeWindow })]
    }),
  )
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
    isMost: hasBound(options.timeWindow),
  }
}

function isFilled(noted: StreamProgress | undefined): boolean {
  return noted !== undefined && (noted.isFilled || noted.isDone || noted.isFilledByShard === true)
}

function openStream(
  topic: PlannedTopic,
  stream: PlannedStream,
  noted: StreamProgress | undefined,
  { segments, timeWindow }: Pick<RecordsSurvey, 'segments'> & { timeWindow: TimeWindow },
): OpenStream {
  const legs = legsFrom(stream, noted ?? startOf(stream)).map(leg => ({
    leg,
    segments: (segments.get(leg.source) ?? []).filter(one => one.end_offset > leg.start && one.start_offset < leg.end),
  }))
  const parts = legs.flatMap(({ leg, segments: some }) => some.map(segment => expect(segment, leg, timeWindow)))
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
