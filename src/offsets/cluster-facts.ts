import { partitionKey, type TopicPartition } from '../kafka/offsets.ts'
import type { OffsetsPort } from './offsets-port.ts'
import { type ClusterFacts, findMissing } from './plan-reset.ts'

/** What the cluster says of the partitions that a plan is about, and of other topics by name. */
export async function readFacts(
  port: OffsetsPort,
  places: readonly TopicPartition[],
  signal: AbortSignal,
  others: readonly { topic: string }[] = [],
): Promise<ClusterFacts> {
  const topics = await port.describeTopics([...new Set([...places, ...others].map(({ topic }) => topic))], signal)
  const unique = new Map(
    places.filter(place => findMissing(place, topics) === undefined).map(one => [partitionKey(one), one]),
  )
  return { topics, bounds: await port.readBounds([...unique.values()], signal) }
}
