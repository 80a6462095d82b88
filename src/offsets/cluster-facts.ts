import { partitionKey, type TopicPartition } from '../kafka/offsets.ts'
import type { OffsetsPort } from './offsets-port.ts'
import { type ClusterFacts, findMissing } from './plan-reset.ts'

/** What the cluster says of the partitions that a plan is about. */
export async function readFacts(
  port: OffsetsPort,
  places: readonly TopicPartition[],
  signal: AbortSignal,
): Promise<ClusterFacts> {
  const partitionCounts = await port.countPartitions([...new Set(places.map(({ topic }) => topic))], signal)
  const unique = new Map(
    places.filter(place => findMissing(place, partitionCounts) === undefined).map(one => [partitionKey(one), one]),
  )
  return { partitionCounts, bounds: await port.readBounds([...unique.values()], signal) }
}
