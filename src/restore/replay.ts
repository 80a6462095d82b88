import { KafkaBackupError } from '../errors.ts'
import type { MetadataTopic } from '../kafka/api/metadata.ts'
import { brokerError } from '../kafka/broker-errors.ts'
import type { Cluster } from '../kafka/cluster.ts'
import type { ProducedPartition } from '../kafka/produce-lane.ts'
import { judgeProduceError } from '../kafka/produce-lane.ts'
import { runPool } from '../lib/pool.ts'
import type { RateLimiter } from '../lib/rate-limiter.ts'
import { backoffMs } from '../lib/retry.ts'
import type { OnProgress } from '../observe/progress.ts'
import { BrokerQueue } from './broker-queue.ts'
import { CopiedSum } from './copied-sum.ts'
import { FORGOTTEN_REMEDY } from './forgotten-producer.ts'
import { LogEnds } from './log-ends.ts'
import type { Outgoing } from './outgoing-batch.ts'
import { confirmTopics, MAX_STALL_MS, reconcileAgain } from './reconcile.ts'
import type { Stream } from './stream.ts'

interface ReplayParts {
  cluster: Cluster
  onProgress: OnProgress
  connectionsPerBroker: number
  /** Partitions that are filled at the same time. */
  maxActive: number
  requestTimeoutMs: number
  isShared: boolean
  limiter?: RateLimiter
  /** All records of the stream are on the target. */
  onFilled?: (stream: Stream) => void
}

/** What is older than this may be wrong: a run that slept may have been replaced, and brokers may have forgotten it. */
const MAX_SILENCE_MS = 30_000
const BACKOFF = { attempts: Number.POSITIVE_INFINITY, baseDelayMs: 100, maxDelayMs: 3000 }

const UNKNOWN_PRODUCER_ID = 59
const FORGOTTEN_HELP = `The broker has forgotten the producer of these records, and refuses its sequences: ${FORGOTTEN_REMEDY}.`

/** Fills every stream's partition to its end. One batch of a partition is under way at a time. */
export class Replay {
  readonly #parts: ReplayParts
  readonly #queues = new Map<string, BrokerQueue>()
  readonly #logEnds: LogEnds
  #leaders = new Map<string, number>()
  #dealt = 0
  #startedAt = 0
  /** Of all streams together: for batches of the backup, and for answers of the target. */
  readonly waitedMs = { backup: 0, target: 0 }

  constructor(parts: ReplayParts) {
    this.#parts = parts
    this.#logEnds = new LogEnds(parts.cluster)
  }

