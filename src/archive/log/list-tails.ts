import type { Segment } from '../manifest.ts'
import { type Change, isBaseRange, type ListPart } from './change.ts'
import { type ListTail, tailOf } from './plan-merges.ts'

/** A list with so many live pieces does not wait for the next regular merge. */
const CROWDED = 15

const noTail: ListTail = { start: 0, segments: [] }

/**
 * The segments of each list from its first piece on: what a writer needs to know of them to merge. It does not grow with
 * the age of a backup, since pieces become segments.
 */
export class ListTails {
  readonly #tails = new Map<string, ListTail>()
  /** Lists with many pieces, which are to be merged soon. */
  readonly #crowded = new Set<string>()

  constructor(tails: Iterable<[string, ListTail]> = []) {
    for (const [list, tail] of tails) this.set(list, tail)
  }

  get isCrowded(): boolean {
    return this.#crowded.size > 0
  }

  entries(): Iterable<[string, ListTail]> {
    return this.#tails.entries()
  }

  get size(): number {
    return this.#tails.size
  }

  /** How many segments of a list lie before its first piece. */
  startOf(list: string): number {
    return this.#tails.get(list)?.start ?? 0
  }

  /** Whether the list has these segments at this place. */
  has(list: string, from: number, sources: readonly Segment[]): boolean {
    const { start, segments } = this.#tails.get(list) ?? noTail
    return from >= start && sources.every((source, i) => isSame(source, segments[from - start + i]))
  }

  /** Follows a change that was committed. */
  apply({ lists }: Change): void {
    for (const [list, change] of lists) {
      if (change === null) {
        this.#tails.delete(list)
        this.#crowded.delete(list)
      } else if (change.isNew || change.parts) {
        const tail = change.isNew ? noTail : (this.#tails.get(list) ?? noTail)
        this.set(list, tailAfter(tail, change.parts ?? []))
      }
    }
  }

  set(list: string, tail: ListTail): void {
    this.#tails.set(list, tail)
    if (tail.segments.length >= CROWDED && countPieces(tail) >= CROWDED) this.#crowded.add(list)
    else this.#crowded.delete(list)
  }
}

function countPieces({ segments }: ListTail): number {
  let count = 0
  for (const { piece } of segments) if (piece) count++
  return count
}

function isSame(one: Segment, other: Segment | undefined): boolean {
  return one.key === other?.key && one.piece?.position === other.piece?.position
}

/** Pure. What lies before a tail is not known, except that there is no piece among it. */
export function tailAfter({ start, segments }: ListTail, parts: readonly ListPart[]): ListTail {
  let before = 0
  const known: Segment[] = []
  for (const part of parts) {
    if (!isBaseRange(part)) {
      known.push(part)
      continue
    }
    const [from, to] = part
    const unknown = Math.max(0, Math.min(to, start) - from)
    if (unknown > 0) {
      if (known.some(({ piece }) => piece)) throw new Error('a change has put pieces before segments')
      before += unknown + known.splice(0).length
    }
    for (const segment of segments.slice(Math.max(0, from - start), Math.max(0, to - start))) known.push(segment)
  }
  const tail = tailOf(known)
  return { start: before + tail.start, segments: tail.segments }
}
