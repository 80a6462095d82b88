import type { BatchHeader } from '../batch/header.ts'
import { walkBatches } from '../batch/walk.ts'
import { hasCode, KafkaBackupError } from '../errors.ts'
import { runPool } from '../lib/pool.ts'
import { brokerError } from './broker-errors.ts'
import type { Cluster } from './cluster.ts'
import { leadersIn } from './epoch-ends.ts'
import { type Fetched, Fetcher } from './fetcher.ts'
import { partitionKey } from './offsets.ts'
import { BufferPool } from './wire/buffer-pool.ts'

/** An offset in a log. */
export interface LogPosition {
  topic: string
  topicId: string
  partition: number
  offset: bigint
}

export interface BatchAt {
  header: BatchHeader
  sequence: number
}

const LEADERS_AT_ONCE = 8
const TARGETS_PER_REQUEST = 100
/** What is in remote storage takes a moment. */
const MAX_WAIT_MS = 500
const BUFFER_BYTES = 8 << 20
/** Room for several batches in one answer, and for a batch of the usual size. A larger one comes first in another answer. */
const PARTITION_BYTES = 1 << 20

/**
 * The batch of each position, by `partitionKey`, or the next one where compaction has removed it: with few requests to
 * each leader, and one position of a partition. What the log does not reach is not in it. Committed or not, and with markers; checksums are not verified.
 */
export async function readBatchesAt(
  cluster: Cluster,
  positions: readonly LogPosition[],
  signal: AbortSignal,
): Promise<Map<string, BatchAt>> {
  const found = new Map<string, BatchAt>()
  let left = positions
  if (left.length === 0) return found
  await cluster.settling(async () => {
    const { topics } = await cluster.metadata({ topics: [...new Set(left.map(({ topic }) => topic))] }, signal)
    const leaders = leadersIn(topics)
    const byLeader = Map.groupBy(left, one => leaders.get(partitionKey(one))?.leader ?? -1)
    const settled = new Set<LogPosition>()
    await runPool(byLeader, LEADERS_AT_ONCE, async ([brokerId, own]) => {
      await readFromLeader(cluster, brokerId, own, { found, settled }, signal)
    }).finally(() => {
      left = left.filter(one => !settled.has(one))
    })
  }, signal)
  return found
}

async function readFromLeader(
  cluster: Cluster,
  brokerId: number,
  own: readonly LogPosition[],
  into: { found: Map<string, BatchAt>; settled: Set<LogPosition> },
  signal: AbortSignal,
): Promise<void> {
  const [first] = own
  if (brokerId < 0 && first) throw notReady(`partition ${partitionKey(first)} has no leader at the moment`)
  const buffers = new BufferPool(1, BUFFER_BYTES)
  const limits = { maxWaitMs: MAX_WAIT_MS, maxBytes: BUFFER_BYTES, partitionMaxBytes: PARTITION_BYTES, rack: '' }
  const options = { brokerId, buffers, ...limits, isolation: 'read_uncommitted' as const }
  const fetcher = await Fetcher.open(cluster, options, signal)
  try {
    for (let left = own; left.length > 0; ) {
      const asked = left.slice(0, TARGETS_PER_REQUEST)
      const targets = asked.map(one => ({ ...one, leaderEpoch: -1, lastFetchedEpoch: -1 }))
      const fetched = await fetcher.fetch(targets, signal)
      try {
        for (const one of asked) take(fetched, one, into)
      } finally {
        fetched.release()
      }
      // What had no room in this answer is among the first of the next one.
      const rest = left.filter(one => !into.settled.has(one))
      const [stuck] = rest
      if (stuck && rest.length === left.length)
        throw notReady(`${partitionKey(stuck)} cannot be read at offset ${stuck.offset}`)
      left = rest
    }
  } finally {
    fetcher.close()
  }
}

function take(
  { bytes, partitions }: Fetched,
  position: LogPosition,
  { found, settled }: { found: Map<string, BatchAt>; settled: Set<LogPosition> },
): void {
  const { topicId, partition, offset } = position
  const part = partitions.find(one => one.topicId === topicId && one.partition === partition)
  if (!part) return
  if (part.errorCode !== 0) {
    const error = brokerError(part.errorCode, `reading ${partitionKey(position)} at offset ${offset}`)
    // A new leader may not know the topic yet.
    if (hasCode(error, 'TOPIC_NOT_FOUND')) throw notReady(error.message)
    if (!hasCode(error, 'OFFSET_OUT_OF_RANGE')) throw error
    settled.add(position)
    return
  }
  const header = walkBatches(bytes, part.start, part.end).find(({ lastOffset }) => lastOffset >= offset)
  if (!header) return
  settled.add(position)
  found.set(partitionKey(position), { header, sequence: bytes.readInt32BE(header.position + 53) })
}

function notReady(message: string): KafkaBackupError {
  return new KafkaBackupError('KAFKA_NOT_READY', message)
}
