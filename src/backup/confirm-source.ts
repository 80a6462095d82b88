import type { Cluster } from '../kafka/cluster.ts'
import { partitionKey } from '../kafka/offsets.ts'
import type { BackupPlan, PlannedTopic } from './backup-plan.ts'
import { compareTails, type StoredTail } from './compare-tails.ts'
import type { Copies } from './draft-topics.ts'
import { TruncationError } from './find-truncation.ts'
import { isOtherTopic, mayBeCompacted } from './named-topics.ts'
import type { PartitionCopy } from './partition-copy.ts'

const UNKNOWN_TOPIC = 3

/**
 * Before anything counts that was read by name: all partitions of its topics still have what is stored last of them. A topic
 * that was created again while they were read, one after the other, would otherwise be half the old one and half the new.
 * What is compared is what is durable now; the comparison itself comes later. A topic that is deleted cannot be compared.
 */
export function prepareConfirmation(
  cluster: Cluster,
  { copies, rereads }: Copies,
  signal: AbortSignal,
): () => Promise<void> {
  const byName = new Set([...copies, ...rereads].filter(copy => copy.isReadByName).map(({ topicId }) => topicId))
  // A request names a partition once: what is read again is compared by itself.
  const lists = [copies, rereads].map(some => some.filter(({ topicId }) => byName.has(topicId)).flatMap(tailOf))
  return async () => {
    for (const tails of lists) await confirmTails(cluster, tails, signal)
  }
}

function tailOf({ topic, topicId, partition, durable, settings }: PartitionCopy): StoredTail[] {
  const { last_batch: tail, end_offset: position } = durable
  return tail ? [{ topic, topicId, partition, tail, position, mayBeCompacted: mayBeCompacted(settings) }] : []
}

/** The same for what several processes have read. */
export function confirmPlanned(cluster: Cluster, { topics }: BackupPlan, signal: AbortSignal): Promise<void> {
  return confirmTails(cluster, topics.flatMap(tailsOf), signal)
}

function tailsOf({
  name,
  id,
  kafka_id,
  read_by,
  state,
  partitions,
  effective_configs = {},
}: PlannedTopic): StoredTail[] {
  if (!read_by || state !== 'current') return []
  const common = { topic: name, topicId: kafka_id ?? id, mayBeCompacted: mayBeCompacted(effective_configs) }
  return partitions.flatMap(({ durable: { partition, last_batch: tail, end_offset: position } }) =>
    tail ? [{ ...common, partition, tail, position }] : [],
  )
}

/** SOURCE_TRUNCATED with the first partition that has another batch now. */
async function confirmTails(cluster: Cluster, tails: readonly StoredTail[], signal: AbortSignal): Promise<void> {
  if (tails.length === 0) return
  const { topics } = await cluster.metadata({ topics: [...new Set(tails.map(({ topic }) => topic))] }, signal)
  const shown = new Map(topics.map(topic => [topic.name, topic]))
  const there = tails.filter(({ topic }) => shown.get(topic)?.errorCode !== UNKNOWN_TOPIC)
  for (const one of there) {
    const topic = shown.get(one.topic)
    if (topic?.errorCode === 0 && isOtherTopic(topic, one)) throw createdAgain(one.topic, 'it has another ID now')
  }
  const verdicts = await compareTails(cluster, there, signal)
  const other = there.find(one => verdicts.get(partitionKey(one)) === 'other')
  if (other) throw createdAgain(other.topic, `${partitionKey(other)} has another batch before offset ${other.position}`)
}

function createdAgain(topic: string, sign: string): TruncationError {
  return new TruncationError(topic, `topic ${topic} was created again, or lost records, while it was read: ${sign}`)
}
