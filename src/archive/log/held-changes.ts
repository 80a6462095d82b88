import { ROLL_UP } from './chain.ts'
import type { Change } from './change.ts'
import { ComposedChange } from './compose-changes.ts'

/** Of commits that are to be rolled up. Normally there is one; more where roll-ups fail for a while. */
const MAX_BLOCKS = 4

/** The changes of commits that follow one another. */
interface Block {
  from: number
  to: number
  composed: ComposedChange
}

/**
 * The changes that a writer has committed, composed as they come: those that are not rolled up yet, and all since the checkpoint. Neither a
 * roll-up of commits nor a checkpoint has to read documents then. They need memory for the lists that have changed, not for each commit. Changes of
 * roll-ups are not held, because they would name pieces that were merged since, tens of thousands where there are many partitions: what is made of them,
 * and everything else that is not here, is read from the store.
 */
export class HeldChanges {
  /** Of commits that are in no roll-up. */
  #blocks: Block[] = []
  #all: Block | undefined
  /** The first commit that is in no roll-up: blocks are counted from here, as roll-ups are. */
  #first: number

  constructor(first: number) {
    this.#first = first
  }

  /** Forgets everything. `first` is the first commit that is in no roll-up. */
  restart(first: number): void {
    this.#blocks = []
    this.#all = undefined
    this.#first = first
  }

  /** A commit was made. */
  add(generation: number, change: Change): void {
    const isBegin = (generation - this.#first) % ROLL_UP === 0
    const block = extended(isBegin ? undefined : this.#blocks.at(-1), generation, change)
    if (block !== this.#blocks.at(-1)) this.#blocks.push(block)
    if (this.#blocks.length > MAX_BLOCKS) this.#blocks.shift()
    this.#all = extended(this.#all, generation, change)
  }

  /** The change of exactly these commits; undefined where it has to be read. They are no longer held for a roll-up. */
  take(from: number, to: number): Change | undefined {
    const found = this.#blocks.find(one => one.from === from && one.to === to)
    this.#blocks = this.#blocks.filter(one => one.from > to)
    return found?.composed.change
  }

  /** Whether `takeAll` has something to return. */
  hasAll(from: number, to: number): boolean {
    return this.#all?.from === from && this.#all.to === to
  }

  /** Everything from a generation to the newest, for a checkpoint that the next commits follow. Undefined where it has to be read. */
  takeAll(from: number, to: number): Change | undefined {
    const all = this.hasAll(from, to) ? this.#all : undefined
    this.restart(to + 1)
    return all?.composed.change
  }
}

/** The block with one more commit; a new one where there is none that the commit follows. */
function extended(block: Block | undefined, generation: number, change: Change): Block {
  const one =
    block?.to === generation - 1 ? block : { from: generation, to: generation, composed: new ComposedChange() }
  one.composed.add(change)
  one.to = generation
  return one
}
