import { hasCode } from '../../errors.ts'
import type { Storage } from '../../storage/storage.ts'
import type { Segment } from '../manifest.ts'
import { applyChange, applyParts, type Change, isBaseRange, type ListChange, noChange, type State } from './change.ts'
import { type OpenedGeneration, openGeneration, readChange, readCommit } from './open-generation.ts'
import { applyRowChange, type ListRow, zeroRow } from './row-change.ts'
import { coverOf } from './salvage.ts'
import { SegmentLists } from './segment-lists.ts'
import type { LogSurvey } from './survey-log.ts'

/** The newest state that can be put together from what is readable. */
export interface Salvaged {
  /** The generation that it begins with. */
  base: number
  /** Commits behind it that could not be used. */
  lostCommits: number[]
  state: State
  read: (list: string, signal: AbortSignal) => Promise<readonly Segment[]>
}

/**
 * Opens a generation, and adds what the commits behind it say. Behind a commit that is lost, ranges of earlier segments mean nothing
 * any more: then the segments that a commit adds are taken, and the best that all of them cover.
 */
export async function salvageLog(
  storage: Storage,
  backupId: string,
  { base, ...survey }: LogSurvey & { base: number },
  signal: AbortSignal,
): Promise<Salvaged> {
  const opened = await openGeneration(storage, backupId, base, signal)
  const salvage = new Salvage(storage, opened)
  const lostCommits: number[] = []
  for (let generation = base + 1; generation <= (survey.generations.at(-1) ?? 0); generation++) {
    if (!survey.isReadable(generation)) {
      lostCommits.push(generation)
      continue
    }
    const read = await readCommit(storage, backupId, generation, signal)
    const change = await readChange(storage, read, signal)
    await salvage.add(change, lostCommits.length === 0, signal)
  }
  return { base, lostCommits, state: salvage.state, read: (list, own) => salvage.read(list, own) }
}

class Salvage {
  readonly #base: SegmentLists
  readonly #pending: Change
  #state: State
  /** Of lists that have changed since the base. */
  readonly #segments = new Map<string, readonly Segment[]>()

  constructor(storage: Storage, opened: OpenedGeneration) {
    this.#base = new SegmentLists(storage, opened)
    this.#pending = opened.pending
    this.#state = opened.state
  }

  get state(): State {
    return this.#state
  }

  async read(list: string, signal: AbortSignal): Promise<readonly Segment[]> {
    const known = this.#segments.get(list)
    if (known) return known
    try {
      return await this.#base.read(list, signal)
    } catch (error) {
      // Its page is lost: what was added behind the checkpoint is left.
      if (!hasCode(error, 'ARCHIVE_DAMAGED')) throw error
      return coverOf(addedBy(this.#pending.lists.get(list)))
    }
  }

  async add(change: Change, isExact: boolean, signal: AbortSignal): Promise<void> {
    const rows = new Map(this.#state.lists)
    for (const [list, one] of change.lists) {
      if (one === null) rows.delete(list)
      else rows.set(list, await this.#addTo(list, one, isExact, signal))
      if (one === null) this.#segments.set(list, [])
    }
    const others = applyChange(this.#state, { ...noChange, ...change, lists: new Map() })
    this.#state = { ...others, lists: rows }
  }

  async #addTo(list: string, change: ListChange, isExact: boolean, signal: AbortSignal): Promise<ListRow> {
    const { isNew, parts, row: difference } = change
    const before = isNew ? undefined : this.#state.lists.get(list)
    const segments = before ? await this.read(list, signal) : []
    const applied = parts ? applyParts(segments, parts) : segments
    if (isNew || (isExact && applied)) {
      this.#segments.set(list, applied ?? [])
      return applyRowChange(before ?? zeroRow, difference)
    }
    const cover = coverOf([...segments, ...addedBy(change)])
    this.#segments.set(list, cover)
    const known = before ?? { ...zeroRow, start_offset: cover[0]?.start_offset ?? 0n }
    return rowOf({ ...known, ...difference.set }, cover)
  }
}

function addedBy(change: ListChange | null | undefined): Segment[] {
  return (change?.parts ?? []).flatMap(part => (isBaseRange(part) ? [] : [part]))
}

/** Sums are those of the segments; what a lost commit has added to them is not known. */
function rowOf(row: ListRow, segments: readonly Segment[]): ListRow {
  const end = segments.at(-1)?.end_offset ?? row.end_offset
  const most = (offset: bigint) => (offset > end ? offset : end)
  const [highWatermark, stable] = [most(row.high_watermark), most(row.last_stable_offset)]
  return { ...row, end_offset: most(row.end_offset), high_watermark: highWatermark, last_stable_offset: stable }
}
