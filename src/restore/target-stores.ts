import type { MetadataTopic } from '../kafka/api/metadata.ts'
import type { Cluster } from '../kafka/cluster.ts'
import { readFirstKeys } from '../kafka/first-keys.ts'
import type { PartitionBounds } from '../kafka/offsets.ts'
import type { EffectiveConfigs } from '../kafka/topic-configs.ts'
import { type Finding, topicError } from '../observe/finding.ts'
import { areRegistryKeys, isRegistryTopicName } from '../registry/own-topic.ts'
import type { RestoreOptions } from './options.ts'
import type { PlannedTopic } from './plan.ts'
import { streamKey } from './progress.ts'

/** What is known of the topics of the target. */
export interface ShownTarget {
  topics: readonly MetadataTopic[]
  bounds: ReadonlyMap<string, PartitionBounds>
  configs: ReadonlyMap<string, EffectiveConfigs>
}

/** Names of topics on the target that a schema registry lives in: by their names, or compacted with one partition and its keys. */
export async function findTargetStores(
  cluster: Cluster,
  planned: readonly PlannedTopic[],
  { topics, bounds, configs }: ShownTarget,
  signal: AbortSignal,
): Promise<Set<string>> {
  const names = new Set(planned.map(({ name }) => name))
  const candidates = topics.flatMap(({ name, id, partitions: [first, ...others] }) => {
    const isCompacted = configs.get(name)?.get('cleanup.policy')?.value?.includes('compact') ?? false
    if (!names.has(name) || !first || first.leader < 0 || others.length > 0 || !isCompacted) return []
    const { logStart, highWatermark } = bounds.get(streamKey({ topic: name, partition: 0 })) ?? NOTHING
    if (highWatermark <= logStart || isRegistryTopicName(name)) return []
    return [{ name, topicId: id, partition: first.partition, leader: first.leader, offset: logStart }]
  })
  const keys = await readFirstKeys(cluster, candidates, signal)
  const byKeys = candidates.filter(({ topicId }) => areRegistryKeys(keys.get(topicId) ?? []))
  return new Set([...[...names].filter(isRegistryTopicName), ...byKeys.map(({ name }) => name)])
}

const NOTHING = { logStart: 0n, highWatermark: 0n }

/** Pure. A topic of a registry that has records is in use: neither deleting it nor appending to it leaves that registry intact. */
export function refuseStore({ name, label }: PlannedTopic): Finding {
  const problem = 'a schema registry of the target stores its data there, and more records would corrupt it'
  const remedy =
    `leave ${label} out of restore.topics.include and restore its schemas with enterprise.schema_registry, or map it to ` +
    'another name (restore.topic_mapping)'
  return topicError(name, problem, remedy)
}

/** Pure. Schemas that are registered through a registry arrive in its topic, too: restored there as well, they would be mixed. */
export function judgeTwoWays(
  topic: PlannedTopic,
  { restoresSchemas }: Pick<RestoreOptions, 'restoresSchemas'>,
): Finding[] {
  const { name, label, source, isRegistryStore } = topic
  if (!restoresSchemas || !isRegistryStore || name !== source.name) return []
  const problem =
    'a schema registry stored its schemas there, and this job registers the same schemas through a registry'
  const remedy =
    `leave ${label} out of restore.topics.include, map it to another name (restore.topic_mapping), or set ` +
    'enterprise.schema_registry.restore.enabled: false'
  return [topicError(name, problem, remedy)]
}
