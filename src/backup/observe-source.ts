import { decisiveOf } from '../archive/effective-settings.ts'
import type { ManifestTopic } from '../archive/manifest.ts'
import { topicName } from '../archive/scalars.ts'
import { hasCode, KafkaBackupError } from '../errors.ts'
import type { MetadataTopic } from '../kafka/api/metadata.ts'
import { brokerError } from '../kafka/broker-errors.ts'
import type { Cluster } from '../kafka/cluster.ts'
import { fetchBounds, fetchKnowableBounds, type PartitionBounds, partitionKey } from '../kafka/offsets.ts'
import { type EffectiveConfigs, readTopicConfigs } from '../kafka/topic-configs.ts'
import { formatUtc } from '../lib/clock.ts'
import type { OnProgress } from '../observe/progress.ts'
import type { BackupOptions } from './backup-options.ts'
import type { ObservedSource, ObservedTopic } from './observed-source.ts'
import { describeLeftOut, findRegistryStores } from './registry-topics.ts'
import { type Selected, selectTopics } from './select-topics.ts'

/** By name and ID of a topic: its settings, as they were read last. Those of other topics are read and added. */
export type SettingsCache = Map<string, EffectiveConfigs>

type ObserveOptions = Pick<BackupOptions, 'topics' | 'missingTopics'>

/** Looks at the cluster without changing anything: which topics are selected, how they are set up, where they end. */
export async function observeSource(
  options: ObserveOptions,
  cluster: Cluster,
  signal: AbortSignal,
  settings: SettingsCache = new Map(),
): Promise<ObservedSource> {
  const observedAt = formatUtc(cluster.clock.now())
  const all = await cluster.metadata({ topics: null }, signal)
  const named = all.topics.map(({ name, isInternal }) => ({ name, internal: isInternal }))
  const selected = selectTopics(options.topics, named)
  const shown = all.topics.filter(topic => selected.names.includes(topic.name))
  for (const topic of shown) {
    assertStorable(topic.name)
    if (topic.errorCode !== 0)
      throw brokerError(topic.errorCode, `looking at topic ${topic.name}`, null, { topic: topic.name })
  }
  const described = await describeTopics(cluster, shown, settings, signal)
  const stores = await findRegistryStores(cluster, described, shown, options.topics, signal)
  const topics = described.filter(({ name }) => !stores.has(name))
  const names = topics.map(({ name }) => name)
  const leftOut = [...selected.leftOut, ...stores].sort()
  const warnings = [
    ...(await judgeSelection(options, { ...selected, names, leftOut }, cluster, signal)),
    ...warnOfUnknownSettings(topics),
  ]
  return {
    observedAt,
    clusterId: all.clusterId,
    brokers: all.brokers.length,
    topics,
    shown,
    visible: new Set(named.map(({ name }) => name)),
    warnings,
  }
}

/** Brokers that only speak Kafka's protocol may have other names, which no reader of a backup accepts. */
function assertStorable(name: string): void {
  if (topicName.safeParse(name).success) return
  const message = `the cluster has a topic named ${JSON.stringify(name.slice(0, 300))}, which is not a name that Kafka allows`
  throw new KafkaBackupError('KAFKA_PROTOCOL', message, {
    help: 'A backup cannot hold it. Exclude it with `source.topics.exclude`, or select the others by name.',
  })
}

/** Tells how far the topics that are there still go; trouble is left to the next round. */
export async function pollBounds(
  cluster: Cluster,
  topics: readonly ManifestTopic[],
  onProgress: OnProgress,
  signal: AbortSignal,
): Promise<void> {
  const wanted = topics
    .filter(topic => topic.state === 'current')
    .flatMap(({ name, partitions }) => partitions.map(({ partition }) => ({ topic: name, partition })))
  try {
    const bounds = await fetchBounds(cluster, wanted, signal)
    const known = wanted.flatMap(each => {
      const bound = bounds.get(partitionKey(each))
      return bound ? [{ ...each, ...bound }] : []
    })
    onProgress({ type: 'bounds', partitions: known })
  } catch (error) {
    signal.throwIfAborted()
    if (!(error instanceof KafkaBackupError)) throw error
  }
}

