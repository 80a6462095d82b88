import type { Cluster } from '../kafka/cluster.ts'
import { fetchBounds } from '../kafka/offsets.ts'
import { type EffectiveConfigs, readTopicConfigs } from '../kafka/topic-configs.ts'
import { error, judgeAge, judgeMissing, judgePartitions, judgeSettings, judgeTimes } from './judge-topic.ts'
import type { RestoreOptions } from './options.ts'
import type { PlannedTopic, RestorePlan } from './plan.ts'
import { type RestoreProgress, streamKey } from './progress.ts'
import { isHeldBack } from './topic-settings.ts'

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
    if (isFilledTopic(topic, progress)) return []
    if (!there) return [...judgeMissing(topic, options, brokers.length), ...judgeNewAge(topic, options)]
    return [
      ...judgePartitions(topic, there.partitions.length),
      ...judgeExisting(topic, configs.get(topic.name) ?? new Map(), options),
      ...judgeContent(topic, options, progress, bounds),
    ]
  })
  const ends = new Map([...bounds].map(([key, { highWatermark }]) => [key, highWatermark]))
  return { findings, existing, ends }
}

/** It has all its records, and maybe its settings and its users already. */
function isFilledTopic({ name, streams }: PlannedTopic, progress: RestoreProgress | undefined): boolean {
  const noted = streams.map(({ partition }) => progress?.streams.get(streamKey({ topic: name, partition })))
  return progress !== undefined && noted.every(one => one?.isFilled)
}

/** One that an earlier run has created, and not noted before it died, is like a new one. */
function judgeExisting(topic: PlannedTopic, configs: EffectiveConfigs, options: ExamineOptions): Finding[] {
  const own = [...configs]
    .filter(([, { source }]) => source === 'topic')
    .map(([name, { value }]) => [name, value ?? ''])
  if (isHeldBack(Object.fromEntries(own))) return judgeNewAge(topic, options)
  const settings = new Map([...configs].map(([name, { value }]) => [name, value ?? '']))
  const remedy = 'raise its retention.ms, or set restore.retention: apply (lets it go)'
  return [
    ...judgeSettings(topic, settings),
    ...judgeTimes(topic, settings, options.nowMs),
    ...(options.retention === 'apply' ? [] : judgeAge(topic, name => settings.get(name), options.nowMs, remedy)),
  ]
}

function judgeNewAge(topic: PlannedTopic, { retention, topicConfig, nowMs }: ExamineOptions): Finding[] {
  if (retention !== 'fail') return []
  const setting = (name: string) => topicConfig.get(name) ?? topic.source.configs[name]
  return judgeAge(topic, setting, nowMs, 'set restore.retention: hold (keeps everything) or apply (lets it go)')
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
    const { highWatermark, logStart } = bounds.get(key) ?? { highWatermark: 0n, logStart: 0n }
    return !progress?.streams.has(key) && highWatermark > logStart
  })
  if (full.length === 0) return []
  const problem = `it already has records in ${full.length} of its partitions, and not of this restore`
  const remedy = 'delete it, map it to another name (restore.topic_mapping), or set restore.existing_topics: append'
  return [error(topic, problem, remedy)]
}
