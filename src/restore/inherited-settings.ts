import { decisiveDefaults, effectiveSetting } from '../archive/effective-settings.ts'
import { hasCode } from '../errors.ts'
import type { Cluster } from '../kafka/cluster.ts'
import { tryTopicDefaults } from '../kafka/topic-admin.ts'
import { type EffectiveConfigs, readAnyBrokerConfigs, readHiddenDefaults } from '../kafka/topic-configs.ts'
import { type Finding, topicWarning } from '../observe/finding.ts'
import type { PlannedTopic, RestorePlan } from './plan.ts'
import type { RestoreOptions } from './restore-options.ts'
import { planSettings } from './topic-settings.ts'

type Compare = (source: string, target: string) => 'same' | 'set' | 'leave'

const differs: Compare = (source, target) => (source === target ? 'same' : 'set')
const differsAsList: Compare = (source, target) => (sorted(source) === sorted(target) ? 'same' : 'set')
/** A limit that keeps more than the source did loses nothing: the topic follows the target's default. */
const isLower: Compare = (source, target) => {
  if (source === target) return 'same'
  const limitOf = (text: string) => (Number(text) < 0 ? Number.POSITIVE_INFINITY : Number(text))
  return limitOf(target) < limitOf(source) ? 'set' : 'leave'
}

const compared: Readonly<Record<string, Compare>> = {
  'cleanup.policy': differsAsList,
  'retention.ms': isLower,
  'retention.bytes': isLower,
  'delete.retention.ms': differs,
  'min.compaction.lag.ms': differs,
  'max.compaction.lag.ms': differs,
  'message.timestamp.type': differs,
  'max.message.bytes': isLower,
}

/** Whether a topic with the target's value keeps other records than the source did; `leave` where it keeps more. */
export function compareSetting(name: string, source: string, target: string): ReturnType<Compare> {
  return (compared[name] ?? differs)(source, target)
}

/** With `restore.retention: hold` these stay as they are while the topic is filled. */
const held = new Set(['retention.ms', 'retention.bytes'])

interface Inherited {
  name: string
  value: string
  /** What the topic would get from the brokers of the target; undefined where they do not tell. */
  targetDefault: string | undefined
  verdict: 'set' | 'leave'
}

/** The plan with the settings of `keepInherited`, and the defaults of the target that they were compared with. */
export async function planInherited(
  cluster: Cluster,
  plan: RestorePlan,
  options: RestoreOptions,
  missing: ReadonlySet<string>,
  signal: AbortSignal,
): Promise<{ plan: RestorePlan; defaults: EffectiveConfigs; findingsOf: (topic: string) => readonly Finding[] }> {
  const names = plan.topics.map(({ name }) => name)
  const [newTopic] = names.filter(name => missing.has(name))
  const existing = names.filter(name => !missing.has(name)).slice(0, TOPICS_ASKED)
  const defaults = await readDefaults(cluster, { newTopic, existing }, signal)
  const kept = plan.topics.map(topic => keepInherited(topic, options, defaults))
  const findings = new Map(kept.map(({ topic, findings }) => [topic.name, findings]))
  return {
    plan: { ...plan, topics: kept.map(({ topic }) => topic) },
    defaults,
    findingsOf: topic => findings.get(topic) ?? [],
  }
}

/**
 * Pure. The topic with what it had from the brokers of the source and would not get from those of the target: a topic that
 * was compacted by default stays compacted. Where the target tells none of its defaults, the topic gets all of
 * them; a single one that it does not know counts as Kafka's own.
 */
export function keepInherited(
  topic: PlannedTopic,
  { topicConfig, retention }: Pick<RestoreOptions, 'topicConfig' | 'retention'>,
  defaults: EffectiveConfigs,
): { topic: PlannedTopic; findings: Finding[] } {
  const inherited = listInherited(topic, topicConfig, defaults).filter(
    ({ name }) => retention !== 'hold' || !held.has(name),
  )
  const added = inherited.filter(({ verdict }) => verdict === 'set').map(({ name, value }) => [name, value] as const)
  if (topic.source.effective_configs === undefined) return { topic, findings: [unknownSettings(topic.name)] }
  if (inherited.length === 0) return { topic, findings: [] }
  const settings = planSettings({ ...topic.source.configs, ...Object.fromEntries(added) }, topicConfig, retention)
  return { topic: { ...topic, ...settings }, findings: [describe(topic.name, inherited)] }
}

