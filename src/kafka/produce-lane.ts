import { KafkaBackupError } from '../errors.ts'
import type { RateLimiter } from '../lib/rate-limiter.ts'
import { initProducerId } from './api/init-producer-id.ts'
import { type ProducedBatch, type ProduceRequest, type ProduceResponse, produceApi } from './api/produce.ts'
import { brokerError } from './broker-errors.ts'
import type { BrokerLink } from './broker-link.ts'
import type { Cluster } from './cluster.ts'
import { partitionKey } from './offsets.ts'
import { throttleWaitMs } from './throttle.ts'
import { MAX_CONTROL_BYTES, ResponseBuffer } from './wire/buffer-pool.ts'

/** Of the response for a few dozen partitions; a longer one gets separate memory. */
const RESPONSE_BYTES = 4096

export interface ProduceLaneOptions {
  /** How long a leader may wait until the other replicas have the batch. */
  timeoutMs: number
  limiter?: RateLimiter
}

/** One record batch for one partition, with producer id, epoch and sequence in its header. */
export interface ProduceEntry {
  topic: string
  partition: number
  /** In one piece or several. It is sent from where it lies and must not change until `produce` has ended. */
  batch: Buffer | readonly Buffer[]
}

export interface ProducedPartition extends ProducedBatch {
  topic: string
}

/**
 * Raw batches to one broker over a separate connection, which is opened again after it was lost. Requests are sent in
 * the order of the calls, the next one when the last one is answered.
 */
export class ProduceLane {
  readonly brokerId: number
  readonly #cluster: Cluster
  readonly #options: ProduceLaneOptions
  #link: BrokerLink | undefined
  #queue: Promise<unknown> = Promise.resolve()
  /** What is decoded of a response does not point into it. */
  readonly #response = new ResponseBuffer(RESPONSE_BYTES, MAX_CONTROL_BYTES)
  /** 0 for not at all. */
  #throttledUntil = 0
  #isClosed = false

  constructor(cluster: Cluster, brokerId: number, options: ProduceLaneOptions) {
    this.#cluster = cluster
    this.brokerId = brokerId
    this.#options = options
  }

  /**
   * The broker's answer for each entry, in their order. It rejects when there is no answer at all: then every batch may
   * have been appended, or none.
   */
  produce(entries: readonly ProduceEntry[], signal: AbortSignal): Promise<ProducedPartition[]> {
    const run = this.#queue.then(() => this.#exchange(entries, signal))
    this.#queue = run.catch(() => undefined)
    return run
  }

  close(): void {
    this.#isClosed = true
    this.#link?.close()
  }

