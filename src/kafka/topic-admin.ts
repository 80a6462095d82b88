import { hasCode, KafkaBackupError } from '../errors.ts'
import { type CreateTopicsResponse, createTopicsApi, type NewTopic } from './api/create-topics.ts'
import {
  type AlterConfigsRequest,
  type AlterConfigsResponse,
  alterConfigs,
  type ConfigChange,
  incrementalAlterConfigs,
} from './api/topic-configs.ts'
import { brokerError } from './broker-errors.ts'
import { type Cluster, callController } from './cluster.ts'
import { throttleWaitMs } from './throttle.ts'
import { type EffectiveConfigs, toEffective } from './topic-configs.ts'

export type { NewTopic } from './api/create-topics.ts'

export type CreatedTopic =
  /** The ID is undefined where the broker does not tell it here. */
  | { name: string; outcome: 'created'; topicId: string | undefined }
  /** `isMaybeOurs`: an earlier try of the same call got no answer, and may be the one that created it. */
  | { name: string; outcome: 'exists'; isMaybeOurs: boolean }
  /** No setting is named where something else is at fault. */
  | ({ name: string; outcome: 'refused' } & RefusedSettings)

interface CreateTopicsOptions {
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
    if (answer.throttleMs > 0) await cluster.clock.sleep(throttleWaitMs(answer.throttleMs), signal)
    throw passing[0] ?? new KafkaBackupError('KAFKA_PROTOCOL', `the broker did not say what became of ${rest[0].name}`)
  }, signal)
  return answers
}

