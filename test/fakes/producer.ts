import type { Cluster } from '../../src/kafka/cluster.ts'
import {
  acquireProducerId,
  type ProducedPartition,
  type ProduceEntry,
  ProduceLane,
  type ProduceLaneOptions,
  type ProducerIdentity,
} from '../../src/kafka/produce-lane.ts'

export interface ProducerOptions extends ProduceLaneOptions {
  /** Continues as this producer; a new one if it is not given. */
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
