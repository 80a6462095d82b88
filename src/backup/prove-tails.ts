import type { Fetched, Fetcher } from '../kafka/fetcher.ts'
import { partitionKey } from '../kafka/offsets.ts'
import { BufferPool } from '../kafka/wire/buffer-pool.ts'
import type { TailVerdict } from './chunk.ts'
import { compareTailsAt, type StoredTail } from './compare-tails.ts'
import type { FetchPosition } from './fetch-position.ts'
import { mayBeCompacted } from './named-topics.ts'
import type { PartitionCopy } from './partition-copy.ts'

const BUFFER_BYTES = 1 << 20

/**
 * Proves of answers that begin behind the tail that they are of the same topic: a topic that still has the tail after the
 * answer had it before, since one that was created again does not get it back.
 */
export class TailProof {
  readonly #fetcher: Pick<Fetcher, 'fetch'>
  #buffers: BufferPool | undefined
  /** Of the last answer, by `partitionKey`. */
  #verdicts = new Map<string, TailVerdict>()

  constructor(fetcher: Pick<Fetcher, 'fetch'>) {
    this.#fetcher = fetcher
  }

  async prove(
    { partitions }: Fetched,
    active: Iterable<[PartitionCopy, FetchPosition]>,
    signal: AbortSignal,
  ): Promise<void> {
    this.#verdicts = new Map()
    const alone = [...active].filter(([, { isTailAlone }]) => isTailAlone)
    if (alone.length === 0) return
    const filled = new Set(partitions.flatMap(one => (one.end > one.start ? [`${one.topicId}/${one.partition}`] : [])))
    const tails = alone.flatMap(([copy, place]): StoredTail[] => {
      if (!place.tail || !filled.has(`${copy.topicId}/${copy.partition}`)) return []
      const { topic, topicId, partition } = copy
      const isLenient = mayBeCompacted(copy.settings)
      return [{ topic, topicId, partition, tail: place.tail, position: place.start, mayBeCompacted: isLenient }]
    })
    if (tails.length === 0) return
    // The lane's own buffers may all hold answers that wait for this one.
    this.#buffers ??= new BufferPool(1, BUFFER_BYTES)
    const buffers = this.#buffers
    const fetch: Fetcher['fetch'] = (targets, stop, growth) => this.#fetcher.fetch(targets, stop, growth, buffers)
    await compareTailsAt({ fetch }, tails, this.#verdicts, signal)
  }

  /** `lost`: the source has deleted the tail in the meantime, and nothing is proven. */
  verdictOf(copy: PartitionCopy): 'same' | 'other' | 'lost' {
    const verdict = this.#verdicts.get(partitionKey(copy))
    return verdict === undefined ? 'lost' : verdict === 'other' ? 'other' : 'same'
  }
}
