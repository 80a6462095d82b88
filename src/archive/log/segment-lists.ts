import { freeMemory } from '../../lib/recycled-memory.ts'
import type { Storage } from '../../storage/storage.ts'
import { assertSegmentKeys } from '../assert-keys.ts'
import { damaged } from '../damage.ts'
import type { Segment } from '../manifest.ts'
import { assertKey } from './assert-documents.ts'
import { applyParts, type State } from './change.ts'
import type { Checkpoint, PageRef } from './documents.ts'
import type { OpenedGeneration } from './open-generation.ts'
import { type PageText, readPageText, segmentsAt } from './page-text.ts'
import type { ListRow } from './row-change.ts'

/**
 * Bytes of pages that are kept: about 150,000 segments. Beyond that, a reader of all lists asks for them in the order of their keys, which
 * is that of the pages: in the order of the names of topics, each topic would have its page read again.
 */
const MAX_KEPT_BYTES = 32 << 20

interface KeptPage {
  reading: Promise<PageText>
  /** Of the caller that began to read it. */
  signal: AbortSignal
  /** Once it is read. */
  text: Buffer | undefined
  /** Callers that use it, or wait for it. */
  readers: number
}

/** What it needs of an opened generation; not the rows, which take much memory where there are many partitions. */
export interface ListSource extends Pick<OpenedGeneration, 'commit' | 'ref' | 'pending'> {
  state: Pick<State, 'topics'>
  checkpoint: Pick<Checkpoint, 'pages'> | undefined
}

/** Reads the segments of lists. */
export class SegmentLists {
  readonly #storage: Storage
  readonly #opened: ListSource
  readonly #maxKeptBytes: number
  readonly #pages = new Map<string, KeptPage>()
  #keptBytes = 0

  constructor(storage: Storage, opened: ListSource, maxKeptBytes = MAX_KEPT_BYTES) {
    this.#storage = storage
    this.#opened = opened
    this.#maxKeptBytes = maxKeptBytes
  }

  /** Whether a key is that of a page of the checkpoint. */
  hasPage(key: string | undefined): boolean {
    return (this.#opened.checkpoint?.pages ?? []).some(page => page.key === key)
  }

  /** In the order of their offsets. `row` says how many there are; none for a list that the generation does not have. */
  async read(
    list: string,
    row: Pick<ListRow, 'segments'> | undefined,
    signal: AbortSignal,
  ): Promise<readonly Segment[]> {
    const { pending, state, ref, commit } = this.#opened
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
    const kept = this.#pages.get(page.key) ?? this.#begin(page, signal)
    kept.readers++
    try {
      const text = await kept.reading
      const at = lowerBound(text.names, name => name < list)
      return text.names[at] === list ? segmentsAt(text, at) : []
    } catch (error) {
      // The caller that began to read it has stopped, and this one has not.
      if (!kept.text && kept.signal.aborted && !signal.aborted) return this.#readBase(list, signal)
      throw error
    } finally {
      kept.readers--
    }
  }

  #begin(page: PageRef, signal: AbortSignal): KeptPage {
    const reading = readPageText(this.#storage, this.#opened.commit.backup_id, page, signal)
    const kept: KeptPage = { reading, signal, text: undefined, readers: 0 }
    this.#pages.set(page.key, kept)
    reading.then(
      ({ text }) => {
        kept.text = text
        this.#keptBytes += text.length
        this.#makeRoom(page.key)
      },
      // A failed or aborted read is not kept.
      () => this.#pages.delete(page.key),
    )
    return kept
  }

  /** The oldest go first. */
  #makeRoom(newest: string): void {
    for (const [key, { text, readers }] of this.#pages) {
      if (this.#keptBytes <= this.#maxKeptBytes) return
      if (key === newest || !text || readers > 0) continue
      this.#pages.delete(key)
      this.#keptBytes -= text.length
      freeMemory(text)
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
  const page = await readPageText(storage, backupId, ref, signal)
  return new Map(page.names.map((list, at) => [list, segmentsAt(page, at)]))
}
