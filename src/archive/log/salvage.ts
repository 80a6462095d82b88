import type { AbortedTransaction, Gap, Segment } from '../manifest.ts'
import { earlier, later } from '../scalars.ts'
import { type ListRow, sumFields } from './row-change.ts'

/** Offsets of a list that are no longer in the backup. */
export interface LostRange {
  from: bigint
  to: bigint
  /** True: they were at the end, and the next run copies them again if the source still has them. */
  isEnd: boolean
}

export interface SalvagedList {
  row: ListRow
  segments: readonly Segment[]
  lost: LostRange[]
}

/**
 * Pure. From segments that may overlap, those that follow one another and hold the most offsets, in their order. Of covers that hold
 * as much, the one with more of `own`, then the one with fewer segments.
 */
export function coverOf(candidates: readonly Segment[], own: ReadonlySet<Segment> = new Set()): Segment[] {
  const sorted = candidates.toSorted((a, b) => compare(a.end_offset, b.end_offset))
  const best: Cover[] = [{ offsets: 0n, own: 0n, segments: 0 }]
  for (const [i, last] of sorted.entries()) {
    const before = best[countEnded(sorted, last.start_offset, i)]
    const without = best[i]
    if (!before || !without) break
    const offsets = last.end_offset - last.start_offset
    const withIt: Cover = {
      offsets: before.offsets + offsets,
      own: before.own + (own.has(last) ? offsets : 0n),
      segments: before.segments + 1,
      last,
      before,
    }
    best.push(isMore(withIt, without) ? withIt : without)
  }
  const chosen: Segment[] = []
  for (let cover = best.at(-1); cover?.last; cover = cover.before) chosen.push(cover.last)
  return chosen.reverse()
}

interface Cover {
  offsets: bigint
  own: bigint
  segments: number
  last?: Segment
  before?: Cover
}

function isMore(one: Cover, other: Cover): boolean {
  if (one.offsets !== other.offsets) return one.offsets > other.offsets
  if (one.own !== other.own) return one.own > other.own
  return one.segments < other.segments
}

/** How many of the first `end` segments end at or before an offset. */
function countEnded(sorted: readonly Segment[], offset: bigint, end: number): number {
  let [low, high] = [0, end]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((sorted[middle]?.end_offset ?? 0n) <= offset) low = middle + 1
    else high = middle
  }
  return low
}

function compare(a: bigint, b: bigint): number {
  return a < b ? -1 : a > b ? 1 : 0
}

/** Pure. What of these ranges lies in none of the others. */
export function withoutRanges(
  ranges: readonly Pick<LostRange, 'from' | 'to'>[],
  others: readonly Pick<LostRange, 'from' | 'to'>[],
): { from: bigint; to: bigint }[] {
  return others.reduce<{ from: bigint; to: bigint }[]>(
    (left, other) =>
      left
        .flatMap(({ from, to }) => [
          { from, to: compare(to, other.from) < 0 ? to : other.from },
          { from: compare(from, other.to) > 0 ? from : other.to, to },
        ])
        .filter(({ from, to }) => from < to),
    ranges.map(({ from, to }) => ({ from, to })),
  )
}

/** Transactions that were rolled back, and whose markers had not been read where the first lost commit begins. */
export interface OpenBefore {
  at: bigint
  open: readonly AbortedTransaction[]
}

interface Losses {
  foundAt: string
  /** Segments whose objects are lost, and those that others take the place of. */
  dropped: readonly Segment[]
  openBefore?: OpenBefore | undefined
  /** Commits are lost, which may have changed the list, or older segments take the place of newer ones. */
  isInexact: boolean
}

/**
 * Pure. A list with the segments that are left: holes between them are gaps, and it ends with the last of them. Transactions whose markers
 * are lost stay rolled back. A compacted list may have lost tombstones.
 */
