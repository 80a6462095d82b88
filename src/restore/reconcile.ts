import { hasCode, KafkaBackupError } from '../errors.ts'
import type { Cluster } from '../kafka/cluster.ts'
import { type LogBatch, type OffsetRange, readUncommittedLog } from '../kafka/log-reader.ts'
import { fetchBounds, type PartitionBounds, partitionKey } from '../kafka/offsets.ts'
import { waitForTopics } from '../kafka/topic-leaders.ts'
import { runPool } from '../lib/pool.ts'
import { findOverwritten } from './last-batch.ts'
import { LogEnds } from './log-ends.ts'
import { isUntouched } from './progress.ts'
import { deletedError } from './replaced-topics.ts'
import { conflict, nextSequence, type Stream } from './stream.ts'

const CONCURRENCY = 8
/** How long a partition may stay as it is before the restore fails. Followers that are behind are left out by then. */
export const MAX_STALL_MS = 120_000

/**
 * Finds what of a stream is on the target after responses were lost: batches carry the producer ID and their sequence,
 * which tells whether one is ours, and which. Brokers forget producers whose records are old; the log does not. What comes before `logEnd`
 * may be ours and cannot be read before all in-sync replicas have it.
 */
async function reconcile(
  stream: Stream,
  { cluster, isShared, logEnd }: { cluster: Cluster; isShared: boolean; logEnd: bigint },
  signal: AbortSignal,
  known?: PartitionBounds,
): Promise<void> {
  const bounds = known ?? (await fetchBounds(cluster, [stream], signal)).get(partitionKey(stream))
  if (!bounds) {
    throw new KafkaBackupError('KAFKA_NOT_READY', `no broker reports the end of ${stream.name}`, {
      details: stream.details,
    })
  }
  const { targetOffset, sequence } = stream.progress
  if (bounds.highWatermark < logEnd) {
    const message = `${stream.name}: the in-sync replicas do not have the records up to offset ${logEnd} yet`
    throw new KafkaBackupError('KAFKA_NOT_READY', message, { details: stream.details })
  }
  if (bounds.highWatermark < targetOffset) {
    throw gone(stream, isShared, `it ends at offset ${bounds.highWatermark}, and was filled up to ${targetOffset}`)
  }
  if (bounds.highWatermark === targetOffset) return
  // Where nothing is noted, records of others are gone, or those of this restore as well, and are sent again: brokers that know them refuse that.
  const mayBegin = isShared && isUntouched(stream.progress)
  if (bounds.logStart > targetOffset && !mayBegin) {
    throw gone(
      stream,
      isShared,
      `it starts at offset ${bounds.logStart}, and what came after ${targetOffset} is not known`,
    )
  }
  let count = 0
  let end = targetOffset
  const from = bounds.logStart > targetOffset ? bounds.logStart : targetOffset
  for await (const batch of readBatches(cluster, stream, { from, to: bounds.highWatermark }, signal)) {
    const { producerId, baseOffset, lastOffset } = batch.header
    if (producerId !== stream.identity.producerId) {
      if (!isShared) throw conflict(stream, baseOffset, 'there is a batch of another producer')
      continue
    }
    // Where this restore is the only writer, missing offsets are its own records that compaction has removed since.
    if (!isShared) count = Number(baseOffset - targetOffset)
    if (batch.sequence !== nextSequence(sequence, count)) {
      throw conflict(stream, baseOffset, `there is sequence ${batch.sequence}`)
    }
    // Not the count of its records: compaction may have removed some.
    count += Number(lastOffset - baseOffset) + 1
    end = lastOffset + 1n
  }
  if (count > 0) await stream.skip(count, end)
}

/**
 * The same after a failure. Where others write, too, the log may have lost its end and got other records there since: brokers that have lost
 * all batches of a producer take any sequence from it.
 */
export async function reconcileAgain(
  stream: Stream,
  parts: { cluster: Cluster; isShared: boolean; logEnd: bigint },
  signal: AbortSignal,
): Promise<void> {
  const noted = [notedOf(stream)]
  await reconcile(stream, parts, signal)
  if (parts.isShared) await confirmLast(noted, parts, signal)
}

interface NotedStream {
  stream: Stream
  /** Behind its last record. */
  end: bigint
  sequence: number
}

function notedOf(stream: Stream): NotedStream {
  const { targetOffset: end, sequence } = stream.progress
  return { stream, end, sequence }
}

