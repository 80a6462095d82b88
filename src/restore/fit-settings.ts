import { effectiveSetting } from '../archive/effective-settings.ts'
import type { KafkaBackupError } from '../errors.ts'
import type { Cluster } from '../kafka/cluster.ts'
import { alterTopicConfigs, type CreatedTopic, createTopics, type NewTopic } from '../kafka/topic-admin.ts'
import type { EffectiveConfigs } from '../kafka/topic-configs.ts'
import { type Finding, topicError, topicWarning } from '../observe/finding.ts'
import { denied } from './examine-permissions.ts'
import type { PlannedTopic } from './plan.ts'
import { openTimeLimits } from './topic-settings.ts'

const TIMEOUT_MS = 60_000

interface FittedTopics {
  topics: PlannedTopic[]
  findings: Finding[]
}

/**
 * The topics as the target takes them, without creating any. A setting of the source that the target does not take, such
 * as one of another vendor, is left out with a warning; one that the job sets is a blocker.
 */
export async function fitSettings(
  cluster: Cluster,
  topics: readonly PlannedTopic[],
  { overrides, defaults }: { overrides: ReadonlyMap<string, string>; defaults: EffectiveConfigs },
  signal: AbortSignal,
): Promise<FittedTopics> {
  if (topics.length === 0) return { topics: [], findings: [] }
  // Without permission to read broker settings this check is skipped: most records are not from the future.
  const limits = openTimeLimits(defaults.keys())
  const opened = topics.map(topic => ({ ...topic, whileFilling: { ...limits, ...topic.whileFilling } }))
  const atOnce = await validate(cluster, opened.map(newTopic), signal)
  const atLast = await validate(cluster, opened.map(finishedTopic), signal)
  const findings: Finding[] = []
  const fitted = opened.map(topic => {
    const optional = (refused: Refused | undefined) => refused?.settings.filter(name => !overrides.has(name)) ?? []
    const unknown = optional(atOnce.get(topic.name))
    const unfit = optional(atLast.get(topic.name)).filter(name => !unknown.includes(name))
    for (const setting of [...unknown, ...unfit]) findings.push(leftOut(topic, setting))
    return leaveDefault(leaveOut(topic, unknown), unfit)
  })
  const doubtful = fitted.filter(({ name }) => atOnce.has(name) || atLast.has(name))
  const remaining = new Map([
    ...(await validate(cluster, doubtful.map(finishedTopic), signal)),
    ...(await validate(cluster, doubtful.map(newTopic), signal)),
  ])
  for (const [topic, { error }] of remaining) findings.push(refusedTopic(topic, error))
  return { topics: fitted, findings }
}

/**
 * The same for topics that an earlier run or the preparation has created: what the target refuses in the end was left out then,
 * and is left out again.
 */
export async function fitCreated(
  cluster: Cluster,
  topics: readonly PlannedTopic[],
  overrides: ReadonlyMap<string, string>,
  signal: AbortSignal,
): Promise<FittedTopics> {
  const changes = topics.map(({ name, afterwards }) => ({ topic: name, configs: afterwards }))
  const refused = await alterTopicConfigs(cluster, changes, { validateOnly: true }, signal)
  const byName = new Map(refused.map(({ topic, settings }) => [topic, settings]))
  const findings: Finding[] = []
  const fitted = topics.map(topic => {
    const unfit = (byName.get(topic.name) ?? []).filter(name => !overrides.has(name) && topic.afterwards[name] !== null)
    for (const setting of unfit) findings.push(leftOut(topic, setting))
    return leaveDefault(topic, unfit)
  })
  return { topics: fitted, findings }
}

export function newTopic({ name, partitions, replicationFactor, whileFilling }: PlannedTopic): NewTopic {
  return { name, partitions, replication: replicationFactor, configs: whileFilling }
}

/** As it will be in the end: what is wrong with that should not show when all is written. */
function finishedTopic(topic: PlannedTopic): NewTopic {
  const settings = Object.entries({ ...topic.whileFilling, ...topic.afterwards })
  const configs = settings.flatMap(([name, value]) => (value === null ? [] : [[name, value] as const]))
  return { ...newTopic(topic), configs: Object.fromEntries(configs) }
}

type Refused = Extract<CreatedTopic, { outcome: 'refused' }>

async function validate(
  cluster: Cluster,
  topics: readonly NewTopic[],
  signal: AbortSignal,
): Promise<Map<string, Refused>> {
  const answers = await createTopics(cluster, topics, { validateOnly: true, timeoutMs: TIMEOUT_MS }, signal)
  return new Map(answers.flatMap(one => (one.outcome === 'refused' ? [[one.name, one]] : [])))
}

/** What it has while it is filled stays, and the default of the brokers counts in the end. */
function leaveDefault(topic: PlannedTopic, settings: readonly string[]): PlannedTopic {
  return { ...topic, afterwards: { ...topic.afterwards, ...Object.fromEntries(settings.map(name => [name, null])) } }
}

function leaveOut(topic: PlannedTopic, settings: readonly string[]): PlannedTopic {
  const without = <T>(all: Record<string, T>): Record<string, T> =>
    Object.fromEntries(Object.entries(all).filter(([name]) => !settings.includes(name)))
  return { ...topic, whileFilling: without(topic.whileFilling), afterwards: without(topic.afterwards) }
}

function refusedTopic(topic: string, error: KafkaBackupError): Finding {
  if (error.code === 'KAFKA_DENIED') {
    return denied(`topic ${topic}`, 'Create', `grant Create on topic ${topic} or on the cluster, or create it yourself`)
  }
  const remedy = 'correct restore.topic_config, or create the topic yourself'
  return topicError(topic, `the target refuses to create it: ${error.message}`, remedy)
}

function leftOut({ name, source }: PlannedTopic, setting: string): Finding {
  const problem = `the target does not take its setting ${setting}: ${effectiveSetting(source, setting) ?? ''}`
  return topicWarning(name, problem, 'it is left out')
}
