import {
  type DescribedConfigs,
  describeBrokerConfigs,
  describeConfigs,
  describeConfigsWithSynonyms,
  SOURCE_TOPIC,
} from './api/topic-configs.ts'
import { brokerError } from './broker-errors.ts'
import type { Cluster } from './cluster.ts'

/** Where a setting in force comes from, the most specific first: a setting on the topic hides all others. */
type ConfigSource = 'topic' | 'broker' | 'all_brokers' | 'server_properties' | 'default' | 'other'

interface EffectiveConfig {
  /** Null where it is a secret. */
  value: string | null
  source: ConfigSource
}

/** All settings in force, by name. Which names there are depends on the version of the broker. */
export type EffectiveConfigs = ReadonlyMap<string, EffectiveConfig>

const sources: Record<number, ConfigSource> = {
  1: 'topic',
  2: 'broker',
  3: 'all_brokers',
  4: 'server_properties',
  5: 'default',
}
const TOPICS_PER_REQUEST = 500

/** By topic. Fails with the first topic that cannot be read. */
export async function readTopicConfigs(
  cluster: Cluster,
  topics: readonly string[],
  signal: AbortSignal,
): Promise<Map<string, EffectiveConfigs>> {
  const found = new Map<string, EffectiveConfigs>()
  for (let start = 0; start < topics.length; start += TOPICS_PER_REQUEST) {
    const request = { topics: topics.slice(start, start + TOPICS_PER_REQUEST) }
    await cluster.settling(async () => {
      for (const { topic, ...described } of await cluster.callAny(describeConfigs, request, signal)) {
        found.set(topic, effectiveConfigs(described, `topic ${topic}`))
      }
    }, signal)
  }
  return found
}

/** What a topic of this broker has where neither the topic nor anybody else says otherwise, and the broker's own limits. */
export function readBrokerConfigs(cluster: Cluster, brokerId: number, signal: AbortSignal): Promise<EffectiveConfigs> {
  return cluster.settling(async () => {
    const link = await cluster.link(brokerId, signal)
    const [described] = await link.call(describeBrokerConfigs, { brokerId }, signal)
    return described ? effectiveConfigs(described, `broker ${brokerId}`) : new Map()
  }, signal)
}

/** The settings of any broker; empty where the cluster names none. */
export async function readAnyBrokerConfigs(cluster: Cluster, signal: AbortSignal): Promise<EffectiveConfigs> {
  const { brokers } = await cluster.metadata({ topics: [] }, signal)
  const [broker] = brokers
  return broker ? readBrokerConfigs(cluster, broker.id, signal) : new Map()
}

/**
 * The same for a user who may not read the settings of a broker, from the first of these topics that the user may read: what the
 * topic hides of the broker, under the names of the broker. Empty where there is none.
 */
export function readHiddenDefaults(
  cluster: Cluster,
  topics: readonly string[],
  signal: AbortSignal,
): Promise<EffectiveConfigs> {
  if (topics.length === 0) return Promise.resolve(new Map())
  return cluster.settling(async () => {
    const described = await cluster.callAny(describeConfigsWithSynonyms, { topics: [...topics] }, signal)
    const { configs = [] } = described.find(({ errorCode }) => errorCode === 0) ?? {}
    const hidden = configs.flatMap(({ synonyms = [] }) => synonyms).filter(({ source }) => source !== SOURCE_TOPIC)
    // The most specific one comes first.
    return toEffective(hidden.toReversed())
  }, signal)
}

function effectiveConfigs({ errorCode, errorMessage, configs }: DescribedConfigs, of: string): EffectiveConfigs {
  if (errorCode !== 0) throw brokerError(errorCode, `reading the configuration of ${of}`, errorMessage)
  return toEffective(configs)
}

export function toEffective(
  configs: readonly Pick<DescribedConfigs['configs'][number], 'name' | 'value' | 'source'>[],
): EffectiveConfigs {
  return new Map(configs.map(({ name, value, source }) => [name, { value, source: sources[source] ?? 'other' }]))
}
