import { isDeepStrictEqual } from 'node:util'
import { KafkaBackupError } from '../../errors.ts'
import type { Segment } from '../manifest.ts'
import { type Change, type Head, type HeadField, type ListChange, noChange, type State } from './change.ts'
import { diffRows, type ListRow, type RowChange, zeroRow } from './row-change.ts'

export interface ChangeFacts {
  /** What the writer has published last, and what it is about to publish. */
  before: State
  after: State
  /** Segments behind those that the writer has published of a list. */
  added: ReadonlyMap<string, readonly Segment[]>
  /** Lists that begin again with these segments, which are all that they have. */
  replaced: ReadonlyMap<string, readonly Segment[]>
  /** How many segments at the start of a list go. */
  cut?: ReadonlyMap<string, number> | undefined
  /** How many segments the newest generation has of a list: merges make them fewer than the writer knows of. */
  countOf: (list: string) => number
}

/** Pure. How the newest generation becomes the next one. */
export function planChange(facts: ChangeFacts): Change {
  const { before, after } = facts
  const lists = new Map<string, ListChange | null>()
  for (const [list, row] of after.lists) {
    const change = changeOfList(list, row, facts)
    if (change) lists.set(list, change)
  }
  for (const list of before.lists.keys()) if (!after.lists.has(list)) lists.set(list, null)
  const topics = [...after.topics].filter(([key, topic]) => !isDeepStrictEqual(before.topics.get(key), topic))
  const removedTopics = [...before.topics.keys()].filter(key => !after.topics.has(key))
  return {
    ...noChange,
    ...changeOfHead(before.head, after.head),
    topics: new Map(topics),
    removedTopics: new Set(removedTopics),
    lists,
  }
}

function changeOfHead(before: Head, after: Head): Pick<Change, 'head' | 'unset'> {
  const set = Object.entries(after).filter(([field, value]) => !isDeepStrictEqual(before[field as HeadField], value))
  const unset = (Object.keys(before) as HeadField[]).filter(field => !(field in after))
  return { head: Object.fromEntries(set), unset }
}

function changeOfList(list: string, row: ListRow, facts: ChangeFacts): ListChange | undefined {
  const before = facts.before.lists.get(list)
  const whole = facts.replaced.get(list)
  if (whole) return newList(row, whole)
  const cut = facts.cut?.get(list)
  if (before && cut) return { isNew: false, row: diffRows(before, row), parts: [[cut, facts.countOf(list)]] }
  const added = facts.added.get(list) ?? []
  const known = row.segments - added.length
  if (!before || known !== before.segments) {
    if (known === 0) return newList(row, added)
    const message = `${list} is to have ${row.segments} segments: ${added.length} are new, and ${before?.segments ?? 0} were there`
    throw new KafkaBackupError('INTERNAL', message)
  }
  const change = diffRows(before, row)
  if (added.length > 0) return { isNew: false, row: change, parts: [[0, facts.countOf(list)], ...added] }
  return isEmpty(change) ? undefined : { isNew: false, row: change }
}

/** Sums are those of the segments: what was merged has others than the writer knows of. */
function newList(row: ListRow, segments: readonly Segment[]): ListChange {
  const stored_bytes = segments.reduce((sum, { size }) => sum + size, 0)
  const own = { ...row, segments: segments.length, stored_bytes }
  return { isNew: true, row: diffRows(zeroRow, own), parts: segments }
}

function isEmpty({ offsets, sums, set, unset }: RowChange): boolean {
  const isZero = offsets.every(one => one === 0n) && sums.every(one => one === 0)
  return isZero && Object.keys(set).length === 0 && unset.length === 0
}
