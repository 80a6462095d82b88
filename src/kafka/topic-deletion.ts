import { KafkaBackupError } from '../errors.ts'
import { deleteTopicsApi } from './api/delete-topics.ts'
import { brokerError } from './broker-errors.ts'
import { type Cluster, callController } from './cluster.ts'
import { isIdOfName } from './named-topic-id.ts'
import { fetchTopicPermissions } from './permissions.ts'

const TIMEOUT_MS = 30_000
const UNKNOWN_TOPIC_OR_PARTITION = 3
const UNKNOWN_TOPIC_ID = 100

/**
 * Throws the reason where a topic of this name, which no topic has, could not be deleted. Brokers tell which permissions the user has
 * on it, most of them also for names that do not exist; whether they delete topics at all, a trial shows.
 */
export async function assertDeletable(cluster: Cluster, absentName: string, signal: AbortSignal): Promise<void> {
  const granted = (await fetchTopicPermissions(cluster, [absentName], signal)).get(absentName)
  if (granted && !granted.has('Delete')) {
    const details = { topic: absentName, resource: `topic ${absentName}`, operation: 'Delete' }
    throw new KafkaBackupError('KAFKA_DENIED', `the user of this job may not delete topic ${absentName}`, { details })
  }
  await ask(cluster, { name: absentName }, signal)
}

/** By its ID where the broker deletes by ID, so that no other topic of the same name is deleted. One that is gone is fine. */
export async function deleteTopic(
  cluster: Cluster,
  topic: { name: string; id: string },
  signal: AbortSignal,
): Promise<void> {
  const { name, id } = topic
  await ask(cluster, isIdOfName(id, name) ? { name } : topic, signal)
}

/** By its name alone, for one whose ID is unknown and whose name belongs to no one else. One that is not there is fine. */
export function deleteTopicNamed(cluster: Cluster, name: string, signal: AbortSignal): Promise<void> {
  return ask(cluster, { name }, signal)
}

async function ask(cluster: Cluster, topic: { name: string; id?: string }, signal: AbortSignal): Promise<void> {
  const { name } = topic
  await cluster.settling(async () => {
    const request = { topics: [topic], timeoutMs: TIMEOUT_MS }
    const { topics } = await callController(cluster, deleteTopicsApi, request, TIMEOUT_MS, signal)
    const [answer] = topics
    if (!answer) throw new KafkaBackupError('KAFKA_PROTOCOL', `the broker did not say what became of topic ${name}`)
    const { errorCode, errorMessage } = answer
    if ([0, UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN_TOPIC_ID].includes(errorCode)) return
    throw brokerError(errorCode, `deleting topic ${name}`, errorMessage, { topic: name })
  }, signal)
}
