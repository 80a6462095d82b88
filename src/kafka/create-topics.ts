import { hasCode, KafkaBackupError } from '../errors.ts'
import { type CreateTopicsResponse, createTopicsApi, type NewTopic } from './api/create-topics.ts'
import { brokerError } from './broker-errors.ts'
import type { Cluster } from './cluster.ts'
import { callController } from './controller.ts'

export type { NewTopic } from './api/create-topics.ts'

export type CreatedTopic =
  | { name: string; outcome: 'created'; topicId: string }
  /** `isMaybeOurs`: an earlier try of the same call got no answer, and may be the one that created it. */
  | { name: string; outcome: 'exists'; isMaybeOurs: boolean }
  | { name: string; outcome: 'refused'; error: KafkaBackupError }

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
  const results = new Map<string, CreatedTopic>()
  for (const some of splitTopics(topics, RECORDS_PER_REQUEST)) await createSome(cluster, some, options, results, signal)
  return topics.flatMap(({ name }) => results.get(name) ?? [])
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

/** Tries until each topic has a final answer. */
async function createSome(
  cluster: Cluster,
  topics: readonly NewTopic[],
  { timeoutMs, validateOnly = false }: CreateTopicsOptions,
  results: Map<string, CreatedTopic>,
  signal: AbortSignal,
): Promise<void> {
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
      const created = judgeCreated(topic, unanswered.has(topic.name))
      if (created.outcome === 'refused' && created.error.retryable) passing.push(created.error)
      else results.set(topic.name, created)
      if (topic.errorCode === REQUEST_TIMED_OUT) unanswered.add(topic.name)
    }
    rest = rest.filter(({ name }) => !results.has(name))
    if (rest[0] === undefined) return
    if (answer.throttleMs > 0) await cluster.clock.sleep(answer.throttleMs, signal)
    throw passing[0] ?? new KafkaBackupError('KAFKA_PROTOCOL', `the broker did not say what became of ${rest[0].name}`)
  }, signal)
}

function judgeCreated(topic: CreateTopicsResponse['topics'][number], isMaybeOurs: boolean): CreatedTopic {
  const { name, id, errorCode, errorMessage } = topic
  if (errorCode === 0) return { name, outcome: 'created', topicId: id }
  if (errorCode === TOPIC_ALREADY_EXISTS) return { name, outcome: 'exists', isMaybeOurs }
  return { name, outcome: 'refused', error: brokerError(errorCode, `creating topic ${name}`, errorMessage) }
}
