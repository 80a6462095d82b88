import { KafkaBackupError } from '../errors.ts'
import { type EpochEnd, offsetForLeaderEpoch } from './api/list-offsets.ts'
import type { MetadataTopic } from './api/metadata.ts'
import { brokerError } from './broker-errors.ts'
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
  const led = leadersIn(shown ?? (await showTopics(cluster, wanted, signal)))
  for (const [leader, some] of Map.groupBy(wanted, each => led.get(partitionKey(each))?.leader ?? -1)) {
    if (leader < 0) continue
    const ends = await askLeader(cluster, leader, some, signal).catch(error => {
      signal.throwIfAborted()
      if (!(error instanceof KafkaBackupError)) throw error
      return []
    })
    for (const { topic, end } of ends) {
      const key = partitionKey({ topic, partition: end.partition })
      const { epoch, endOffset } = end
      if (end.errorCode === 0) found.set(key, { epoch, endOffset, leaderEpoch: led.get(key)?.leaderEpoch ?? -1 })
    }
  }
  return found
}

/** Where the log of a leader ends, also behind the high watermark. */
export interface LogEnd {
  leaderEpoch: number
  end: bigint
}

/**
 * The same for the epochs in which the leaders lead now, by `partitionKey`. What a leader cannot tell is not in it. What it may tell
 * later is not either; then `failure` is an error that is retryable.
 */
export async function fetchLogEnds(
  cluster: Cluster,
  partitions: readonly TopicPartition[],
  signal: AbortSignal,
  shown: readonly MetadataTopic[],
): Promise<{ ends: Map<string, LogEnd>; failure: KafkaBackupError | undefined }> {
  const ends = new Map<string, LogEnd>()
  const led = leadersIn(shown)
  let failure: KafkaBackupError | undefined
  const fail = (error: KafkaBackupError) => {
    failure ??= error
  }
  const wanted = partitions.flatMap(({ topic, partition }) => {
    const key = partitionKey({ topic, partition })
    const { leader, leaderEpoch: epoch } = led.get(key) ?? { leader: -1, leaderEpoch: 0 }
    if (leader < 0) fail(notReady(`partition ${key} has no leader at the moment`))
    // Brokers before Kafka 2.1 do not tell it.
    return leader < 0 || epoch < 0 ? [] : [{ topic, partition, leader, epoch, currentEpoch: epoch }]
  })
  for (const [leader, some] of Map.groupBy(wanted, one => one.leader)) {
    try {
      const answers = await askLeader(cluster, leader, some, signal)
      const byKey = new Map(answers.map(({ topic, end }) => [partitionKey({ topic, partition: end.partition }), end]))
      for (const { topic, partition, epoch } of some) {
        const key = partitionKey({ topic, partition })
        const end = byKey.get(key)
        const error = end ? laterError(end, key) : notReady(`the leader of ${key} does not say where its log ends`)
        if (error) fail(error)
        else if (end?.errorCode === 0 && end.endOffset >= 0n) ends.set(key, { leaderEpoch: epoch, end: end.endOffset })
      }
    } catch (error) {
      signal.throwIfAborted()
      if (!(error instanceof KafkaBackupError)) throw error
      if (error.retryable) fail(error)
      else if (error.code !== 'KAFKA_UNSUPPORTED') throw error
    }
  }
  return { ends, failure }
}

/** Undefined for the end itself, and where the leader will not tell it later either. */
function laterError({ errorCode }: EpochEnd, key: string): KafkaBackupError | undefined {
  if (errorCode === 0) return undefined
  const error = brokerError(errorCode, `asking for the end of ${key}`)
  // A new leader may not know the partition yet.
  if (error.code === 'TOPIC_NOT_FOUND') return notReady(error.message)
  return error.retryable ? error : undefined
}

function notReady(message: string): KafkaBackupError {
  return new KafkaBackupError('KAFKA_NOT_READY', message)
}

async function showTopics(
  cluster: Cluster,
  wanted: readonly TopicPartition[],
  signal: AbortSignal,
): Promise<readonly MetadataTopic[]> {
  return (await cluster.metadata({ topics: [...new Set(wanted.map(({ topic }) => topic))] }, signal)).topics
}

/** By `partitionKey`. */
export function leadersIn(topics: readonly MetadataTopic[]): Map<string, MetadataTopic['partitions'][number]> {
  return new Map(
    topics.flatMap(({ name, partitions }) =>
      partitions.map(one => [partitionKey({ topic: name, partition: one.partition }), one] as const),
    ),
  )
}

async function askLeader(
  cluster: Cluster,
  leader: number,
  wanted: readonly (EpochOf & { currentEpoch?: number })[],
  signal: AbortSignal,
): Promise<{ topic: string; end: EpochEnd }[]> {
  const topics = [...Map.groupBy(wanted, ({ topic }) => topic)].map(([name, partitions]) => ({ name, partitions }))
  const link = await cluster.link(leader, signal)
  const answer = await link.call(offsetForLeaderEpoch, { topics }, signal)
  return answer.topics.flatMap(({ name, partitions }) => partitions.map(end => ({ topic: name, end })))
}
