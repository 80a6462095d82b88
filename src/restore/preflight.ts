import { isDeepStrictEqual } from 'node:util'
import type { MetadataResponse, MetadataTopic } from '../kafka/api/metadata.ts'
import type { Cluster } from '../kafka/cluster.ts'
import { readFirstKeys } from '../kafka/first-keys.ts'
import { fetchKnowableBounds, type PartitionBounds, partitionKey } from '../kafka/offsets.ts'
import { type EffectiveConfigs, readTopicConfigs } from '../kafka/topic-configs.ts'
import { type Finding, topicError } from '../observe/finding.ts'
import { areRegistryKeys, isRegistryTopicName } from '../registry/own-topic.ts'
import { type ExtraPartition, judgeExtra, judgeLeaders, judgeReplicas, listExtra } from './existing-partitions.ts'
import { judgeLostProgress } from './judge-progress.ts'
import { awaitsRetention, isBeingFilled, judgeExisting, judgeNew, judgeNewAge, valuesOf } from './judge-settings.ts'
import { judgeInternal, judgeMissing, judgePartitions, judgePlacement, judgeReplacement } from './judge-topic.ts'
import type { PlannedTopic, RestorePlan } from './plan.ts'
import type { RestoreProgress } from './progress.ts'
import type { RestoreOptions } from './restore-options.ts'
import { nothingRestored, type RestoredExtent } from './restored-extent.ts'

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
  const there = plan.topics.filter(({ name }) => shown.has(name))
  const open = there.filter(({ name }) => !known.hidden.has(name))
  const unfilled = open.filter(topic => !isFilledTopic(topic, known.progress))
  const extra = new Map(unfilled.map(topic => [topic.name, listExtra(topic, shown.get(topic.name)?.partitions ?? [])]))
  const asked = [...listFilled(open, shown), ...[...extra.values()].flat()]
  const { bounds, leaderless } = await fetchKnowableBounds(cluster, asked, signal)
  const configs = await readTopicConfigs(cluster, namesOf(open), signal)
  const stores = await findTargetStores(cluster, open, { topics, bounds, configs }, signal)
  const judge = (topic: PlannedTopic, extent: RestoredExtent): Finding[] => {
    if (known.hidden.has(topic.name)) return []
    const effective = configs.get(topic.name) ?? new Map()
    const isFilled = isFilledTopic(topic, known.progress)
    if (isFilled) return isLate(topic) ? judgeNewAge(topic, options, { ...known, extent }, valuesOf(effective)) : []
    const internal = judgeInternal(topic)
    if (internal.length > 0) return internal
    const found = shown.get(topic.name)
    if (!found) {
      return [
        ...judgeTwoWays(topic, options),
        ...judgePlacement(topic, topic.partitions),
        ...judgeMissing(topic, options, { brokers: brokers.length, defaults: known.defaults }),
        ...judgeNew(topic, options, { ...known, extent }),
      ]
    }
    const isFull = listForeign(topic, known.progress, bounds).length > 0
    if (isFull && stores.has(topic.name)) return [refuseStore(topic)]
    return [
      ...judgeTwoWays(topic, options),
      ...judgePartitions(topic, found.partitions, valuesOf(effective)),
      ...judgeReplicas(topic, found.partitions, options),
      ...judgeExisting(topic, effective, options, { ...known, extent }),
      ...judgeContent(topic, effective, options, known.progress, { bounds, extra: extra.get(topic.name) ?? [] }),
    ]
  }
  const isLate = (topic: PlannedTopic) => awaitsRetention(topic, configs.get(topic.name), options, known.progress)
  const findings = await judgeExactly(plan.topics, { judge, isLate }, known, signal)
  const unled = judgeLeaders(plan.topics, shown, leaderless)
  return { findings: [...unled, ...findings], existing: new Set(namesOf(there)), ends: endsOf(bounds) }
}

/** The partitions that the restore fills, as far as they are there. */
function listFilled(planned: readonly PlannedTopic[], shown: ReadonlyMap<string, MetadataTopic>) {
  return planned
    .flatMap(({ name, streams }) => streams.map(({ partition }) => ({ topic: name, partition })))
    .filter(({ topic, partition }) => shown.get(topic)?.partitions.some(one => one.partition === partition))
}

function endsOf(bounds: ReadonlyMap<string, PartitionBounds>): Map<string, bigint> {
  return new Map([...bounds].map(([key, { highWatermark }]) => [key, highWatermark]))
}

function namesOf(topics: readonly PlannedTopic[]): string[] {
  return topics.map(({ name }) => name)
}

/** The times of a topic are read in the backup only where what is found depends on them: that may be most of its segments. */
async function judgeExactly(
  topics: readonly PlannedTopic[],
  { judge, isLate }: { judge: JudgeTopic; isLate: (topic: PlannedTopic) => boolean },
  { extents, readExtent, nowMs }: Circumstances,
  signal: AbortSignal,
): Promise<Finding[]> {
  const findings: Finding[] = []
  for (const topic of topics) {
    // One that nothing is left to read of may have been filled by earlier runs.
    const extent = extents.get(topic.name) ?? { ...nothingRestored, isPart: true }
    const found = judge(topic, extent)
    const isSure = extentsLike(extent, nowMs).every(other => isDeepStrictEqual(found, judge(topic, other)))
    findings.push(...(isSure && !isLate(topic) ? found : judge(topic, await readExtent(topic, signal))))
  }
  return findings
}

type JudgeTopic = (topic: PlannedTopic, extent: RestoredExtent) => Finding[]

/** What it may be, too, as far as is known without reading more. */
function extentsLike(extent: RestoredExtent, nowMs: number): RestoredExtent[] {
  const { newest, newestLeast, isPart } = extent
  return [
    ...(newestLeast === undefined ? [] : [{ ...extent, newest: newestLeast }]),
    // Other partitions may have newer records, or the only ones.
    ...(isPart ? [{ ...extent, newestOfAll: BigInt(nowMs) }] : []),
    ...(isPart && newest === null ? [{ ...extent, newestOfAll: 0n }] : []),
  ]
}

/** It has all its records, and maybe its settings and its users already. */
function isFilledTopic({ name, streams }: PlannedTopic, progress: RestoreProgress | undefined): boolean {
  const noted = streams.map(({ partition }) => progress?.streams.get(partitionKey({ topic: name, partition })))
  return progress !== undefined && noted.every(one => one?.isFilled)
}

function judgeContent(
  topic: PlannedTopic,
  configs: EffectiveConfigs,
  { existingTopics }: RestoreOptions,
  progress: RestoreProgress | undefined,
  { bounds, extra }: { bounds: ReadonlyMap<string, PartitionBounds>; extra: readonly ExtraPartition[] },
): Finding[] {
  const full = listForeign(topic, progress, bounds)
  const isOurs = isBeingFilled(configs)
  const mayHoldOthers = existingTopics === 'append' && !isOurs
  if (full.length > 0 && progress) return [judgeLostProgress(topic, full, 'partly', mayHoldOthers)]
  if (existingTopics === 'append') {
    if (full.length > 0 && isOurs) return [judgeLostProgress(topic, full, 'wholly', false)]
    return judgeReplacement(topic, valuesOf(configs), full.length)
  }
  const remedy = 'delete it, map it to another name (restore.topic_mapping), or set restore.existing_topics: append'
  if (full.length === 0) return judgeExtra(topic, extra, { bounds, progress }, remedy)
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
