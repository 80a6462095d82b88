import type { AbortedTransaction, LastBatch, ManifestPartition, Segment } from '../archive/manifest.ts'
import type { BatchWriter } from '../archive/segment-writer.ts'
import { withSegment } from '../archive/summary.ts'
import { DurableChain } from './durable-chain.ts'

/** What is known behind the last batch of a segment. */
interface LastStored {
  epoch: number
  openAborted: AbortedTransaction[]
  batch: LastBatch | undefined
}

/** One for all: most begin without any. */
const noSegments: readonly Segment[] = []

/** What the store has of a partition, and the steps that change it. */
export class DurablePartition extends DurableChain {
  #state: ManifestPartition
  #fresh: readonly Segment[]
  /** Segments on their way, in their order; undefined from the first one on whose entry is not known. */
  #coming: readonly Segment[] | undefined = noSegments

  constructor(state: ManifestPartition, fresh = noSegments) {
    super()
    this.#state = state
    this.#fresh = fresh
  }

  /** What is durable now. */
  get state(): ManifestPartition {
    return this.#state
  }

  /** Segments that are durable but in no index yet. */
  get fresh(): readonly Segment[] {
    return this.#fresh
  }

  /** The same once all that is on its way is durable; undefined where that is not known. */
  get expected(): readonly Segment[] | undefined {
    return this.failure ? undefined : this.#coming && [...this.#fresh, ...this.#coming]
  }

  /** Hands a segment to the store that gets no more batches. */
  finish(writer: BatchWriter, last: LastStored, signal: AbortSignal): void {
    const foreseen = this.failure ? undefined : writer.foresee?.()
    this.#coming = foreseen && this.#coming && [...this.#coming, foreseen]
    this.add({
      hand: () => writer.hand(signal),
      apply: entry => {
        this.#coming = this.#coming?.slice(1)
        this.append(entry, last.epoch, last.openAborted, last.batch)
      },
      discard: () => writer.abort(),
    })
  }

  append(entry: Segment, lastEpoch: number, openAborted: AbortedTransaction[], lastBatch: LastBatch | undefined): void {
    this.#fresh = [...this.#fresh, entry]
    this.#state = withSegment(this.#state, entry, lastEpoch, openAborted, lastBatch)
  }

  /** Changes what is known of the partition, behind all that is on its way. */
  note(change: (state: ManifestPartition) => ManifestPartition): void {
    this.add({
      hand: async () => ({ durable: Promise.resolve() }),
      apply: () => {
        this.#state = change(this.#state)
      },
    })
  }

  /** After a commit: its indexes name all segments up to the count that it tells of. */
  committed({ segments, indexes }: Pick<ManifestPartition, 'segments' | 'indexes'>): void {
    const unnamed = this.#state.segments - segments
    this.#fresh = this.#fresh.slice(this.#fresh.length - unnamed)
    if (indexes !== this.#state.indexes) this.#state = { ...this.#state, indexes }
  }
}