  async run(streams: readonly Stream[], signal: AbortSignal): Promise<void> {
    const stop = new AbortController()
    const scoped = AbortSignal.any([signal, stop.signal])
    const lanes = new Map(streams.map(stream => [stream, this.#dealt++ % this.#parts.connectionsPerBroker]))
    this.#startedAt = this.#parts.cluster.clock.now()
    try {
      await this.#findLeaders(streams, scoped)
      await runPool(streams, this.#parts.maxActive, async stream => {
        try {
          await this.#fillReporting(stream, lanes.get(stream) ?? 0, scoped)
          this.#parts.onFilled?.(stream)
        } catch (error) {
          stop.abort(error)
          throw error
        } finally {
          stream.close()
        }
      })
    } catch (error) {
      throw stop.signal.aborted && !signal.aborted ? stop.signal.reason : error
    } finally {
      for (const queue of this.#queues.values()) queue.close()
    }
  }

  async #fillReporting(stream: Stream, lane: number, signal: AbortSignal): Promise<void> {
    const { cluster, onProgress } = this.#parts
    const { topic, partition } = stream
    onProgress({ type: 'begun', topic, partition })
    const copied = new CopiedSum({ topic, partition }, onProgress, cluster.clock)
    try {
      await this.#fill(stream, lane, copied, signal)
    } finally {
      copied.report()
    }
  }

  async #fill(stream: Stream, lane: number, copied: CopiedSum, signal: AbortSignal): Promise<void> {
    const { clock } = this.#parts.cluster
    let failedSince: number | undefined
    let failures = 0
    // Some wait for long until it is their turn, and others may sleep: a look comes before the next batch then.
    let heardAt = this.#startedAt
    let hasLooked = false
    for (let batch = await this.#peek(stream); batch; batch = await this.#peek(stream)) {
      signal.throwIfAborted()
      const askedAt = clock.now()
      hasLooked = !hasLooked && askedAt - heardAt > MAX_SILENCE_MS
      // The time before the request, because its response may be delayed too. Wall-clock time also advances while the machine sleeps.
      heardAt = askedAt
      const sentAt = clock.monotonic()
      let trouble = await (hasLooked ? this.#lookAgain(stream, signal) : this.#trySend(stream, batch, lane, signal))
      this.waitedMs.target += clock.monotonic() - sentAt
      if (!trouble) {
        failedSince = undefined
        failures = 0
        if (!hasLooked) copied.add(batch.recordCount, batch.bytes.length)
      }
      while (trouble) {
        copied.report()
        failedSince ??= clock.monotonic()
        if (clock.monotonic() - failedSince > MAX_STALL_MS) {
          await confirmTopics([stream], this.#parts, signal)
          throw trouble
        }
        const delayMs = backoffMs(++failures, BACKOFF, 0.5)
        this.#parts.onProgress({ type: 'retry', what: trouble.message, delayMs })
        await clock.sleep(delayMs, signal)
        const { targetOffset } = stream.progress
        trouble = await this.#lookAgain(stream, signal)
        // Where answers get lost, and the batches do not, it moves.
        if (stream.progress.targetOffset !== targetOffset) failedSince = undefined
      }
    }
  }

  /** Most batches are ready, and need no promise. */
  #peek(stream: Stream): Outgoing | undefined | Promise<Outgoing | undefined> {
    const batch = stream.peek()
    return batch instanceof Promise ? this.#read(batch) : batch
  }

  async #read(reading: Promise<Outgoing | undefined>): Promise<Outgoing | undefined> {
    const { clock } = this.#parts.cluster
    const askedAt = clock.monotonic()
    const batch = await reading
    this.waitedMs.backup += clock.monotonic() - askedAt
    return batch
  }

  /** Undefined when the batch is stored. */
  async #trySend(
    stream: Stream,
    batch: Outgoing,
    lane: number,
    signal: AbortSignal,
  ): Promise<KafkaBackupError | undefined> {
    const { topic, partition } = stream
    let answer: ProducedPartition
    try {
      answer = await this.#queueOf(stream, lane, signal).send(
        { topic, partition, batch: batch.bytes },
        batch.bytes.length,
      )
    } catch (error) {
      signal.throwIfAborted()
      if (error instanceof KafkaBackupError && error.retryable) return error
      throw error
    }
    const verdict = judgeProduceError(answer.errorCode)
    switch (verdict) {
      case 'ok':
        stream.stored(batch, answer.baseOffset)
        return undefined
      case 'too_large':
      case 'refused':
        throw brokerError(answer.errorCode, `writing ${stream.name}`, answer.errorMessage, stream.details)
      default: {
        const { code: known, message } = brokerError(answer.errorCode, `writing ${stream.name}`, answer.errorMessage)
        if (answer.errorCode === UNKNOWN_PRODUCER_ID) {
          return new KafkaBackupError(known, message, { details: stream.details, help: FORGOTTEN_HELP })
        }
        // If the log does not explain it either in that time, another writer is active.
        const code = verdict === 'sequence' ? 'RESTORE_CONFLICT' : 'KAFKA_NOT_READY'
        return new KafkaBackupError(code, message, { details: stream.details })
      }
    }
  }

  /**
   * After a failure it is unknown whether the batch was written: the log of the current leader is read. Nothing is sent
   * before that is known; undefined if the stream knows it.
   */
  async #lookAgain(stream: Stream, signal: AbortSignal): Promise<KafkaBackupError | undefined> {
    const { cluster, isShared } = this.#parts
    try {
      const topics = await this.#findLeaders([stream], signal)
      await this.#logEnds.learn([stream], signal, topics)
      await reconcileAgain(stream, { cluster, isShared, logEnd: this.#logEnds.endOf(stream) }, signal)
      this.#logEnds.forget(stream)
      return undefined
    } catch (error) {
      signal.throwIfAborted()
      if (error instanceof KafkaBackupError && error.retryable) return error
      throw error
    }
  }

  async #findLeaders(streams: readonly Stream[], signal: AbortSignal): Promise<readonly MetadataTopic[]> {
    const { topics } = await this.#parts.cluster.metadata({ topics: [...new Set(streams.map(s => s.topic))] }, signal)
    for (const { name, partitions } of topics) {
      for (const { partition, leader } of partitions) this.#leaders.set(`${name}/${partition}`, leader)
    }
    const byName = new Map(topics.map(topic => [topic.name, topic]))
    for (const stream of streams) stream.confirmTopic(byName.get(stream.topic))
    return topics
  }

  #queueOf(stream: Stream, lane: number, signal: AbortSignal): BrokerQueue {
    const leader = this.#leaders.get(stream.name) ?? -1
    if (leader < 0)
      throw new KafkaBackupError('KAFKA_NOT_READY', `partition ${stream.name} has no leader at the moment`, {
        details: stream.details,
      })
    const key = `${leader}/${lane}`
    const known = this.#queues.get(key)
    if (known) return known
    const { cluster, requestTimeoutMs, limiter } = this.#parts
    const queue = new BrokerQueue(cluster, leader, { timeoutMs: requestTimeoutMs, ...(limiter && { limiter }) }, signal)
    this.#queues.set(key, queue)
    return queue
  }
}
