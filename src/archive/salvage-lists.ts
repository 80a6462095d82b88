import { hasCode } from '../errors.ts'
import { runPool } from '../lib/pool.ts'
import type { OnProgress } from '../observe/progress.ts'
import type { Storage } from '../storage/storage.ts'
import type { ScannedGenerations } from './catalog.ts'
import { topicOfKey } from './layout.ts'
import { ownerOf } from './log/as-manifest.ts'
import type { State } from './log/change.ts'
import { readOlderSegments } from './log/older-segments.ts'
import { coverOf, type LostRange, type SalvagedList, salvageList, withoutRanges } from './log/salvage.ts'
import type { Salvaged } from './log/salvage-log.ts'
import { assertListKeys } from './log/segment-lists.ts'
import { segmentId } from './log/segment-row.ts'
import type { Segment } from './manifest.ts'
import { findMisfits, type Problem } from './verify-objects.ts'
import { checkSegment } from './verify-segment.ts'

export interface SalvageOptions {
  /** Reads every byte of the records; otherwise objects and sizes. */
  deep: boolean
  onProgress: OnProgress
  foundAt: string
}

/** Offsets of a partition. */
export interface OffsetRange {
  topic: string
  partition: number
  from: bigint
  to: bigint
}

/** Offsets of a partition that a repair leaves out. */
export interface LostOffsets extends OffsetRange {
  /** They were at the end: the next run copies them again if the source still has them. Otherwise they become a gap. */
  at_end: boolean
  /** Their objects are gone from the beginning of the partition, and a commit is lost: retention may have cut them off. */
  may_be_cut_off?: true
  /** 32 hex digits. Only a lost commit has named the topic, and no readable object has its name: `topic` is the ID, too. */
  topic_id?: string
}

export interface SalvagedLists {
  lists: Map<string, SalvagedList>
  problems: Problem[]
  lost: LostOffsets[]
  /** What the newest generation has lost, and older ones still hold. */
  fromOlder: OffsetRange[]
  /** Rereads that have lost something, and are left out. */
  droppedRereads: number
}

interface Place {
  storage: Storage
  backupId: string
  /** Of all objects that are stored, by key. */
  sizes: ReadonlyMap<string, number>
  /** Those that are there. */
  generations: ScannedGenerations
}

/** A list whose objects were looked at. */
interface CheckedList {
  list: string
  row: SalvagedList['row']
  /** All that the newest state names. */
  segments: readonly Segment[]
  /** Those that are intact. */
  left: readonly Segment[]
}

const CONCURRENCY = 4

/**
 * Each list without the segments whose objects are lost. What older generations still hold takes their place. A reread that has lost
 * something begins again.
 */
export async function salvageLists(
  place: Place,
  salvaged: Salvaged,
  options: SalvageOptions,
  signal: AbortSignal,
): Promise<SalvagedLists> {
  const { state } = salvaged
  const { storage, backupId, generations } = place
  const found: SalvagedLists = { lists: new Map(), problems: [], lost: [], fromOlder: [], droppedRereads: 0 }
  const short: CheckedList[] = []
  let checked = 0
  for (const [list, row] of state.lists) {
    const { isReread, topic, fresh } = ownerOf(list)
    if (isReread && !(state.lists.has(fresh) && state.topics.has(topic))) continue
    const one = await checkList(place, { list, row }, salvaged, options, found.problems, signal)
    options.onProgress({ type: 'checked', objects: ++checked, bytes: 0, totalObjects: state.lists.size, totalBytes: 0 })
    const result = salvageOne(one, one.left, salvaged, options.foundAt)
    const isShort = result.lost.length > 0 || (isReread && salvaged.startUnknown.has(list))
    if (isShort && !isReread && state.topics.has(topic)) short.push(one)
    else if (!isShort || !isReread) keepList(found, salvaged, place, one, result)
    else found.droppedRereads++
  }
  const lists = new Set(short.map(({ list }) => list))
  const older = lists.size > 0 ? await readOlderSegments(storage, backupId, generations, lists, signal) : undefined
  for (const one of short) await coverList(place, one, older?.get(one.list) ?? [], salvaged, options, found, signal)
  return found
}

async function checkList(
  { storage, sizes }: Place,
  { list, row }: Pick<CheckedList, 'list' | 'row'>,
  { read }: Salvaged,
  { deep }: SalvageOptions,
  problems: Problem[],
  signal: AbortSignal,
): Promise<CheckedList> {
  const segments = await read(list, signal)
  const misfits = findMisfits(segments, sizes)
  problems.push(...misfits)
  const gone = new Set(misfits.map(({ key }) => key))
  const there = segments.filter(({ key }) => !gone.has(key))
  return { list, row, segments, left: deep ? await intactOf(storage, there, problems, signal) : there }
}

async function intactOf(
  storage: Storage,
  segments: readonly Segment[],
  problems: Problem[],
  signal: AbortSignal,
): Promise<Segment[]> {
  const found = await runPool(segments, CONCURRENCY, async segment => {
    const damage = await checkSegment(storage, segment, signal)
    for (const problem of damage) problems.push({ key: segment.key, problem })
    return damage.length === 0 ? [segment] : []
  })
  return found.flat()
}

