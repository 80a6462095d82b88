import type { AbortedTransaction } from '../archive/manifest.ts'

export interface AbortedStart {
  producerId: bigint
  firstOffset: bigint
}

/**
 * Tells which batches of one answer belong to transactions that were rolled back. The broker lists those that touch the
 * answer by producer and first offset; each is open from there to the producer's next abort marker.
 */
export class AbortTracker {
  readonly #waiting: AbortedStart[]
  readonly #open = new Map<bigint, bigint>()

  constructor(listed: readonly AbortedStart[]) {
    this.#waiting = listed.toSorted((a, b) => (a.firstOffset < b.firstOffset ? -1 : 1))
  }

  /** Moves on to the batch that ends here. Batches are met in the order of their offsets. */
  advance(lastOffset: bigint): void {
    for (let next = this.#waiting[0]; next && next.firstOffset <= lastOffset; next = this.#waiting[0]) {
      this.#open.set(next.producerId, next.firstOffset)
      this.#waiting.shift()
    }
  }

  isAborted(producerId: bigint): boolean {
    return this.#open.has(producerId)
  }

  /** Ends the producer's transaction at its abort marker; undefined where none of its was rolled back. */
  close(producerId: bigint, markerOffset: bigint): AbortedTransaction | undefined {
    const first_offset = this.#open.get(producerId)
    if (first_offset === undefined) return undefined
    this.#open.delete(producerId)
    return { producer_id: producerId, first_offset, last_offset: markerOffset }
  }

  /** Rolled back, with a marker that lies further on. */
  get open(): AbortedTransaction[] {
    return [...this.#open].map(([producer_id, first_offset]) => ({ producer_id, first_offset, last_offset: null }))
  }
}
