import { hasValidCrc } from '../batch/crc.ts'
import { type BatchHeader, isControl, isTransactional } from '../batch/header.ts'
import { decodeMarker, decodeRecords, type KafkaRecord } from '../batch/records.ts'
import { walkBatches } from '../batch/walk.ts'
import { KafkaBackupError } from '../errors.ts'
import type { FetchedPartition } from './api/fetch.ts'
import type { Isolation } from './api/list-offsets.ts'
import { brokerError } from './broker-errors.ts'
import type { Cluster } from './cluster.ts'
import { type Fetched, Fetcher } from './fetcher.ts'
import { BufferPool } from './wire/buffer-pool.ts'

/** A partition whose log is read. */
export interface LogPartition {
  topic: string
  topicId: string
  partition: number
}

/** A batch of a log, in separate memory. */
export interface LogBatch {
  bytes: Buffer
  header: BatchHeader
  sequence: number
}

export interface OffsetRange {
  from: bigint
  /** Not part of it. */
  to: bigint
}

const BUFFER_BYTES = 2 << 20
const MAX_WAIT_MS = 500

/**
 * The batches at [from, to) that a consumer of committed data would see, those of one response at a time. When the leader
 * moves or is away for a while, it is looked up again.
 */
export async function* readLog(
  cluster: Cluster,
  place: LogPartition,
  range: OffsetRange,
  signal: AbortSignal,
): AsyncGenerator<LogBatch[]> {
  const reader = new LogReader(cluster, place, 'read_committed', true)
  yield* readRange(reader, range, offset => cluster.settling(() => reader.read(offset, signal), signal))
}

/**
 * All batches at [from, to) except for markers, also those behind open transactions of other producers, for their headers:
 * checksums are not verified. It fails when the leader moves: the caller retries, because it has to read the bounds again.
 */
export async function* readUncommittedLog(
  cluster: Cluster,
  place: LogPartition,
  range: OffsetRange,
  signal: AbortSignal,
): AsyncGenerator<LogBatch[]> {
  const reader = new LogReader(cluster, place, 'read_uncommitted', false)
  yield* readRange(reader, range, offset => reader.read(offset, signal))
}

/**
 * The same with verified checksums, for one who needs no bounds of a new leader: when the leader moves or is away for a while, it is looked
 * up again.
 */
export async function* readAllBatches(
  cluster: Cluster,
  place: LogPartition,
  range: OffsetRange,
  signal: AbortSignal,
): AsyncGenerator<LogBatch[]> {
  const reader = new LogReader(cluster, place, 'read_uncommitted', true)
  yield* readRange(reader, range, offset => cluster.settling(() => reader.read(offset, signal), signal))
}

/**
 * The records at [from, to) of committed batches, those of one batch at a time; of one producer alone, where it is given, which writes
 * without transactions: then also those behind open transactions of others.
 */
export async function* readLogRecords(
  cluster: Cluster,
  place: LogPartition,
  range: OffsetRange & { producerId?: bigint | undefined },
  signal: AbortSignal,
): AsyncGenerator<KafkaRecord[]> {
  const { from, to, producerId } = range
  const log = producerId === undefined ? readLog : readAllBatches
  for await (const some of log(cluster, place, range, signal)) {
    for (const { bytes, header } of some) {
      if (producerId !== undefined && header.producerId !== producerId) continue
      // DeleteRecords may have cut a batch in two.
      yield decodeRecords(bytes, header).filter(({ offset }) => offset >= from && offset < to)
    }
  }
}

async function* readRange(
  reader: LogReader,
  { from, to }: OffsetRange,
  read: (offset: bigint) => ReturnType<LogReader['read']>,
): AsyncGenerator<LogBatch[]> {
  try {
    for (let offset = from; offset < to; ) {
      const { batches, next } = await read(offset)
      const inRange = batches.filter(({ header }) => header.baseOffset < to)
      if (inRange.length > 0) yield inRange
      offset = next
    }
  } finally {
    reader.close()
  }
}

class LogReader {
  readonly #cluster: Cluster
  readonly #place: LogPartition
  readonly #isolation: Isolation
  readonly #isVerified: boolean
  readonly #buffers = new BufferPool(1, BUFFER_BYTES)
  #fetcher: Fetcher | undefined

  constructor(cluster: Cluster, place: LogPartition, isolation: Isolation, isVerified: boolean) {
    this.#cluster = cluster
    this.#place = place
    this.#isolation = isolation
    this.#isVerified = isVerified
  }

  async read(offset: bigint, signal: AbortSignal): Promise<{ batches: LogBatch[]; next: bigint }> {
    const { topic, topicId, partition } = this.#place
    try {
      this.#fetcher ??= await this.#open(signal)
      const position = { topic, topicId, partition, leaderEpoch: -1, lastFetchedEpoch: -1, offset }
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
    const { topic, partition } = this.#place
    const { topics } = await this.#cluster.metadata({ topics: [topic] }, signal)
    const brokerId = topics[0]?.partitions.find(one => one.partition === partition)?.leader ?? -1
    if (brokerId < 0)
      throw new KafkaBackupError('KAFKA_NOT_READY', `partition ${this.#name} has no leader at the moment`)
    const limits = { maxWaitMs: MAX_WAIT_MS, maxBytes: BUFFER_BYTES, isolation: this.#isolation }
    return Fetcher.open(this.#cluster, { brokerId, buffers: this.#buffers, rack: '', ...limits }, signal)
  }

  #take(fetched: Fetched, offset: bigint): { batches: LogBatch[]; next: bigint } {
    const [part] = fetched.partitions
    if (!part) throw new KafkaBackupError('KAFKA_PROTOCOL', `the broker said nothing of ${this.#name}`)
    if (part.errorCode !== 0) throw brokerError(part.errorCode, `reading ${this.#name}`)
    // A copy: the buffer is used again, and callers read ahead.
    const bytes = Buffer.from(fetched.bytes.subarray(part.start, part.end))
    const headers = walkBatches(bytes, 0, bytes.length)
    const last = headers.at(-1)
    if (!last || last.lastOffset < offset) {
      throw new KafkaBackupError('KAFKA_NOT_READY', `${this.#name} cannot be read at ${offset}`)
    }
    const damaged =
      this.#isVerified && headers.find(({ position, sizeBytes }) => !hasValidCrc(bytes, position, sizeBytes))
    if (damaged) throw corrupt(this.#name, damaged)
    // Without aborted transactions in the response, markers are all that is left out.
    const visible = visibleBatches(bytes, headers, part.abortedTransactions)
    const batches = visible
      .filter(({ lastOffset }) => lastOffset >= offset)
      .map(header => ({ bytes, header, sequence: bytes.readInt32BE(header.position + 53) }))
    return { batches, next: last.lastOffset + 1n }
  }

  get #name(): string {
    return `${this.#place.topic}/${this.#place.partition}`
  }
}

/** Without markers and aborted transactions, by the rule of Kafka's own consumers. */
function visibleBatches(
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
  return new KafkaBackupError('SOURCE_CORRUPT', `${name}: the batch at offset ${baseOffset} has a wrong CRC-32C`)
}
