import { isControl } from '../batch/header.ts'
import { walkBatches } from '../batch/walk.ts'
import { KafkaBackupError } from '../errors.ts'
import { brokerErrorName } from '../kafka/broker-errors.ts'
import { BufferPool } from '../kafka/buffer-pool.ts'
import type { Cluster } from '../kafka/cluster.ts'
import { Fetcher } from '../kafka/fetcher.ts'
import { fetchBounds, type PartitionBounds, partitionKey } from '../kafka/offsets.ts'
import { runPool } from '../lib/pool.ts'
import { nextSequence, type Stream } from './stream.ts'

const BUFFER_BYTES = 8 << 20
const CONCURRENCY = 8

/**
 * Finds out what of a stream is on the target, where nobody heard the answer: batches carry the producer's id and their
 * sequence, so that each one says itself whether it is ours and which. Brokers forget producers whose records are old;
 * the log does not.
 */
export async function reconcile(
  stream: Stream,
  { cluster, isShared }: { cluster: Cluster; isShared: boolean },
  signal: AbortSignal,
  known?: PartitionBounds,
): Promise<void> {
  const bounds = known ?? (await fetchBounds(cluster, [stream], signal)).get(partitionKey(stream))
  if (!bounds) throw new KafkaBackupError('KAFKA_NOT_READY', `no broker reports the end of ${stream.name}`)
  const { targetOffset, sequence } = stream.progress
  if (bounds.highWatermark < targetOffset) {
    throw gone(stream, isShared, `it ends at offset ${bounds.highWatermark}, and was filled up to ${targetOffset}`)
  }
  if (bounds.highWatermark === targetOffset) return
  if (bounds.logStart > targetOffset) {
    throw gone(
      stream,
      isShared,
      `it starts at offset ${bounds.logStart}, and what came after ${targetOffset} is not known`,
    )
  }
  const found = readBatches(cluster, stream, targetOffset, bounds.highWatermark, signal)
  let count = 0
  let end = targetOffset
  for await (const batch of found) {
    if (batch.producerId !== stream.identity.producerId) {
      if (!isShared) throw conflict(stream, batch.baseOffset, 'there is a batch of another producer')
      continue
    }
    // Where nobody else writes, offsets that are missing are records of ours that compaction has removed since.
    if (!isShared) count = Number(batch.baseOffset - targetOffset)
    if (batch.sequence !== nextSequence(sequence, count)) {
      throw conflict(stream, batch.baseOffset, `there is sequence ${batch.sequence}`)
    }
    // Not the count of its records: compaction may have been there.
    count += Number(batch.lastOffset - batch.baseOffset) + 1
    end = batch.lastOffset + 1n
  }
  if (count > 0) await stream.skip(count, end)
}

/** The same for many, most of which have nothing that is not noted: they are asked for together. */
export async function reconcileAll(
  streams: readonly Stream[],
  parts: { cluster: Cluster; isShared: boolean },
  signal: AbortSignal,
): Promise<void> {
  const bounds = await fetchBounds(parts.cluster, streams, signal)
  await runPool(streams, CONCURRENCY, stream => {
    let known = bounds.get(partitionKey(stream))
    return parts.cluster.settling(async () => {
      const found = known
      // A leader that has moved meanwhile is asked anew.
      known = undefined
      await reconcile(stream, parts, signal, found)
    }, signal)
  })
}

interface FoundBatch {
  baseOffset: bigint
  lastOffset: bigint
  producerId: bigint
  sequence: number
}

async function* readBatches(
  cluster: Cluster,
  stream: Stream,
  from: bigint,
  to: bigint,
  signal: AbortSignal,
): AsyncGenerator<FoundBatch> {
  if (from >= to) return
  const leader = await leaderOf(cluster, stream, signal)
  const buffers = new BufferPool(1, BUFFER_BYTES)
  // Also what lies behind the transactions of others that are open: our own batches are in none.
  const isolation = 'read_uncommitted' as const
  const options = { brokerId: leader, buffers, maxWaitMs: 500, rack: '', maxBytes: BUFFER_BYTES, isolation }
  const fetcher = await Fetcher.open(cluster, options, signal)
  try {
    for (let offset = from; offset < to; ) {
      const target = { topicId: stream.topicId, partition: stream.partition, leaderEpoch: -1, lastFetchedEpoch: -1 }
      const fetched = await fetcher.fetch([{ ...target, offset }], signal)
      const [part] = fetched.partitions
      const headers = part && part.errorCode === 0 ? walkBatches(fetched.bytes, part.start, part.end) : []
      const found = headers
        .filter(header => header.lastOffset >= offset && !isControl(header.attributes))
        .map(header => ({ ...header, sequence: fetched.bytes.readInt32BE(header.position + 53) }))
      const next = (headers.at(-1)?.lastOffset ?? offset - 1n) + 1n
      fetched.release()
      if (next <= offset) throw unreadable(stream, offset, part?.errorCode)
      yield* found
      offset = next
    }
  } finally {
    fetcher.close()
  }
}

async function leaderOf(cluster: Cluster, { topic, partition, name }: Stream, signal: AbortSignal): Promise<number> {
  const { topics } = await cluster.metadata({ topics: [topic] }, signal)
  const leader = topics[0]?.partitions.find(one => one.partition === partition)?.leader ?? -1
  if (leader < 0) throw new KafkaBackupError('KAFKA_NOT_READY', `partition ${name} has no leader at the moment`)
  return leader
}

function unreadable({ name }: Stream, offset: bigint, errorCode = 0): KafkaBackupError {
  const why = errorCode === 0 ? '' : `: the broker answered ${brokerErrorName(errorCode)}`
  return new KafkaBackupError('KAFKA_NOT_READY', `${name} cannot be read at ${offset}${why}`)
}

/** By an election that was not clean, a disk that was lost, or somebody who deletes records. */
function gone({ name }: Stream, isShared: boolean, what: string): KafkaBackupError {
  const own = 'Delete the topic, and run the same command again: it fills this topic again and leaves the others alone.'
  // Of a topic that others write to nobody should be told to delete it.
  const help = isShared ? 'Restore into topics of another name.' : own
  const message = `${name}: the target has lost records of this restore: ${what}`
  return new KafkaBackupError('RESTORE_CONFLICT', message, { help })
}

function conflict({ name }: Stream, offset: bigint, what: string): KafkaBackupError {
  return new KafkaBackupError('RESTORE_CONFLICT', `${name}: another writer writes to it: at offset ${offset} ${what}`)
}
