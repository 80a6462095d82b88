import type { MetadataTopic } from '../kafka/api/metadata.ts'
import type { Cluster } from '../kafka/cluster.ts'
import { fetchEpochEnds } from '../kafka/epoch-ends.ts'
import { partitionKey, type TopicPartition } from '../kafka/offsets.ts'

/**
 * Where the logs of leaders ended when the outcome of a write became unknown: a batch that its leader has, and not all followers, is behind
 * the high watermark, where no client sees it. Sent again it would be stored twice if the broker has forgotten its producer meanwhile.
 */
export class LogEnds {
  readonly #cluster: Cluster
  /** Kept until it is reached, because others may continue to write. With another leader, what only the old one had is gone. */
  readonly #known = new Map<string, { leaderEpoch: number; end: bigint }>()

  constructor(cluster: Cluster) {
    this.#cluster = cluster
  }

  /** Undefined where the leader does not answer, as brokers that do not know the request. `topics` is the latest metadata of the cluster. */
  async endOf(one: TopicPartition, topics: readonly MetadataTopic[], signal: AbortSignal): Promise<bigint | undefined> {
    const key = partitionKey(one)
    const { partitions } = topics.find(({ name }) => name === one.topic) ?? { partitions: [] }
    const leaderEpoch = partitions.find(({ partition }) => partition === one.partition)?.leaderEpoch ?? -1
    const known = this.#known.get(key)
    if (known?.leaderEpoch === leaderEpoch) return known.end
    this.#known.delete(key)
    if (leaderEpoch < 0) return undefined
    const { topic, partition } = one
    const found = await fetchEpochEnds(this.#cluster, [{ topic, partition, epoch: leaderEpoch }], signal, topics)
    const end = found.get(key)?.endOffset
    if (end !== undefined && end >= 0n) this.#known.set(key, { leaderEpoch, end })
    return this.#known.get(key)?.end
  }

  forget(one: TopicPartition): void {
    this.#known.delete(partitionKey(one))
  }
}
