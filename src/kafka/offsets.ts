import { hasCode, KafkaBackupError } from '../errors.ts'
import { numberedName } from '../lib/numbered-name.ts'
import {
  EARLIEST,
  EARLIEST_LOCAL,
  type Isolation,
  LATEST,
  type ListOffsetsRequest,
  listOffsets,
} from './api/list-offsets.ts'
import type { MetadataTopic } from './api/metadata.ts'
import { brokerError } from './broker-errors.ts'
import type { Cluster } from './cluster.ts'

export interface TopicPartition {
  topic: string
  partition: number
}

/** The bounds of a partition at one moment. */
export interface PartitionBounds {
  logStart: bigint
  /** Below this every transaction is decided; a reader of committed data gets this far. */
  lastStable: bigint
  highWatermark: bigint
}

/** Where logs end, by topic and partition. */
export type PartitionEnds = ReadonlyMap<string, ReadonlyMap<number, bigint>>

export function partitionKey({ topic, partition }: TopicPartition): string {
  return numberedName(topic, partition)
}

/** `shown` is what the cluster has just said of the topics, for who has asked already. */
export async function fetchBounds(
  cluster: Cluster,
  partitions: readonly TopicPartition[],
  signal: AbortSignal,
  shown?: readonly MetadataTopic[],
): Promise<Map<string, PartitionBounds>> {
  const led = await groupByLeader(cluster, partitions, signal, shown)
  // The last stable offset after the high watermark: below an earlier high watermark only an open transaction keeps it.
  // In the other order every record written in between would pass for one.
  const highWatermark = await listAll(
    cluster,
    partitions,
    { timestamp: LATEST, isolation: 'read_uncommitted', led },
    signal,
  )
  const lastStable = await listAll(cluster, partitions, { timestamp: LATEST, isolation: 'read_committed', led }, signal)
  // The log start last: whatever retention removes meanwhile is then not promised.
  const logStart = await listAll(
    cluster,
    partitions,
    { timestamp: EARLIEST, isolation: 'read_uncommitted', led },
    signal,
  )
  const found = new Map<string, PartitionBounds>()
  for (const key of partitions.map(partitionKey)) {
    const [start, stable, end] = [logStart.get(key), lastStable.get(key), highWatermark.get(key)]
    // What a broker left out of its answer stays out: zero would pass for an empty partition.
    if (start === undefined || stable === undefined || end === undefined) continue
    const bounds = { logStart: start, lastStable: stable, highWatermark: end }
    if (bounds.lastStable < start) bounds.lastStable = start
    if (bounds.highWatermark < bounds.lastStable) bounds.highWatermark = bounds.lastStable
    found.set(key, bounds)
  }
  return found
}

export interface KnowableBounds {
  bounds: Map<string, PartitionBounds>
  /** By `partitionKey`. */
  leaderless: ReadonlySet<string>
  /** Why these have no bounds. */
  error?: KafkaBackupError
}

/** An election passes within the retries of the cluster. Partitions that have no leader after that are returned apart. */
export async function fetchKnowableBounds(
  cluster: Cluster,
  partitions: readonly TopicPartition[],
  signal: AbortSignal,
  shown?: readonly MetadataTopic[],
): Promise<KnowableBounds> {
  try {
    return { bounds: await fetchBounds(cluster, partitions, signal, shown), leaderless: new Set() }
  } catch (error) {
    signal.throwIfAborted()
    if (!hasCode(error, 'KAFKA_NOT_READY')) throw error
    const leaderless = await findLeaderless(cluster, partitions, signal)
    const led = partitions.filter(each => !leaderless.has(partitionKey(each)))
    if (leaderless.size === 0) throw error
    const bounds = led.length === 0 ? new Map() : await fetchBounds(cluster, led, signal)
    return { bounds, leaderless, error }
  }
}

/** Also of partitions that were not asked for. */
async function findLeaderless(
  cluster: Cluster,
  partitions: readonly TopicPartition[],
  signal: AbortSignal,
): Promise<Set<string>> {
  const names = [...new Set(partitions.map(({ topic }) => topic))]
  const { topics } = await cluster.metadata({ topics: names }, signal)
  const without = topics.flatMap(({ name, partitions }) =>
    partitions.filter(({ leader }) => leader < 0).map(({ partition }) => partitionKey({ topic: name, partition })),
  )
  return new Set(without)
}

/**
 * The first offset of each partition whose record has this time or a later one; -1 where there is none. What a broker left
 * out of its answer is not in it.
 */
export async function findOffsetsByTime(
  cluster: Cluster,
  partitions: readonly TopicPartition[],
  timestampMs: bigint,
  signal: AbortSignal,
): Promise<Map<string, bigint>> {
  const led = await groupByLeader(cluster, partitions, signal)
  return listAll(cluster, partitions, { timestamp: timestampMs, isolation: 'read_uncommitted', led }, signal)
}

interface Listing {
  timestamp: bigint
  isolation: Isolation
  /** The partitions by their leaders. */
  led: ReadonlyMap<number, readonly TopicPartition[]>
}

