import type { ListTails } from './list-tails.ts'
import { type MergeRules, storedTimes } from './plan-merges.ts'

/**
 * Merging while nothing new is committed. Rounds with new records merge every few commits; without them, pieces would stay until the
 * commits that only say that the backup is up to date, hours after they are due.
 */
export class QuietMerging {
  #isQuiet = true
  #isTried = false
  #isOverdue = false
  /** No piece was stored before this time; those that are added are younger. */
  #oldestMs = Number.NEGATIVE_INFINITY

  /** Merges are done that wait for a commit, and nothing else may be committed for a long time. */
  get isOverdue(): boolean {
    return this.#isOverdue
  }

  /** Whether nothing was committed since the last call, and a piece has become too old. A merge that fails is tried again after the next commit. */
  begin(tails: ListTails, rules: MergeRules): boolean {
    const isQuiet = this.#isQuiet && !this.#isTried
    this.#isQuiet = true
    if (!isQuiet || rules.olderThanMs <= this.#oldestMs) return false
    // Without a piece, all that are added later are younger than what is too old by now.
    this.#oldestMs = findOldest(tails, rules) ?? rules.olderThanMs
    this.#isTried = this.#oldestMs < rules.olderThanMs
    return this.#isTried
  }

  /** The next round commits. */
  noteMerged(): void {
    this.#isOverdue = true
  }

  noteCommit(): void {
    this.#isQuiet = false
    this.#isTried = false
    this.#isOverdue = false
  }
}

/** When the first of the pieces was stored that can be merged; undefined without one. */
function findOldest(tails: ListTails, { isDamaged }: MergeRules): number | undefined {
  let oldest: number | undefined
  for (const [, { segments }] of tails.entries()) {
    const first = segments.find(one => one.piece && !isDamaged?.(one))
    const ms = first && Date.parse(storedTimes(first).from)
    if (ms !== undefined && !(oldest !== undefined && oldest <= ms)) oldest = ms
  }
  return oldest
}