  async #exchange(entries: readonly ProduceEntry[], signal: AbortSignal): Promise<ProducedPartition[]> {
    const { limiter, timeoutMs } = this.#options
    const request = produceRequest(entries, timeoutMs)
    if (this.#throttledUntil > 0) await this.#waitOutThrottle(signal)
    if (limiter) await limiter.wait(signal)
    const link = this.#link?.isOpen ? this.#link : await this.#open(signal)
    const answer = await link.call(produceApi, request, signal, { waitMs: timeoutMs, target: this.#response })
    const throttleMs = throttleWaitMs(answer.throttleMs)
    this.#throttledUntil = throttleMs > 0 ? this.#cluster.clock.monotonic() + throttleMs : 0
    limiter?.spend(bytesOf(request))
    return inOrderOf(entries, answer, link.name)
  }

  async #open(signal: AbortSignal): Promise<BrokerLink> {
    if (this.#isClosed) throw laneClosed(this.brokerId)
    const link = await this.#cluster.openLink(this.brokerId, signal)
    this.#link = link
    // Closed while it was being opened: this is the only place to close it.
    if (this.#isClosed) link.close()
    return link
  }

  async #waitOutThrottle(signal: AbortSignal): Promise<void> {
    const waitMs = this.#throttledUntil - this.#cluster.clock.monotonic()
    if (waitMs > 0) await this.#cluster.clock.sleep(waitMs, signal)
  }
}

function laneClosed(brokerId: number): KafkaBackupError {
  return new KafkaBackupError('KAFKA_DISCONNECTED', `the connection to broker ${brokerId} is closed`)
}

function produceRequest(entries: readonly ProduceEntry[], timeoutMs: number): ProduceRequest {
  const topics = new Map<string, Map<number, readonly Buffer[]>>()
  for (const { topic, partition, batch } of entries) {
    const own = topics.get(topic) ?? new Map<number, readonly Buffer[]>()
    // A broker keeps one batch of a partition that is named twice, and drops the other without a word.
    if (own.has(partition)) throw new Error('a request takes one batch a partition')
    topics.set(topic, own.set(partition, Buffer.isBuffer(batch) ? [batch] : batch))
  }
  return {
    timeoutMs,
    topics: Array.from(topics, ([name, own]) => ({
      name,
      partitions: Array.from(own, ([partition, batch]) => ({ partition, batch })),
    })),
  }
}

function bytesOf({ topics }: ProduceRequest): number {
  const pieces = topics.flatMap(topic => topic.partitions).flatMap(({ batch }) => batch)
  return pieces.reduce((sum, piece) => sum + piece.length, 0)
}

/** A batch of which the broker says nothing must not pass for a stored one. */
function inOrderOf(entries: readonly ProduceEntry[], { topics }: ProduceResponse, broker: string): ProducedPartition[] {
  const byTopic = new Map<string, Map<number, ProducedBatch>>()
  for (const { name, partitions } of topics) {
    const own = byTopic.get(name) ?? new Map<number, ProducedBatch>()
    byTopic.set(name, own)
    for (const one of partitions) own.set(one.partition, one)
  }
  return entries.map(entry => {
    const answer = byTopic.get(entry.topic)?.get(entry.partition)
    if (answer) return { topic: entry.topic, ...answer }
    throw new KafkaBackupError('KAFKA_PROTOCOL', `${broker} did not say whether it stored ${partitionKey(entry)}`)
  })
}

/**
 * What a broker's answer for one batch means to a sender with a producer ID and a sequence:
 *
 *   ok         appended
 *   duplicate  it was there already, and is not stored twice
 *   retry      the same batch can be sent again, to the current leader; it may have been appended
 *   sequence   the broker expects another sequence, or knows another holder of the producer id: something else was written
 *              meanwhile, or it has forgotten the producer
 *   too_large  the batch exceeds `max.message.bytes` or `segment.bytes` of the topic
 *   refused    final, and nothing was appended
 */
export type ProduceVerdict = 'ok' | 'duplicate' | 'retry' | 'sequence' | 'too_large' | 'refused'

/** By Kafka's error code; what is not listed is refused. */
const verdicts: Record<number, ProduceVerdict> = {
  0: 'ok',
  46: 'duplicate',
  // The cluster is electing, restarting or has not heard of a new topic everywhere; a checksum broke on the way (2).
  [-1]: 'retry',
  2: 'retry',
  3: 'retry',
  5: 'retry',
  6: 'retry',
  7: 'retry',
  8: 'retry',
  9: 'retry',
  13: 'retry',
  14: 'retry',
  15: 'retry',
  16: 'retry',
  19: 'retry',
  20: 'retry',
  56: 'retry',
  74: 'retry',
  75: 'retry',
  89: 'retry',
  45: 'sequence',
  47: 'sequence',
  59: 'sequence',
  90: 'sequence',
  10: 'too_large',
  18: 'too_large',
}

export function judgeProduceError(errorCode: number): ProduceVerdict {
  return verdicts[errorCode] ?? 'refused'
}

/**
 * Who writes. A broker remembers the sequences of the last five batches that each producer wrote to a partition: a batch
 * that comes again is not stored twice, and a gap is refused.
 *
 * It forgets a producer `producer.id.expiration.ms` (a day) after the time *in its last records*. Of older records it
 * remembers the producer only until it restarts or next looks for expired ones (every ten minutes); a replica that takes
 * over still knows it. Once forgotten, any sequence is taken: a batch that comes again is stored again, a gap passes. Before
 * Kafka 2.5 only the sequence 0 is, after `transactional.id.expiration.ms` (seven days); see `refusesForgotten`.
 * Hence one batch of a partition is in flight at a time, its base offset is compared with the expected one, and a caller that
 * lost an answer looks at the end of the log before sending the batch again.
 */
export interface ProducerIdentity {
  producerId: bigint
  producerEpoch: number
}

/** A new producer ID. */
export function acquireProducerId(cluster: Cluster, signal: AbortSignal): Promise<ProducerIdentity> {
  return cluster.settling(async () => {
    const { errorCode, producerId, producerEpoch } = await cluster.callAny(initProducerId, {}, signal)
    if (errorCode !== 0) throw brokerError(errorCode, 'asking for a producer id')
    return { producerId, producerEpoch }
  }, signal)
}

/** Of InitProducerId, in Kafka 2.5. */
const FIRST_WITHOUT_REFUSAL = 3

/** Whether the broker refuses the sequences of a producer that it has forgotten, with UNKNOWN_PRODUCER_ID. */
export function refusesForgotten(cluster: Cluster, brokerId: number, signal: AbortSignal): Promise<boolean> {
  return cluster.settling(async () => {
    const link = await cluster.link(brokerId, signal)
    return (link.versionOf(initProducerId) ?? 0) < FIRST_WITHOUT_REFUSAL
  }, signal)
}
