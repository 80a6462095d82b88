import { hasCode } from '../errors.ts'
import type { Cluster } from '../kafka/cluster.ts'
import { type CreatedTopic, createTopics, type NewTopic } from '../kafka/create-topics.ts'
import { readBrokerConfigs } from '../kafka/topic-configs.ts'
import type { PlannedTopic } from './plan.ts'
import type { Finding } from './preflight.ts'
import { openTimeLimits } from './topic-settings.ts'

const TIMEOUT_MS = 60_000

export interface FittedTopics {
  topics: PlannedTopic[]
  findings: Finding[]
}

/**
 * The topics as the target takes them, without creating any. A setting of the source that the target does not take, such
 * as one of another vendor, is left out with a warning; one that the job asks for stands in the way.
 */
export async function fitSettings(
  cluster: Cluster,
  topics: readonly PlannedTopic[],
  overrides: ReadonlyMap<string, string>,
  signal: AbortSignal,
): Promise<FittedTopics> {
  if (topics.length === 0) return { topics: [], findings: [] }
  const limits = await readTimeLimits(cluster, signal)
  const opened = topics.map(topic => ({ ...topic, whileFilling: { ...limits, ...topic.whileFilling } }))
  const judged = await validate(cluster, opened, signal)
  const findings: Finding[] = []
  const fitted = opened.map(topic => {
    const refused = judged.get(topic.name)
    const optional = refused?.settings.filter(name => !overrides.has(name)) ?? []
    for (const setting of optional) findings.push(leftOut(topic, setting))
    return leaveOut(topic, optional)
  })
  const remaining = await validate(
    cluster,
    fitted.filter(({ name }) => judged.has(name)),
    signal,
  )
  for (const [topic, { error }] of remaining) {
    const remedy = 'correct restore.topic_config, or create the topic yourself'
    findings.push({ severity: 'error', topic, problem: `the target refuses to create it: ${error.message}`, remedy })
  }
  return { topics: fitted, findings }
}

export function newTopic({ name, partitions, replicationFactor, whileFilling }: PlannedTopic): NewTopic {
  return { name, partitions, replication: replicationFactor, configs: whileFilling }
}

/** Somebody who may not look at the brokers' settings goes without: most records are not from the future. */
async function readTimeLimits(cluster: Cluster, signal: AbortSignal): Promise<Record<string, string>> {
  const { brokers } = await cluster.metadata({ topics: [] }, signal)
  const [broker] = brokers
  if (!broker) return {}
  try {
    return openTimeLimits((await readBrokerConfigs(cluster, broker.id, signal)).keys())
  } catch (error) {
    if (hasCode(error, 'KAFKA_DENIED')) return {}
    throw error
  }
}

type Refused = Extract<CreatedTopic, { outcome: 'refused' }>

async function validate(
  cluster: Cluster,
  topics: readonly PlannedTopic[],
  signal: AbortSignal,
): Promise<Map<string, Refused>> {
  const options = { validateOnly: true, timeoutMs: TIMEOUT_MS }
  const answers = await createTopics(cluster, topics.map(newTopic), options, signal)
  return new Map(answers.flatMap(one => (one.outcome === 'refused' ? [[one.name, one]] : [])))
}

function leaveOut(topic: PlannedTopic, settings: readonly string[]): PlannedTopic {
  const without = <T>(all: Record<string, T>): Record<string, T> =>
    Object.fromEntries(Object.entries(all).filter(([name]) => !settings.includes(name)))
  return { ...topic, whileFilling: without(topic.whileFilling), afterwards: without(topic.afterwards) }
}

function leftOut({ name: topic, source }: PlannedTopic, setting: string): Finding {
  const problem = `the target does not take its setting ${setting}: ${source.configs[setting] ?? ''}`
  return { severity: 'warning', topic, problem, remedy: 'it is left out' }
}
