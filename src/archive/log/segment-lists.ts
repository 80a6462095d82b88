import type * as z from 'zod'
import { formatJson, parseJson } from '../../lib/json.ts'
import type { Storage } from '../../storage/storage.ts'
import { assertSegmentKeys } from '../assert-keys.ts'
import { damaged } from '../damage.ts'
import type { PackRef, Segment } from '../manifest.ts'
import { assertKey } from './assert-documents.ts'
import { applyParts, type State } from './change.ts'
import { readDocument } from './document.ts'
import { type PageRef, pageSchema } from './documents.ts'
import type { OpenedGeneration } from './open-generation.ts'
import type { ListRow } from './row-change.ts'
import { decodeSegment, type SegmentRow } from './segment-row.ts'

/**
 * Bytes of pages that are kept: about 150,000 segments. Beyond that, a reader of all lists asks for them in the order of their keys, which
 * is that of the pages: in the order of the names of topics, each topic would have its page read again.
 */
const MAX_KEPT_BYTES = 32 << 20

/** A page that was checked, as text: it takes half of the memory that its segments would, and none of the heap. */
interface KeptPage {
  packs: readonly PackRef[]
  /** The names of the lists, in their order. */
  names: readonly string[]
  /** The rows of each, and where they end. */
  text: Buffer
  ends: Uint32Array
}

/** What it needs of an opened generation: of the rows, only how many segments there are. */
export interface ListSource extends Pick<OpenedGeneration, 'commit' | 'ref' | 'checkpoint' | 'pending'> {
  state: Pick<State, 'topics'> & { lists: ReadonlyMap<string, Pick<ListRow, 'segments'>> }
}

/** Reads the segments of lists. */
export class SegmentLists {
  readonly #storage: Storage
  readonly #opened: ListSource
  readonly #pages = new Map<string, { reading: Promise<KeptPage>; signal: AbortSignal; size: number }>()
  #keptBytes = 0

  constructor(storage: Storage, opened: ListSource) {
    this.#storage = storage
    this.#opened = opened
  }

  /** In the order of their offsets; none for a list that the generation does not have. */
  async read(list: string, signal: AbortSignal): Promise<readonly Segment[]> {
    const { pending, state, ref, commit } = this.#opened
    const row = state.lists.get(list)
    if (!row) return []
    const change = pending.lists.get(list)
    const base = change?.isNew ? [] : await this.#readBase(list, signal)
    const segments = change?.parts ? applyParts(base, change.parts) : base
    if (segments?.length === row.segments) {
      const topic = state.topics.get(ownerOfList(list).topic)?.name ?? ''
      assertListKeys(segments, { backupId: commit.backup_id, topic, list }, ref.key)
      return segments
    }
    throw damaged(
      ref.key,
      `is damaged: ${list} has ${row.segments} segments, and ${segments?.length ?? 'less'} are named`,
    )
  }

  async #readBase(list: string, signal: AbortSignal): Promise<readonly Segment[]> {
    const page = pageOf(this.#opened.checkpoint?.pages ?? [], list)
    if (!page) return []
    const { packs, names, text, ends } = await this.#open(page, signal)
    const at = lowerBound(names, name => name < list)
    if (names[at] !== list) return []
    const rows = text.toString('utf8', at === 0 ? 0 : ends[at - 1], ends[at])
    return decodeRows(parseJson(rows) as SegmentRow[], packs, page.key)
  }

  async #open(page: PageRef, signal: AbortSignal): Promise<KeptPage> {
    const known = this.#pages.get(page.key)
    try {
      return await (known?.reading ?? this.#begin(page, signal))
    } catch (error) {
      // The caller that began to read it has stopped, and this one has not.
      if (known?.signal.aborted && !signal.aborted) return this.#open(page, signal)
      throw error
    }
  }

