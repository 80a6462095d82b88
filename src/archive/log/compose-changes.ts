import type { NamedObject } from '../manifest.ts'
import {
  type BaseRange,
  type Change,
  type Head,
  type HeadField,
  isBaseRange,
  type ListChange,
  type ListPart,
  objectOf,
  type TopicRow,
} from './change.ts'
import { addRowChanges, addToRow, type SummedRow } from './row-change.ts'

/** Pure. One change that has the effect of both: `second` comes after `first`. */
export function composeChanges(first: Change, second: Change): Change {
  return composeAll([first, second])
}

/** Pure. One change with the effect of all, in their order. Takes time for what they say, however many there are. */
export function composeAll(changes: Iterable<Change>): Change {
  const whole = new ComposedChange()
  for (const change of changes) whole.add(change)
  return whole.change
}

/** A change that others are added to, one after the other. Takes time for what is added, not for what is there. */
export class ComposedChange {
  readonly #head: Partial<Head> = {}
  readonly #unset = new Set<HeadField>()
  readonly #topics = new Map<string, TopicRow>()
  readonly #removedTopics = new Set<string>()
  readonly #lists = new Map<string, ListChange | null>()
  /** Those that were composed here: each round of a writer adds to thousands, which need not be made again. */
  readonly #own = new Map<string, ComposedList>()
  readonly #passing = new Map<string, NamedObject>()

  /** What was added until now; not to be used any more when something else is added. */
  get change(): Change {
    return {
      head: this.#head,
      unset: [...this.#unset],
      topics: this.#topics,
      removedTopics: this.#removedTopics,
      lists: this.#lists,
      passing: this.#passing,
    }
  }

  add({ head, unset, topics, removedTopics, lists, passing }: Change): void {
    Object.assign(this.#head, head)
    for (const field of Object.keys(head) as HeadField[]) this.#unset.delete(field)
    for (const field of unset) {
      this.#unset.add(field)
      delete this.#head[field]
    }
    for (const [key, topic] of topics) {
      this.#topics.set(key, topic)
      this.#removedTopics.delete(key)
    }
    // One that a change both sets and removes is removed, as where the change is applied.
    for (const key of removedTopics) {
      this.#topics.delete(key)
      this.#removedTopics.add(key)
    }
    for (const [key, object] of passing) this.#passing.set(key, object)
    for (const [key, next] of lists) {
      const own = this.#own.get(key)
      if (next && own && appendTo(own, next)) continue
      this.#own.delete(key)
      const before = this.#lists.get(key)
      const composed = composeLists(before, next, list => this.#own.set(key, list))
      this.#lists.set(key, composed)
      if (before?.parts) notePassing(before.parts, composed?.parts ?? [], this.#passing)
    }
  }
}

/** A change that was composed here, and may be changed. */
interface ComposedList extends ListChange {
  row: SummedRow
  parts?: ListPart[]
}

/** Adds what most changes do: they only add to a list. False where this one does more; nothing is done then. */
function appendTo(list: ComposedList, { isNew, row, parts }: ListChange): boolean {
  if (isNew || row.unset.length > 0 || (parts && !(list.parts && isAppend(list.parts, parts)))) return false
  addToRow(list.row, row)
  if (list.parts && parts) for (let i = 1; i < parts.length; i++) list.parts.push(parts[i] as ListPart)
  return true
}

function composeLists(
  before: ListChange | null | undefined,
  next: ListChange | null,
  onComposed: (list: ComposedList) => void,
): ListChange | null {
  if (before === undefined || next === null || next.isNew) return next
  // A list that is gone begins again with nothing.
  if (before === null) return { ...next, isNew: true, ...(next.parts && { parts: composeParts([], next.parts) }) }
  const parts = next.parts ? composeParts(before.parts, next.parts) : before.parts && [...before.parts]
  const composed = { isNew: before.isNew, row: addRowChanges(before.row, next.row), ...(parts && { parts }) }
  onComposed(composed)
  return composed
}

/** Pure. Parts of the list behind both changes. Where `first` is absent, it left the list as it was. */
export function composeParts(first: readonly ListPart[] | undefined, second: readonly ListPart[]): ListPart[] {
  if (!first) return [...second]
  if (isAppend(first, second)) return [...first, ...second.slice(1)]
  const parts: ListPart[] = []
  const slices = new Slices(first)
  for (const part of second) {
    if (isBaseRange(part)) slices.take(part, parts)
    else pushPart(parts, part)
  }
  return parts
}

/** Whether the second has all that the first made, and something new behind it: what most changes do. */
function isAppend(first: readonly ListPart[], second: readonly ListPart[]): boolean {
  const [all] = second
  if (!all || !isBaseRange(all) || all[0] !== 0) return false
  for (let i = 1; i < second.length; i++) if (Array.isArray(second[i])) return false
  let count = 0
  for (const part of first) count += isBaseRange(part) ? part[1] - part[0] : 1
  return all[1] === count
}

/** A range that continues the one before it becomes one with it. */
function pushPart(parts: ListPart[], part: ListPart): void {
  const last = parts.at(-1)
  if (isBaseRange(part) && last && isBaseRange(last) && last[1] === part[0])
    parts[parts.length - 1] = [last[0], part[1]]
  else parts.push(part)
}

/** Ranges of the list that parts make. Ranges are asked for in their order, so the parts are walked once. */
class Slices {
  readonly #parts: readonly ListPart[]
  #next = 0
  /** Where the next part begins, in the list that the parts make. */
  #position = 0

  constructor(parts: readonly ListPart[]) {
    this.#parts = parts
  }

  /** Adds those of a range. Not a generator: the merges of a round take ranges of thousands of lists. */
  take([from, to]: BaseRange, target: ListPart[]): void {
    if (from < this.#position) {
      this.#next = 0
      this.#position = 0
    }
    for (let part = this.#parts[this.#next]; part && this.#position < to; part = this.#parts[this.#next]) {
      const length = isBaseRange(part) ? part[1] - part[0] : 1
      const begin = Math.max(from - this.#position, 0)
      const end = Math.min(to - this.#position, length)
      if (begin < end) pushPart(target, isBaseRange(part) ? [part[0] + begin, part[0] + end] : part)
      // The next range may begin inside this part.
      if (this.#position + length > to) return
      this.#position += length
      this.#next++
    }
  }
}

/** Lists with so many parts have their keys looked up. */
const MANY_PARTS = 32

function notePassing(before: readonly ListPart[], after: readonly ListPart[], passing: Map<string, NamedObject>): void {
  let same = 0
  while (same < before.length && before[same] === after[same]) same++
  let named: Set<string> | undefined
  for (let i = same; i < before.length; i++) {
    const part = before[i] as ListPart
    // Most pieces lie in packs that another list has noted.
    if (isBaseRange(part) || passing.has(part.key)) continue
    if (after.length > MANY_PARTS) named ??= new Set(after.flatMap(one => (isBaseRange(one) ? [] : [one.key])))
    const isNamed = named ? named.has(part.key) : after.some(one => !isBaseRange(one) && one.key === part.key)
    if (!isNamed) passing.set(part.key, objectOf(part))
  }
}
