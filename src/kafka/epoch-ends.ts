import { KafkaBackupError } from '../errors.ts'
import { type EpochEnd, offsetForLeaderEpoch } from './api/list-offsets.ts'
import type { MetadataTopic } from './api/metadata.ts'
import type { Cluster } from './cluster.ts'
import { partitionKey, type TopicPartition } from './offsets.ts'

export interface EpochOf extends TopicPartition {
  epoch: number
}

/** What a leader knows of an epoch. */
export interface KnownEpoch extends Pick<EpochEnd, 'epoch' | 'endOffset'> {
  /** The epoch in which the leader leads now. */
  leaderEpoch: number
}

/**
 * Where epochs end in the logs of their leaders, by `partitionKey`. Best effort: what a leader does not answer, because it
 * moves, is down or does not know the request, is not in it. `shown` is what the cluster has just said of the topics, for who has
 * asked already.
 */
export async function fetchEpochEnds(
  cluster: Cluster,
  wanted: readonly EpochOf[],
  signal: AbortSignal,
  shown?: readonly MetadataTopic[],
): Promise<Map<string, KnownEpoch>> {
  const found = new Map<string, KnownEpoch>()
  if (wanted.length === 0) return found
  const names = [...new Set(wanted.map(({ topic }) => topic))]
  const topics = shown ?? (await cluster.metadata({ topics: names }, signal)).topics
  const led = new Map(
    topics.flatMap(({ name, partitions }) =>
      partitions.map(one => [partitionKey({ topic: name, partition: one.partition }), one] as const),
    ),
  )
  for (const [leader, some] of Map.groupBy(wanted, each => led.get(partitionKey(each))?.leader ?? -1)) {
    if (leader < 0) continue
    for (const { topic, end } of await askLeader(cluster, leader, some, signal)) {
      const key = partitionKey({ topic, partition: end.partition })
      const { epoch, endOffset } = end
      if (end.errorCode === 0) found.set(key, { epoch, endOffset, leaderEpoch: led.get(key)?.leaderEpoch ?? -1 })
    }
  }
  return found
}

async function askLeader(
  cluster: Cluster,
  leader: number,
  wanted: readonly EpochOf[],
  signal: AbortSignal,
): Promise<{ topic: string; end: EpochEnd }[]> {
  const topics = [...Map.groupBy(wanted, ({ topic }) => topic)].map(([name, partitions]) => ({ name, partitions }))
  try {
    const link = await cluster.link(leader, signal)
    const answer = await link.call(offsetForLeaderEpoch, { topics }, signal)
    return answer.topics.flatMap(({ name, partitions }) => partitions.map(end => ({ topic: name, end })))
  } catch (error) {
    signal.throwIfAborted()
    if (!(error instanceof KafkaBackupError)) throw error
    return []
  }
}