/**
 * The first offset of each partition that its leader has on its own disk; of a tiered topic, what is before it is in remote
 * storage. Each leader is asked once: a partition of which it says nothing is not in it.
 */
export async function fetchLocalStarts(
  cluster: Cluster,
  partitions: readonly TopicPartition[],
  signal: AbortSignal,
  shown?: readonly MetadataTopic[],
): Promise<Map<string, bigint>> {
  const found = new Map<string, bigint>()
  const what = { timestamp: EARLIEST_LOCAL, isolation: 'read_uncommitted' } as const
  try {
    const byLeader = await groupOnce(cluster, partitions, signal, shown)
    const asked = [...byLeader].map(([leader, led]) => listFromLeader(cluster, leader, led, what, found, [], signal))
    await Promise.allSettled(asked)
  } catch (error) {
    if (!(error instanceof KafkaBackupError)) throw error
  }
  signal.throwIfAborted()
  return found
}

/** One request a leader; partitions whose leader has moved are asked for again at their new one. */
async function listAll(
  cluster: Cluster,
  partitions: readonly TopicPartition[],
  listing: Listing,
  signal: AbortSignal,
): Promise<Map<string, bigint>> {
  const found = new Map<string, bigint>()
  let led: Listing['led'] | undefined = listing.led
  await cluster.settling(async () => {
    const failures: KafkaBackupError[] = []
    const rest = led ?? (await groupOnce(cluster, leftOf(partitions, found), signal))
    led = undefined
    for (const [leader, some] of rest) {
      try {
        await listFromLeader(cluster, leader, some, listing, found, failures, signal)
      } catch (error) {
        if (!(error instanceof KafkaBackupError) || !error.retryable) throw error
        failures.push(error)
      }
    }
    const final = failures.find(error => !error.retryable) ?? failures[0]
    if (final) throw final
  }, signal)
  return found
}

function leftOf(partitions: readonly TopicPartition[], found: ReadonlyMap<string, bigint>): TopicPartition[] {
  return partitions.filter(each => !found.has(partitionKey(each)))
}

async function listFromLeader(
  cluster: Cluster,
  leader: number,
  led: readonly TopicPartition[],
  what: Pick<Listing, 'timestamp' | 'isolation'>,
  found: Map<string, bigint>,
  failures: KafkaBackupError[],
  signal: AbortSignal,
): Promise<void> {
  const link = await cluster.link(leader, signal)
  const answer = await link.call(listOffsets, listOffsetsRequest(led, what), signal)
  for (const { name, partitions } of answer.topics) {
    for (const { partition, errorCode, offset } of partitions) {
      const key = partitionKey({ topic: name, partition })
      if (errorCode === 0) found.set(key, offset)
      else failures.push(offsetError(errorCode, { topic: name, partition }))
    }
  }
}

/** A partition that the cluster has just told us of is not unknown for long: its leader may not have heard of it yet. */
function offsetError(errorCode: number, of: TopicPartition): KafkaBackupError {
  const { topic, partition } = of
  const error = brokerError(errorCode, `asking for the offsets of ${partitionKey(of)}`, null, { topic, partition })
  const { code, message, details } = error
  return code === 'TOPIC_NOT_FOUND' ? new KafkaBackupError('KAFKA_NOT_READY', message, { details }) : error
}

function listOffsetsRequest(
  led: readonly TopicPartition[],
  { timestamp, isolation }: Pick<Listing, 'timestamp' | 'isolation'>,
): ListOffsetsRequest {
  const topics = Map.groupBy(led, each => each.topic)
  return {
    isolation,
    topics: [...topics].map(([name, each]) => ({
      name,
      partitions: each.map(({ partition }) => ({ partition, leaderEpoch: -1, timestamp })),
    })),
  }
}

/** Waits for an election that is under way. */
function groupByLeader(
  cluster: Cluster,
  partitions: readonly TopicPartition[],
  signal: AbortSignal,
  shown?: readonly MetadataTopic[],
): Promise<Listing['led']> {
  let known = shown
  return cluster.settling(() => {
    const topics = known
    known = undefined
    return groupOnce(cluster, partitions, signal, topics)
  }, signal)
}

async function groupOnce(
  cluster: Cluster,
  partitions: readonly TopicPartition[],
  signal: AbortSignal,
  shown?: readonly MetadataTopic[],
): Promise<Listing['led']> {
  const names = [...new Set(partitions.map(each => each.topic))]
  const leaders = leadersOf(shown ?? (await cluster.metadata({ topics: names }, signal)).topics)
  return Map.groupBy(partitions, each => {
    const leader = leaders.get(partitionKey(each))
    if (leader === undefined || leader < 0) {
      throw new KafkaBackupError('KAFKA_NOT_READY', `partition ${partitionKey(each)} has no leader at the moment`)
    }
    return leader
  })
}

function leadersOf(topics: readonly MetadataTopic[]): Map<string, number> {
  return new Map(
    topics.flatMap(({ name, partitions }) =>
      partitions.map(({ partition, leader }) => [partitionKey({ topic: name, partition }), leader] as const),
    ),
  )
}