/** Nothing to do is a mistake somewhere, not a success: it fails unless the job says that it only warns. */
async function judgeSelection(
  { missingTopics, topics }: ObserveOptions,
  { names, missing, idlePatterns, leftOut }: Selected,
  cluster: Cluster,
  signal: AbortSignal,
): Promise<string[]> {
  if (missing.length > 0) await refuseDenied(cluster, missing, signal)
  const problems = missing.map(name => `topic ${name} does not exist`)
  const notices = leftOut.map(describeLeftOut)
  if (names.length === 0) {
    problems.push(`no topic matches source.topics.include (${topics.include.join(', ')})`, ...notices)
  }
  if (problems.length > 0 && missingTopics === 'fail')
    throw new KafkaBackupError('TOPIC_NOT_FOUND', problems.join('; '), {
      details: { topic: missing[0], field: 'source.topics.include' },
    })
  const idle = idlePatterns.map(pattern => `pattern ${pattern} of source.topics.include matches no topic`)
  return [...problems, ...(names.length === 0 ? [] : [...idle, ...notices])]
}

/** A topic that we may not see is left out of the list of all topics; asked by name, the broker says why. */
async function refuseDenied(cluster: Cluster, names: readonly string[], signal: AbortSignal): Promise<void> {
  const { topics } = await cluster.metadata({ topics: [...names] }, signal)
  const denied = topics.filter(topic => topic.errorCode === 29).map(topic => topic.name)
  if (denied.length === 0) return
  throw new KafkaBackupError(
    'KAFKA_DENIED',
    `not allowed to see ${denied.join(', ')}: Describe on the topic is missing`,
    { details: { topic: denied[0], resource: `topic ${denied[0]}`, operation: 'Describe' } },
  )
}

async function describeTopics(
  cluster: Cluster,
  topics: readonly MetadataTopic[],
  cache: SettingsCache,
  signal: AbortSignal,
): Promise<ObservedTopic[]> {
  const wanted = topics.flatMap(({ name, partitions }) =>
    partitions.map(({ partition }) => ({ topic: name, partition })),
  )
  const areKnown = await readMissingSettings(cluster, topics, cache, signal)
  const { bounds, leaderless, error } = await fetchKnowableBounds(cluster, wanted, signal, topics)
  if (error && bounds.size === 0) throw error
  const isLed = (topic: string, partition: number) => !leaderless.has(partitionKey({ topic, partition }))
  return topics
    .map(topic => ({
      name: topic.name,
      id: topic.id,
      internal: topic.isInternal,
      replicationFactor: topic.partitions[0]?.replicas.length ?? 0,
      configs: ownConfigs(cache.get(settingsKey(topic))),
      effectiveConfigs: decisiveOf(cache.get(settingsKey(topic)) ?? []),
      ...(!areKnown && { hasUnknownSettings: true as const }),
      leaderless: topic.partitions.map(({ partition }) => partition).filter(one => !isLed(topic.name, one)),
      partitions: topic.partitions
        .filter(({ partition }) => isLed(topic.name, partition))
        .map(({ partition }) => ({ partition, bounds: boundsOf(bounds, topic.name, partition) }))
        .sort((a, b) => a.partition - b.partition),
    }))
    .sort((a, b) => (a.name < b.name ? -1 : 1))
}

/** False where the brokers have no request for settings, as those of some services that only speak Kafka's protocol. */
async function readMissingSettings(
  cluster: Cluster,
  topics: readonly MetadataTopic[],
  cache: SettingsCache,
  signal: AbortSignal,
): Promise<boolean> {
  const missing = topics.filter(topic => !cache.has(settingsKey(topic)))
  const names = missing.map(({ name }) => name)
  const read = await readTopicConfigs(cluster, names, signal).catch(error => {
    if (hasCode(error, 'KAFKA_UNSUPPORTED')) return undefined
    throw error
  })
  for (const topic of missing) {
    const found = read?.get(topic.name)
    if (found) cache.set(settingsKey(topic), found)
  }
  return read !== undefined
}

function warnOfUnknownSettings(topics: readonly ObservedTopic[]): string[] {
  if (!topics.some(topic => topic.hasUnknownSettings)) return []
  return [
    'the source does not report the settings of topics (its brokers have no DescribeConfigs): the backup holds none, and all ' +
      'topics are read as if they were not compacted. Keys that are deleted in a compacted topic may stay in the backup',
  ]
}

function settingsKey({ name, id }: Pick<MetadataTopic, 'name' | 'id'>): string {
  return `${name}/${id}`
}

/** Settings of the topic itself. */
function ownConfigs(settings: EffectiveConfigs = new Map()): Record<string, string> {
  const own = [...settings].filter(([, { source, value }]) => source === 'topic' && value !== null)
  return Object.fromEntries(own.map(([name, { value }]) => [name, value ?? '']))
}

function boundsOf(bounds: Map<string, PartitionBounds>, topic: string, partition: number): PartitionBounds {
  const found = bounds.get(partitionKey({ topic, partition }))
  if (!found)
    throw new KafkaBackupError('KAFKA_PROTOCOL', `no broker reported the offsets of ${topic}/${partition}`, {
      details: { topic, partition },
    })
  return found
}