export function salvageList(before: ListRow, segments: readonly Segment[], losses: Losses): SalvagedList {
  const own = segments.filter(({ end_offset }) => end_offset > before.start_offset)
  const [{ start_offset: first } = before] = own
  // A segment that a cut behind a lost commit divides stays.
  const row = first < before.start_offset ? { ...before, start_offset: first } : before
  const gaps: Gap[] = []
  const lost: LostRange[] = []
  let position = row.start_offset
  for (const { start_offset, end_offset } of own) {
    position = fillHole(position, start_offset, row.gaps, (from, to) => {
      gaps.push({ from, to, reason: 'damaged', found_at: losses.foundAt })
      lost.push({ from, to, isEnd: false })
    })
    position = end_offset
  }
  const kept = row.gaps.filter(({ from, to }) => from < position || (from === position && to !== null))
  const end = kept.reduce((at, { from, to }) => (from === at && to !== null && to > at ? to : at), position)
  if (row.end_offset > end) lost.push({ from: end, to: row.end_offset, isEnd: true })
  const known = suspectedOf(row, losses.isInexact || lost.length > 0)
  const open_aborted = [...row.open_aborted, ...closedBy(own, lost, losses)]
  const counted = sumsOf(known, own)
  const isAsCounted = sumFields.every(field => counted[field] === row[field])
  if (lost.length === 0) return { row: { ...(isAsCounted ? known : counted), open_aborted }, segments: own, lost }
  const all = [...kept, ...gaps].sort((a, b) => compare(a.from, b.from))
  return { row: { ...counted, open_aborted, gaps: all, end_offset: end }, segments: own, lost }
}

/** Transactions whose markers were in what is lost, with the offsets up to which that is known. */
function closedBy(
  left: readonly Segment[],
  lost: readonly LostRange[],
  { dropped, openBefore }: Losses,
): AbortedTransaction[] {
  const known = new Set(left.flatMap(({ aborted = [] }) => aborted.map(idOf)))
  const named = dropped.flatMap(({ aborted = [] }) => aborted).filter(one => !known.has(idOf(one)))
  const { at, open = [] } = openBefore ?? {}
  const others = new Set([...known, ...named.map(idOf)])
  const hole = lost.find(({ from, to }) => at !== undefined && from <= at && at < to)
  const closed = open.map(one => ({ ...one, last_offset: hole && !hole.isEnd ? hole.to - 1n : null }))
  return [...named, ...closed.filter(one => !others.has(idOf(one)))]
}

function idOf({ producer_id, first_offset }: AbortedTransaction): string {
  return `${producer_id}@${first_offset}`
}

/** The next run then reads the partition again from the start of its log. */
function suspectedOf(row: ListRow, isSuspect: boolean): ListRow {
  if (!row.compaction || !isSuspect) return row
  return { ...row, compaction: { ...row.compaction, may_hold_deleted_keys: true } }
}

/** Calls `onLost` for what lies between two offsets and is in no gap that is known. */
function fillHole(from: bigint, to: bigint, known: readonly Gap[], onLost: (from: bigint, to: bigint) => void): bigint {
  let position = from
  const inside = known.filter(gap => gap.to !== null && gap.from < to && gap.to > from)
  for (const gap of inside.toSorted((a, b) => compare(a.from, b.from))) {
    if (gap.from > position) onLost(position, gap.from)
    if (gap.to !== null && gap.to > position) position = gap.to
  }
  if (position < to) onLost(position, to)
  return to
}

/** What the row says of segments, from those that are left. The last batch is not known any more. */
function sumsOf(row: ListRow, segments: readonly Segment[]): ListRow {
  const { last_batch: _, read_to: __, ...known } = row
  const sum = (pick: (segment: Segment) => number) => segments.reduce((total, one) => total + pick(one), 0)
  return {
    ...known,
    records: sum(one => one.records),
    aborted_records: sum(one => one.aborted_records),
    batches: sum(one => one.batches),
    bytes: sum(one => one.plain_size),
    stored_bytes: sum(one => one.size),
    segments: segments.length,
    first_timestamp: segments.reduce<bigint | null>((time, one) => earlier(time, one.first_timestamp), null),
    last_timestamp: segments.reduce<bigint | null>((time, one) => later(time, one.last_timestamp), null),
  }
}
