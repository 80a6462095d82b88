import { isDeepStrictEqual } from 'node:util'
import type { MetadataResponse, MetadataTopic } from '../kafka/api/metadata.ts'
import type { Cluster } from '../kafka/cluster.ts'
import { readFirstKeys } from '../kafka/first-keys.ts'
import { fetchBounds, type PartitionBounds, partitionKey } from '../kafka/offsets.ts'
import { type EffectiveConfigs, readTopicConfigs } from '../kafka/topic-configs.ts'
import { type Finding, topicError } from '../observe/finding.ts'
import { areRegistryKeys, isRegistryTopicName } from '../registry/own-topic.ts'
import { type ExtraPartition, judgeExtra, judgeReplicas, listExtra } from './existing-partitions.ts'
import { defaultOf } from './inherited-settings.ts'
import {
  judgeAge,
  judgeCreated,
  judgeDifferences,
  judgeFormat,
  judgeInternal,
  judgeLostProgress,
  judgeMissing,
  judgePartitions,
  judgePlacement,
  judgeReplacement,
  judgeSettings,
  judgeSize,
  judgeTimes,
} from './judge-topic.ts'
import type { PlannedTopic, RestorePlan } from './plan.ts'
import type { RestoreProgress } from './progress.ts'
import type { RestoreOptions } from './restore-options.ts'
import { nothingRestored, type RestoredExtent } from './restored-extent.ts'
import { isFilledStream } from './shard-plan.ts'
import { FORMAT_SETTING, isHeldBack } from './topic-settings.ts'

export interface Preflight {
  findings: Finding[]
  existing: ReadonlySet<string>
  /** By `topic/partition` of the target: where a topic that is there ends. */
  ends: ReadonlyMap<string, bigint>
}

/** What is known beforehand. */
export interface Circumstances {
  /** All topics and brokers of the target. */
  target: MetadataResponse
  progress: RestoreProgress | undefined
  nowMs: number
  /** Of a broker of the target. */
  defaults: EffectiveConfigs
  /** Topics that the user may not describe. */
  hidden: ReadonlySet<string>
  /** By topic of the target; see `ExaminedArchive`. */
  largestSegments: ReadonlyMap<string, number>
  extents: ReadonlyMap<string, RestoredExtent>
  /** Reads as much of the backup as makes the extent of a topic exact. */
  readExtent: (topic: PlannedTopic, signal: AbortSignal) => Promise<RestoredExtent>
}

/** Reads the target without changing anything, and reports all findings at once. */
export async function examineTarget(
  cluster: Cluster,
  plan: RestorePlan,
  options: RestoreOptions,
  known: Circumstances,
  signal: AbortSignal,
): Promise<Preflight> {
  const { topics, brokers } = known.target
  const shown = new Map(topics.map(topic => [topic.name, topic]))
  const existing = new Set(plan.topics.map(({ name }) => name).filter(name => shown.has(name)))
  const open = plan.topics.filter(({ name }) => existing.has(name) && !known.hidden.has(name))
  const wanted = open
    .flatMap(({ name, streams }) => streams.map(({ partition }) => ({ topic: name, partition })))
    .filter(({ topic, partition }) => shown.get(topic)?.partitions.some(one => one.partition === partition))
  const extra = new Map(
    open.map(topic => [topic.name, listExtra(topic, shown.get(topic.name)?.partitions ?? [], known.progress)]),
  )
  const bounds = await fetchBounds(cluster, [...wanted, ...[...extra.values()].flat()], signal)
  const names = open.map(({ name }) => name)
  const configs = await readTopicConfigs(cluster, names, signal)
  const stores = await findTargetStores(cluster, open, { topics, bounds, configs }, signal)
  const judge = (topic: PlannedTopic, extent: RestoredExtent): Finding[] => {
    const there = shown.get(topic.name)
    if (known.hidden.has(topic.name)) return []
    if (isFilledTopic(topic, known.progress)) {
      return awaitsRetention(topic, configs, options, known.progress)
        ? judgeNewAge(topic, options, { ...known, extent }, valuesOf(configs.get(topic.name) ?? new Map()))
        : []
    }
    const internal = judgeInternal(topic)
    if (internal.length > 0) return internal
    if (!there) {
      return [
        ...judgeTwoWays(topic, options),
        ...judgePlacement(topic, topic.partitions),
        ...judgeMissing(topic, options, { brokers: brokers.length, defaults: known.defaults }),
        ...judgeNew(topic, options, { ...known, extent }),
      ]
    }
    const effective = configs.get(topic.name) ?? new Map()
    const isFull = listForeign(topic, known.progress, bounds).length > 0
    if (isFull && stores.has(topic.name)) return [refuseStore(topic)]
    return [
      ...judgeTwoWays(topic, options),
      ...judgePartitions(topic, there.partitions, valuesOf(effective)),
      ...judgeReplicas(topic, there.partitions, options),
      ...judgeExisting(topic, effective, options, { ...known, extent }),
      ...judgeContent(topic, effective, options, known.progress, { bounds, extra: extra.get(topic.name) ?? [] }),
    ]
  }
  const findings: Finding[] = []
  for (const topic of plan.topics) {
    const found = awaitsRetention(topic, configs, options, known.progress)
      ? judge(topic, await known.readExtent(topic, signal))
      : await judgeExactly(topic, judge, known, signal)
    findings.push(...found)
  }
  const ends = new Map([...bounds].map(([key, { highWatermark }]) => [key, highWatermark]))
  return { findings, existing, ends }
}

