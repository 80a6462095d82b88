import type { Cluster } from '../kafka/cluster.ts'
import { fetchBounds } from '../kafka/offsets.ts'
import { readTopicConfigs } from '../kafka/topic-configs.ts'
import type { RestoreOptions } from './options.ts'
import type { PlannedTopic, RestorePlan } from './plan.ts'
import { type RestoreProgress, streamKey } from './progress.ts'

/** Something that stands in the way, or should be known, before the first write. */
export interface Finding {
  severity: 'error' | 'warning'
  topic: string
  problem: string
  remedy: string
}

export interface Preflight {
  findings: Finding[]
  existing: ReadonlySet<string>
  /** By `topic/partition` of the target: where a topic that is there ends. */
  ends: ReadonlyMap<string, bigint>
}

export type ExamineOptions = RestoreOptions & { nowMs: number }

/** Looks at the target without changing anything, and tells all that it finds at once. */
export async function examineTarget(
  cluster: Cluster,
  plan: RestorePlan,
  options: ExamineOptions,
  progress: RestoreProgress | undefined,
  signal: AbortSignal,
): Promise<Preflight> {
  const { topics, brokers } = await cluster.metadata({ topics: null }, signal)
  const shown = new Map(topics.map(topic => [topic.name, topic]))
  const existing = new Set(plan.topics.map(({ name }) => name).filter(name => shown.has(name)))
  const wanted = plan.topics
    .filter(({ name }) => existing.has(name))
    .flatMap(({ name, streams }) => streams.map(({ partition }) => ({ topic: name, partition })))
    .filter(({ topic, partition }) => shown.get(topic)?.partitions.some(one => one.partition === partition))
  const bounds = await fetchBounds(cluster, wanted, signal)
  const configs = await readTopicConfigs(cluster, [...existing], signal)
  const findings = plan.topics.flatMap(topic => {
    const there = shown.get(topic.name)
    if (!there) return judgeMissing(topic, options, brokers.length)
    const settings = new Map([...(configs.get(topic.name) ?? [])].map(([name, { value }]) => [name, value ?? '']))
    return [
      ...judgePartitions(topic, there.partitions.length),
      ...judgeSettings(topic, settings),
      ...judgeContent(topic, options, progress, bounds),
    ]
  })
  const ends = new Map([...bounds].map(([key, { highWatermark }]) => [key, highWatermark]))
  return { findings: [...findings, ...judgeAges(plan, options)], existing, ends }
}

function judgeMissing(topic: PlannedTopic, options: RestoreOptions, brokers: number): Finding[] {
  const findings: Finding[] = []
  if (!options.createTopics) {
    findings.push(error(topic, 'it does not exist', 'create it, or set restore.create_topics: true'))
  }
  if (topic.replicationFactor > brokers) {
    const problem = `${topic.replicationFactor} copies need as many brokers; the target has ${brokers}`
    findings.push(error(topic, problem, `set restore.replication_factor to ${brokers} or less`))
  }
  return findings
}

function judgePartitions(topic: PlannedTopic, there: number): Finding[] {
  const needed = Math.max(0, ...topic.streams.map(({ partition }) => partition + 1))
  if (there >= needed) return []
  const problem = `it has ${there} partitions on the target, and ${needed} are needed`
  return [error(topic, problem, 'add partitions, delete the topic, or map it to another name')]
}

function judgeSettings(topic: PlannedTopic, settings: ReadonlyMap<string, string>): Finding[] {
  const findings: Finding[] = []
  if (settings.get('message.timestamp.type') === 'LogAppendTime') {
    const problem = 'its message.timestamp.type is LogAppendTime: every record would get the time of the restore'
    findings.push(error(topic, problem, 'set it to CreateTime until the restore is done'))
  }
  if (
    settings.get('cleanup.policy')?.includes('compact') &&
    !topic.source.configs['cleanup.policy']?.includes('compact')
  ) {
    const problem = 'it is compacted on the target and was not at the source: records of one key would go'
    findings.push(error(topic, problem, 'set cleanup.policy to delete, or map it to another name'))
  }
  return findings
}

function judgeContent(
  topic: PlannedTopic,
  { existingTopics }: RestoreOptions,
  progress: RestoreProgress | undefined,
  bounds: Awaited<ReturnType<typeof fetchBounds>>,
): Finding[] {
  if (existingTopics === 'append') return []
  const full = topic.streams.filter(({ partition }) => {
    const key = streamKey({ topic: topic.name, partition })
    return !progress?.streams.has(key) && (bounds.get(key)?.highWatermark ?? 0n) > 0n
  })
  if (full.length === 0) return []
  const problem = `it already has records in ${full.length} of its partitions, and not of this restore`
  const remedy = 'delete it, map it to another name (restore.topic_mapping), or set restore.existing_topics: append'
  return [error(topic, problem, remedy)]
}

/** What the retention of the source would delete from the target at once. */
function judgeAges({ topics }: RestorePlan, { retention, topicConfig, nowMs }: ExamineOptions): Finding[] {
  if (retention !== 'fail') return []
  return topics.flatMap(topic => {
    const policy = topicConfig.get('cleanup.policy') ?? topic.source.configs['cleanup.policy'] ?? 'delete'
    const retentionMs = BigInt(topicConfig.get('retention.ms') ?? topic.source.configs['retention.ms'] ?? 604_800_000)
    const newest = topic.streams.reduce<bigint | null>((most, { source: { last_timestamp: at } }) => {
      return at === null || (most !== null && most > at) ? most : at
    }, null)
    if (!policy.includes('delete') || retentionMs < 0n || newest === null || newest < 0n) return []
    const ageMs = BigInt(nowMs) - newest
    if (ageMs <= retentionMs) return []
    const days = ageMs / 86_400_000n
    const problem = `its newest record is ${days} days old; its retention of ${retentionMs} ms would delete all of it at once`
    return [error(topic, problem, 'set restore.retention: hold (keeps everything) or apply (lets it go)')]
  })
}

function error({ name }: PlannedTopic, problem: string, remedy: string): Finding {
  return { severity: 'error', topic: name, problem, remedy }
}
