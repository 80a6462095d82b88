import type { Segment } from '../manifest.ts'

/** So many pieces that were never merged become one, and so many of each higher level. */
const FRESH_FAN_IN = 4
const FAN_IN = 3
/**
 * Lists that begin together would all merge their large pieces in the same round, which then takes seconds. Up to this level, the first pieces of a
 * list merge before there are enough of them: how many there must be depends on its name.
 */
const LAST_UNEVEN_LEVEL = 4
/** A piece that would leave the last level becomes a segment. */
const LAST_LEVEL = 6
/** Live pieces of a partition. Gaps and segments between pieces keep them from merging; the oldest become segments then. */
const MAX_PIECES = 15

/** The segments of a list from its first piece on, and how many come before them. */
export interface ListTail {
  start: number
  segments: readonly Segment[]
}

export interface MergeRules {
  /** What reaches this becomes a segment. */
  maxPieceBytes: number
  /** Pieces whose records were stored before this time become segments. */
  olderThanMs: number
  /** What cannot be read stays as it is; absent where nothing is known to be damaged. */
  isDamaged?: (segment: Segment) => boolean
}

/** A merge that has to become a segment and may not yet stays a piece of the last level. */
const LAST_PIECE = { kind: 'piece', level: LAST_LEVEL } as const

/** Neighbors in a list that become one: a piece of this level, or a segment. */
export interface Merge {
  list: string
  /** In the whole list; `to` is the first that is not part of it. */
  from: number
  to: number
  sources: readonly Segment[]
  into: { kind: 'piece'; level: number } | { kind: 'segment' }
}

/** Pure. The part of a list that merges are planned with. */
export function tailOf(segments: readonly Segment[]): ListTail {
  const first = segments.findIndex(({ piece }) => piece)
  const start = first === -1 ? segments.length : first
  return { start, segments: segments.slice(start) }
}

/**
 * Pure. What is due in a list, in the order of its segments. Without `mayBecomeSegment` there are pieces only: partitions that
 * began together would otherwise all write a segment at the same time, and no other piece would be merged meanwhile.
 */
export function planMerges(list: string, tail: ListTail, rules: MergeRules, mayBecomeSegment = true): Merge[] {
  const runs = findRuns(tail.segments, rules)
  const merges: Merge[] = []
  let pieces = runs.reduce((sum, run) => sum + run.to - run.from, 0)
  for (const run of runs) {
    const sources = tail.segments.slice(run.from, run.to)
    const isLimit = pieces > MAX_PIECES
    const due =
      mayBecomeSegment && isOld(sources, rules)
        ? wholeRun(run)
        : (dueInRun(list, sources, run, rules) ?? (isLimit ? wholeRun(run) : undefined))
    if (!due) continue
    const { from, to } = due
    const into = mayBecomeSegment || due.into.kind === 'piece' ? due.into : LAST_PIECE
    // One piece has nothing to merge with.
    if (into.kind === 'piece' && to - from === 1) continue
    pieces -= to - from - (into.kind === 'piece' ? 1 : 0)
    merges.push({ list, from: tail.start + from, to: tail.start + to, sources: tail.segments.slice(from, to), into })
  }
  return merges
}

/** A list with so many segments that were merged from pieces has the small ones merged again. */
const MANY_SEGMENTS = 32
/** Fewer are not worth copying them. */
const MIN_NEIGHBORS = 8
/** A segment has as many bytes as so many of the largest pieces. */
const PIECES_OF_SEGMENT = 16

/** Pure. Segments before the first piece that become one: neighbors without a gap between them, up to the size of a segment. */
export function planSegmentMerges(list: string, segments: readonly Segment[], rules: MergeRules): Merge[] {
  const { start } = tailOf(segments)
  if (start < MANY_SEGMENTS) return []
  const maxBytes = PIECES_OF_SEGMENT * rules.maxPieceBytes
  const merges: Merge[] = []
  let from = 0
  let bytes = 0
  for (let i = 0; i <= start; i++) {
    const [before, segment] = [segments[i - 1], i < start ? segments[i] : undefined]
    const size =
      segment && isSmall(segment, maxBytes) && !rules.isDamaged?.(segment)
        ? segment.plain_size
        : Number.POSITIVE_INFINITY
    const isNext = i > from && before?.end_offset === segment?.start_offset && bytes + size <= maxBytes
    if (isNext) {
      bytes += size
      continue
    }
    if (i - from >= MIN_NEIGHBORS)
      merges.push({ list, from, to: i, sources: segments.slice(from, i), into: { kind: 'segment' } })
    from = size === Number.POSITIVE_INFINITY ? i + 1 : i
    bytes = size === Number.POSITIVE_INFINITY ? 0 : size
  }
  return merges
}

/** Others were written as they are: when they were stored is known by their object. */
function isSmall({ plain_size, stored_at }: Segment, maxBytes: number): boolean {
  return stored_at !== undefined && plain_size < maxBytes / 2
}

interface Run {
  from: number
  to: number
}

/** Pieces that follow one another without a gap or a segment between them. */
function findRuns(segments: readonly Segment[], { isDamaged }: MergeRules): Run[] {
  const runs: Run[] = []
  for (const [i, segment] of segments.entries()) {
    if (!segment.piece || isDamaged?.(segment)) continue
    const last = runs.at(-1)
    const before = segments[i - 1]
    if (last?.to === i && before?.end_offset === segment.start_offset) last.to = i + 1
    else runs.push({ from: i, to: i + 1 })
  }
  return runs
}

/** Pure. When the records of a piece were stored. */
export function storedTimes({ piece, stored_from, stored_at }: Segment): { from: string; to: string } {
  const packed = piece?.pack.stored_at ?? ''
  return { from: stored_from ?? packed, to: stored_at ?? packed }
}

type Due = Run & Pick<Merge, 'into'>

function wholeRun(run: Run): Due {
  return { ...run, into: { kind: 'segment' } }
}

/** The first of them was stored first. */
function isOld([first]: readonly Segment[], { olderThanMs }: MergeRules): boolean {
  return first !== undefined && Date.parse(storedTimes(first).from) < olderThanMs
}

function dueInRun(list: string, sources: readonly Segment[], run: Run, rules: MergeRules): Due | undefined {
  const fresh = countTrailing(sources, sources.length, 0)
  if (fresh < FRESH_FAN_IN) return undefined
  let begin = sources.length - fresh
  let level = 1
  for (;;) {
    const same = countTrailing(sources, begin, level)
    const isFirst = same === begin
    if (same + 1 < (isFirst ? firstFanIn(list, level) : FAN_IN)) break
    begin -= same
    level++
  }
  const bytes = sources.slice(begin).reduce((sum, { plain_size }) => sum + plain_size, 0)
  if (level > LAST_LEVEL || bytes >= rules.maxPieceBytes) return wholeRun(run)
  return { from: run.from + begin, to: run.to, into: { kind: 'piece', level } }
}

/** From 1 to the regular number. */
function firstFanIn(list: string, level: number): number {
  if (level > LAST_UNEVEN_LEVEL) return FAN_IN
  let hash = level
  for (let i = 0; i < list.length; i++) hash = Math.imul(hash ^ list.charCodeAt(i), 0x01000193)
  return 1 + (((hash ^ (hash >>> 15)) >>> 0) % FAN_IN)
}

/** How many pieces before `end` have the level. */
function countTrailing(sources: readonly Segment[], end: number, level: number): number {
  let count = 0
  while (count < end && sources[end - count - 1]?.piece?.level === level) count++
  return count
}