/** The times of a topic are read in the backup only where what is found depends on them: that may be most of its segments. */
async function judgeExactly(
  topic: PlannedTopic,
  judge: (topic: PlannedTopic, extent: RestoredExtent) => Finding[],
  { extents, readExtent, nowMs }: Circumstances,
  signal: AbortSignal,
): Promise<Finding[]> {
  const extent = extents.get(topic.name) ?? nothingRestored
  const findings = judge(topic, extent)
  const { newestLeast, isPart } = extent
  const others = [
    ...(newestLeast === undefined ? [] : [{ ...extent, newest: newestLeast }]),
    // Other partitions may have newer records.
    ...(isPart ? [{ ...extent, newestOfAll: BigInt(nowMs) }] : []),
  ]
  const isSame = others.every(other => isDeepStrictEqual(findings, judge(topic, other)))
  return isSame ? findings : judge(topic, await readExtent(topic, signal))
}

type TopicCircumstances = Circumstances & { extent: RestoredExtent }

/** It has all its records, and maybe its settings and its users already. */
function isFilledTopic({ name, streams }: PlannedTopic, progress: RestoreProgress | undefined): boolean {
  const noted = streams.map(({ partition }) => progress?.streams.get(partitionKey({ topic: name, partition })))
  return progress !== undefined && noted.every(one => one?.isFilled)
}

/** It has its records, and not yet the retention that could delete all of them at once: time may have passed since they were written. */
function awaitsRetention(
  { name, streams }: PlannedTopic,
  configs: ReadonlyMap<string, EffectiveConfigs>,
  { retention }: RestoreOptions,
  progress: RestoreProgress | undefined,
): boolean {
  const noted = streams.map(({ partition }) => progress?.streams.get(partitionKey({ topic: name, partition })))
  const isOpen = noted.every(isFilledStream) && noted.some(one => !one?.isDone)
  return retention === 'fail' && isOpen && isBeingFilled(configs.get(name) ?? new Map())
}

/** One that an earlier run has created, and not noted before it died, is like a new one. */
function judgeExisting(
  topic: PlannedTopic,
  configs: EffectiveConfigs,
  options: RestoreOptions,
  known: TopicCircumstances,
): Finding[] {
  const settings = valuesOf(configs)
  if (isBeingFilled(configs)) {
    return [...judgeNew(topic, options, known, settings), ...judgeCreated(topic, settings, options)]
  }
  const moment = { ...known.extent, nowMs: known.nowMs }
  const remedy = 'raise its retention, or set restore.retention: apply (lets them go)'
  const setting = (name: string) => settings.get(name)
  return [
    ...judgeSettings(topic, settings),
    ...judgeFormat(topic.name, settings.get(FORMAT_SETTING), known.defaults),
    ...judgeDifferences(topic, settings, options),
    ...judgeSize(topic, setting, known.largestSegments.get(topic.name)),
    ...judgeTimes(topic, settings, moment),
    ...(options.retention === 'apply' ? [] : judgeAge(topic, setting, moment, remedy)),
  ]
}

/** It has the settings that a restore gives to a topic while it fills it. */
function isBeingFilled(configs: EffectiveConfigs): boolean {
  const own = new Map([...configs].filter(([, { source }]) => source === 'topic'))
  return isHeldBack(Object.fromEntries(valuesOf(own)))
}

function valuesOf(configs: EffectiveConfigs): Map<string, string> {
  return new Map([...configs].map(([name, { value }]) => [name, value ?? '']))
}

/** Of one that the restore makes: the settings that it gets in the end, or has where it is there already. */
function judgeNew(
  topic: PlannedTopic,
  options: RestoreOptions,
  known: TopicCircumstances,
  current: ReadonlyMap<string, string> = new Map(),
): Finding[] {
  const setting = finalSettings(topic, known, current)
  return [
    ...judgeFormat(topic.name, setting(FORMAT_SETTING), known.defaults),
    ...judgeSize(topic, setting, known.largestSegments.get(topic.name)),
    ...judgeNewAge(topic, options, known, current),
  ]
}

function judgeNewAge(
  topic: PlannedTopic,
  { retention }: RestoreOptions,
  known: TopicCircumstances,
  current: ReadonlyMap<string, string>,
): Finding[] {
  if (retention !== 'fail') return []
  const remedy = 'set restore.retention: hold (keeps everything) or apply (lets them go)'
  const moment = { ...known.extent, nowMs: known.nowMs }
  return judgeAge(topic, finalSettings(topic, known, current), moment, remedy)
}

