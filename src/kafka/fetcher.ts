import type { RateLimiter } from '../lib/rate-limiter.ts'
import {
  type FetchedPartition,
  type FetchPosition,
  type FetchRequest,
  type FetchResponse,
  fetchApi,
} from './api/fetch.ts'
import type { Isolation } from './api/list-offsets.ts'
import { brokerError } from './broker-errors.ts'
import type { BrokerLink } from './broker-link.ts'
import type { Cluster } from './cluster.ts'
import { throttleWaitMs } from './throttle.ts'
import type { BufferPool } from './wire/buffer-pool.ts'

interface FetcherOptions {
  brokerId: number
  buffers: BufferPool
  maxWaitMs: number
  /** The rack of this client; the leader then points to a nearby replica. Empty to read from the leader. */
  rack: string
  /** Of one answer; a single batch may exceed it. At most what a buffer holds. */
  maxBytes: number
  limiter?: RateLimiter
  /** `read_committed` where it is not given: nothing from the first open transaction on. */
  isolation?: Isolation
}

export interface FetchTarget extends FetchPosition {
  topicId: string
}

/** An answer with the memory it lies in. The batches are valid until `release`. */
export interface Fetched {
  bytes: Buffer
  partitions: (FetchedPartition & { topicId: string })[]
  release(): void
}

/** What an answer holds besides the batches; a partition's own part of it is far below 200 bytes, aborted lists aside. */
const ENVELOPE_BYTES = 256 * 1024

/** Raw batches of many partitions from one broker over a separate connection. */
export class Fetcher {
  readonly #link: BrokerLink
  readonly #options: FetcherOptions
  readonly #cluster: Cluster
  #throttledUntil = 0

  private constructor(link: BrokerLink, options: FetcherOptions, cluster: Cluster) {
    this.#link = link
    this.#options = options
    this.#cluster = cluster
  }

  static async open(cluster: Cluster, options: FetcherOptions, signal: AbortSignal): Promise<Fetcher> {
    return new Fetcher(await cluster.openLink(options.brokerId, signal), options, cluster)
  }

  /**
   * The broker fills the answer in the order of the targets. The first that has anything at or after its offset gets at
   * least one batch, however large; the ones behind it may get nothing for want of room.
   */
  async fetch(targets: readonly FetchTarget[], signal: AbortSignal): Promise<Fetched> {
    const { buffers, maxWaitMs, limiter } = this.#options
    const target = await buffers.acquire()
    try {
      await this.#waitOutThrottle(signal)
      await limiter?.wait(signal)
      const answer = await this.#link.call(fetchApi, this.#request(targets), signal, { target, waitMs: maxWaitMs })
      this.#throttledUntil = this.#cluster.clock.monotonic() + throttleWaitMs(answer.throttleMs)
      if (answer.errorCode !== 0) throw brokerError(answer.errorCode, `reading from ${this.#link.name}`)
      limiter?.spend(bytesOf(answer))
      return {
        bytes: target.bytes.subarray(4),
        partitions: answer.topics.flatMap(({ id, partitions }) => partitions.map(one => ({ ...one, topicId: id }))),
        release: () => buffers.release(target),
      }
    } catch (error) {
      buffers.release(target)
      throw error
    }
  }

  close(): void {
    this.#link.close()
  }

  #request(targets: readonly FetchTarget[]): FetchRequest {
    const { buffers, maxWaitMs, rack, isolation = 'read_committed' } = this.#options
    const maxBytes = Math.min(this.#options.maxBytes, buffers.bufferBytes - ENVELOPE_BYTES)
    return { maxWaitMs, maxBytes, partitionMaxBytes: maxBytes, rack, isolation, topics: groupAdjacent(targets) }
  }

  async #waitOutThrottle(signal: AbortSignal): Promise<void> {
    const waitMs = this.#throttledUntil - this.#cluster.clock.monotonic()
    if (waitMs > 0) await this.#cluster.clock.sleep(waitMs, signal)
  }
}

function bytesOf({ topics }: FetchResponse): number {
  return topics.flatMap(topic => topic.partitions).reduce((sum, { start, end }) => sum + end - start, 0)
}

/** One entry a topic, in the order in which the topics first appear. */
function groupAdjacent(targets: readonly FetchTarget[]): FetchRequest['topics'] {
  return [...Map.groupBy(targets, target => target.topicId)].map(([id, partitions]) => ({ id, partitions }))
}