/** The list with these segments, some of which may not be its own. */
function salvageOne(
  { list, row, segments, left }: CheckedList,
  chosen: readonly Segment[],
  { lostCommits, openBefore }: Salvaged,
  foundAt: string,
): SalvagedList {
  const [own, used] = [new Set(left), new Set(chosen)]
  const isInexact = lostCommits.length > 0 || chosen.some(one => !own.has(one))
  const dropped = segments.filter(one => !used.has(one))
  return salvageList(row, chosen, { foundAt, dropped, openBefore: openBefore.get(list), isInexact })
}

function keepList(
  found: SalvagedLists,
  { state, lostCommits }: Salvaged,
  { sizes }: Place,
  { list, segments }: CheckedList,
  one: SalvagedList,
): void {
  const { topic, partition } = ownerOf(list)
  const name = state.topics.get(topic)?.name ?? segments.map(({ key }) => topicOfKey(key)).find(isNamed)
  const { start_offset, end_offset } = one.row
  const isStored = ({ from, to }: LostRange) =>
    segments.some(({ key, ...at }) => at.start_offset < to && at.end_offset > from && sizes.has(key))
  const mayBeCut = (range: LostRange) => lostCommits.length > 0 && range.from === start_offset && !isStored(range)
  // Only a lost commit has said what the topic is called: the next run copies it from the start.
  const lost = state.topics.has(topic) ? one.lost : [{ from: start_offset, to: end_offset, isEnd: true }]
  if (state.topics.has(topic)) found.lists.set(list, one)
  for (const range of lost) {
    const { from, to, isEnd } = range
    const cut = mayBeCut(range) && { may_be_cut_off: true as const }
    const [id = topic] = topic.split('.')
    const named = name === undefined ? { topic: id, topic_id: id } : { topic: name }
    found.lost.push({ ...named, partition, from, to, at_end: isEnd, ...cut })
  }
}

function isNamed(name: string | undefined): name is string {
  return name !== undefined
}

/**
 * Pure. Topics with segments in the store that neither a repaired state nor what is lost names: a lost commit may have begun with them. Those that were removed
 * from the backup before are among them until a prune removes their segments.
 */
export function findUnnamedTopics(
  keys: Iterable<string>,
  { topics }: Pick<State, 'topics'>,
  lost: readonly LostOffsets[],
): string[] {
  const known = new Set([...[...topics.values()].map(({ name }) => name), ...lost.map(({ topic }) => topic)])
  const found = new Set([...keys].map(topicOfKey).filter(isNamed))
  return [...found].filter(name => !known.has(name)).sort()
}

/** Fills what a list has lost with what older documents name. */
async function coverList(
  place: Place,
  one: CheckedList,
  older: readonly Segment[],
  salvaged: Salvaged,
  { deep, foundAt }: SalvageOptions,
  found: SalvagedLists,
  signal: AbortSignal,
): Promise<void> {
  const before = salvageOne(one, one.left, salvaged, foundAt)
  const cover = await coverFrom(place, one, usableOf(place, one, older, salvaged), deep, signal)
  const after = salvageOne(one, cover, salvaged, foundAt)
  keepList(found, salvaged, place, one, after)
  const { topic, partition } = ownerOf(one.list)
  const { name = topic } = salvaged.state.topics.get(topic) ?? {}
  const ranges = withoutRanges(before.lost, after.lost)
  for (const { from, to } of ranges) found.fromOlder.push({ topic: name, partition, from, to })
}

/** Those whose object is there, that lie within the list, and in none of its gaps. */
function usableOf(
  { backupId, sizes }: Place,
  { list, row, segments }: CheckedList,
  older: readonly Segment[],
  { state }: Salvaged,
): Segment[] {
  const own = new Set(segments.map(segmentId))
  const gone = new Set(findMisfits(older, sizes).map(({ key }) => key))
  const { name = '' } = state.topics.get(ownerOf(list).topic) ?? {}
  return older.filter(one => {
    const { key, start_offset: from, end_offset: to } = one
    const isInside = from >= row.start_offset && to <= row.end_offset && from < to
    const isInGap = row.gaps.some(gap => gap.from < to && (gap.to === null || gap.to > from))
    return !own.has(segmentId(one)) && !gone.has(key) && isInside && !isInGap && isOwned(one, backupId, list, name)
  })
}

/** A document may be written by anyone who can write to the store. */
function isOwned(segment: Segment, backupId: string, list: string, topic: string): boolean {
  try {
    assertListKeys([segment], { backupId, topic, list }, segment.key)
    return true
  } catch (error) {
    if (!hasCode(error, 'ARCHIVE_DAMAGED')) throw error
    return false
  }
}

/** The best cover of what is intact; with `deep`, what is taken from older generations is read before it counts. */
async function coverFrom(
  { storage }: Place,
  { left }: CheckedList,
  usable: readonly Segment[],
  deep: boolean,
  signal: AbortSignal,
): Promise<readonly Segment[]> {
  const own = new Set(left)
  const trusted = new Set(deep ? left : [...left, ...usable])
  for (let candidates = usable; ; ) {
    const cover = coverOf([...left, ...candidates], own)
    const unread = cover.filter(one => !trusted.has(one))
    if (unread.length === 0) return cover
    const intact = new Set(await intactOf(storage, unread, [], signal))
    for (const one of intact) trusted.add(one)
    candidates = candidates.filter(one => intact.has(one) || !unread.includes(one))
  }
}
