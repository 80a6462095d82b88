import { hasCode } from '../../errors.ts'
import type { Storage } from '../../storage/storage.ts'
import type { Segment } from '../manifest.ts'
import { applyChange, applyParts, type Change, isBaseRange, type ListChange, noChange, type State } from './change.ts'
import { type OpenedGeneration, openChain, openGeneration } from './open-generation.ts'
import { hashesOf, readChange, readCommit } from './read-commit.ts'
import { ReaderLists } from './reader-lists.ts'
import { applyRowChange, type ListRow, zeroRow } from './row-change.ts'
import { coverOf, type OpenBefore } from './salvage.ts'
import { SegmentLists } from './segment-lists.ts'
import type { LogSurvey, SalvageBase } from './survey-log.ts'

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
  /** Lists that began in a lost commit: what they had before their first segment is not known. */
  startUnknown: ReadonlySet<string>
}

/**
 * Opens a generation, and adds what the commits behind it say. Behind a commit that is lost, ranges of earlier segments mean nothing
 * any more: then the segments that a commit adds are taken, and the best that all of them cover.
 */
export async function salvageLog(
  storage: Storage,
  backupId: string,
  { base: { generation: base, namedBy }, stored, ...survey }: LogSurvey & StoredBase,
  signal: AbortSignal,
): Promise<Salvaged> {
  const isNamed = namedBy !== undefined
  const opened = isNamed
    ? await openChain(storage, await readCommit(storage, backupId, namedBy, signal), signal)
    : await openGeneration(storage, backupId, base, signal)
  const last = survey.generations.at(-1) ?? 0
  const changes = async function* () {
    for (let generation = base + 1; generation <= last; generation++) {
      if (!survey.isReadable(generation)) continue
      yield readChange(storage, await readCommit(storage, backupId, generation, signal), signal)
    }
  }
  // No commit has a state that others name.
  const lists = isNamed ? new SegmentLists(storage, opened) : new ReaderLists(storage, opened)
  const salvage = new Salvage(lists, opened, stored, changes)
  const lostCommits = new Set<number>()
  // One in `kept/` has the state of the commit whose place it takes, which the next one follows. Of a state that others name, no commit is known.
  let before = isNamed ? undefined : hashesOf(opened)
  let { complete } = opened.commit
  for (let generation = base + 1; generation <= last; generation++) {
    if (!survey.isReadable(generation)) {
      lostCommits.add(generation)
      continue
    }
    const read = await readCommit(storage, backupId, generation, signal)
    const { previous } = read.commit
    // One that follows no other is that of a copy or a repair: its state was in its checkpoint, and is lost with it.
    if (previous === null) for (const one of lostCommits) if (!survey.generations.includes(one)) lostCommits.delete(one)
    if (previous === null) lostCommits.add(generation)
    else if (before && !before.includes(previous.blake3)) lostCommits.add(generation - 1)
    before = hashesOf(read)
    complete = read.commit.complete
    await salvage.add(await readChange(storage, read, signal), lostCommits.size === 0, signal)
  }
  const { state, openBefore, startUnknown } = salvage
  const sorted = [...lostCommits].sort((a, b) => a - b)
  const read: Salvaged['read'] = (list, own) => salvage.read(list, own)
  return { base, lostCommits: sorted, complete, state, openBefore, startUnknown, read }
}

interface StoredBase {
  base: SalvageBase
  /** What the store has, by key. */
  stored: ReadonlyMap<string, unknown>
}

class Salvage {
  readonly #base: Pick<SegmentLists, 'read'>
  readonly #stored: StoredBase['stored']
  /** Of the commits behind the base that can be read. */
  readonly #changes: () => AsyncIterable<Change>
  #hasUnnamed: boolean | undefined
  readonly #baseRows: State['lists']
  readonly #pending: Change
  #state: State
  /** Of lists that have changed since the base. */
  readonly #segments = new Map<string, readonly Segment[]>()
  readonly openBefore = new Map<string, OpenBefore>()
  /** Lists with segments of changes behind a lost commit: they are no longer those that ranges count. */
  readonly #recovered = new Set<string>()
  /** Lists that began in a lost commit: where is not known. */
  readonly startUnknown = new Set<string>()

  constructor(
    base: Pick<SegmentLists, 'read'>,
    opened: OpenedGeneration,
    stored: StoredBase['stored'],
    changes: () => AsyncIterable<Change>,
  ) {
    this.#stored = stored
    this.#changes = changes
    this.#base = base
    this.#baseRows = opened.state.lists
    this.#pending = opened.pending
    this.#state = opened.state
  }

  get state(): State {
    return this.#state
  }

  async read(list: string, signal: AbortSignal): Promise<readonly Segment[]> {
    return this.#segments.get(list) ?? this.#readBase(list, signal)
  }

