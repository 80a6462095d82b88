import type { Storage } from '../../storage/storage.ts'
import { damaged } from '../damage.ts'
import type { Segment } from '../manifest.ts'
import { applyParts, type Change, type ListChange } from './change.ts'
import { createDocument, LOG_VERSION } from './document.ts'
import type { Commit, PageRef } from './documents.ts'
import { pageKey } from './keys.ts'
import type { OpenedGeneration } from './open-generation.ts'
import { readPage } from './segment-lists.ts'
import { encodeSegment, PackTable } from './segment-row.ts'

/** Where a checkpoint is written to. */
export interface Target {
  storage: Storage
  backupId: string
  generation: number
  writer: string
  /** Pages and parts so far. */
  objects: number
}

/** A generation that becomes a checkpoint: one that was opened, or what its writer knows of it. */
export interface CheckpointSource extends Pick<OpenedGeneration, 'state' | 'pending'> {
  commit: Pick<Commit, 'backup_id' | 'generation'>
  ref: { key: string }
  /** The checkpoint before it. */
  checkpoint: { pages: readonly PageRef[] } | undefined
}

export interface PageOptions {
  maxSegments: number
  /** Sees the segments of each list in a page that is written again. */
  onList?: ((list: string, segments: readonly Segment[]) => void) | undefined
}

export type Lists = [list: string, segments: readonly Segment[]][]

export async function renewPages(
  target: Target,
  opened: CheckpointSource,
  { maxSegments, onList }: PageOptions,
  signal: AbortSignal,
): Promise<PageRef[]> {
  const { storage, backupId } = target
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
    if (onList) for (const [list, segments] of base) onList(list, segments)
    for (const lists of cutPages([...base], maxSegments)) {
      pages.push(await writePage(target, lists, signal))
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

/** Pure. A list belongs to the first page that ends behind it; those behind all pages are the last group. */
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

export async function writePage(target: Target, lists: Lists, signal: AbortSignal): Promise<PageRef> {
  const table = new PackTable()
  // Packs are written before the lists, whose rows take much memory: each is encoded when it is written.
  for (const [, segments] of lists) for (const { piece } of segments) if (piece) table.numberOf(piece.pack)
  const rows = lists.map(([list, segments]) => ({
    toJSON: () => [list, segments.map(one => encodeSegment(one, table))],
  }))
  const head = { format: 'kafka-backup-page', format_version: LOG_VERSION, backup_id: target.backupId }
  const object = await createDocument(
    target.storage,
    nextKey(target),
    { ...head, packs: table.packs, lists: rows },
    signal,
  )
  return { ...object, first: lists[0]?.[0] ?? '', last: lists.at(-1)?.[0] ?? '' }
}

export function nextKey(target: Target): string {
  return pageKey(target.backupId, target.generation, target.writer, ++target.objects)
}
