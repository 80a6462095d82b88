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
import { type ConvertedPart, convertOldParts } from './convert-old-parts.ts'
import { isIdOfName } from './named-topic-id.ts'
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
  /** Of one partition; the same where it is not given. */
  partitionMaxBytes?: number
  limiter?: RateLimiter
  /** `read_committed` where it is not given: nothing from the first open transaction on. */
  isolation?: Isolation
}

export interface FetchTarget extends FetchPosition {
  topic: string
  topicId: string
}

/** An answer with the memory it lies in. The batches, all of format v2, are valid until `release`. */
export interface Fetched {
  bytes: Buffer
  /** The broker was asked by name: another topic that has the name by now would have answered as well. */
  isByName: boolean
  partitions: ConvertedPart<FetchedPartition & { topicId: string }>[]
  release(): void
}

/** The first version that names topics by ID. */
export const FIRST_BY_ID = 13

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
   * least one batch, however large; the ones behind it may get nothing for want of room. `growth` makes the answer as many
   * times larger, beyond what a buffer holds. Small answers next to others may use separate buffers.
   */
  async fetch(
    targets: readonly FetchTarget[],
    signal: AbortSignal,
    growth = 1,
    buffers = this.#options.buffers,
  ): Promise<Fetched> {
    const { maxWaitMs, limiter } = this.#options
    const version = this.#versionFor(targets)
    const target = await buffers.acquire()
    try {
      await this.#waitOutThrottle(signal)
      await limiter?.wait(signal)
      const exchange = { target, waitMs: maxWaitMs, maxVersion: version }
      const answer = await this.#link.call(fetchApi, this.#request(targets, growth, buffers), signal, exchange)
      this.#throttledUntil = this.#cluster.clock.monotonic() + throttleWaitMs(answer.throttleMs)
      if (answer.errorCode !== 0) throw brokerError(answer.errorCode, `reading from ${this.#link.name}`)
      limiter?.spend(bytesOf(answer))
      const partitions = answer.topics.flatMap(({ id, name, partitions: own }) => {
        const topicId = id ?? targets.find(({ topic }) => topic === name)?.topicId ?? ''
        return own.map(one => ({ ...one, topicId }))
      })
      const fetched = convertOldParts(target.bytes.subarray(4), partitions, part => nameOf(part, targets))
      return { ...fetched, isByName: version < FIRST_BY_ID, release: () => buffers.release(target) }
    } catch (error) {
      buffers.release(target)
      throw error
    }
  }

  close(): void {
    this.#link.close()
  }

  /** By ID where both the broker and the topics have IDs. */
  #versionFor(targets: readonly FetchTarget[]): number {
    const newest = this.#link.assertSpeaks(fetchApi)
    const isWithoutId = targets.some(({ topic, topicId }) => isIdOfName(topicId, topic))
    return isWithoutId ? Math.min(newest, FIRST_BY_ID - 1) : newest
  }

  #request(targets: readonly FetchTarget[], growth: number, buffers: BufferPool): FetchRequest {
    const { maxWaitMs, rack, isolation = 'read_committed' } = this.#options
    const maxBytes = Math.min(this.#options.maxBytes, buffers.bufferBytes - ENVELOPE_BYTES) * growth
    const { partitionMaxBytes = maxBytes } = this.#options
    return { maxWaitMs, maxBytes, partitionMaxBytes, rack, isolation, topics: groupAdjacent(targets) }
  }

  async #waitOutThrottle(signal: AbortSignal): Promise<void> {
    const waitMs = this.#throttledUntil - this.#cluster.clock.monotonic()
    if (waitMs > 0) await this.#cluster.clock.sleep(waitMs, signal)
  }
}

function bytesOf({ topics }: FetchResponse): number {
  return topics.flatMap(topic => topic.partitions).reduce((sum, { start, end }) => sum + end - start, 0)
}

function nameOf(
  { topicId, partition }: { topicId: string; partition: number },
  targets: readonly FetchTarget[],
): string {
  const topic = targets.find(one => one.topicId === topicId)?.topic ?? `the topic with ID ${topicId}`
  return `${topic}/${partition}`
}

/** One entry a topic, in the order in which the topics first appear. */
function groupAdjacent(targets: readonly FetchTarget[]): FetchRequest['topics'] {
  const topics = Map.groupBy(targets, target => target.topicId)
  return [...topics].map(([id, partitions]) => ({ id, name: partitions[0]?.topic ?? '', partitions }))
}
