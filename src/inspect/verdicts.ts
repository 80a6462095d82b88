import { type Part, parts } from '../registry/ids/schema-id.ts'
import type { FrameIds } from './scan-frames.ts'

/**
 * What the plain bytes of a batch tell: no record meets the conditions, some may, or none unless the schemas with these IDs
 * give the bytes another form, in each of these parts.
 */
export type Verdict = 'none' | 'maybe' | PartFrames[]

export interface PartFrames {
  part: Part
  ids: FrameIds
}

/** What stands for a verdict. Larger numbers are one more than the parts whose schemas decide. */
const UNKNOWN = -1
const NONE = 0
const MAYBE = 1

/**
 * Verdicts on some batches, in their order. Many wait for their turn, and between threads: as objects they would cost the collector more
 * than everything else that is done with a batch.
 */
export class VerdictList {
  readonly count: number
  readonly #numbers: readonly number[]
  #at = 0

  /** `numbers` are those of `packVerdict`, for so many batches. */
  constructor(numbers: readonly number[], count: number) {
    this.#numbers = numbers
    this.count = count
  }

  /** The verdict on the next batch. Undefined where it is not known. */
  next(): Verdict | undefined {
    const kind = this.#take() ?? UNKNOWN
    if (kind === UNKNOWN) return undefined
    if (kind === NONE) return 'none'
    if (kind === MAYBE) return 'maybe'
    return Array.from({ length: kind - MAYBE }, () => this.#takePart())
  }

  #takePart(): PartFrames {
    const part = parts[this.#take() ?? 0] ?? 'value'
    const ids: PartFrames['ids'] = new Map()
    for (let left = this.#take() ?? 0; left > 0; left--) {
      ids.set(this.#take() ?? 0, { frames: this.#take() ?? 0, longs: this.#take() ?? 0 })
    }
    return { part, ids }
  }

  #take(): number | undefined {
    return this.#numbers[this.#at++]
  }
}

/** Nothing is known of any batch. */
export const noVerdicts = new VerdictList([], 0)

/** Appends the numbers of a verdict. */
export function packVerdict(verdict: Verdict | undefined, to: number[]): void {
  if (verdict === undefined) to.push(UNKNOWN)
  else if (verdict === 'none') to.push(NONE)
  else if (verdict === 'maybe') to.push(MAYBE)
  else {
    to.push(MAYBE + verdict.length)
    for (const { part, ids } of verdict) {
      to.push(parts.indexOf(part), ids.size)
      for (const [id, { frames, longs }] of ids) to.push(id, frames, longs)
    }
  }
}
