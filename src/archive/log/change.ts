import type { Manifest, ManifestTopic, NamedObject, Segment } from '../manifest.ts'
import { addRowChanges, applyRowChange, type ListRow, type RowChange, zeroRow } from './row-change.ts'

/** The fields of a generation that belong to the backup as a whole, and are not those of its commit. */
export type Head = Pick<
  Manifest,
  | 'cluster'
  | 'selection'
  | 'schema_registry'
  | 'consumer_groups'
  | 'encryption'
  | 'access'
  | 'carried_sections'
  | 'topic_settings_at'
  | 'lineage'
  | 'warnings'
>
export type HeadField = keyof Head
export type TopicRow = Omit<ManifestTopic, 'partitions'>

/** A range of the segments that a list had before: from, and the first that is not part of it. */
export type BaseRange = readonly [from: number, to: number]
/** What the segments of a list are made of, in their order. */
export type ListPart = BaseRange | Segment

/** The state of a generation, without the segments of its lists. */
export interface State {
  head: Head
  /** By `incarnationKey`. */
  topics: ReadonlyMap<string, TopicRow>
  /** By `freshKey` or `rereadKey`. */
  lists: ReadonlyMap<string, ListRow>
}

export interface ListChange {
  /** The list was not there before, or was another one: its row begins with zeros and its segments with none. */
  isNew: boolean
  row: RowChange
  /** Absent where the segments are the same as before. */
  parts?: readonly ListPart[]
}

/** How one state becomes another. Changes can be composed without the states. */
export interface Change {
  head: Partial<Head>
  /** Fields of the head that are gone. */
  unset: readonly HeadField[]
  topics: ReadonlyMap<string, TopicRow>
  /** Their lists are removed one by one. */
  removedTopics: ReadonlySet<string>
  /** Null: the list is gone. */
  lists: ReadonlyMap<string, ListChange | null>
  /** Objects that came and went inside a composed change: generations in between name them. By key. */
  passing: ReadonlyMap<string, NamedObject>
}

export const emptyHead: Head = {
  cluster: { id: null, brokers: 0 },
  selection: { include: [], exclude: [] },
  warnings: [],
}
export const emptyState: State = { head: emptyHead, topics: new Map(), lists: new Map() }

export const noChange: Change = {
  head: {},
  unset: [],
  topics: new Map(),
  removedTopics: new Set(),
  lists: new Map(),
  passing: new Map(),
}

export function isBaseRange(part: ListPart): part is BaseRange {
  return Array.isArray(part)
}

/** Pure. The state after a change. */
export function applyChange(state: State, change: Change): State {
  const lists = new Map(state.lists)
  for (const [key, one] of change.lists) {
    if (one === null) lists.delete(key)
    else lists.set(key, applyRowChange(one.isNew ? zeroRow : (state.lists.get(key) ?? zeroRow), one.row))
  }
  const topics = new Map([...state.topics, ...change.topics])
  for (const key of change.removedTopics) topics.delete(key)
  return { head: changedHead(state.head, change), topics, lists }
}

function changedHead(head: Head, { head: set, unset }: Change): Head {
  const changed: Head = { ...head, ...set }
  for (const field of unset) delete (changed as Partial<Head>)[field]
  return changed
}

/** Pure. The segments after a change of a list that had these before; undefined where it names more than were there. */
export function applyParts(segments: readonly Segment[], parts: readonly ListPart[]): Segment[] | undefined {
  const isWhole = parts.every(part => !isBaseRange(part) || (part[0] <= part[1] && part[1] <= segments.length))
  if (!isWhole) return undefined
  return parts.flatMap(part => (isBaseRange(part) ? segments.slice(part[0], part[1]) : [part]))
}

/** Pure. One change that has the effect of both: `second` comes after `first`. */
export function composeChanges(first: Change, second: Change): Change {
  return composeAll([first, second])
}

/** Pure. One change with the effect of all, in their order. Takes time for what they say, however many there are. */
export function composeAll(changes: Iterable<Change>): Change {
  const whole = {
    head: {} as Partial<Head>,
    unset: new Set<HeadField>(),
    topics: new Map<string, TopicRow>(),
    removedTopics: new Set<string>(),
    lists: new Map<string, ListChange | null>(),
    passing: new Map<string, NamedObject>(),
  }
  for (const { head, unset, topics, removedTopics, lists, passing } of changes) {
    Object.assign(whole.head, head)
    for (const field of Object.keys(head) as HeadField[]) whole.unset.delete(field)
    for (const field of unset) {
      whole.unset.add(field)
      delete whole.head[field]
    }
    for (const [key, topic] of topics) {
      whole.topics.set(key, topic)
      whole.removedTopics.delete(key)
    }
    // One that a change both sets and removes is removed, as where the change is applied.
    for (const key of removedTopics) {
      whole.topics.delete(key)
      whole.removedTopics.add(key)
    }
    for (const [key, object] of passing) whole.passing.set(key, object)
    for (const [key, next] of lists) {
      const before = whole.lists.get(key)
      const composed = composeLists(before, next)
      whole.lists.set(key, composed)
      if (before?.parts) notePassing(before.parts, composed?.parts ?? [], whole.passing)
    }
  }
  return { ...whole, unset: [...whole.unset] }
}

function composeLists(before: ListChange | null | undefined, next: ListChange | null): ListChange | null {
  if (before === undefined || next === null || next.isNew) return next
  // A list that is gone begins again with nothing.
  if (before === null) return { ...next, isNew: true, ...(next.parts && { parts: composeParts([], next.parts) }) }
  const parts = next.parts ? composeParts(before.parts, next.parts) : before.parts
  return { isNew: before.isNew, row: addRowChanges(before.row, next.row), ...(parts && { parts }) }
}

/** Pure. Parts of the list behind both changes. Where `first` is absent, it left the list as it was. */
export function composeParts(first: readonly ListPart[] | undefined, second: readonly ListPart[]): ListPart[] {
  if (!first) return [...second]
  const parts: ListPart[] = []
  const slices = new Slices(first)
  for (const part of second) {
    if (isBaseRange(part)) for (const one of slices.take(part)) pushPart(parts, one)
    else pushPart(parts, part)
  }
  return parts
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

  *take([from, to]: BaseRange): Generator<ListPart> {
    if (from < this.#position) {
      this.#next = 0
      this.#position = 0
    }
    for (let part = this.#parts[this.#next]; part && this.#position < to; part = this.#parts[this.#next]) {
      const length = isBaseRange(part) ? part[1] - part[0] : 1
      const begin = Math.max(from - this.#position, 0)
      const end = Math.min(to - this.#position, length)
      if (begin < end) yield isBaseRange(part) ? [part[0] + begin, part[0] + end] : part
      // The next range may begin inside this part.
      if (this.#position + length > to) return
      this.#position += length
      this.#next++
    }
  }
}

function notePassing(before: readonly ListPart[], after: readonly ListPart[], passing: Map<string, NamedObject>): void {
  const named = new Set(after.flatMap(part => (isBaseRange(part) ? [] : [part.key])))
  for (const part of before) {
    if (!isBaseRange(part) && !named.has(part.key)) passing.set(part.key, objectOf(part))
  }
}

/** The object that a segment lies in. */
export function objectOf(segment: Segment): NamedObject {
  const { key, size, blake3 } = segment.piece?.pack ?? segment
  return { key, size, blake3 }
}
