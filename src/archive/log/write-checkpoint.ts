import { runPool } from '../../lib/pool.ts'
import type { Storage } from '../../storage/storage.ts'
import { listSegments } from '../catalog.ts'
import { damaged } from '../damage.ts'
import { freshKey, rereadKey } from '../incarnation.ts'
import type { Manifest, NamedObject, Segment } from '../manifest.ts'
import { stateOf } from './as-manifest.ts'
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
  const target: Target = {
    storage,
    backupId: opened.commit.backup_id,
    generation: opened.commit.generation,
    writer,
    objects: 0,
  }
  return finishCheckpoint(target, opened.state, await renewPages(target, opened, maxPageSegments, signal), signal)
}

/** The same for a generation of version 1, whose lists are read one after the other. */
export async function writeFirstCheckpoint(
  storage: Storage,
  manifest: Manifest,
  writer: string,
  signal: AbortSignal,
  maxPageSegments = MAX_PAGE_SEGMENTS,
): Promise<WrittenCheckpoint & { state: State }> {
  const state = stateOf(manifest)
  const target: Target = { storage, backupId: manifest.backup_id, generation: manifest.generation, writer, objects: 0 }
  const pages: PageRef[] = []
  let waiting: Lists = []
  let count = 0
  for (const [list, read] of sortedLists(storage, manifest)) {
    const segments = await read(signal)
    if (segments.length > 0) waiting.push([list, segments])
    count += segments.length
    if (count < maxPageSegments) continue
    pages.push(await writePage(target, waiting, signal))
    waiting = []
    count = 0
  }
  if (waiting.length > 0) pages.push(await writePage(target, waiting, signal))
  return { state, ...(await finishCheckpoint(target, state, pages, signal)) }
}

type ReadList = (signal: AbortSignal) => Promise<readonly Segment[]>

function sortedLists(storage: Storage, { topics }: Manifest): [string, ReadList][] {
  const lists = topics.flatMap(topic =>
    topic.partitions.flatMap((one): [string, ReadList][] => {
      const { reread, partition } = one
      const own: [string, ReadList] = [freshKey(topic, partition), signal => listSegments(storage, topic, one, signal)]
      if (!reread) return [own]
      return [own, [rereadKey(topic, partition), signal => listSegments(storage, topic, reread, signal)]]
    }),
  )
  return lists.sort(([a], [b]) => (a < b ? -1 : 1))
}

/** Where a checkpoint is written to. */
interface Target {
  storage: Storage
  backupId: string
  generation: number
  writer: string
  /** Pages and parts so far. */
  objects: number
}

async function finishCheckpoint(
  target: Target,
  state: State,
  pages: PageRef[],
  signal: AbortSignal,
): Promise<WrittenCheckpoint> {
  const { storage, backupId, generation, writer } = target
  const [first, ...others] = splitChange(stateAsChange(state))
  const head = { format_version: LOG_VERSION, backup_id: backupId }
  const parts = await runPool(others, CONCURRENCY, part =>
    createDocument(
      storage,
      nextKey(target),
      { format: 'kafka-backup-change', ...head, change: encodeChange(part) },
      signal,
    ),
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

async function renewPages(
  target: Target,
  opened: OpenedGeneration,
  maxSegments: number,
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

async function writePage(target: Target, lists: Lists, signal: AbortSignal): Promise<PageRef> {
  const table = new PackTable()
  const rows = lists.map(([list, segments]) => [list, segments.map(one => encodeSegment(one, table))])
  const head = { format: 'kafka-backup-page', format_version: LOG_VERSION, backup_id: target.backupId }
  const object = await createDocument(
    target.storage,
    nextKey(target),
    { ...head, packs: table.packs, lists: rows },
    signal,
  )
  return { ...object, first: lists[0]?.[0] ?? '', last: lists.at(-1)?.[0] ?? '' }
}

function nextKey(target: Target): string {
  return pageKey(target.backupId, target.generation, target.writer, ++target.objects)
}
