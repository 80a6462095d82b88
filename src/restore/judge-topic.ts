import { effectiveSetting, isCompacted } from '../archive/effective-settings.ts'
import { isInternalTopic } from '../archive/scalars.ts'
import type { EffectiveConfigs } from '../kafka/topic-configs.ts'
import { formatDuration } from '../lib/units.ts'
import { type Finding, topicError, topicWarning } from '../observe/finding.ts'
import { compareSetting, defaultOf } from './inherited-settings.ts'
import type { PlannedTopic } from './plan.ts'
import type { RestoreOptions } from './restore-options.ts'
import type { RestoredExtent } from './restored-extent.ts'
import { FORMAT_SETTING, isOldFormatSetting } from './topic-settings.ts'

type Settings = ReadonlyMap<string, string>
/** The value that a setting of the topic has, or will have. */
type Setting = (name: string) => string | undefined

const DAY_MS = 86_400_000n
const DEFAULT_RETENTION_MS = 604_800_000n
const DEFAULT_MAX_MESSAGE_BYTES = 1_048_588

/** The blockers of creating the topic. */
export function judgeMissing(
  topic: PlannedTopic,
  options: { createTopics: boolean },
  { brokers, defaults }: { brokers: number; defaults: EffectiveConfigs },
): Finding[] {
  const findings: Finding[] = []
  if (!options.createTopics) {
    findings.push(topicError(topic.name, 'it does not exist', 'create it, or set restore.create_topics: true'))
  }
  if (topic.replicationFactor > brokers) {
    const problem = `${topic.replicationFactor} copies need as many brokers; the target has ${brokers}`
    findings.push(topicError(topic.name, problem, `set restore.replication_factor to ${brokers} or less`))
  }
  const inSync = topic.whileFilling['min.insync.replicas'] ?? defaultOf(defaults, 'min.insync.replicas')
  const remedy = 'set min.insync.replicas in restore.topic_config, or restore.replication_factor to more copies'
  return [...findings, ...judgeInSync(topic, inSync, topic.replicationFactor, remedy)]
}

function judgeInSync({ name }: PlannedTopic, setting: string | undefined, copies: number, remedy: string): Finding[] {
  const inSync = Number(setting ?? 1)
  if (inSync <= copies) return []
  return [topicError(name, `its min.insync.replicas is ${inSync}, which ${copies} copies never reach`, remedy)]
}

/** Of a topic that is there. */
export function judgePartitions(
  topic: PlannedTopic,
  there: readonly { replicas: readonly number[] }[],
  settings: Settings,
): Finding[] {
  const copies = there.reduce((least, { replicas }) => Math.min(least, replicas.length), Number.POSITIVE_INFINITY)
  const inSync = judgeInSync(
    topic,
    settings.get('min.insync.replicas'),
    there.length === 0 ? 1 : copies,
    'lower min.insync.replicas of the topic, or add replicas',
  )
  const count = there.length
  if (topic.streams.some(({ keyedAmong }) => keyedAmong !== undefined && keyedAmong !== count)) {
    const problem = `it has ${count} partitions on the target, and its keys would be placed among ${topic.partitions}`
    const remedy = `set restore.partition_count.${topic.label} to ${count}, or map it to another name`
    return [topicError(topic.name, problem, remedy), ...inSync]
  }
  const needed = topic.streams.reduce((most, { partition }) => Math.max(most, partition + 1), 0)
  if (count >= needed) return [...judgePlacement(topic, count), ...inSync]
  const problem = `it has ${count} partitions on the target, and ${needed} are needed`
  return [topicError(topic.name, problem, 'add partitions, delete the topic, or map it to another name'), ...inSync]
}

/** Of a topic that the restore does not create: it keeps its settings, so they have to let the records in. */
export function judgeSettings(topic: PlannedTopic, settings: Settings): Finding[] {
  const findings: Finding[] = []
  if (settings.get('message.timestamp.type') === 'LogAppendTime') {
    const problem = 'its message.timestamp.type is LogAppendTime: every record would get the time of the restore'
    findings.push(topicError(topic.name, problem, 'set it to CreateTime until the restore is done'))
  }
  const wasCompacted = isCompacted(topic.source)
  const isCompactedHere = settings.get('cleanup.policy')?.includes('compact')
  if (isCompactedHere && !wasCompacted) {
    const known = wasCompacted === false ? 'was not at the source' : 'the backup does not say that it was at the source'
    const problem = `it is compacted on the target and ${known}: compaction would delete older records of a key`
    findings.push(topicError(topic.name, problem, 'set cleanup.policy to delete, or map it to another name'))
  }
  if (!isCompactedHere && wasCompacted) {
    const problem = 'it was compacted at the source and is not on the target: it keeps all records of a key'
    findings.push(topicWarning(topic.name, problem, 'set its cleanup.policy to compact after the restore'))
  }
  return findings
}