  async #readBase(list: string, signal: AbortSignal): Promise<readonly Segment[]> {
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
      this.startUnknown.delete(list)
      return applyRowChange(before ?? zeroRow, difference)
    }
    if (!before) this.startUnknown.add(list)
    const isKnown = before && !this.startUnknown.has(list)
    const isCounted = isKnown && !this.#recovered.has(list)
    const found = isCounted ? cutBefore(segments, change, key => this.#stored.has(key)) : undefined
    const cut = found === undefined || (await this.#findUnnamed(signal)) ? undefined : found
    if (parts) this.#recovered.add(list)
    const from = isKnown ? startAfter(cut ?? before.start_offset, change, segments) : undefined
    const all = [...segments, ...addedBy(change)]
    const cover = coverOf(from === undefined ? all : all.filter(one => one.end_offset > from))
    const start = from ?? cover[0]?.start_offset ?? 0n
    this.#segments.set(list, cover)
    const row = before ?? zeroRow
    const known = { ...row, start_offset: start, gaps: row.gaps.filter(({ to }) => to === null || to > start) }
    const { open_aborted, end_offset: at } = known
    const open = open_aborted.filter(({ last_offset }) => last_offset === null)
    if (!this.openBefore.has(list)) this.openBefore.set(list, { at, open })
    // Whether these are still open is not known; what a readable commit says of it is.
    const closed = open_aborted.filter(({ last_offset }) => last_offset !== null)
    return rowOf({ ...known, open_aborted: closed, ...difference.set }, cover)
  }

  /** Whether the store has records that neither the base nor a readable commit names: a lost commit may have merged the beginning of a list into them. */
  async #findUnnamed(signal: AbortSignal): Promise<boolean> {
    if (this.#hasUnnamed !== undefined) return this.#hasUnnamed
    const left = new Set([...this.#stored.keys()].filter(key => /\/packs\/|\.log(\.zst)?$/.test(key)))
    for (const list of [...this.#baseRows.keys()].sort()) {
      for (const { key } of await this.#readBase(list, signal)) left.delete(key)
    }
    for await (const { lists, passing } of this.#changes()) {
      for (const key of passing.keys()) left.delete(key)
      for (const change of lists.values()) for (const { key } of addedBy(change)) left.delete(key)
    }
    this.#hasUnnamed = left.size > 0
    return this.#hasUnnamed
  }
}

/**
 * Pure. Where a list begins that retention has cut in a lost commit; undefined where that is not known. A change counts the segments that it
 * finds: if these are fewer than before the lost commit, exactly so many at the beginning are gone from the store, and the first that the change leaves
 * is there, they were cut off. Merging would take one more segment away than it makes the list shorter; but the last one that was merged may still be
 * there, in a pack that other lists need.
 */
function cutBefore(
  segments: readonly Segment[],
  change: ListChange,
  isStored: (key: string) => boolean,
): bigint | undefined {
  const ranges = (change.parts ?? []).filter(isBaseRange)
  const count = segments.length - Math.max(0, ...ranges.map(([, to]) => to))
  const last = segments[count - 1]
  if (!last || segments.slice(0, count).some(({ key }) => isStored(key))) return undefined
  const start = segments[count]?.start_offset ?? last.end_offset
  const end = segments.at(-1)?.end_offset ?? start
  // Only a change that cuts or appends counts all of them.
  if (!ranges[0] || addedBy(change).some(one => one.start_offset < end)) return undefined
  const [cut] = ranges[0]
  const [moved = 0n] = change.row.offsets
  const left = segments[count + cut]
  const isLeft = left ? isStored(left.key) && left.start_offset === start + moved : cut === 0
  return isLeft ? start : undefined
}

/**
 * Pure. Where a list begins after a change behind a lost commit. Retention only moves the start forward, and cuts between segments: what the change
 * adds to the offset is cut off for certain, however much the lost commit has cut off in addition. So is what lies before the first segment of
 * a list that begins with a new one.
 */
function startAfter(before: bigint, { row, parts = [] }: ListChange, segments: readonly Segment[]): bigint {
  const [moved = 0n] = row.offsets
  const start = before + (moved > 0n ? moved : 0n)
  const first = parts.find(part => !isBaseRange(part) || part[0] < part[1])
  if (!first || isBaseRange(first)) return start
  const begin = first.start_offset
  return begin > start && segments.some(one => one.start_offset < begin) ? begin : start
}

/** Pure. The segments that a change adds to a list. */
export function addedBy(change: ListChange | null | undefined): Segment[] {
  return (change?.parts ?? []).flatMap(part => (isBaseRange(part) ? [] : [part]))
}

/** Sums are those of the segments; what a lost commit has added to them is not known. */
function rowOf(row: ListRow, segments: readonly Segment[]): ListRow {
  const last = segments.at(-1)?.end_offset ?? row.end_offset
  // Retention may have cut off all that a lost commit has added.
  const end = last > row.start_offset ? last : row.start_offset
  const most = (offset: bigint) => (offset > end ? offset : end)
  const [highWatermark, stable] = [most(row.high_watermark), most(row.last_stable_offset)]
  return { ...row, end_offset: most(row.end_offset), high_watermark: highWatermark, last_stable_offset: stable }
}
