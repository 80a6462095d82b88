import { decodeMarker } from '../batch/control.ts'
import { hasValidCrc } from '../batch/crc.ts'
import { type BatchHeader, isControl, isTransactional } from '../batch/header.ts'
import { decodeRecords, type KafkaRecord } from '../batch/records.ts'
import { walkBatches } from '../batch/walk.ts'
import { KafkaBackupError } from '../errors.ts'
import type { FetchedPartition } from '../kafka/api/fetch.ts'
import { brokerError } from '../kafka/broker-errors.ts'
import { BufferPool } from '../kafka/buffer-pool.ts'
import type { Cluster } from '../kafka/cluster.ts'
import { type Fetched, Fetcher } from '../kafka/fetcher.ts'
import type { PartitionBounds } from '../kafka/offsets.ts'

export interface TargetPartition {
  topic: string
  topicId: string
  partition: number
}

/** A batch of the target's log, in memory of its own. */
export interface LogBatch {
  bytes: Buffer
  header: BatchHeader
  sequence: number
}

const BUFFER_BYTES = 2 << 20
const MAX_WAIT_MS = 500
const SEQUENCES = 2n ** 31n

/**
 * The batches at [from, to) that a reader of committed data would see, those of one answer at a time. A leader that moves
 * or goes away for a while is looked for again.
 */
export async function* readTargetLog(
  cluster: Cluster,
  target: TargetPartition,
  { from, to }: { from: bigint; to: bigint },
  signal: AbortSignal,
): AsyncGenerator<LogBatch[]> {
  const reader = new LogReader(cluster, target)
  try {
    for (let offset = from; offset < to; ) {
      const answer = await cluster.settling(() => reader.read(offset, signal), signal)
      const inRange = answer.batches.filter(({ header }) => header.baseOffset < to)
      if (inRange.length > 0) yield inRange
      offset = answer.next
    }
  } finally {
    reader.close()
  }
}

/** The records of these batches; of one producer alone, where it is given. */
export async function* readTargetRecords(
  cluster: Cluster,
  target: TargetPartition,
  { logStart, lastStable }: PartitionBounds,
  producerId: bigint | undefined,
  signal: AbortSignal,
): AsyncGenerator<KafkaRecord[]> {
  for await (const some of readTargetLog(cluster, target, { from: logStart, to: lastStable }, signal)) {
    for (const { bytes, header } of some) {
      if (producerId !== undefined && header.producerId !== producerId) continue
      // DeleteRecords may have cut a batch in two.
      yield decodeRecords(bytes, header).filter(({ offset }) => offset >= logStart)
    }
  }
}

/**
 * Where a restore that has the log for itself put its first record: its batches count their records from there on, also
 * where compaction or retention have removed the first ones. Records that no restore wrote are taken to begin at 0.
 * Sequences begin again at 0 after 2^31 records: a restore of so many is taken to begin below 2^31.
 */
export async function findFirstOffset(
  cluster: Cluster,
  target: TargetPartition,
  { logStart, lastStable }: PartitionBounds,
  mostRecords: bigint,
  signal: AbortSignal,
): Promise<bigint> {
  for await (const [first] of readTargetLog(cluster, target, { from: logStart, to: lastStable }, signal)) {
    if (!first) continue
    if (first.sequence < 0) return 0n
    const begin = first.header.baseOffset - BigInt(first.sequence)
    return mostRecords > SEQUENCES || begin < 0n ? BigInt.asUintN(31, begin) : begin
  }
  return logStart
}

class LogReader {
  readonly #cluster: Cluster
  readonly #target: TargetPartition
  readonly #buffers = new BufferPool(1, BUFFER_BYTES)
  #fetcher: Fetcher | undefined

  constructor(cluster: Cluster, target: TargetPartition) {
    this.#cluster = cluster
    this.#target = target
  }

  async read(offset: bigint, signal: AbortSignal): Promise<{ batches: LogBatch[]; next: bigint }> {
    const { topicId, partition } = this.#target
    try {
      this.#fetcher ??= await this.#open(signal)
      const position = { topicId, partition, leaderEpoch: -1, lastFetchedEpoch: -1, offset }
      const fetched = await this.#fetcher.fetch([position], signal)
      try {
        return this.#take(fetched, offset)
      } finally {
        fetched.release()
      }
    } catch (error) {
      this.close()
      throw error
    }
  }

  close(): void {
    this.#fetcher?.close()
    this.#fetcher = undefined
  }

  async #open(signal: AbortSignal): Promise<Fetcher> {
    const { topic, partition } = this.#target
    const { topics } = await this.#cluster.metadata({ topics: [topic] }, signal)
    const brokerId = topics[0]?.partitions.find(one => one.partition === partition)?.leader ?? -1
    if (brokerId < 0)
      throw new KafkaBackupError('KAFKA_NOT_READY', `partition ${this.#name} has no leader at the moment`)
    const limits = { maxWaitMs: MAX_WAIT_MS, maxBytes: BUFFER_BYTES }
    return Fetcher.open(this.#cluster, { brokerId, buffers: this.#buffers, rack: '', ...limits }, signal)
  }

  #take(fetched: Fetched, offset: bigint): { batches: LogBatch[]; next: bigint } {
    const [part] = fetched.partitions
    if (!part) throw new KafkaBackupError('KAFKA_PROTOCOL', `the broker said nothing of ${this.#name}`)
    if (part.errorCode !== 0) throw brokerError(part.errorCode, `reading ${this.#name}`)
    // A copy: the buffer is used again, and whoever compares looks ahead.
    const bytes = Buffer.from(fetched.bytes.subarray(part.start, part.end))
    const headers = walkBatches(bytes, 0, bytes.length)
    const last = headers.at(-1)
    if (!last || last.lastOffset < offset) {
      throw new KafkaBackupError('KAFKA_NOT_READY', `${this.#name} cannot be read at ${offset}`)
    }
    const damaged = headers.find(({ position, sizeBytes }) => !hasValidCrc(bytes, position, sizeBytes))
    if (damaged) throw corrupt(this.#name, damaged)
    const visible = visibleBatches(bytes, headers, part.abortedTransactions)
    const batches = visible
      .filter(({ lastOffset }) => lastOffset >= offset)
      .map(header => ({ bytes, header, sequence: bytes.readInt32BE(header.position + 53) }))
    return { batches, next: last.lastOffset + 1n }
  }

  get #name(): string {
    return `${this.#target.topic}/${this.#target.partition}`
  }
}

/** Without markers and without what was rolled back, by the rule of Kafka's own consumers. */
export function visibleBatches(
  bytes: Buffer,
  headers: readonly BatchHeader[],
  aborted: FetchedPartition['abortedTransactions'],
): BatchHeader[] {
  const coming = [...aborted].sort((a, b) => (a.firstOffset < b.firstOffset ? -1 : 1))
  const rolledBack = new Set<bigint>()
  return headers.filter(header => {
    for (let next = coming[0]; next && next.firstOffset <= header.lastOffset; next = coming[0]) {
      rolledBack.add(next.producerId)
      coming.shift()
    }
    if (isControl(header.attributes)) {
      if (decodeMarker(bytes, header) === 'abort') rolledBack.delete(header.producerId)
      return false
    }
    return !(isTransactional(header.attributes) && rolledBack.has(header.producerId))
  })
}

function corrupt(name: string, { baseOffset }: BatchHeader): KafkaBackupError {
  return new KafkaBackupError(
    'SOURCE_CORRUPT',
    `${name}: the batch at offset ${baseOffset} of the target has a wrong CRC-32C`,
  )
}