/** Of a topic of the target with this setting, or with this default of the brokers. Kafka 3.0 and later ignore it. */
export function judgeFormat(name: string, setting: string | undefined, brokers: EffectiveConfigs): Finding[] {
  const isOldKafka = /^[012]\./.test(brokers.get('inter.broker.protocol.version')?.value ?? '')
  if (!isOldKafka || setting === undefined || !isOldFormatSetting(FORMAT_SETTING, setting)) return []
  const problem = `its ${FORMAT_SETTING} is ${setting}: the target refuses the batches of a restore, which have format v2`
  return [
    topicError(name, problem, `set ${FORMAT_SETTING} of the topic, or in restore.topic_config, to 0.11.0 or later`),
  ]
}

/**
 * The backup does not know its largest record, but what the source took at most, and that no record is larger than the
 * segment it is in.
 */
export function judgeSize(topic: PlannedTopic, setting: Setting, largestSegment: number | undefined): Finding[] {
  const takes = Number(setting('max.message.bytes') ?? DEFAULT_MAX_MESSAGE_BYTES)
  const took = Number(effectiveSetting(topic.source, 'max.message.bytes') ?? DEFAULT_MAX_MESSAGE_BYTES)
  if (takes >= took || (largestSegment !== undefined && largestSegment <= takes)) return []
  const problem = `it takes batches of ${takes} bytes, and the source took ${took}: a larger record would end the restore`
  return [
    topicWarning(
      topic.name,
      problem,
      'raise its max.message.bytes, by restore.topic_config where the topic does not exist yet',
    ),
  ]
}

/** What is restored, and when. */
type Moment = RestoredExtent & { nowMs: number }

/** Times that the target would refuse. */
export function judgeTimes(topic: PlannedTopic, settings: Settings, { oldest, newest, nowMs }: Moment): Finding[] {
  const now = BigInt(nowMs)
  const either = 'message.timestamp.difference.max.ms'
  const limits = [
    { name: 'message.timestamp.before.max.ms', distance: oldest === null ? 0n : now - oldest },
    { name: 'message.timestamp.after.max.ms', distance: newest === null ? 0n : newest - now },
    { name: either, distance: oldest === null ? 0n : now - oldest },
    { name: either, distance: newest === null ? 0n : newest - now },
  ]
  const exceeded = limits.filter(({ name, distance }) => distance > toBigInt(settings.get(name), distance))
  return [...new Set(exceeded.map(({ name }) => name))].map(name =>
    topicError(topic.name, `its ${name} of ${settings.get(name)} refuses times that the backup holds`, `raise ${name}`),
  )
}

/** In days where there are several: a retention may be shorter than one. */
function formatAge(ms: bigint): string {
  return ms >= 2n * DAY_MS ? `${ms / DAY_MS} days` : formatDuration(Number(ms))
}

/** What retention would delete from the target: all of a topic is a blocker, a part is a warning. */
export function judgeAge(topic: PlannedTopic, setting: Setting, moment: Moment, remedy: string): Finding[] {
  const { oldest, newest, newestOfAll = newest, largestBytes: largest, isFiltered, nowMs } = moment
  if (!(setting('cleanup.policy') ?? 'delete').includes('delete')) return []
  const retentionMs = toBigInt(setting('retention.ms'), DEFAULT_RETENTION_MS)
  const isOver = (time: bigint | null) => time !== null && retentionMs >= 0n && BigInt(nowMs) - time > retentionMs
  const ageOf = (time: bigint | null) => formatAge(BigInt(nowMs) - (time ?? 0n))
  if (isOver(newestOfAll)) {
    const problem = `its newest record is ${ageOf(newestOfAll)} old; its retention of ${retentionMs} ms would delete all of it at once`
    return [topicError(topic.name, problem, remedy)]
  }
  if (isFiltered && isOver(oldest)) {
    const problem = `its oldest record is ${ageOf(oldest)} old; if restore.filter selects such records only, its retention of ${retentionMs} ms would delete all of them at once`
    return [topicError(topic.name, problem, remedy)]
  }
  const findings: Finding[] = []
  if (isOver(oldest)) {
    const problem = `its oldest record is ${ageOf(oldest)} old; its retention of ${retentionMs} ms will delete the older ones soon`
    findings.push(topicWarning(topic.name, problem, remedy))
  }
  const retentionBytes = toBigInt(setting('retention.bytes'), -1n)
  if (retentionBytes >= 0n && BigInt(largest) > retentionBytes) {
    const problem = `a partition has ${largest} bytes; its retention.bytes of ${retentionBytes} will delete the older ones soon`
    findings.push(topicWarning(topic.name, problem, remedy))
  }
  return findings
}

/** The target refuses values that are not numbers. */
function toBigInt(text: string | undefined, otherwise: bigint): bigint {
  return text !== undefined && /^-?\d+$/.test(text) ? BigInt(text) : otherwise
}

/** What of the source an existing topic keeps in another way. Policy, timestamps and sizes have separate findings. */
const TIMESTAMP_TYPE = 'message.timestamp.type'
const POLICY = 'cleanup.policy'
const comparedAlways = ['retention.ms', 'retention.bytes', TIMESTAMP_TYPE]
const comparedWhereCompacted = ['delete.retention.ms', 'min.compaction.lag.ms', 'max.compaction.lag.ms']