function creationError({ name, errorCode, errorMessage }: CreateTopicsResponse['topics'][number]): KafkaBackupError {
  return brokerError(errorCode, `creating topic ${name}`, errorMessage, { topic: name })
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

/** Settings to put on a topic; null takes one off, so that the broker's default counts again. */
interface TopicChange {
  topic: string
  configs: Readonly<Record<string, string | null>>
}

/** Nothing of this topic was changed. No setting is named where the broker refuses the topic as a whole. */
export interface RefusedChange extends RefusedSettings {
  topic: string
}

interface AlterTopicsOptions {
  /** Checks everything and changes nothing. */
  validateOnly?: boolean
}

type AlteredTopic = AlterConfigsResponse['topics'][number]

const TOPICS_PER_REQUEST = 100

/**
 * Changes all topics and returns those that the target refuses, with every setting that is at fault. The controller has
 * taken the changes then; a broker may act on the old settings for a moment longer.
 */
export async function alterTopicConfigs(
  cluster: Cluster,
  changes: readonly TopicChange[],
  options: AlterTopicsOptions,
  signal: AbortSignal,
): Promise<RefusedChange[]> {
  const refused: RefusedChange[] = []
  const wanted = changes.filter(({ configs }) => Object.keys(configs).length > 0)
  for (let start = 0; start < wanted.length; start += TOPICS_PER_REQUEST) {
    const some = wanted.slice(start, start + TOPICS_PER_REQUEST)
    const answers = await alter(cluster, some, options.validateOnly ?? false, signal)
    for (const change of some) {
      const answer = answers.get(change.topic)
      if (answer && answer.errorCode !== 0) refused.push(await explainRefusal(cluster, change, answer, signal))
    }
  }
  return refused
}

/** The final answer for each topic; those that a passing fault hit are tried again. */
async function alter(
  cluster: Cluster,
  changes: readonly TopicChange[],
  validateOnly: boolean,
  signal: AbortSignal,
): Promise<Map<string, AlteredTopic>> {
  const answers = new Map<string, AlteredTopic>()
  let rest = changes.map(({ topic, configs }) => ({ name: topic, changes: changesOf(configs) }))
  await cluster.settling(async () => {
    const answer = await askToAlter(cluster, { topics: rest, validateOnly }, signal)
    const passing: KafkaBackupError[] = []
    for (const topic of answer.topics) {
      const error = alterError(topic)
      if (error?.retryable) passing.push(error)
      else answers.set(topic.name, topic)
    }
    rest = rest.filter(({ name }) => !answers.has(name))
    if (rest[0] === undefined) return
    throw (
      passing[0] ?? new KafkaBackupError('KAFKA_PROTOCOL', `the broker did not say whether it changed ${rest[0].name}`)
    )
  }, signal)
  return answers
}

/** Brokers before 2.3 replace all settings of a topic at once: those that stay are read first. */
async function askToAlter(
  cluster: Cluster,
  request: AlterConfigsRequest,
  signal: AbortSignal,
): Promise<AlterConfigsResponse> {
  const { controllerId } = await cluster.metadata({ topics: [] }, signal)
  const link = await cluster.link(controllerId, signal)
  if (link.speaks(incrementalAlterConfigs)) return link.call(incrementalAlterConfigs, request, signal)
  const names = request.topics.map(({ name }) => name)
  const own = await cluster.topicConfigs(names, signal)
  const topics = request.topics.map(({ name, changes }) => ({ name, configs: applied(name, own.get(name), changes) }))
  return link.call(alterConfigs, { topics, validateOnly: request.validateOnly }, signal)
}

/** Settings that are not known would be taken off the topic. */
function applied(topic: string, own: Record<string, string> | undefined, changes: readonly ConfigChange[]) {
  if (!own) throw new KafkaBackupError('KAFKA_PROTOCOL', `the broker did not say which settings topic ${topic} has`)
  const configs = new Map(Object.entries(own))
  for (const { name, value } of changes) {
    if (value === null) configs.delete(name)
    else configs.set(name, value)
  }
  return Object.fromEntries(configs)
}

function changesOf(configs: TopicChange['configs']): ConfigChange[] {
  return Object.entries(configs).map(([name, value]) => ({ name, value }))
}

function alterError({ name, errorCode, errorMessage }: AlteredTopic): KafkaBackupError | undefined {
  return errorCode === 0
    ? undefined
    : brokerError(errorCode, `configuring topic ${name}`, errorMessage, { topic: name })
}

async function explainRefusal(
  cluster: Cluster,
  { topic, configs }: TopicChange,
  answer: AlteredTopic,
  signal: AbortSignal,
): Promise<RefusedChange> {
  const askAlone = async (name: string, value: string | null) =>
    (await alter(cluster, [{ topic, configs: { [name]: value } }], true, signal)).get(topic)
  const refused = isAboutSettings(answer) ? await findRefusedSettings(topic, configs, askAlone) : undefined
  const error = brokerError(answer.errorCode, `configuring topic ${topic}`, answer.errorMessage, { topic })
  return { topic, ...(refused ?? { settings: [], error }) }
}

/** What a broker says to a topic and its settings. */
interface SettingsAnswer {
  errorCode: number
  errorMessage: string | null
}

interface RefusedSettings {
  settings: string[]
  /** Names the topic and the settings, with what the broker said to each. */
  error: KafkaBackupError
}

/** INVALID_CONFIG, INVALID_REQUEST and POLICY_VIOLATION. */
const ABOUT_SETTINGS = new Set([40, 42, 44])

/** Whether the answer is one to the settings, of which one or more are at fault. */
function isAboutSettings({ errorCode }: SettingsAnswer): boolean {
  return ABOUT_SETTINGS.has(errorCode)
}

/**
 * All settings at fault: a broker names the first one only, or none, so each is put to it alone. Undefined where it has
 * nothing against any of them by itself.
 */
async function findRefusedSettings(
  topic: string,
  configs: Readonly<Record<string, string | null>>,
  askAlone: (name: string, value: string | null) => Promise<SettingsAnswer | undefined>,
): Promise<RefusedSettings | undefined> {
  const settings: string[] = []
  const lines: string[] = []
  for (const [name, value] of Object.entries(configs)) {
    const answer = await askAlone(name, value)
    if (!answer || !isAboutSettings(answer)) continue
    settings.push(name)
    lines.push(`\`${name}: ${value}\` (${answer.errorMessage ?? 'no reason given'})`)
  }
  if (settings.length === 0) return undefined
  const message = `topic ${topic}: the broker does not take ${lines.join(', ')}`
  return { settings, error: new KafkaBackupError('KAFKA_REFUSED', message) }
}
