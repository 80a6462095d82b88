import type { Storage } from '../../storage/storage.ts'
import { assertSegmentKeys } from '../assert-keys.ts'
import { damaged } from '../damage.ts'
import type { Segment } from '../manifest.ts'
import { applyParts } from './change.ts'
import { readDocument } from './document.ts'
import { type PageRef, pageSchema } from './documents.ts'
import { assertKey, type OpenedGeneration } from './open-generation.ts'
import { decodeSegment } from './segment-row.ts'

/** Pages that are kept: readers ask for partitions in the order of their lists. */
const PAGES_KEPT = 2

/** Reads the segments of lists. */
export class SegmentLists {
  readonly #storage: Storage
  readonly #opened: Pick<OpenedGeneration, 'commit' | 'ref' | 'state' | 'checkpoint' | 'pending'>
  readonly #pages = new Map<string, Promise<ReadonlyMap<string, readonly Segment[]>>>()

  constructor(storage: Storage, opened: Pick<OpenedGeneration, 'commit' | 'ref' | 'state' | 'checkpoint' | 'pending'>) {
    this.#storage = storage
    this.#opened = opened
  }

  /** In the order of their offsets; none for a list that the generation does not have. */
  async read(list: string, signal: AbortSignal): Promise<readonly Segment[]> {
    const { pending, state, ref } = this.#opened
    const row = state.lists.get(list)
    if (!row) return []
    const change = pending.lists.get(list)
    const base = change?.isNew ? [] : await this.#readBase(list, signal)
    const segments = change?.parts ? applyParts(base, change.parts) : base
    if (segments?.length === row.segments) {
      this.#assertKeys(list, segments)
      return segments
    }
    throw damaged(
      ref.key,
      `is damaged: ${list} has ${row.segments} segments, and ${segments?.length ?? 'less'} are named`,
    )
  }

  /** Each segment may only name an object of its own partition, or a pack. */
  #assertKeys(list: string, segments: readonly Segment[]): void {
    const { commit, state, ref } = this.#opened
    const [topic = '', partition = ''] = list.split('/').slice(-2)
    const owner = {
      backupId: commit.backup_id,
      topic: state.topics.get(topic)?.name ?? '',
      partition: Number(partition),
    }
    assertSegmentKeys(
      segments.filter(({ piece }) => !piece),
      owner,
      ref.key,
    )
    for (const { piece } of segments) if (piece) assertKey(piece.pack, commit.backup_id, 'pack', ref.key)
  }

  async #readBase(list: string, signal: AbortSignal): Promise<readonly Segment[]> {
    const page = pageOf(this.#opened.checkpoint?.pages ?? [], list)
    if (!page) return []
    return (await this.#open(page, signal)).get(list) ?? []
  }

  #open(page: PageRef, signal: AbortSignal): Promise<ReadonlyMap<string, readonly Segment[]>> {
    const known = this.#pages.get(page.key)
    if (known) return known
    const reading = readPage(this.#storage, this.#opened.commit.backup_id, page, signal)
    // A failed or aborted read is not kept.
    reading.catch(() => this.#pages.delete(page.key))
    for (const key of [...this.#pages.keys()].slice(0, Math.max(0, this.#pages.size - PAGES_KEPT + 1)))
      this.#pages.delete(key)
    this.#pages.set(page.key, reading)
    return reading
  }
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

export async function readPage(
  storage: Storage,
  backupId: string,
  ref: PageRef,
  signal: AbortSignal,
): Promise<Map<string, Segment[]>> {
  const page = await readDocument(storage, pageSchema, ref, signal)
  if (page.backup_id !== backupId) throw damaged(ref.key, `belongs to backup \`${page.backup_id}\``)
  assertListOrder(page.lists, ref)
  return new Map(page.lists.map(([list, rows]) => [list, rows.map(row => decodeSegment(row, page.packs, ref.key))]))
}

function assertListOrder(lists: readonly (readonly [string, unknown])[], { key, first, last }: PageRef): void {
  for (const [i, [list]] of lists.entries()) {
    const before = lists[i - 1]
    if (first <= list && list <= last && (!before || before[0] < list)) continue
    throw damaged(key, `is damaged: ${list} is out of order`)
  }
}
