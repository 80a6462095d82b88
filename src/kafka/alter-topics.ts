import { KafkaBackupError } from '../errors.ts'
import {
  type AlterConfigsResponse,
  type ConfigChange,
  incrementalAlterConfigs,
} from './api/incremental-alter-configs.ts'
import { brokerError } from './broker-errors.ts'
import type { Cluster } from './cluster.ts'
import { callController } from './controller.ts'
import { findRefusedSettings, isAboutSettings, type RefusedSettings } from './refused-settings.ts'

/** Settings to put on a topic; null takes one off, so that the broker's default counts again. */
export interface TopicChange {
  topic: string
  configs: Readonly<Record<string, string | null>>
}

/** Nothing of this topic was changed. No setting is named where the broker refuses the topic as a whole. */
export interface RefusedChange extends RefusedSettings {
  topic: string
}

export interface AlterTopicsOptions {
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
    const answer = await callController(cluster, incrementalAlterConfigs, { topics: rest, validateOnly }, 0, signal)
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

function changesOf(configs: TopicChange['configs']): ConfigChange[] {
  return Object.entries(configs).map(([name, value]) => ({ name, value }))
}

function alterError({ name, errorCode, errorMessage }: AlteredTopic): KafkaBackupError | undefined {
  return errorCode === 0 ? undefined : brokerError(errorCode, `configuring topic ${name}`, errorMessage)
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
  const error = brokerError(answer.errorCode, `configuring topic ${topic}`, answer.errorMessage)
  return { topic, ...(refused ?? { settings: [], error }) }
}
