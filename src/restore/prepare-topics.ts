import { KafkaBackupError } from '../errors.ts'
import { alterTopicConfigs } from '../kafka/alter-topics.ts'
import type { MetadataTopic } from '../kafka/api/metadata.ts'
import type { Cluster } from '../kafka/cluster.ts'
import { createTopics } from '../kafka/create-topics.ts'
import { waitForTopics } from '../kafka/topic-leaders.ts'
import type { PlannedTopic } from './plan.ts'

const TIMEOUT_MS = 60_000

/** Makes the topics that are not there, with the settings they have while they are filled, and waits for their leaders. */
export async function prepareTopics(
  cluster: Cluster,
  topics: readonly PlannedTopic[],
  existing: ReadonlySet<string>,
  signal: AbortSignal,
): Promise<Map<string, MetadataTopic>> {
  const missing = topics.filter(({ name }) => !existing.has(name))
  const created = await createTopics(
    cluster,
    missing.map(({ name, partitions, replicationFactor, whileFilling }) => ({
      name,
      partitions,
      replication: replicationFactor,
      configs: whileFilling,
    })),
    { timeoutMs: TIMEOUT_MS },
    signal,
  )
  const refused = created.flatMap(one => (one.outcome === 'refused' ? [`${one.name}: ${one.error.message}`] : []))
  if (refused.length > 0) throw new KafkaBackupError('RESTORE_REFUSED', refused.join('; '))
  const ready = await waitForTopics(cluster, topics, signal)
  return new Map(ready.map(topic => [topic.name, topic]))
}

/** The settings that were held back; those that the target refuses are told, and do not undo what was restored. */
export async function applySettings(
  cluster: Cluster,
  topics: readonly PlannedTopic[],
  signal: AbortSignal,
): Promise<string[]> {
  const changes = topics.map(({ name, afterwards }) => ({ topic: name, configs: afterwards }))
  const refused = await alterTopicConfigs(cluster, changes, {}, signal)
  return refused.map(({ topic, error }) => `${topic}: a setting was refused: ${error.message}`)
}