/** The source did not report them, or the run was of a version that did not store them. */
function unknownSettings(topic: string): Finding {
  const problem = 'the backup does not know the retention and compaction that it had at the source'
  return topicWarning(topic, problem, 'where the topic does not set them, the defaults of the target apply')
}

function listInherited(
  { source }: PlannedTopic,
  overrides: ReadonlyMap<string, string>,
  defaults: EffectiveConfigs,
): Inherited[] {
  return Object.keys(compared).flatMap(name => {
    const value = effectiveSetting(source, name)
    if (value === undefined || name in source.configs || overrides.has(name)) return []
    const targetDefault = defaultOf(defaults, name)
    const here = targetDefault ?? decisiveDefaults[name] ?? ''
    const verdict = defaults.size === 0 ? 'set' : compareSetting(name, value, here)
    return verdict === 'same' ? [] : [{ name, value, targetDefault, verdict }]
  })
}

function describe(topic: string, inherited: readonly Inherited[]): Finding {
  const parts = inherited.map(
    ({ name, value, targetDefault: here = 'unknown' }) => `${name} was ${value}, here ${here}`,
  )
  const isKnown = inherited.every(({ targetDefault }) => targetDefault !== undefined)
  const left = inherited.filter(({ verdict }) => verdict === 'leave').map(({ name }) => name)
  const set = inherited.filter(({ verdict }) => verdict === 'set').map(({ name }) => name)
  const remedy = [
    ...(set.length > 0 ? [`the restore sets ${set.join(', ')} on the topic as at the source`] : []),
    ...(left.length > 0 ? [`${left.join(', ')}: the topic follows the target; restore.topic_config changes that`] : []),
  ]
  const differ = isKnown ? 'differ' : 'cannot be read, and may differ'
  return topicWarning(topic, `the brokers' defaults ${differ} from the source: ${parts.join('; ')}`, remedy.join('; '))
}

function sorted(list: string): string {
  return list
    .split(',')
    .map(one => one.trim())
    .sort()
    .join()
}

/** What a broker calls a topic's setting; the others are the same with `log.` before it. */
const brokerNames: Record<string, string> = {
  'max.message.bytes': 'message.max.bytes',
  'min.insync.replicas': 'min.insync.replicas',
  'compression.type': 'compression.type',
  'delete.retention.ms': 'log.cleaner.delete.retention.ms',
  'min.compaction.lag.ms': 'log.cleaner.min.compaction.lag.ms',
  'max.compaction.lag.ms': 'log.cleaner.max.compaction.lag.ms',
}
const MS_PER_MINUTE = 60_000
const MS_PER_HOUR = 3_600_000

const TIMEOUT_MS = 60_000
const TOPICS_ASKED = 20

/**
 * The settings of a broker. For a user who may not read them, those that a topic would have which the restore is going to
 * create, or that one hides which is there, as all are when a restore continues; empty where these are not told either.
 */
async function readDefaults(
  cluster: Cluster,
  { newTopic, existing }: { newTopic: string | undefined; existing: readonly string[] },
  signal: AbortSignal,
): Promise<EffectiveConfigs> {
  try {
    return await readAnyBrokerConfigs(cluster, signal)
  } catch (error) {
    if (!hasCode(error, 'KAFKA_DENIED')) throw error
    const tried = newTopic === undefined ? undefined : await tryTopicDefaults(cluster, newTopic, TIMEOUT_MS, signal)
    if (!tried) return readHiddenDefaults(cluster, existing, signal)
    return new Map([...tried].map(([name, config]) => [brokerName(name), config]))
  }
}

function brokerName(setting: string): string {
  return brokerNames[setting] ?? `log.${setting}`
}

/** Pure. The default of such a broker for a topic setting; undefined if unknown. */
export function defaultOf(broker: EffectiveConfigs, setting: string): string | undefined {
  if (setting === 'retention.ms') return defaultRetention(broker)
  return broker.get(brokerName(setting))?.value ?? undefined
}

/** The finest unit that is set counts. */
function defaultRetention(broker: EffectiveConfigs): string | undefined {
  const ms = broker.get('log.retention.ms')?.value
  if (ms !== undefined && ms !== null) return ms
  const minutes = broker.get('log.retention.minutes')?.value
  if (minutes !== undefined && minutes !== null) return inMs(minutes, MS_PER_MINUTE)
  const hours = broker.get('log.retention.hours')?.value
  return hours === undefined || hours === null ? undefined : inMs(hours, MS_PER_HOUR)
}

function inMs(text: string, factor: number): string {
  return Number(text) < 0 ? '-1' : String(Number(text) * factor)
}
