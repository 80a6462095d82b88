import type { Manifest, ManifestTopic, NamedObject, Segment } from '../manifest.ts'
import { addRowChanges, applyRowChange, type ListRow, type RowChange, zeroRow } from './row-change.ts'

/** The fields of a generation that belong to the backup as a whole, and are not those of its commit. */
export type Head = Pick<
  Manifest,
  'cluster' | 'selection' | 'schema_registry' | 'consumer_groups' | 'encryption' | 'access' | 'lineage' | 'warnings'
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
  const lists = new Map(first.lists)
  const passing = new Map([...first.passing, ...second.passing])
  for (const [key, next] of second.lists) {
    const before = first.lists.get(key)
    const composed = composeLists(before, next)
    lists.set(key, composed)
    if (before?.parts) notePassing(before.parts, composed?.parts ?? [], passing)
  }
  const unset = new Set([...first.unset.filter(field => !(field in second.head)), ...second.unset])
  const head = { ...first.head, ...second.head }
  for (const field of unset) delete head[field]
  return {
    head,
    unset: [...unset],
    topics: withoutKeys(new Map([...first.topics, ...second.topics]), second.removedTopics),
    removedTopics: new Set([...first.removedTopics, ...second.removedTopics].filter(key => !second.topics.has(key))),
    lists,
    passing,
  }
}

function withoutKeys<T>(map: Map<string, T>, keys: Iterable<string>): Map<string, T> {
  for (const key of keys) map.delete(key)
  return map
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
  for (const part of second) {
    for (const one of isBaseRange(part) ? sliceParts(first, part) : [part]) pushPart(parts, one)
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

function* sliceParts(parts: readonly ListPart[], [from, to]: BaseRange): Generator<ListPart> {
  let position = 0
  for (const part of parts) {
    const length = isBaseRange(part) ? part[1] - part[0] : 1
    const begin = Math.max(from - position, 0)
    const end = Math.min(to - position, length)
    if (begin < end) yield isBaseRange(part) ? [part[0] + begin, part[0] + end] : part
    position += length
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
