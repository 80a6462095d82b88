import { KafkaBackupError } from '../errors.ts'
import type { MetadataTopic } from './api/metadata.ts'
import { brokerError } from './broker-errors.ts'
import type { Cluster } from './cluster.ts'

/**
 * Waits until the cluster shows these topics with a leader for each of so many partitions, and returns them. One broker
 * was asked: for a moment another, even the leader, may still answer that it does not know or lead the partition.
 */
export async function waitForTopics(
  cluster: Cluster,
  topics: readonly { name: string; partitions: number }[],
  signal: AbortSignal,
): Promise<MetadataTopic[]> {
  return cluster.settling(async () => {
    const answer = await cluster.metadata({ topics: topics.map(({ name }) => name) }, signal)
    const byName = new Map(answer.topics.map(topic => [topic.name, topic]))
    return topics.map(({ name, partitions }) => assertLed(byName.get(name), name, partitions))
  }, signal)
}

function assertLed(topic: MetadataTopic | undefined, name: string, partitions: number): MetadataTopic {
  const led = topic?.partitions.filter(({ leader }) => leader >= 0).length ?? 0
  if (topic?.errorCode === 0 && led >= partitions) return topic
  const error = brokerError(topic?.errorCode ?? 0, `waiting for topic ${name}`, null, { topic: name })
  // Not known yet, or not led yet: both pass.
  if (!topic || error.retryable || topic.errorCode === 0 || error.code === 'TOPIC_NOT_FOUND') {
    const message = `topic ${name} has leaders for ${led} of ${partitions} partitions`
    throw new KafkaBackupError('KAFKA_NOT_READY', message, { cause: error, details: { topic: name } })
  }
  throw error
}
