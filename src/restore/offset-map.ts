import { KafkaBackupError } from '../errors.ts'
import type { Cluster } from '../kafka/cluster.ts'
import { givenId } from '../kafka/given-topic-id.ts'
import { type LogPartition, readAllBatches } from '../kafka/log-reader.ts'
import { fetchBounds, type PartitionBounds, partitionKey } from '../kafka/offsets.ts'
import type { Storage } from '../storage/storage.ts'
import { joinRuns, type MappedRun, meetRuns, type PlacedRun, type SentRun } from './join-runs.ts'
import type { LocatedRestore } from './locate-restore.ts'
import type { Outgoing } from './outgoing-batch.ts'
import { openOutgoing } from './outgoing-options.ts'
import type { PlannedStream, PlannedTopic, RestorePlan } from './plan.ts'
import { readProgress, streamKey } from './progress.ts'

/** Records that lie side by side at the source and on the target. */
export interface OffsetMapRun extends Omit<MappedRun, 'sourcePartition'> {
  topic: string
  partition: number
  targetTopic: string
  targetPartition: number
  /** Absent where brokers give topics no IDs. */
  targetTopicId?: string
}

/** Of the source. */
export interface OffsetMapFilter {
  topic?: string
  partition?: number
  /** Of the target: other partitions are not read. */
  isWanted?: (place: { targetTopic: string; targetPartition: number }) => boolean
  /** Fails where the target ends before the last record of the restore, instead of ending there. */
  isWhole?: boolean
}

const SEQUENCES = 2n ** 31n

/**
 * Where each record of the source is on the target. Nothing is remembered and nothing is guessed: the archive tells the
 * order in which records were sent, and the batches of the target tell, by producer id and sequence, which of them they
 * are. What is no longer on the target is not in the map.
 */
export async function* readOffsetMap(...args: Parameters<typeof openOffsetMaps>): AsyncGenerator<OffsetMapRun> {
  for await (const runs of openOffsetMaps(...args)) yield* runs
}

/** The same in parts, one for each partition of the target: in each of them the records of the source are in order. */
export async function* openOffsetMaps(...args: Parameters<typeof openStreamMaps>): AsyncGenerator<StreamMap['runs']> {
  for await (const { runs } of openStreamMaps(...args)) yield runs
}

/** What of the source is in one partition of the target. */
interface StreamMap {
  /** Of the source, with its partitions in the order of their records on the target. */
  topic: string
  partitions: readonly number[]
  targetTopic: string
  targetPartition: number
  /** Behind the last record that was restored. */
  end: bigint
  runs: AsyncGenerator<OffsetMapRun>
}

/** A name that the restore does not have is a slip, not an empty answer; one that it has twice has two answers. */
export function assertPlanned(plan: RestorePlan, { topic, partition }: OffsetMapFilter): void {
  if (topic === undefined) return
  const { topics, backupId } = plan
  const found = topicsOf(plan, topic)
  if (found.length > 1) {
    const several = found.map(({ label }) => label).join(', ')
    const message = `topic ${topic} stands for several incarnations in this restore of backup \`${backupId}\`: ${several}`
    throw new KafkaBackupError('TOPIC_NOT_FOUND', message, { help: 'Give one of them as it is written here.' })
  }
  const partitions = found.flatMap(({ streams }) =>
    streams.flatMap(({ legs }) => legs.map(leg => leg.source.partition)),
  )
  if (found.length > 0 && (partition === undefined || partitions.includes(partition))) return
  const what = found.length === 0 ? `topic ${topic}` : `partition ${partition} of topic ${topic}`
  const names = topics.slice(0, 10).map(({ label }) => label)
  throw new KafkaBackupError('TOPIC_NOT_FOUND', `${what} is not part of this restore of backup \`${backupId}\``, {
    help: `Give a topic by its name at the source: ${names.join(', ')}${topics.length > 10 ? ', …' : ''}.`,
  })
}

/** The same with what each part is about; one without a single record is among them. */
export async function* openStreamMaps(
  { options, plan, restoreId, topics, segments }: LocatedRestore,
  { cluster, storage }: { cluster: Cluster; storage: Storage },
  filter: OffsetMapFilter,
  signal: AbortSignal,
): AsyncGenerator<StreamMap> {
  assertPlanned(plan, filter)
  const { rewrites: _, ...plain } = plan
  const progress = await readProgress(cluster, restoreId, new Set(topics.keys()), signal)
  if (!progress) throw unknown(restoreId)
  const { producerId } = progress.identity
  for (const topic of topicsOf(plan, filter.topic)) {
    for (const whole of topic.streams) {
      const stream = upTo(whole, filter.partition)
      const place = { topic: topic.name, partition: stream.partition }
      const noted = progress.streams.get(streamKey(place))
      const isWanted = filter.isWanted?.({ targetTopic: place.topic, targetPartition: place.partition }) ?? true
      if (stream.legs.length === 0 || !noted || !isWanted) continue
      const target = { ...place, topicId: topics.get(topic.name)?.id ?? '' }
      // Ids move no record unless keys decide.
      const planned = { plan: stream.keyedAmong === undefined ? plain : plan, topic, stream }
      const sent = sentRuns(openOutgoing({ ...options, offsetHeaders: false }, planned, { storage, segments }, signal))
      const least = filter.isWhole ? noted.targetOffset : 0n
      const met = meetRuns(sent, placedRuns(cluster, target, { producerId, least }, signal))
      yield {
        topic: topic.label,
        partitions: stream.legs.map(({ source }) => source.partition),
        targetTopic: place.topic,
        targetPartition: place.partition,
        end: noted.targetOffset,
        runs: nameRuns(met, topic.label, target, filter.partition),
      }
    }
  }
}