/** Brokers take records of these topics from themselves only, and such a topic with other settings harms the cluster. */
export function judgeInternal({ name }: PlannedTopic): Finding[] {
  if (!isInternalTopic(name)) return []
  const problem = 'it belongs to Kafka itself, and brokers refuse records from clients there'
  const groups = 'committed offsets are restored as consumer groups'
  return [topicError(name, problem, `map it to another name (restore.topic_mapping), or leave it out; ${groups}`)]
}

/** Of the number of partitions that the topic has on the target, or is going to have. */
export function judgePlacement(topic: PlannedTopic, count: number): Finding[] {
  const { name, source, streams, partitions } = topic
  if (streams.some(({ keyedAmong }) => keyedAmong !== undefined)) return []
  const held = source.partitions.reduce((most, one) => Math.max(most, one.partition + 1), source.partition_count ?? 0)
  const findings: Finding[] = []
  if (partitions !== count && partitions !== held) {
    const problem = `restore.partition_count asks for ${partitions} partitions, and the topic exists and has ${count}`
    findings.push(topicWarning(name, problem, 'its partitions stay as they are'))
  }
  if (count !== held) {
    const problem =
      `it has ${count} partitions on the target and ${held} at the source: the records keep their partitions, and ` +
      'producers that place records by key write a key to another partition from now on'
    const remedy = `set restore.repartition: by_key, or use a topic with ${held} partitions`
    findings.push(topicWarning(name, problem, remedy))
  }
  return findings
}

/** Of a topic that the restore does not create: it keeps its settings, whatever the source and the job say. */
export function judgeDifferences(
  topic: PlannedTopic,
  settings: Settings,
  { topicConfig }: Pick<RestoreOptions, 'topicConfig'>,
): Finding[] {
  const wasCompacted = isCompacted(topic.source)
  // A topic that is compacted on one side only has another finding.
  const isSameCompaction = wasCompacted === settings.get(POLICY)?.includes('compact')
  const names = [
    ...comparedAlways,
    ...(isSameCompaction ? [POLICY] : []),
    ...(wasCompacted ? comparedWhereCompacted : []),
  ]
  const differing = names.flatMap(name => {
    const [was, here] = [effectiveSetting(topic.source, name), settings.get(name)]
    if (was === undefined || here === undefined || topicConfig.has(name)) return []
    return compareSetting(name, was, here) === 'set' ? [`${name} was ${was}, here ${here}`] : []
  })
  const ignored = listIgnored(topicConfig, settings)
  const keeps = 'the topic exists and keeps its settings'
  const isLate = (one: string) => one.startsWith(TIMESTAMP_TYPE)
  const [late, early] = [differing.filter(isLate), differing.filter(one => !isLate(one))]
  const warn = (some: readonly string[], problem: string, remedy: string) =>
    some.length === 0 ? [] : [topicWarning(topic.name, `${keeps}${problem} ${some.join('; ')}`, remedy)]
  return [
    ...warn(early, ', which differ from the source:', changeBefore),
    ...warn(late, ', which differ from the source:', changeAfter),
    ...warn(ignored, '; restore.topic_config asks for', changeAfter),
  ]
}

/** The settings of the job that the topic does not have. */
function listIgnored(topicConfig: ReadonlyMap<string, string>, settings: Settings): string[] {
  return [...topicConfig].flatMap(([name, value]) => {
    const here = settings.get(name)
    return here === undefined || here === value ? [] : [`${name}: ${value}, here ${here}`]
  })
}

/** Of a topic that an earlier run has created: a setting that is not deferred is given to it at its creation only. */
export function judgeCreated(
  { name, whileFilling }: PlannedTopic,
  settings: Settings,
  { topicConfig }: Pick<RestoreOptions, 'topicConfig'>,
): Finding[] {
  const atCreation = new Map([...topicConfig].filter(([setting, value]) => whileFilling[setting] === value))
  const ignored = listIgnored(atCreation, settings)
  if (ignored.length === 0) return []
  const keeps = 'an earlier run has created it, and it keeps the settings from then'
  const remedy = 'set them on the topic, or delete the topic: the restore then creates and fills it again'
  return [topicWarning(name, `${keeps}; restore.topic_config asks for ${ignored.join('; ')}`, remedy)]
}

/** Of what decides how long records stay: changed later, it comes too late for those that expire meanwhile. */
const changeBefore =
  'change them before the restore, because records can expire while it runs, or delete the topic: the restore then creates it'
const changeAfter = 'change them after the restore, or delete the topic: the restore then creates it'

/** Of records that are added to a compacted topic: the last one of a key counts, whichever is older. */
export function judgeReplacement({ name }: PlannedTopic, settings: Settings, fullPartitions: number): Finding[] {
  if (fullPartitions === 0 || !settings.get('cleanup.policy')?.includes('compact')) return []
  const problem =
    'it is compacted and already contains records: restored records come after them and replace newer values of the same key'
  return [topicWarning(name, problem, 'map it to another name (restore.topic_mapping) to keep the current values')]
}
