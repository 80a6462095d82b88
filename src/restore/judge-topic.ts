import type { PlannedTopic } from './plan.ts'
import type { Finding } from './preflight.ts'

const DAY_MS = 86_400_000n
const DEFAULT_RETENTION_MS = '604800000'
const DEFAULT_MAX_MESSAGE_BYTES = 1_048_588

/** What stands in the way of creating it. */
export function judgeMissing(topic: PlannedTopic, options: { createTopics: boolean }, brokers: number): Finding[] {
  const findings: Finding[] = []
  if (!options.createTopics) {
    findings.push(error(topic, 'it does not exist', 'create it, or set restore.create_topics: true'))
  }
  if (topic.replicationFactor > brokers) {
    const problem = `${topic.replicationFactor} copies need as many brokers; the target has ${brokers}`
    findings.push(error(topic, problem, `set restore.replication_factor to ${brokers} or less`))
  }
  const inSync = Number(topic.whileFilling['min.insync.replicas'] ?? 1)
  if (inSync > topic.replicationFactor) {
    const problem = `its min.insync.replicas is ${inSync}, which ${topic.replicationFactor} copies never reach`
    findings.push(error(topic, problem, 'set min.insync.replicas in restore.topic_config, or more copies'))
  }
  return findings
}

export function judgePartitions(topic: PlannedTopic, there: number): Finding[] {
  if (topic.streams.some(({ keyedAmong }) => keyedAmong !== undefined && keyedAmong !== there)) {
    const problem = `it has ${there} partitions on the target, and its keys would be placed among ${topic.partitions}`
    const remedy = `set restore.partition_count.${topic.source.name} to ${there}, or map it to another name`
    return [error(topic, problem, remedy)]
  }
  const needed = topic.streams.reduce((most, { partition }) => Math.max(most, partition + 1), 0)
  if (there >= needed) return []
  const problem = `it has ${there} partitions on the target, and ${needed} are needed`
  return [error(topic, problem, 'add partitions, delete the topic, or map it to another name')]
}

/** Of a topic that the restore does not create: it keeps its settings, so they have to let the records in. */
export function judgeSettings(topic: PlannedTopic, settings: ReadonlyMap<string, string>): Finding[] {
  const findings: Finding[] = []
  if (settings.get('message.timestamp.type') === 'LogAppendTime') {
    const problem = 'its message.timestamp.type is LogAppendTime: every record would get the time of the restore'
    findings.push(error(topic, problem, 'set it to CreateTime until the restore is done'))
  }
  if (
    settings.get('cleanup.policy')?.includes('compact') &&
    !topic.source.configs['cleanup.policy']?.includes('compact')
  ) {
    const problem = 'it is compacted on the target and was not at the source: records of one key would go'
    findings.push(error(topic, problem, 'set cleanup.policy to delete, or map it to another name'))
  }
  const takes = Number(settings.get('max.message.bytes') ?? DEFAULT_MAX_MESSAGE_BYTES)
  const took = Number(topic.source.configs['max.message.bytes'] ?? DEFAULT_MAX_MESSAGE_BYTES)
  if (takes < took) {
    const problem = `it takes batches of ${takes} bytes, and the source took ${took}`
    findings.push({ severity: 'warning', topic: topic.name, problem, remedy: 'a larger record will end the restore' })
  }
  return findings
}

/** Times that the target would refuse. */
export function judgeTimes(topic: PlannedTopic, settings: ReadonlyMap<string, string>, nowMs: number): Finding[] {
  const now = BigInt(nowMs)
  const { oldest, newest } = timesOf(topic)
  const either = 'message.timestamp.difference.max.ms'
  const limits = [
    { name: 'message.timestamp.before.max.ms', distance: oldest === null ? 0n : now - oldest },
    { name: 'message.timestamp.after.max.ms', distance: newest === null ? 0n : newest - now },
    { name: either, distance: oldest === null ? 0n : now - oldest },
    { name: either, distance: newest === null ? 0n : newest - now },
  ]
  const exceeded = limits.filter(({ name, distance }) => distance > toBigInt(settings.get(name), distance))
  return [...new Set(exceeded.map(({ name }) => name))].map(name =>
    error(topic, `its ${name} of ${settings.get(name)} refuses times that the backup holds`, `raise ${name}`),
  )
}

/** What retention would delete from the target at once. */
export function judgeAge(
  topic: PlannedTopic,
  setting: (name: string) => string | undefined,
  nowMs: number,
  remedy: string,
): Finding[] {
  const retentionMs = toBigInt(setting('retention.ms'), BigInt(DEFAULT_RETENTION_MS))
  const { newest } = timesOf(topic)
  const isDeleted = (setting('cleanup.policy') ?? 'delete').includes('delete') && retentionMs >= 0n
  if (!isDeleted || newest === null || newest < 0n) return []
  const ageMs = BigInt(nowMs) - newest
  if (ageMs <= retentionMs) return []
  const problem = `its newest record is ${ageMs / DAY_MS} days old; its retention of ${retentionMs} ms would delete all of it at once`
  return [error(topic, problem, remedy)]
}

/** Of all its partitions; null where there are no records, or none with a time. */
function timesOf({ legs }: PlannedTopic): { oldest: bigint | null; newest: bigint | null } {
  const known = (times: (bigint | null)[]) => times.filter(time => time !== null && time >= 0n).sort(byValue)
  return {
    oldest: known(legs.map(({ source }) => source.first_timestamp))[0] ?? null,
    newest: known(legs.map(({ source }) => source.last_timestamp)).at(-1) ?? null,
  }
}

function byValue(a: bigint | null, b: bigint | null): number {
  return (a ?? 0n) < (b ?? 0n) ? -1 : 1
}

/** What is no number is the target's to refuse. */
function toBigInt(text: string | undefined, otherwise: bigint): bigint {
  return text !== undefined && /^-?\d+$/.test(text) ? BigInt(text) : otherwise
}

export function error({ name }: PlannedTopic, problem: string, remedy: string): Finding {
  return { severity: 'error', topic: name, problem, remedy }
}
