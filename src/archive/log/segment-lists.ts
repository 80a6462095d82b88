import type * as z from 'zod'
import { formatJson, parseJson } from '../../lib/json.ts'
import type { Storage } from '../../storage/storage.ts'
import { assertSegmentKeys } from '../assert-keys.ts'
import { damaged } from '../damage.ts'
import type { PackRef, Segment } from '../manifest.ts'
import { applyParts, type State } from './change.ts'
import { readDocument } from './document.ts'
import { type PageRef, pageSchema } from './documents.ts'
import { assertKey, type OpenedGeneration } from './open-generation.ts'
import type { ListRow } from './row-change.ts'
import { decodeSegment, type SegmentRow } from './segment-row.ts'

/**
 * Text of pages that is kept. Readers ask for partitions in the order of the names of their topics, which is not that of the lists
 * in the pages: without all pages at hand, each topic would have its page read again.
 */
const MAX_KEPT_TEXT = 192 << 20

/** A page that was checked, as text: it takes a quarter of the memory that its segments would. */
interface KeptPage {
  packs: readonly PackRef[]
  /** The rows of each list. */
  lists: ReadonlyMap<string, string>
  size: number
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
  #keptText = 0

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
    const { packs, lists } = await this.#open(page, signal)
    const rows = lists.get(list)
    return rows === undefined ? [] : decodeRows(parseJson(rows) as SegmentRow[], packs, page.key)
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
      ({ size }) => {
        kept.size = size
        this.#keptText += size
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
      if (this.#keptText <= MAX_KEPT_TEXT) return
      if (key === newest || size === 0) continue
      this.#pages.delete(key)
      this.#keptText -= size
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
  const texts = new Map(lists.map(([list, rows]) => [list, formatJson(rows)]))
  let size = 0
  for (const text of texts.values()) size += text.length
  return { packs, lists: texts, size }
}

/** Pure. The page that has the segments of a list, if it has any. Pages are in the order of their lists. */
export function pageOf(pages: readonly PageRef[], list: string): PageRef | undefined {
  let low = 0
  let high = pages.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((pages[middle]?.last ?? '') < list) low = middle + 1
    else high = middle
  }
  const page = pages[low]
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
