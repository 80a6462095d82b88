import type { Needle } from './sieve.ts'
import { openSifting, type Sifting } from './sieve-threads.ts'
import { type SieveWorkers, usualThreads } from './sieve-workers.ts'
import { noVerdicts, type VerdictList } from './verdicts.ts'

/** Some batches that lie in the same memory. */
export interface SiftedPiece {
  bytes: Buffer
  /** Where those begin that may be left out if none of their records is wanted. */
  whole: readonly number[]
}

/** So many pieces are not sifted after most of these batches had to be opened anyway. A piece may hold a single batch, which tells little. */
const PAUSE_PIECES = 15
const JUDGED_BATCHES = 32

/** Undefined where nothing is searched for that bytes could tell. It must be closed. */
export function openSiftAhead(
  needles: readonly Needle[],
  totalBytes: number,
  workers: SieveWorkers | undefined,
): SiftAhead | undefined {
  return needles.length === 0 ? undefined : new SiftAhead(openSifting(needles, totalBytes, usualThreads, workers))
}

/** Reads pieces before their turn, so that threads can sift them. */
export class SiftAhead {
  readonly #sifting: Sifting
  #pause = 0
  #opened = 0
  #sifted = 0

  constructor(sifting: Sifting) {
    this.#sifting = sifting
  }

  /** The pieces in their order. An error of the source is thrown after those before it. */
  async *over<P extends SiftedPiece>(source: AsyncGenerator<P>): AsyncGenerator<{ piece: P; verdicts: VerdictList }> {
    const ahead: { piece: P; size: number; verdicts: Promise<VerdictList> }[] = []
    const { width, busyBytes } = this.#sifting
    let aheadBytes = 0
    let end: { error?: unknown } | undefined
    const fill = async () => {
      const { done, value: piece } = await source.next()
      if (done) end = {}
      else {
        // Noted, because bytes that the caller has freed have no length.
        const size = piece.bytes.length
        ahead.push({ piece, size, verdicts: this.#sift(piece) })
        aheadBytes += size
      }
    }
    try {
      for (;;) {
        while (!end && ahead.length < width && aheadBytes < busyBytes) {
          await fill().catch(error => {
            end = { error }
          })
        }
        const next = ahead.shift()
        if (!next) break
        yield { piece: next.piece, verdicts: await next.verdicts }
        aheadBytes -= next.size
      }
    } finally {
      await source.return(undefined)
    }
    if (end && 'error' in end) throw end.error
  }

  /** Called after each piece: what must be opened anyway need not be opened twice. */
  note(opened: number, sifted: number): void {
    if (sifted === 0) return
    this.#opened += opened
    this.#sifted += sifted
    if (this.#sifted < JUDGED_BATCHES) return
    if (this.#opened * 2 > this.#sifted) this.#pause = PAUSE_PIECES
    this.#opened = 0
    this.#sifted = 0
  }

  close(): void {
    this.#sifting.close()
  }

  async #sift({ bytes, whole }: SiftedPiece): Promise<VerdictList> {
    if (this.#pause > 0) {
      this.#pause--
      return noVerdicts
    }
    return this.#sifting.sift(bytes, whole)
  }
}
