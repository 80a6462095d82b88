import { hasCode } from '../../errors.ts'
import type { Storage } from '../../storage/storage.ts'
import type { Segment } from '../manifest.ts'
import { applyChange, applyParts, type Change, isBaseRange, type ListChange, noChange, type State } from './change.ts'
import { type OpenedGeneration, openGeneration, readChange, readCommit } from './open-generation.ts'
import { applyRowChange, type ListRow, zeroRow } from './row-change.ts'
import { coverOf, type OpenBefore } from './salvage.ts'
import { SegmentLists } from './segment-lists.ts'
import type { LogSurvey } from './survey-log.ts'

/** The newest state that can be put together from what is readable. */
export interface Salvaged {
  /** The generation that it begins with. */
  base: number
  /** Generations behind it whose changes could not be used. */
  lostCommits: number[]
  /** Of the newest commit that could be read. */
  complete: boolean
  state: State
  read: (list: string, signal: AbortSignal) => Promise<readonly Segment[]>
  /** Of lists that have changed behind a lost commit. */
  openBefore: ReadonlyMap<string, OpenBefore>
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
  const lostCommits = new Set<number>()
  let before = opened.ref.blake3
  let { complete } = opened.commit
  for (let generation = base + 1; generation <= (survey.generations.at(-1) ?? 0); generation++) {
    if (!survey.isReadable(generation)) {
      lostCommits.add(generation)
      continue
    }
    const read = await readCommit(storage, backupId, generation, signal)
    const { previous } = read.commit
    // One that follows no other is that of a copy or a repair: its state was in its checkpoint, and is lost with it.
    if (previous === null) for (const one of lostCommits) if (!survey.generations.includes(one)) lostCommits.delete(one)
    if (previous === null) lostCommits.add(generation)
    else if (previous.blake3 !== before) lostCommits.add(generation - 1)
    before = read.ref.blake3
    complete = read.commit.complete
    await salvage.add(await readChange(storage, read, signal), lostCommits.size === 0, signal)
  }
  const { state, openBefore } = salvage
  const sorted = [...lostCommits].sort((a, b) => a - b)
  return { base, lostCommits: sorted, complete, state, openBefore, read: (list, own) => salvage.read(list, own) }
}

class Salvage {
  readonly #base: SegmentLists
  readonly #baseRows: State['lists']
  readonly #pending: Change
  #state: State
  /** Of lists that have changed since the base. */
  readonly #segments = new Map<string, readonly Segment[]>()
  readonly openBefore = new Map<string, OpenBefore>()

  constructor(storage: Storage, opened: OpenedGeneration) {
    this.#base = new SegmentLists(storage, opened)
    this.#baseRows = opened.state.lists
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
      return await this.#base.read(list, this.#baseRows.get(list), signal)
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
    const { open_aborted, end_offset: at } = known
    const open = open_aborted.filter(({ last_offset }) => last_offset === null)
    if (!this.openBefore.has(list)) this.openBefore.set(list, { at, open })
    // Whether these are still open is not known; what a readable commit says of it is.
    const closed = open_aborted.filter(({ last_offset }) => last_offset !== null)
    return rowOf({ ...known, open_aborted: closed, ...difference.set }, cover)
  }
}

/** Pure. The segments that a change adds to a list. */
export function addedBy(change: ListChange | null | undefined): Segment[] {
  return (change?.parts ?? []).flatMap(part => (isBaseRange(part) ? [] : [part]))
}

/** Sums are those of the segments; what a lost commit has added to them is not known. */
function rowOf(row: ListRow, segments: readonly Segment[]): ListRow {
  const end = segments.at(-1)?.end_offset ?? row.end_offset
  const most = (offset: bigint) => (offset > end ? offset : end)
  const [highWatermark, stable] = [most(row.high_watermark), most(row.last_stable_offset)]
  return { ...row, end_offset: most(row.end_offset), high_watermark: highWatermark, last_stable_offset: stable }
}
