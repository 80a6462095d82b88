import { runPool } from '../../lib/pool.ts'
import type { Storage } from '../../storage/storage.ts'
import { damaged } from '../damage.ts'
import type { NamedObject, Segment } from '../manifest.ts'
import { applyParts, type Change, type ListChange, noChange, type State } from './change.ts'
import { encodeChange, encodeSegment, PackTable } from './change-document.ts'
import { createDocument, LOG_VERSION } from './document.ts'
import type { CheckpointRef, PageRef } from './documents.ts'
import { checkpointKey, pageKey } from './keys.ts'
import { type OpenedGeneration, readPage } from './open-generation.ts'
import { diffRows, zeroRow } from './row-change.ts'
import { splitChange } from './split-change.ts'

/** Segments of a page: about a megabyte. */
const MAX_PAGE_SEGMENTS = 20_000
const CONCURRENCY = 4

export interface WrittenCheckpoint {
  ref: CheckpointRef
  /** Of all that a reader of the whole checkpoint reads. */
  bytes: number
}

/**
 * Writes the state of a generation as a checkpoint. Pages without a change since the checkpoint before it are named again.
 * `writer` is a random name, another one for each checkpoint.
 */
export async function writeCheckpoint(
  storage: Storage,
  opened: OpenedGeneration,
  writer: string,
  signal: AbortSignal,
  maxPageSegments = MAX_PAGE_SEGMENTS,
): Promise<WrittenCheckpoint> {
  const { backup_id: backupId, generation } = opened.commit
  let number = 0
  const nextKey = () => pageKey(backupId, generation, writer, ++number)
  const pages = await writePages(storage, opened, nextKey, maxPageSegments, signal)
  const [first, ...others] = splitChange(stateAsChange(opened.state))
  const head = { format_version: LOG_VERSION, backup_id: backupId }
  const parts = await runPool(others, CONCURRENCY, part =>
    createDocument(storage, nextKey(), { format: 'kafka-backup-change', ...head, change: encodeChange(part) }, signal),
  )
  const document = { format: 'kafka-backup-checkpoint', ...head, generation, parts, change: encodeChange(first), pages }
  const object = await createDocument(storage, checkpointKey(backupId, generation, writer), document, signal)
  return { ref: { ...object, generation }, bytes: sizeOf([object, ...parts, ...pages]) }
}

export function sizeOf(objects: readonly Pick<NamedObject, 'size'>[]): number {
  return objects.reduce((sum, { size }) => sum + size, 0)
}

/** Pure. How the state comes from the empty one, without segments. */
export function stateAsChange({ head, topics, lists }: State): Change {
  const rows = [...lists].map(([key, row]): [string, ListChange] => [key, { isNew: true, row: diffRows(zeroRow, row) }])
  return { ...noChange, head, topics, lists: new Map(rows) }
}

type Lists = [list: string, segments: readonly Segment[]][]

async function writePages(
  storage: Storage,
  opened: OpenedGeneration,
  nextKey: () => string,
  maxSegments: number,
  signal: AbortSignal,
): Promise<PageRef[]> {
  const { backup_id: backupId } = opened.commit
  const pages: PageRef[] = []
  for (const { page, changed } of groupByPage(opened.checkpoint?.pages ?? [], opened.pending)) {
    if (page && changed.length === 0) {
      pages.push(page)
      continue
    }
    const base: Map<string, readonly Segment[]> = page ? await readPage(storage, backupId, page, signal) : new Map()
    for (const [list, change] of changed) {
      if (change === null) base.delete(list)
      else base.set(list, segmentsAfter(list, change, base.get(list) ?? [], opened.ref.key))
    }
    for (const lists of cutPages([...base], maxSegments)) {
      pages.push(await writePage(storage, backupId, nextKey(), lists, signal))
    }
  }
  return pages
}

function segmentsAfter(
  list: string,
  { isNew, parts }: ListChange,
  before: readonly Segment[],
  at: string,
): readonly Segment[] {
  const base = isNew ? [] : before
  const after = parts ? applyParts(base, parts) : base
  if (after) return after
  throw damaged(at, `is damaged: a change of ${list} names more segments than it had`)
}

interface PageGroup {
  page: PageRef | undefined
  /** Lists whose segments are not the same as in the page. */
  changed: [string, ListChange | null][]
}

/** Pure. A list belongs to the first page that ends behind it; those behind all pages are a group of their own. */
export function groupByPage(pages: readonly PageRef[], { lists }: Change): PageGroup[] {
  const changed = [...lists].filter(([, one]) => one === null || one.isNew || one.parts)
  const sorted = changed.toSorted(([a], [b]) => (a < b ? -1 : 1))
  const groups: PageGroup[] = [...pages].map(page => ({ page, changed: [] }))
  const rest: PageGroup = { page: undefined, changed: [] }
  let at = 0
  for (const one of sorted) {
    while (at < pages.length && (pages[at]?.last ?? '') < one[0]) at++
    const group = groups[at] ?? rest
    group.changed.push(one)
  }
  return rest.changed.length > 0 ? [...groups, rest] : groups
}

/** Pure. In pages of about the same size. Lists without segments are in none; a list is never divided. */
export function cutPages(lists: Lists, maxSegments: number): Lists[] {
  const some = lists.filter(([, segments]) => segments.length > 0).toSorted(([a], [b]) => (a < b ? -1 : 1))
  const total = some.reduce((sum, [, segments]) => sum + segments.length, 0)
  const target = total / Math.max(1, Math.ceil(total / maxSegments))
  const pages: Lists[] = []
  let count = Number.POSITIVE_INFINITY
  for (const one of some) {
    if (count >= target) {
      pages.push([])
      count = 0
    }
    pages.at(-1)?.push(one)
    count += one[1].length
  }
  return pages
}

async function writePage(
  storage: Storage,
  backupId: string,
  key: string,
  lists: Lists,
  signal: AbortSignal,
): Promise<PageRef> {
  const table = new PackTable()
  const rows = lists.map(([list, segments]) => [list, segments.map(one => encodeSegment(one, table))])
  const document = {
    format: 'kafka-backup-page',
    format_version: LOG_VERSION,
    backup_id: backupId,
    packs: table.packs,
    lists: rows,
  }
  const object = await createDocument(storage, key, document, signal)
  return { ...object, first: lists[0]?.[0] ?? '', last: lists.at(-1)?.[0] ?? '' }
}
