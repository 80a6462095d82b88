import { KafkaBackupError, toKafkaBackupError } from '../../errors.ts'
import { append } from '../../lib/largest.ts'
import type { Segment } from '../manifest.ts'
import { type Change, type ListChange, type ListPart, noChange } from './change.ts'
import type { CommitFacts, CommitLog } from './commit-log.ts'
import { composeChanges } from './compose-changes.ts'
import type { DamagedSource, DamagedSources } from './damaged-sources.ts'
import type { ListTails } from './list-tails.ts'
import type { Merged, MergeResults } from './merge-pieces.ts'
import { type Merge, type MergeRules, planMerges, planSegmentMerges } from './plan-merges.ts'
import { QuietMerging } from './quiet-merging.ts'
import type { RowChange } from './row-change.ts'

/** Merges are looked for every so many rounds, so that one object holds the results of many. */
const ROUNDS_BETWEEN = 4

/** Of one merge job: this many, or this part of the lists. */
const MIN_SEGMENTS = 64
const SEGMENT_SHARE = 32

export interface MergingOptions {
  /** Writes the results; nothing names them until the next commit. */
  merge: (merges: readonly Merge[], signal: AbortSignal) => Promise<MergeResults>
  rules: () => MergeRules
  damaged: DamagedSources
  /** Told of each damaged source once. */
  onDamaged: (damaged: readonly DamagedSource[]) => void
}

/** A log whose small pieces are merged next to its rounds. What merges make becomes part of the next commit. */
export class MergingLog {
  readonly #log: CommitLog
  readonly #tails: ListTails
  readonly #options: MergingOptions
  #done: Merged[] = []
  /** Segments that are to be merged again, as the last checkpoint had them. */
  #small: Merge[] = []
  /** Lists whose segments before the first piece have changed since the oldest plan that is not committed. */
  readonly #reshaped = new Set<string>()
  #rounds = 0
  readonly #quiet = new QuietMerging()

  constructor(log: CommitLog, tails: ListTails, options: MergingOptions) {
    this.#log = log
    this.#tails = tails
    this.#options = options
  }

  /** Pieces that are too old were merged while nothing was committed, so a commit has to name the results though nothing else is new. */
  get isOverdue(): boolean {
    return this.#quiet.isOverdue
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
    const { isEarlier, committed } = await this.#log.commit(facts, whole, signal)
    this.#done = this.#done.slice(merged.length)
    this.#rounds++
    this.#quiet.noteCommit()
    this.#noteReshaped(committed)
    this.#tails.apply(committed)
    return { isEarlier }
  }

  /** Merges what is due, rolls up and writes checkpoints. For the time between two commits. */
  async tidy(signal: AbortSignal): Promise<void> {
    try {
      await namingStep('small pieces of the backup could not be merged', this.#mergeDue(signal))
    } finally {
      // Readers must not have to read ever more commits because merging fails.
      if (!signal.aborted) {
        const rolling = this.#log.tidy(signal, this.watchLists())
        await namingStep('the newest commits of the backup could not be rolled up', rolling)
      }
    }
  }

  /** Of the newest generation. */
  async checkpoint(signal: AbortSignal): Promise<void> {
    await this.#log.checkpoint(signal, this.watchLists())
  }

  /**
   * Finds lists with many small segments where lists are read anyway: for a checkpoint, and when the log is opened. A prune writes checkpoints of its
   * own, and with one a day the log itself has none to write.
   */
  watchLists(): ((list: string, segments: readonly Segment[]) => void) | undefined {
    if (this.#small.length > 0) return undefined
    if (this.#done.length === 0) this.#reshaped.clear()
    const rules = this.#rules()
    return (list, segments) => {
      if (this.#small.length < MIN_SEGMENTS) append(this.#small, planSegmentMerges(list, segments, rules))
    }
  }

  async #mergeDue(signal: AbortSignal): Promise<void> {
    const isQuiet = this.#quiet.begin(this.#tails, this.#rules())
    // What was merged before has to be committed first.
    if (isQuiet && this.#done.length > 0) this.#quiet.noteMerged()
    const due = this.#dueMerges(isQuiet)
    if (due.length === 0) return
    this.#rounds = 0
    const { merged, damaged } = await this.#options.merge(due, signal)
    this.#done = [...this.#done, ...merged]
    if (isQuiet && merged.length > 0) this.#quiet.noteMerged()
    this.#small = []
    for (const one of damaged) this.#options.damaged.add(one)
    if (damaged.length > 0) this.#options.onDamaged(damaged)
  }

  #rules(): MergeRules {
    return { ...this.#options.rules(), isDamaged: segment => this.#options.damaged.has(segment) }
  }

  #dueMerges(isQuiet: boolean): Merge[] {
    const isTime = isQuiet || this.#rounds >= ROUNDS_BETWEEN || this.#tails.isCrowded
    if (this.#done.length > 0 || !isTime) return []
    const rules = this.#rules()
    const due: Merge[] = this.#small.filter(({ list }) => !this.#reshaped.has(list))
    const mostSegments = Math.max(MIN_SEGMENTS, Math.ceil(this.#tails.size / SEGMENT_SHARE))
    let segments = 0
    for (const [list, tail] of this.#tails.entries()) {
      for (const merge of planMerges(list, tail, rules, segments < mostSegments)) {
        due.push(merge)
        if (merge.into.kind === 'segment') segments++
      }
    }
    return due
  }

  /** How the state after `change` becomes one with the results. A list that has changed otherwise keeps its pieces. */
  #mergesAsChange(merged: readonly Merged[], { lists }: Change): Change {
    const changes = new Map<string, ListChange>()
    for (const [list, some] of Map.groupBy(merged, one => one.list)) {
      const change = lists.get(list)
      const isAppend =
        change === undefined || (change !== null && !change.isNew && keepsBase(change, this.#count(list)))
      if (!isAppend || !some.every(one => this.#isThere(one))) continue
      changes.set(list, mergeOf(some, this.#count(list) + addedBy(change)))
    }
    return { ...noChange, lists: changes }
  }

  #isThere({ list, from, to, sources }: Merge): boolean {
    const isSettled = to <= this.#tails.startOf(list)
    return isSettled ? !this.#reshaped.has(list) : this.#tails.has(list, from, sources)
  }

  /** Segments before the first piece of a list are not in memory: merges of them hold as long as none of them changes. */
  #noteReshaped({ lists }: Change): void {
    for (const [list, change] of lists) {
      const [first] = change?.parts ?? []
      const kept = Array.isArray(first) && first[0] === 0 ? Number(first[1]) : 0
      const isKept = change !== null && !change.isNew && (!change.parts || kept >= this.#tails.startOf(list))
      if (!isKept) this.#reshaped.add(list)
    }
  }

  #count(list: string): number {
    return this.#log.state.lists.get(list)?.segments ?? 0
  }
}

async function namingStep(what: string, step: Promise<void>): Promise<void> {
  try {
    await step
  } catch (error) {
    const { code, message, help, details } = toKafkaBackupError(error)
    throw new KafkaBackupError(code, `${what}: ${message}`, { cause: error, help, details })
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

/** One for all lists. */
const noRowChange: RowChange = { offsets: [0n, 0n, 0n, 0n], sums: [], set: {}, unset: [] }

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
  return { isNew: false, row: { ...noRowChange, sums: [0, 0, 0, 0, storedBytes, segments] }, parts }
}
