import { avoidedWarnings } from '../archive/record-warnings.ts'
import type { KafkaRecord } from '../batch/records.ts'
import type { Cluster } from '../kafka/cluster.ts'
import { type LogPartition, type OffsetRange, readLog, readLogRecords } from '../kafka/log-reader.ts'
import { type PartitionBounds, partitionKey } from '../kafka/offsets.ts'
import type { Clock } from '../lib/clock.ts'
import { runPool } from '../lib/pool.ts'
import type { OnProgress } from '../observe/progress.ts'
import type { Storage } from '../storage/storage.ts'
import { type Alignment, alignRecords } from './align.ts'
import { type ExpectedRecord, sizeOfRecord } from './difference.ts'
import { findExtraRecords } from './extra-records.ts'
import type { LocatedRestore } from './locate-restore.ts'
import { examineRestored, type RestoredTarget } from './locate-restore.ts'
import { Lookahead } from './lookahead.ts'
import type { Outgoing } from './outgoing-batch.ts'
import { decodeOutgoing, openOutgoing } from './outgoing-options.ts'
import type { PlannedStream, PlannedTopic } from './plan.ts'

interface CompareParts {
  cluster: Cluster
  storage: Storage
  clock: Clock
  onProgress: OnProgress
  /** Of one partition; 10 where it is not given. */
  maxDifferences?: number
  /** By `topic/partition` of the target: where the restore ended. What came afterwards is not looked at. */
  ends?: ReadonlyMap<string, bigint>
}

export interface PartitionComparison extends Alignment {
  /** Null where its records come from several, and where the backup has no such partition. */
  sourcePartition: number | null
  partition: number
  /** The target has no such partition. */
  isMissing?: true
}

interface ComparedTopic {
  source: string
  target: string
  partitions: PartitionComparison[]
  /** The target has no such topic. */
  isMissing?: true
}

export interface CompareReport {
  /** Every record of the backup is on the target as it should be, and no other. */
  ok: boolean
  backupId: string
  generation: number
  durationMs: number
  topics: ComparedTopic[]
  totals: { topics: number; partitions: number; records: number; removed: number; differences: number }
  warnings: string[]
}

/** What one stream holds in memory: a frame of the archive, an answer of the broker, and what is decoded of both. */
const STREAM_BYTES = 16 << 20
const MAX_DIFFERENCES = 10
const SEQUENCES = 2n ** 31n

/**
 * Reads the target back and compares it with the backup, record by record and in order. A topic without other writers is compared
 * as a whole. Of one that others write to (`existingTopics: append`) only the batches count that carry the producer id
 * of the restore, which its progress on the target names.
 */
export async function compareRestore(
  located: LocatedRestore,
  parts: CompareParts,
  signal: AbortSignal,
): Promise<CompareReport> {
  const startedAt = parts.clock.monotonic()
  const target = await examineRestored(located, parts, signal)
  const streams = located.plan.topics.flatMap(topic => topic.streams.map(stream => ({ topic, stream })))
  announce(located, streams, parts.onProgress)
  const width = Math.max(1, Math.min(8, Math.floor(located.options.memoryBudgetBytes / STREAM_BYTES)))
  const compared = await runPool(streams, width, async ({ topic, stream }) => {
    const alignment = await compareStream({ located, target, topic, stream }, parts, signal)
    const isThere = located.topics.get(topic.name)?.partitions.has(stream.partition)
    return { topic: topic.name, ...placeOf(stream), ...alignment, ...(isThere ? {} : { isMissing: true as const }) }
  })
  const { cluster, ends, maxDifferences = MAX_DIFFERENCES } = parts
  const { extra, warnings } = await findExtraRecords(located, { cluster, ends, maxDifferences }, signal)
  const all = [
    ...compared,
    ...extra.map(({ alignment, ...place }) => ({ sourcePartition: null, ...place, ...alignment })),
  ]
  const topics = located.plan.topics.map(({ label, name }) => ({
    source: label,
    target: name,
    partitions: all.filter(({ topic }) => topic === name).map(({ topic: _, ...rest }) => rest),
    ...(located.topics.has(name) ? {} : { isMissing: true as const }),
  }))
  const totals = sumUp(topics)
  const { backupId, generation } = located.plan
  const ok = totals.differences === 0
  return {
    ok,
    backupId,
    generation,
    durationMs: parts.clock.monotonic() - startedAt,
    topics,
    totals,
    warnings: [...new Set([...target.warnings, ...warnings, ...avoidedWarnings(located.plan)])],
  }
}

function placeOf({ partition, legs, keyedAmong }: PlannedStream) {
  return { sourcePartition: keyedAmong === undefined ? (legs[0]?.source.partition ?? null) : null, partition }
}

async function compareStream(
  {
    located,
    target,
    topic,
    stream,
  }: { located: LocatedRestore; target: RestoredTarget; topic: PlannedTopic; stream: PlannedStream },
  { cluster, storage, onProgress, maxDifferences = MAX_DIFFERENCES }: CompareParts,
  signal: AbortSignal,
): Promise<Alignment> {
  const bounds = target.bounds.get(partitionKey({ topic: topic.name, partition: stream.partition }))
  const batches = openOutgoing(located.options, { plan: located.plan, topic, stream }, { ...located, storage }, signal)
  const expected = new Lookahead<ExpectedRecord>(
    decodeOutgoing(watch(batches, topic, stream, onProgress)),
    sizeOfRecord,
  )
  const topicId = located.topics.get(topic.name)?.id ?? ''
  const place = { topic: topic.name, topicId, partition: stream.partition }
  const found = bounds
    ? readLogRecords(cluster, place, { ...rangeOf(bounds, target.producerId), producerId: target.producerId }, signal)
    : nothing()
  const actual = new Lookahead(found, sizeOfRecord)
  const isHoley = bounds && target.compacted.has(topic.name) && target.producerId === undefined
  const holes = isHoley
    ? {
        compactedEnd: bounds.lastStable,
        logStart: bounds.logStart,
        firstOffset: await findFirstOffset(cluster, place, bounds, mostRecordsOf(stream), signal),
      }
    : {}
  try {
    return await alignRecords(expected, actual, { maxDifferences, ...holes }, signal)
  } finally {
    await Promise.all([expected.close(), actual.close()])
  }
}

