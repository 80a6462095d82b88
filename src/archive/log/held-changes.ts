import { ROLL_UP } from './chain.ts'
import type { Change } from './change.ts'
import { ComposedChange } from './compose-changes.ts'

/** Of one level. Normally there is one; more where roll-ups fail for a while. */
const MAX_BLOCKS = 4

/** The changes of so many documents that follow one another. */
interface Block {
  from: number
  to: number
  documents: number
  composed: ComposedChange
}

/**
 * The changes that a writer has committed and not rolled up yet, composed as they come: a roll-up does not have to read the
 * documents that it is made of. They need memory for the lists that have changed, not for each commit. What is not here is
 * read from the store.
 */
export class HeldChanges {
  /** By level: commits, then the roll-ups of each level. */
  #levels: Block[][] = []
  /** The first commit that is in no roll-up: blocks of commits are counted from here, as roll-ups are. */
  #first: number

  constructor(first: number) {
    this.#first = first
  }

  /** Forgets everything. `first` is the first commit that is in no roll-up. */
  restart(first: number): void {
    this.#levels = []
    this.#first = first
  }

  /** A commit, which is level 0, or a roll-up was written. */
  add(level: number, from: number, to: number, change: Change): void {
    this.#levels[level] ??= []
    const blocks = this.#levels[level]
    const last = blocks.at(-1)
    const isBegin = level === 0 && (from - this.#first) % ROLL_UP === 0
    if (last && last.to === from - 1 && last.documents < ROLL_UP && !isBegin) {
      last.composed.add(change)
      last.documents++
      last.to = to
      return
    }
    const composed = new ComposedChange()
    composed.add(change)
    blocks.push({ from, to, documents: 1, composed })
    if (blocks.length > MAX_BLOCKS) blocks.shift()
  }

  /** The change of exactly these generations; undefined where it has to be read. They are no longer held. */
  take(level: number, from: number, to: number): Change | undefined {
    const blocks = this.#levels[level] ?? []
    const found = blocks.find(one => one.from === from && one.to === to)
    this.#levels[level] = blocks.filter(one => one.from > to)
    return found?.composed.change
  }

  /** Everything from a generation to the newest, for a checkpoint that the next commits follow. Undefined where it has to be read. */
  takeAll(from: number, to: number): Change | undefined {
    const blocks = this.#levels.flat().sort((a, b) => a.from - b.from)
    this.restart(to + 1)
    const [first, ...others] = blocks
    if (!first || first.from !== from || blocks.at(-1)?.to !== to) return undefined
    let end = first.to
    for (const block of others) {
      if (block.from !== end + 1) return undefined
      first.composed.add(block.composed.change)
      end = block.to
    }
    return first.composed.change
  }
}
