import type { MetadataTopic } from '../kafka/api/metadata.ts'
import type { Cluster } from '../kafka/cluster.ts'
import { fetchLogEnds, type LogEnd, leadersIn } from '../kafka/epoch-ends.ts'
import { partitionKey, type TopicPartition } from '../kafka/offsets.ts'

/**
 * Where the logs of leaders ended when the outcome of a write was unknown: a batch that its leader has, and not all followers, is behind
 * the high watermark, where no client sees it. Sent again it would be stored twice if the broker has forgotten its producer meanwhile.
 */
export class LogEnds {
  readonly #cluster: Cluster
  /** Kept until it is reached, because others may continue to write. With another leader, what only the old one had is gone. */
  readonly #known = new Map<string, LogEnd>()

  constructor(cluster: Cluster) {
    this.#cluster = cluster
  }

  /**
   * Asks the leaders, where they have not answered yet or others lead now. Throws what may pass. `shown` is the latest metadata of the
   * cluster, for who has it.
   */
  async learn(
    partitions: readonly TopicPartition[],
    signal: AbortSignal,
    shown?: readonly MetadataTopic[],
  ): Promise<void> {
    const names = [...new Set(partitions.map(({ topic }) => topic))]
    const topics = shown ?? (await this.#cluster.metadata({ topics: names }, signal)).topics
    const leaders = leadersIn(topics)
    const asked = partitions.filter(one => {
      const known = this.#known.get(partitionKey(one))
      return known === undefined || known.leaderEpoch !== leaders.get(partitionKey(one))?.leaderEpoch
    })
    for (const one of asked) this.forget(one)
    const { ends, failure } = await fetchLogEnds(this.#cluster, asked, signal, topics)
    for (const [key, end] of ends) this.#known.set(key, end)
    if (failure) throw failure
  }

  /** Zero where the leader cannot tell, as brokers that do not know the request. */
  endOf(one: TopicPartition): bigint {
    return this.#known.get(partitionKey(one))?.end ?? 0n
  }

  forget(one: TopicPartition): void {
    this.#known.delete(partitionKey(one))
  }
}