  #begin(page: PageRef, signal: AbortSignal): Promise<KeptPage> {
    const reading = readKeptPage(this.#storage, this.#opened.commit.backup_id, page, signal)
    const kept = { reading, signal, size: 0 }
    this.#pages.set(page.key, kept)
    reading.then(
      ({ text }) => {
        kept.size = text.length
        this.#keptBytes += text.length
        this.#makeRoom(page.key)
      },
      // A failed or aborted read is not kept.
      () => this.#pages.delete(page.key),
    )
    return reading
  }

  /** The oldest go first. */
  #makeRoom(newest: string): void {
    for (const [key, { size }] of this.#pages) {
      if (this.#keptBytes <= MAX_KEPT_BYTES) return
      if (key === newest || size === 0) continue
      this.#pages.delete(key)
      this.#keptBytes -= size
    }
  }
}

/** Each segment may only name an object of its own partition, or a pack. `topic` is its name. */
export function assertListKeys(
  segments: readonly Segment[],
  { backupId, topic, list }: { backupId: string; topic: string; list: string },
  at: string,
): void {
  const { partition } = ownerOfList(list)
  const plain = segments.filter(({ piece }) => !piece)
  assertSegmentKeys(plain, { backupId, topic, partition: Number(partition) }, at)
  for (const { piece } of segments) if (piece) assertKey(piece.pack, backupId, 'pack', at)
}

function ownerOfList(list: string): { topic: string; partition: string } {
  const [topic = '', partition = ''] = list.split('/').slice(-2)
  return { topic, partition }
}

async function readKeptPage(storage: Storage, backupId: string, ref: PageRef, signal: AbortSignal): Promise<KeptPage> {
  const { packs, lists } = await readRows(storage, backupId, ref, signal)
  const texts = lists.map(([, rows]) => formatJson(rows))
  const ends = new Uint32Array(lists.length)
  let end = 0
  for (const [i, one] of texts.entries()) {
    end += Buffer.byteLength(one)
    ends[i] = end
  }
  // One piece of memory, without one for each list.
  const text = Buffer.allocUnsafeSlow(end)
  for (const [i, one] of texts.entries()) text.write(one, ends[i - 1] ?? 0)
  return { packs, names: lists.map(([list]) => list), text, ends }
}

/** The first place whose item is not before what is looked for. */
function lowerBound<T>(items: readonly T[], isBefore: (item: T) => boolean): number {
  let low = 0
  let high = items.length
  while (low < high) {
    const middle = (low + high) >> 1
    if (isBefore(items[middle] as T)) low = middle + 1
    else high = middle
  }
  return low
}

/** Pure. The page that has the segments of a list, if it has any. Pages are in the order of their lists. */
export function pageOf(pages: readonly PageRef[], list: string): PageRef | undefined {
  const page = pages[lowerBound(pages, ({ last }) => last < list)]
  return page && page.first <= list ? page : undefined
}

/** The segments of all lists of a page. */
export async function readPage(
  storage: Storage,
  backupId: string,
  ref: PageRef,
  signal: AbortSignal,
): Promise<Map<string, Segment[]>> {
  const { packs, lists } = await readRows(storage, backupId, ref, signal)
  return new Map(lists.map(([list, rows]) => [list, decodeRows(rows, packs, ref.key)]))
}

type Page = z.output<typeof pageSchema>

async function readRows(storage: Storage, backupId: string, ref: PageRef, signal: AbortSignal): Promise<Page> {
  const page = await readDocument(storage, pageSchema, ref, signal)
  if (page.backup_id !== backupId) throw damaged(ref.key, `belongs to backup \`${page.backup_id}\``)
  assertListOrder(page.lists, ref)
  return page
}

function decodeRows(rows: readonly SegmentRow[], packs: readonly PackRef[], at: string): Segment[] {
  return rows.map(row => decodeSegment(row, packs, at))
}

function assertListOrder(lists: readonly (readonly [string, unknown])[], { key, first, last }: PageRef): void {
  for (const [i, [list]] of lists.entries()) {
    const before = lists[i - 1]
    if (first <= list && list <= last && (!before || before[0] < list)) continue
    throw damaged(key, `is damaged: ${list} is out of order`)
  }
}
