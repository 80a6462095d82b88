import { hasCode, KafkaBackupError } from '../errors.ts'
import { type CreateTopicsResponse, createTopicsApi, type NewTopic } from './api/create-topics.ts'
import { brokerError } from './broker-errors.ts'
import type { Cluster } from './cluster.ts'
import { callController } from './controller.ts'
import { findRefusedSettings, isAboutSettings, type RefusedSettings } from './refused-settings.ts'
import { type EffectiveConfigs, toEffective } from './topic-configs.ts'

export type { NewTopic } from './api/create-topics.ts'

export type CreatedTopic =
  | { name: string; outcome: 'created'; topicId: string }
  /** `isMaybeOurs`: an earlier try of the same call got no answer, and may be the one that created it. */
  | { name: string; outcome: 'exists'; isMaybeOurs: boolean }
  /** No setting is named where something else is at fault. */
  | ({ name: string; outcome: 'refused' } & RefusedSettings)

export interface CreateTopicsOptions {
  /** Checks everything and creates nothing. */
  validateOnly?: boolean
  /** How long the controller may take until all brokers know the topics. */
  timeoutMs: number
}

const REQUEST_TIMED_OUT = 7
const TOPIC_ALREADY_EXISTS = 36
/** A KRaft controller takes at most 10,000 records an operation: one for each topic, partition and setting. */
const RECORDS_PER_REQUEST = 2000

/** What became of each topic, in their order: one that is refused does not keep the others from being created. */
export async function createTopics(
  cluster: Cluster,
  topics: readonly NewTopic[],
  options: CreateTopicsOptions,
  signal: AbortSignal,
): Promise<CreatedTopic[]> {
  const created: CreatedTopic[] = []
  for (const some of splitTopics(topics, RECORDS_PER_REQUEST)) {
    const answers = await askUntilFinal(cluster, some, options, signal)
    for (const topic of some) {
      const answer = answers.get(topic.name)
      if (answer) created.push(await judgeAnswer(cluster, topic, answer, options, signal))
    }
  }
  return created
}

/**
 * The settings that a new topic of this name would have, by a trial that creates nothing. Undefined where the controller does
 * not tell them. They are those of the controllers, which a broker's own file may contradict.
 */
export async function tryTopicDefaults(
  cluster: Cluster,
  name: string,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<EffectiveConfigs | undefined> {
  const trial = { name, partitions: 1, replication: -1, configs: {} }
  const answer = (await askUntilFinal(cluster, [trial], { validateOnly: true, timeoutMs }, signal)).get(name)
  return answer === undefined || answer.configs.length === 0 ? undefined : toEffective(answer.configs)
}

/** Runs of topics that one request can hold, each at least one topic long. */
export function splitTopics(topics: readonly NewTopic[], maxRecords: number): NewTopic[][] {
  const runs: NewTopic[][] = []
  let room = 0
  for (const topic of topics) {
    const records = 1 + topic.partitions + Object.keys(topic.configs).length
    if (runs.length === 0 || records > room) {
      runs.push([])
      room = maxRecords
    }
    runs.at(-1)?.push(topic)
    room -= records
  }
  return runs
}

type TopicAnswer = CreateTopicsResponse['topics'][number] & { isMaybeOurs: boolean }

/** The final answer for each topic; those that a passing fault hit are tried again. */
async function askUntilFinal(
  cluster: Cluster,
  topics: readonly NewTopic[],
  { timeoutMs, validateOnly = false }: CreateTopicsOptions,
  signal: AbortSignal,
): Promise<Map<string, TopicAnswer>> {
  const answers = new Map<string, TopicAnswer>()
  const unanswered = new Set<string>()
  let rest = [...topics]
  await cluster.settling(async () => {
    const request = { topics: rest, timeoutMs, validateOnly }
    const answer = await callController(cluster, createTopicsApi, request, timeoutMs, signal).catch(error => {
      if (hasCode(error, 'KAFKA_DISCONNECTED', 'KAFKA_TIMEOUT')) for (const { name } of rest) unanswered.add(name)
      throw error
    })
    const passing: KafkaBackupError[] = []
    for (const topic of answer.topics) {
      const error = topic.errorCode === 0 ? undefined : creationError(topic)
      if (error?.retryable) passing.push(error)
      else answers.set(topic.name, { ...topic, isMaybeOurs: unanswered.has(topic.name) })
      if (topic.errorCode === REQUEST_TIMED_OUT) unanswered.add(topic.name)
    }
    rest = rest.filter(({ name }) => !answers.has(name))
    if (rest[0] === undefined) return
    if (answer.throttleMs > 0) await cluster.clock.sleep(answer.throttleMs, signal)
    throw passing[0] ?? new KafkaBackupError('KAFKA_PROTOCOL', `the broker did not say what became of ${rest[0].name}`)
  }, signal)
  return answers
}

function creationError({ name, errorCode, errorMessage }: CreateTopicsResponse['topics'][number]): KafkaBackupError {
  return brokerError(errorCode, `creating topic ${name}`, errorMessage)
}

async function judgeAnswer(
  cluster: Cluster,
  { name, configs }: NewTopic,
  answer: TopicAnswer,
  options: CreateTopicsOptions,
  signal: AbortSignal,
): Promise<CreatedTopic> {
  if (answer.errorCode === 0) return { name, outcome: 'created', topicId: answer.id }
  if (answer.errorCode === TOPIC_ALREADY_EXISTS) return { name, outcome: 'exists', isMaybeOurs: answer.isMaybeOurs }
  const askAlone = async (key: string, value: string | null) => {
    const alone = { name, partitions: 1, replication: -1, configs: { [key]: value ?? '' } }
    return (await askUntilFinal(cluster, [alone], { ...options, validateOnly: true }, signal)).get(name)
  }
  const refused = isAboutSettings(answer) ? await findRefusedSettings(name, configs, askAlone) : undefined
  return { name, outcome: 'refused', ...(refused ?? { settings: [], error: creationError(answer) }) }
}
