import { initProducerId } from './api/init-producer-id.ts'
import { brokerError } from './broker-errors.ts'
import type { Cluster } from './cluster.ts'
import { type ProducedPartition, type ProduceEntry, ProduceLane, type ProduceLaneOptions } from './produce-lane.ts'

/**
 * Who writes. A broker remembers the sequences of the last five batches that each producer wrote to a partition: a batch
 * that comes again is not stored twice, and a gap is refused.
 *
 * It forgets a producer `producer.id.expiration.ms` (a day) after the time *in its last records*. Of older records it
 * remembers the producer only until it restarts or next looks for expired ones (every ten minutes); a replica that takes
 * over still knows it. Once forgotten, any sequence is taken: a batch that comes again is stored again, a gap passes.
 * Hence one batch of a partition is in flight at a time, its base offset is compared with the expected one, and whoever
 * lost an answer looks at the end of the log before sending the batch again.
 */
export interface ProducerIdentity {
  producerId: bigint
  producerEpoch: number
}

export interface ProducerOptions extends ProduceLaneOptions {
  /** Goes on as this producer; a new one where it is not given. */
  identity?: ProducerIdentity
}

/** Raw batches to a whole cluster, one connection a broker. The batches carry the identity; this only holds it. */
export class Producer {
  readonly identity: ProducerIdentity
  readonly #cluster: Cluster
  readonly #options: ProduceLaneOptions
  readonly #lanes = new Map<number, ProduceLane>()
  #isClosed = false

  private constructor(cluster: Cluster, identity: ProducerIdentity, options: ProduceLaneOptions) {
    this.#cluster = cluster
    this.identity = identity
    this.#options = options
  }

  static async open(cluster: Cluster, options: ProducerOptions, signal: AbortSignal): Promise<Producer> {
    const { identity, ...laneOptions } = options
    return new Producer(cluster, identity ?? (await acquireProducerId(cluster, signal)), laneOptions)
  }

  /** See `ProduceLane.produce`. Calls for different brokers run side by side. */
  produce(brokerId: number, entries: readonly ProduceEntry[], signal: AbortSignal): Promise<ProducedPartition[]> {
    let lane = this.#lanes.get(brokerId)
    if (!lane) {
      lane = new ProduceLane(this.#cluster, brokerId, this.#options)
      this.#lanes.set(brokerId, lane)
      if (this.#isClosed) lane.close()
    }
    return lane.produce(entries, signal)
  }

  close(): void {
    this.#isClosed = true
    for (const lane of this.#lanes.values()) lane.close()
  }
}

/** A producer id that nobody has had before. */
export function acquireProducerId(cluster: Cluster, signal: AbortSignal): Promise<ProducerIdentity> {
  return cluster.settling(async () => {
    const { errorCode, producerId, producerEpoch } = await cluster.callAny(initProducerId, {}, signal)
    if (errorCode !== 0) throw brokerError(errorCode, 'asking for a producer id')
    return { producerId, producerEpoch }
  }, signal)
}