/**
 * Where a restore that has the log for itself put its first record: its batches count their records from there on, also
 * where compaction or retention have removed the first ones. Records that no restore wrote are taken to begin at 0.
 * Sequences begin again at 0 after 2^31 records: a restore of so many is taken to begin below 2^31.
 */
async function findFirstOffset(
  cluster: Cluster,
  place: LogPartition,
  bounds: PartitionBounds,
  mostRecords: bigint,
  signal: AbortSignal,
): Promise<bigint> {
  for await (const [first] of readLog(cluster, place, rangeOf(bounds), signal)) {
    if (!first) continue
    if (first.sequence < 0) return 0n
    const begin = first.header.baseOffset - BigInt(first.sequence)
    return mostRecords > SEQUENCES || begin < 0n ? BigInt.asUintN(31, begin) : begin
  }
  return bounds.logStart
}

/** What one producer has written without transactions is there, also behind open ones of others. */
function rangeOf({ logStart, lastStable, highWatermark }: PartitionBounds, producerId?: bigint): OffsetRange {
  return { from: logStart, to: producerId === undefined ? lastStable : highWatermark }
}

function mostRecordsOf({ legs }: PlannedStream): bigint {
  return legs.reduce((sum, { start, end }) => sum + end - start, 0n)
}

async function* nothing(): AsyncGenerator<KafkaRecord[]> {}

/** Where keys decide, all partitions together are as often told of an offset as it is read: each of them reads all. */
async function* watch(
  batches: AsyncIterable<Outgoing>,
  topic: PlannedTopic,
  { legs }: PlannedStream,
  onProgress: OnProgress,
): AsyncGenerator<Outgoing> {
  const left = legs.map(({ source, start, end }) => ({ partition: source.partition, position: start, end }))
  const tell = (partition: number, offsets: bigint, records: number, bytes: number) =>
    onProgress({ type: 'compared', topic: topic.label, partition, offsets, records, bytes })
  const passUpTo = (sourcePartition: number) => {
    while (left[0] && left[0].partition < sourcePartition) {
      tell(left[0].partition, left[0].end - left[0].position, 0, 0)
      left.shift()
    }
  }
  for await (const batch of batches) {
    yield batch
    const last = batch.runs.at(-1)
    passUpTo(batch.sourcePartition)
    const [leg] = left
    if (!leg || !last) continue
    const next = last.sourceOffset + BigInt(last.count)
    tell(leg.partition, next - leg.position, batch.recordCount, batch.bytes.length)
    leg.position = next
  }
  passUpTo(Number.POSITIVE_INFINITY)
}

function announce(
  { plan }: LocatedRestore,
  streams: readonly { stream: PlannedStream }[],
  onProgress: OnProgress,
): void {
  const offsets = streams.reduce((sum, { stream }) => sum + mostRecordsOf(stream), 0n)
  onProgress({ type: 'planned', topics: plan.topics.length, partitions: streams.length, offsets, phase: 'compare' })
}

/** Pure. Comparisons of parts of a plan as one; undefined without any. */
export function joinComparisons(
  { topics: planned }: Pick<LocatedRestore['plan'], 'topics'>,
  all: readonly CompareReport[],
): CompareReport | undefined {
  const [first] = all
  if (!first) return undefined
  const byTarget = new Map(all.flatMap(({ topics }) => topics).map(topic => [topic.target, topic]))
  const topics = planned.flatMap(({ name }) => byTarget.get(name) ?? [])
  return {
    ...first,
    ok: all.every(({ ok }) => ok),
    durationMs: all.reduce((sum, { durationMs }) => sum + durationMs, 0),
    topics,
    totals: sumUp(topics),
    warnings: [...new Set(all.flatMap(({ warnings }) => warnings))],
  }
}

export function hasDifferences({ topics }: CompareReport, isWanted: (target: string) => boolean): boolean {
  return sumUp(topics.filter(({ target }) => isWanted(target))).differences > 0
}

function sumUp(topics: CompareReport['topics']): CompareReport['totals'] {
  const all = topics.flatMap(({ partitions }) => partitions)
  const sum = (pick: (one: PartitionComparison) => number) => all.reduce((total, one) => total + pick(one), 0)
  return {
    topics: topics.length,
    partitions: all.length,
    records: sum(({ records }) => records),
    removed: sum(({ removed }) => removed),
    differences: topics.reduce((total, topic) => total + countDifferences(topic), 0),
  }
}

/** Without records in the backup, a topic or partition that the target lacks is one. */
function countDifferences({ partitions, isMissing }: ComparedTopic): number {
  const counts = partitions.map(one => Math.max(one.differences.length, one.isMissing && !isMissing ? 1 : 0))
  return Math.max(
    counts.reduce((total, count) => total + count, 0),
    isMissing ? 1 : 0,
  )
}