/** By its label; the plain name will do where only one incarnation of it is restored. */
function topicsOf({ topics }: RestorePlan, wanted: string | undefined): readonly PlannedTopic[] {
  if (wanted === undefined) return topics
  const exact = topics.filter(({ label }) => label === wanted)
  return exact.length > 0 ? exact : topics.filter(({ source }) => source.name === wanted)
}

/** The records of a partition are counted from the first leg on, so that those before it are read, too. */
function upTo(stream: PlannedStream, partition: number | undefined): PlannedStream {
  if (partition === undefined) return stream
  const last = stream.legs.findIndex(({ source }) => source.partition === partition)
  return { ...stream, legs: stream.legs.slice(0, last + 1) }
}

async function* nameRuns(
  runs: AsyncIterable<MappedRun>,
  topic: string,
  target: LogPartition,
  wanted: number | undefined,
): AsyncGenerator<OffsetMapRun> {
  const id = givenId({ id: target.topicId, name: target.topic })
  const place = {
    targetTopic: target.topic,
    targetPartition: target.partition,
    ...(id !== undefined && { targetTopicId: id }),
  }
  for await (const { sourcePartition: partition, ...run } of joinRuns(runs)) {
    if (partition !== (wanted ?? partition)) continue
    yield { topic, partition, ...place, ...run }
  }
}

/** The offsets at the source by the position in the stream, which begins at 0. */
async function* sentRuns(batches: AsyncIterable<Outgoing>): AsyncGenerator<SentRun> {
  let position = 0n
  for await (const { runs, sourcePartition: partition } of batches) {
    for (const { sourceOffset, count } of runs) {
      yield { position, partition, offset: sourceOffset, count: BigInt(count) }
      position += BigInt(count)
    }
  }
}

/**
 * The same on the target, also behind open transactions of other writers: the restore writes without transactions. A batch keeps its first
 * and last offset and its sequence when compaction empties it.
 */
async function* placedRuns(
  cluster: Cluster,
  target: LogPartition,
  { producerId, least }: { producerId: bigint; least: bigint },
  signal: AbortSignal,
): AsyncGenerator<PlacedRun> {
  const { logStart: from, highWatermark: to } = await cluster.settling(
    () => boundsOf(cluster, target, least, signal),
    signal,
  )
  let position = 0n
  for await (const batches of readAllBatches(cluster, target, { from, to }, signal)) {
    for (const { header, sequence } of batches) {
      if (header.producerId !== producerId) continue
      position = unwrap(position, sequence)
      yield { position, offset: header.baseOffset, count: header.lastOffset - header.baseOffset + 1n }
    }
  }
}

async function boundsOf(
  cluster: Cluster,
  target: LogPartition,
  least: bigint,
  signal: AbortSignal,
): Promise<PartitionBounds> {
  const key = partitionKey(target)
  const bounds = (await fetchBounds(cluster, [target], signal)).get(key)
  if (!bounds) throw new KafkaBackupError('KAFKA_NOT_READY', `no broker reports the end of ${key}`)
  if (bounds.highWatermark >= least) return bounds
  const what = `${key} ends at offset ${bounds.highWatermark}, and this restore had filled it up to ${least}`
  throw new KafkaBackupError('KAFKA_NOT_READY', what)
}

/** Sequences restart at 0 after 2^31 records: the next position at or behind this one that has the sequence. */
export function unwrap(position: bigint, sequence: number): bigint {
  const ahead = (BigInt(sequence) - position) % SEQUENCES
  return position + (ahead < 0n ? ahead + SEQUENCES : ahead)
}

function unknown(restoreId: string): KafkaBackupError {
  return new KafkaBackupError('RESTORE_REFUSED', `the target knows nothing of the restore ${restoreId}`, {
    help: 'Run the restore first, with the same job: its progress on the target shows which batches it wrote.',
  })
}

export interface OffsetPlace {
  /** False where the source had no record at this offset that was restored: then it is the next one that was. */
  isExact: boolean
  sourceOffset: bigint
  targetTopic: string
  targetPartition: number
  targetOffset: bigint
}

/**
 * Where the record at this offset of the source is, in the maps of its partition, one for each partition of the target
 * that has records of it; undefined behind the last one.
 */
export async function findOffset(
  maps: AsyncIterable<AsyncIterable<OffsetMapRun>>,
  offset: bigint,
): Promise<OffsetPlace | undefined> {
  let nearest: OffsetPlace | undefined
  for await (const runs of maps) {
    const place = await findInRuns(runs, offset)
    if (place?.isExact) return place
    if (place && (!nearest || place.sourceOffset < nearest.sourceOffset)) nearest = place
  }
  return nearest
}

async function findInRuns(runs: AsyncIterable<OffsetMapRun>, offset: bigint): Promise<OffsetPlace | undefined> {
  for await (const run of runs) {
    const { sourceOffset: first, targetOffset, targetTopic, targetPartition, count } = run
    if (first + count <= offset) continue
    const isExact = first <= offset
    const sourceOffset = isExact ? offset : first
    return { isExact, sourceOffset, targetTopic, targetPartition, targetOffset: targetOffset + sourceOffset - first }
  }
  return undefined
}
