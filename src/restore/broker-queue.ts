import { hasCode } from '../errors.ts'
import type { Cluster } from '../kafka/cluster.ts'
import {
  type ProducedPartition,
  type ProduceEntry,
  ProduceLane,
  type ProduceLaneOptions,
} from '../kafka/produce-lane.ts'

interface Waiting {
  entry: ProduceEntry
  bytes: number
  resolve(answer: ProducedPartition): void
  reject(error: unknown): void
}

/** Beyond this a request waits for the one before: a broker takes 100 MiB, and memory is dear. */
const REQUEST_BYTES = 8 << 20

/** Azure Event Hubs, for one, closes the connection on a request of 1,046,528 bytes, and does not say why. */
const CAUTIOUS_REQUEST_BYTES = 1_000_000

/**
 * Gathers the batches of many partitions into few requests: while one is on its way, those that come meanwhile wait for
 * the next. One request at a time, so that no batch overtakes another.
 */
export class BrokerQueue {
  readonly #lane: ProduceLane
  readonly #signal: AbortSignal
  #waiting: Waiting[] = []
  #isSending = false
  #requestBytes = REQUEST_BYTES

  constructor(cluster: Cluster, brokerId: number, options: ProduceLaneOptions, signal: AbortSignal) {
    this.#lane = new ProduceLane(cluster, brokerId, options)
    this.#signal = signal
  }

  /** The broker's answer; rejects where there is none, and then the batch may be there or not. */
  send(entry: ProduceEntry, bytes: number): Promise<ProducedPartition> {
    const { promise, resolve, reject } = Promise.withResolvers<ProducedPartition>()
    this.#waiting.push({ entry, bytes, resolve, reject })
    if (!this.#isSending) void this.#pump()
    return promise
  }

  close(): void {
    this.#lane.close()
  }

  async #pump(): Promise<void> {
    this.#isSending = true
    while (this.#waiting.length > 0) {
      // A turn of the loop, so that what is ready at the same time travels together.
      await new Promise(resolve => setImmediate(resolve))
      const some = this.#take()
      try {
        const answers = await this.#lane.produce(
          some.map(({ entry }) => entry),
          this.#signal,
        )
        some.forEach(({ resolve, reject }, i) => {
          const answer = answers[i]
          if (answer) resolve(answer)
          else reject(new Error('an answer for each batch'))
        })
      } catch (error) {
        if (hasCode(error, 'KAFKA_DISCONNECTED')) this.#gatherLess(some)
        for (const { reject } of some) reject(error)
      }
    }
    this.#isSending = false
  }

  /** A request that was too large may have ended the connection: the next ones gather no more than is known to pass everywhere. */
  #gatherLess(sent: readonly Waiting[]): void {
    const bytes = sent.reduce((sum, one) => sum + one.bytes, 0)
    if (sent.length > 1 && bytes > CAUTIOUS_REQUEST_BYTES) this.#requestBytes = CAUTIOUS_REQUEST_BYTES
  }

  #take(): Waiting[] {
    let bytes = 0
    const count = this.#waiting.findIndex(one => {
      bytes += one.bytes
      return bytes > this.#requestBytes
    })
    return this.#waiting.splice(0, count < 0 ? this.#waiting.length : Math.max(1, count))
  }
}