function finalSettings(
  topic: PlannedTopic,
  { defaults }: Pick<TopicCircumstances, 'defaults'>,
  current: ReadonlyMap<string, string>,
): (name: string) => string | undefined {
  const final = { ...topic.whileFilling, ...Object.fromEntries(current), ...topic.afterwards }
  return name => final[name] ?? defaultOf(defaults, name)
}

function judgeContent(
  topic: PlannedTopic,
  configs: EffectiveConfigs,
  { existingTopics }: RestoreOptions,
  progress: RestoreProgress | undefined,
  { bounds, extra }: { bounds: ReadonlyMap<string, PartitionBounds>; extra: readonly ExtraPartition[] },
): Finding[] {
  const full = listForeign(topic, progress, bounds)
  if (full.length > 0 && progress) return [judgeLostProgress(topic, full, 'partly')]
  if (existingTopics === 'append') {
    if (full.length > 0 && isBeingFilled(configs)) return [judgeLostProgress(topic, full, 'wholly')]
    return judgeReplacement(topic, valuesOf(configs), full.length)
  }
  const remedy = 'delete it, map it to another name (restore.topic_mapping), or set restore.existing_topics: append'
  if (full.length === 0) return judgeExtra(topic, extra, bounds, remedy)
  const where = full.length === 1 ? '1 partition' : `${full.length} partitions`
  const problem = `it already contains records that this restore did not write (${where})`
  return [topicError(topic.name, problem, remedy)]
}

/** The partitions that have records of others. */
function listForeign(
  { name, streams }: PlannedTopic,
  progress: RestoreProgress | undefined,
  bounds: ReadonlyMap<string, PartitionBounds>,
): PlannedTopic['streams'] {
  return streams.filter(({ partition }) => {
    const key = partitionKey({ topic: name, partition })
    const { highWatermark, logStart } = bounds.get(key) ?? { highWatermark: 0n, logStart: 0n }
    return !progress?.streams.has(key) && highWatermark > logStart
  })
}

/** What is known of the topics of the target. */
interface ShownTarget {
  topics: readonly MetadataTopic[]
  bounds: ReadonlyMap<string, PartitionBounds>
  configs: ReadonlyMap<string, EffectiveConfigs>
}

/** Names of topics on the target that a schema registry lives in: by their names, or compacted with one partition and its keys. */
async function findTargetStores(
  cluster: Cluster,
  planned: readonly PlannedTopic[],
  { topics, bounds, configs }: ShownTarget,
  signal: AbortSignal,
): Promise<Set<string>> {
  const names = new Set(planned.map(({ name }) => name))
  const candidates = topics.flatMap(({ name, id, partitions: [first, ...others] }) => {
    const isCompacted = configs.get(name)?.get('cleanup.policy')?.value?.includes('compact') ?? false
    if (!names.has(name) || !first || first.leader < 0 || others.length > 0 || !isCompacted) return []
    const { logStart, highWatermark } = bounds.get(partitionKey({ topic: name, partition: 0 })) ?? NOTHING
    if (highWatermark <= logStart || isRegistryTopicName(name)) return []
    return [{ topic: name, topicId: id, partition: first.partition, leader: first.leader, offset: logStart }]
  })
  const keys = await readFirstKeys(cluster, candidates, signal)
  const byKeys = candidates.filter(({ topicId }) => areRegistryKeys(keys.get(topicId) ?? []))
  return new Set([...[...names].filter(isRegistryTopicName), ...byKeys.map(({ topic }) => topic)])
}

const NOTHING = { logStart: 0n, highWatermark: 0n }

/** Pure. A topic of a registry that has records is in use: neither deleting it nor appending to it leaves that registry intact. */
function refuseStore({ name, label }: PlannedTopic): Finding {
  const problem = 'a schema registry of the target stores its data there, and more records would corrupt it'
  const remedy =
    `leave ${label} out of restore.topics.include and restore its schemas with enterprise.schema_registry, or map it to ` +
    'another name (restore.topic_mapping)'
  return topicError(name, problem, remedy)
}

/** Pure. Schemas that are registered through a registry arrive in its topic, too: restored there as well, they would be mixed. */
function judgeTwoWays(topic: PlannedTopic, { restoresSchemas }: Pick<RestoreOptions, 'restoresSchemas'>): Finding[] {
  const { name, label, source, isRegistryStore } = topic
  if (!restoresSchemas || !isRegistryStore || name !== source.name) return []
  const problem =
    'a schema registry stored its schemas there, and this job registers the same schemas through a registry'
  const remedy =
    `leave ${label} out of restore.topics.include, map it to another name (restore.topic_mapping), or set ` +
    'enterprise.schema_registry.restore.enabled: false'
  return [topicError(name, problem, remedy)]
}
