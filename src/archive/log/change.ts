import type { Manifest, ManifestTopic, NamedObject, Segment } from '../manifest.ts'
import { applyRowChange, type ListRow, type RowChange, zeroRow } from './row-change.ts'

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
  const changed = new ChangedState(state)
  changed.apply(change)
  return changed.state
}

/** A state that changes are applied to, one after the other. Takes time for the changes, and for a copy of the first state. */
export class ChangedState {
  #head: Head
  #topics: ReadonlyMap<string, TopicRow>
  readonly #lists: Map<string, ListRow>

  constructor({ head, topics, lists }: State) {
    this.#head = head
    this.#topics = topics
    this.#lists = new Map(lists)
  }

  /** Not to be used any more when something else is applied. */
  get state(): State {
    return { head: this.#head, topics: this.#topics, lists: this.#lists }
  }

  apply(change: Change): void {
    this.#head = changedHead(this.#head, change)
    this.#topics = changedTopics(this.#topics, change)
    for (const [key, one] of change.lists) {
      if (one === null) this.#lists.delete(key)
      else this.#lists.set(key, applyRowChange(one.isNew ? zeroRow : (this.#lists.get(key) ?? zeroRow), one.row))
    }
  }
}

function changedTopics(before: State['topics'], { topics, removedTopics }: Change): State['topics'] {
  if (topics.size === 0 && removedTopics.size === 0) return before
  const changed = new Map(before)
  for (const [key, topic] of topics) changed.set(key, topic)
  for (const key of removedTopics) changed.delete(key)
  return changed
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

/** The object that a segment lies in. */
export function objectOf(segment: Segment): NamedObject {
  const { key, size, blake3 } = segment.piece?.pack ?? segment
  return { key, size, blake3 }
}
