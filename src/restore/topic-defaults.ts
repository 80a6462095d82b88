import { hasCode } from '../errors.ts'
import type { Cluster } from '../kafka/cluster.ts'
import { tryTopicDefaults } from '../kafka/topic-admin.ts'
import { type EffectiveConfigs, readBrokerConfigs } from '../kafka/topic-configs.ts'

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

/**
 * The settings of a broker. For a user who may not read them, those that a topic would have which the restore is going to
 * create; empty where these are not told either.
 */
export async function readDefaults(
  cluster: Cluster,
  newTopic: string | undefined,
  signal: AbortSignal,
): Promise<EffectiveConfigs> {
  const { brokers } = await cluster.metadata({ topics: [] }, signal)
  const [broker] = brokers
  if (!broker) return new Map()
  try {
    return await readBrokerConfigs(cluster, broker.id, signal)
  } catch (error) {
    if (!hasCode(error, 'KAFKA_DENIED')) throw error
    const tried = newTopic === undefined ? undefined : await tryTopicDefaults(cluster, newTopic, TIMEOUT_MS, signal)
    return new Map([...(tried ?? [])].map(([name, config]) => [brokerName(name), config]))
  }
}

function brokerName(setting: string): string {
  return brokerNames[setting] ?? `log.${setting}`
}

/** Pure. What a topic of such a broker has where it says nothing itself; undefined where nobody knows. */
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
