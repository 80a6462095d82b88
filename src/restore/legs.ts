import { incarnationKey } from '../archive/incarnation.ts'
import { keyPlacer } from '../batch/key-placer.ts'
import type { EncodedRecord } from '../batch/record-cursor.ts'
import type { PlannedLeg, PlannedStream, PlannedTopic } from './plan.ts'

/** The position of a stream in its source: its legs are in the order of their partitions. */
export interface SourcePosition {
  sourcePartition: number
  sourceOffset: bigint
}

/** Pure: in the order in which a backup keeps the lists of their segments, for one who reads all of them. */
export function inListOrder(topics: readonly PlannedTopic[]): PlannedTopic[] {
  const keyed = topics.map(topic => ({ topic, key: incarnationKey(topic.source) }))
  return keyed.sort((a, b) => (a.key < b.key ? -1 : 1)).map(({ topic }) => topic)
}

/** Pure: before the first record. */
export function startOf({ legs }: PlannedStream): SourcePosition {
  const [first] = legs
  return { sourcePartition: first?.source.partition ?? 0, sourceOffset: first?.start ?? 0n }
}

/** Pure: what of the legs is left from there on. */
export function legsFrom(
  { legs }: PlannedStream,
  { sourcePartition, sourceOffset }: SourcePosition,
): readonly PlannedLeg[] {
  return legs
    .filter(({ source }) => source.partition >= sourcePartition)
    .map(leg =>
      leg.source.partition === sourcePartition && sourceOffset > leg.start ? { ...leg, start: sourceOffset } : leg,
    )
}

/**
 * Pure. Whether a record of this leg belongs into the stream; undefined where all do. A key goes where a producer of Kafka
 * puts it, and a record without one to the partition that it had, modulo their number.
 */
export function keyFilter(
  { partition, keyedAmong }: PlannedStream,
  { source }: Pick<PlannedLeg, 'source'>,
): ((record: EncodedRecord) => boolean) | undefined {
  if (keyedAmong === undefined) return undefined
  const placeOf = keyPlacer(keyedAmong)
  const placeWithout = source.partition % keyedAmong
  return record => (placeOf(record) ?? placeWithout) === partition
}

/** Pure. Of so many records in its legs about so many are the stream's own; over all streams of a topic the sum is exact. */
export function ownShare({ partition, keyedAmong = 1 }: PlannedStream, total: number): number {
  return Math.floor(total / keyedAmong) + (partition < total % keyedAmong ? 1 : 0)
}
