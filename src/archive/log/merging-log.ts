import { type Change, type ListChange, type ListPart, noChange } from './change.ts'
import type { CommitFacts, CommitLog } from './commit-log.ts'
import { composeChanges } from './compose-changes.ts'
import type { ListTails } from './list-tails.ts'
import type { Merged } from './merge-pieces.ts'
import { type Merge, type MergeRules, planMerges } from './plan-merges.ts'

/** Merges are looked for every so many rounds, so that one object holds the results of many. */
const ROUNDS_BETWEEN = 4

export interface MergingOptions {
  /** Writes the results; nothing names them until the next commit. */
  merge: (merges: readonly Merge[], signal: AbortSignal) => Promise<Merged[]>
  rules: () => MergeRules
}

/** A log whose small pieces are merged next to its rounds. What merges make becomes part of the next commit. */
export class MergingLog {
  readonly #log: CommitLog
  readonly #tails: ListTails
  readonly #options: MergingOptions
  #done: Merged[] = []
  #rounds = 0

  constructor(log: CommitLog, tails: ListTails, options: MergingOptions) {
    this.#log = log
    this.#tails = tails
    this.#options = options
  }

  /** Commits a change together with the merges that are done. `confirm` gets the keys of their objects, and fails where it may not. */
  async commit(
    facts: CommitFacts,
    change: Change,
    confirm: (keys: readonly string[]) => Promise<void>,
    signal: AbortSignal,
  ): Promise<{ isEarlier: boolean }> {
    const merged = this.#done
    await confirm([...new Set(merged.map(({ result }) => result.key))])
    const whole = merged.length === 0 ? change : composeChanges(change, this.#mergesAsChange(merged, change))
    const result = await this.#log.commit(facts, whole, signal)
    this.#done = this.#done.slice(merged.length)
    this.#rounds++
    this.#tails.apply(this.#log.lastChange)
    return result
  }

  /** Merges what is due, rolls up and writes checkpoints. For the time between two commits. */
  async tidy(signal: AbortSignal): Promise<void> {
    const due = this.#dueMerges()
    if (due.length > 0) {
      this.#rounds = 0
      const merged = await this.#options.merge(due, signal)
      this.#done = [...this.#done, ...merged]
    }
    await this.#log.tidy(signal)
  }

  #dueMerges(): Merge[] {
    if (this.#done.length > 0 || (this.#rounds < ROUNDS_BETWEEN && !this.#tails.isCrowded)) return []
    const rules = this.#options.rules()
    const due: Merge[] = []
    for (const [list, tail] of this.#tails.entries()) due.push(...planMerges(list, tail, rules))
    return due
  }

  /** How the state after `change` becomes one with the results. A list that has changed otherwise keeps its pieces. */
  #mergesAsChange(merged: readonly Merged[], { lists }: Change): Change {
    const changes = new Map<string, ListChange>()
    for (const [list, some] of Map.groupBy(merged, one => one.list)) {
      const change = lists.get(list)
      const isAppend =
        change === undefined || (change !== null && !change.isNew && keepsBase(change, this.#count(list)))
      if (!isAppend || !some.every(({ from, sources }) => this.#tails.has(list, from, sources))) continue
      changes.set(list, mergeOf(some, this.#count(list) + addedBy(change)))
    }
    return { ...noChange, lists: changes }
  }

  #count(list: string): number {
    return this.#log.state.lists.get(list)?.segments ?? 0
  }
}

/** Whether a change leaves the segments that were there as they are, and adds some behind them at most. */
function keepsBase({ parts }: ListChange, count: number): boolean {
  if (!parts) return true
  const [first] = parts
  return Array.isArray(first) && first[0] === 0 && first[1] === count && !parts.slice(1).some(Array.isArray)
}

function addedBy(change: ListChange | undefined): number {
  return change?.parts ? change.parts.length - 1 : 0
}

/** Pure. Records stay the same; how many segments hold them, and in how many bytes, changes. */
function mergeOf(merged: readonly Merged[], count: number): ListChange {
  const sorted = merged.toSorted((a, b) => a.from - b.from)
  const parts: ListPart[] = []
  let position = 0
  let segments = 0
  let storedBytes = 0
  for (const { from, to, sources, result } of sorted) {
    if (from > position) parts.push([position, from])
    parts.push(result)
    position = to
    segments += 1 - sources.length
    storedBytes += result.size - sources.reduce((sum, { size }) => sum + size, 0)
  }
  if (position < count) parts.push([position, count])
  const row = { offsets: [0n, 0n, 0n, 0n], sums: [0, 0, 0, 0, storedBytes, segments], set: {}, unset: [] }
  return { isNew: false, row, parts }
}
