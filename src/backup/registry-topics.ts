import type { MetadataTopic } from '../kafka/api/metadata.ts'
import type { Cluster } from '../kafka/cluster.ts'
import { readFirstKeys } from '../kafka/first-keys.ts'
import { isIdOfName } from '../kafka/named-topic-id.ts'
import { isPattern } from '../lib/glob.ts'
import { areRegistryKeys } from '../registry/own-topic.ts'
import type { TopicSelection } from './backup-options.ts'
import type { ObservedTopic } from './observed-source.ts'

/** By topic ID: whether its first keys are a registry's. It stays so for the life of a topic, and rounds ask again and again. */
const judged = new WeakMap<Cluster, Map<string, boolean>>()

/**
 * The topics in which a schema registry stores its schemas, whatever their name: compacted, one partition, and its keys. Of
 * those that are named literally nothing is asked: they are taken.
 */
export async function findRegistryStores(
  cluster: Cluster,
  topics: readonly ObservedTopic[],
  shown: readonly MetadataTopic[],
  selection: TopicSelection,
  signal: AbortSignal,
): Promise<Set<string>> {
  const verdicts = judged.get(cluster) ?? new Map<string, boolean>()
  judged.set(cluster, verdicts)
  const literals = new Set(selection.include.filter(entry => !isPattern(entry)))
  const candidates = topics.filter(topic => !literals.has(topic.name) && mayBeStore(topic))
  const leaders = new Map(shown.map(({ id, partitions }) => [id, partitions[0]?.leader ?? -1]))
  const open = candidates
    .filter(({ id }) => !verdicts.has(id) && (leaders.get(id) ?? -1) >= 0)
    .flatMap(({ name: topic, id: topicId, partitions: [first] }) => {
      const place = { topic, topicId, leader: leaders.get(topicId) ?? -1 }
      return first ? [{ ...place, partition: first.partition, offset: first.bounds.logStart }] : []
    })
  const keys = await readFirstKeys(cluster, open, signal)
  const stores = new Set([...keys].filter(([, some]) => areRegistryKeys(some)).map(([id]) => id))
  for (const { name, id } of candidates) {
    // Without an ID, the next topic of this name would have its verdict.
    if ((keys.get(id) ?? []).length > 0 && !isIdOfName(id, name)) verdicts.set(id, stores.has(id))
  }
  return new Set(candidates.filter(({ id }) => verdicts.get(id) ?? stores.has(id)).map(({ name }) => name))
}

/** Pure. What is reported of a topic that a pattern matches and a backup leaves out. */
export function describeLeftOut(topic: string): string {
  return (
    `topic ${topic} is left out: a schema registry stores its schemas there, and restored next to a running registry it ` +
    'would corrupt it. Back up the schemas with enterprise.schema_registry; to copy the topic as it is, name it in ' +
    'source.topics.include without a pattern; to silence this, add it to source.topics.exclude'
  )
}

function mayBeStore({ partitions, leaderless, effectiveConfigs, hasUnknownSettings }: ObservedTopic): boolean {
  const [first, ...others] = partitions
  if (!first || others.length > 0 || leaderless.length > 0) return false
  const mayBeCompacted = hasUnknownSettings ?? effectiveConfigs['cleanup.policy']?.includes('compact') ?? false
  return mayBeCompacted && first.bounds.lastStable > first.bounds.logStart
}