/** Throws where the last record that was noted is not at its place any more. */
async function confirmLast(
  noted: readonly NotedStream[],
  { cluster, isShared }: { cluster: Cluster; isShared: boolean },
  signal: AbortSignal,
): Promise<void> {
  const begun = noted.filter(({ sequence }) => sequence > 0)
  const [first] = begun
  if (!first) return
  const streams = begun.map(({ stream }) => stream)
  // Another topic under the name has none of the batches: that is the clearer message.
  await confirmTopics(streams, { cluster, isShared }, signal)
  const filled = begun.map(({ stream: { topic, topicId, partition }, end, sequence }) => ({
    ...{ topic, topicId, partition },
    ...{ end, sequence },
  }))
  const overwritten = await findOverwritten(cluster, first.stream.identity.producerId, filled, signal)
  for (const { stream, end } of begun) {
    const what = overwritten.get(partitionKey(stream))
    if (what !== undefined) throw gone(stream, isShared, `it was filled up to ${end}, and ${what}`)
  }
}

/**
 * The same for many, most of which have only what is in their progress: their bounds are read together. Their readers are closed:
 * most of them wait long for their turn, and would hold the memory that the others need. `mayBeBehind`: an earlier run may have sent
 * batches that only their leaders have.
 */
export async function reconcileAll(
  streams: readonly Stream[],
  { cluster, isShared, mayBeBehind }: { cluster: Cluster; isShared: boolean; mayBeBehind: boolean },
  signal: AbortSignal,
): Promise<void> {
  const noted = mayBeBehind ? streams.map(notedOf) : []
  const logEnds = new LogEnds(cluster)
  const settling = <T>(look: () => Promise<T>) => cluster.settling(look, signal, mayBeBehind ? MAX_STALL_MS : undefined)
  const lookAtAll = () => fetchBounds(cluster, streams, signal)
  // It retries by itself, but not for as long as followers may be behind.
  const bounds = mayBeBehind
    ? await settling(async () => {
        await logEnds.learn(streams, signal)
        return lookAtAll()
      })
    : await lookAtAll()
  await runPool(streams, CONCURRENCY, stream => {
    let known = bounds.get(partitionKey(stream))
    return settling(async () => {
      const found = known
      // After a leader has moved, both are read again.
      if (mayBeBehind && !found) await logEnds.learn([stream], signal)
      known = undefined
      const looking = reconcile(stream, { cluster, isShared, logEnd: logEnds.endOf(stream) }, signal, found)
      await looking.finally(() => stream.close())
    })
  })
  await confirmLast(noted, { cluster, isShared }, signal)
}

/**
 * When all records of these streams were acknowledged: the topics are still those that were filled. Where this restore is the only writer,
 * another one after the last record of a partition is found as well, which affects no response.
 */
export async function confirmFilled(
  streams: readonly Stream[],
  { cluster, isShared }: { cluster: Cluster; isShared: boolean },
  signal: AbortSignal,
): Promise<void> {
  await confirmTopics(streams, { cluster, isShared }, signal)
  if (!isShared) await reconcileAll(streams, { cluster, isShared, mayBeBehind: false }, signal)
}

/** Throws where the target has no such topic any more, or another one under the name. */
export async function confirmTopics(
  streams: readonly Stream[],
  { cluster, isShared }: { cluster: Cluster; isShared: boolean },
  signal: AbortSignal,
): Promise<void> {
  const topics = [...new Set(streams.map(({ topic }) => topic))].map(name => ({ name, partitions: 0 }))
  const found = await waitForTopics(cluster, topics, signal).catch(error => {
    // The retries of the cluster are over: a broker that lags behind knows the topic by then.
    const isDeleted = hasCode(error, 'KAFKA_NOT_READY') && hasCode(error.cause, 'TOPIC_NOT_FOUND')
    throw isDeleted ? deletedError(String(error.details.topic), isShared) : error
  })
  const shown = new Map(found.map(topic => [topic.name, topic]))
  for (const stream of streams) stream.confirmTopic(shown.get(stream.topic))
}

async function* readBatches(
  cluster: Cluster,
  stream: Stream,
  range: OffsetRange,
  signal: AbortSignal,
): AsyncGenerator<LogBatch> {
  try {
    for await (const batches of readUncommittedLog(cluster, stream, range, signal)) yield* batches
  } catch (error) {
    // A new leader may have less, or not know the partition yet. Its bounds, which are read again, tell what is lost.
    if (!hasCode(error, 'OFFSET_OUT_OF_RANGE', 'TOPIC_NOT_FOUND')) throw error
    throw new KafkaBackupError('KAFKA_NOT_READY', error.message, { cause: error })
  }
}

const OTHER_TOPICS =
  'Set other names in restore.topic_mapping, and another restore.restore_id, and run the restore again.'

/** After an unclean election, a lost disk, or DeleteRecords. */
function gone({ name, details }: Stream, isShared: boolean, what: string): KafkaBackupError {
  const own = 'Delete the topic, and run the same command again: it fills this topic again and leaves the others alone.'
  // A topic that others write to must not be deleted.
  const help = isShared ? OTHER_TOPICS : own
  const message = `${name}: the target has lost records of this restore: ${what}`
  return new KafkaBackupError('RESTORE_CONFLICT', message, { help, details })
}
