import { runPool } from '../lib/pool.ts'
import type { OnProgress } from '../observe/progress.ts'
import type { Storage } from '../storage/storage.ts'
import { backupNotFound, lostMarkerOf, scanGenerations } from './catalog.ts'
import { damaged } from './damage.ts'
import { ownerOf } from './log/as-manifest.ts'
import type { State } from './log/change.ts'
import { commitKey } from './log/keys.ts'
import { type SalvagedList, salvageList } from './log/salvage.ts'
import { type Salvaged, salvageLog } from './log/salvage-log.ts'
import { type LogSurvey, rangesOf, surveyLog } from './log/survey-log.ts'
import type { LostMarker } from './lost-marker.ts'
import type { Segment } from './manifest.ts'
import { findMisfits, listSizes, type Problem, uniqueProblems } from './verify-objects.ts'
import { checkSegment } from './verify-segment.ts'

export interface RepairOptions {
  /** Reads every byte of the records; otherwise objects and sizes. */
  deep: boolean
  onProgress: OnProgress
}

/** Offsets of a partition that a repair leaves out. */
export interface LostOffsets {
  topic: string
  partition: number
  from: bigint
  to: bigint
  /** They were at the end: the next run copies them again if the source still has them. Otherwise they become a gap. */
  at_end: boolean
}

export interface RepairReport {
  backup_id: string
  format_version: number
  /** False: the newest generation can be read, and all its objects and the marker are there. */
  needed: boolean
  /** The newest generation before the repair. */
  newest: number
  /** The key of the marker, where it is lost and the repair writes it again. */
  marker?: string
  /** The generation that the repair commits or has committed; undefined where only the marker is lost. */
  generation: number | undefined
  /** The newest generation that can be opened: the repair begins with it. */
  base: number | undefined
  /** Generations that cannot be opened, before and after the repair. */
  unreadable: { from: number; to: number }[]
  /** Commits whose changes are lost. */
  lost_commits: { from: number; to: number }[]
  lost: LostOffsets[]
  problems: Problem[]
  deep: boolean
  dry_run: boolean
}

/** What a repair would commit. */
export interface RepairPlan {
  report: RepairReport
  lostMarker: LostMarker | undefined
  state: State
  lists: ReadonlyMap<string, readonly Segment[]>
}

/** Finds what can be read of the newest state of a backup of version 2, and what cannot. Writes nothing. */
export async function planRepair(
  storage: Storage,
  backupId: string,
  options: RepairOptions & { foundAt: string },
  signal: AbortSignal,
): Promise<RepairPlan | { report: RepairReport; state?: undefined }> {
  const { manifests, commits } = await scanGenerations(storage, backupId, signal)
  const newest = commits.at(-1) ?? manifests.at(-1)
  if (newest === undefined) throw await backupNotFound(storage, backupId, signal)
  const facts = { backup_id: backupId, newest, deep: options.deep, dry_run: true }
  if (commits.length === 0) return { report: { ...facts, ...nothingToDo, format_version: 1 } }
  const lostMarker = await lostMarkerOf(storage, backupId, signal)
  if (lostMarker && !lostMarker.isRepairable) throw lostMarker.error
  const survey = await surveyLog(storage, backupId, commits, signal)
  if (survey.bases.length === 0) {
    throw damaged(commitKey(backupId, newest), 'cannot be repaired: no generation of version 2 can be opened', {
      help: 'Restore the damaged objects from a copy of the backup, or from an earlier version of the objects in the bucket.',
    })
  }
  const found = await runPool(survey.bases, 1, async base => {
    const salvaged = await salvageLog(storage, backupId, { ...survey, base }, signal)
    return { salvaged, ...(await salvageLists(storage, backupId, salvaged, options, signal)) }
  })
  const { salvaged, lists, problems, lost } = found.reduce((a, b) => (isBetter(b, a) ? b : a))
  const state = { ...salvaged.state, lists: rowsOf(lists) }
  const isDamaged = survey.unreadable.includes(newest) || lost.length > 0 || salvaged.lostCommits.length > 0
  const report: RepairReport = {
    ...facts,
    ...nothingToDo,
    needed: isDamaged || lostMarker !== undefined,
    ...(lostMarker && { marker: lostMarker.key }),
    generation: isDamaged ? newest + 1 : undefined,
    base: salvaged.base,
    unreadable: rangesOf(survey.unreadable),
    lost_commits: rangesOf(salvaged.lostCommits),
    lost: lost.sort(byPartition),
    problems: problemsOf(survey, [...markerProblems(lostMarker), ...problems]),
  }
  return { report, lostMarker, state, lists: new Map([...lists].map(([list, { segments }]) => [list, segments])) }
}

function markerProblems(lost: LostMarker | undefined): Problem[] {
  return lost ? [{ key: lost.key, problem: `it ${lost.predicate}` }] : []
}

const nothingToDo = {
  format_version: 2,
  needed: false,
  generation: undefined,
  base: undefined,
  unreadable: [],
  lost_commits: [],
  lost: [],
  problems: [],
}

type Found = SalvagedLists & { salvaged: Salvaged }

/** The state that holds the most records; a lost commit may have added some that nothing else shows to be lost. */
function isBetter(one: Found, other: Found): boolean {
  const difference = heldBy(one) - heldBy(other)
  if (difference !== 0n) return difference > 0n
  return one.salvaged.lostCommits.length < other.salvaged.lostCommits.length
}

function heldBy({ lists }: Found): bigint {
  let sum = 0n
  for (const [list, { segments }] of lists) {
    if (!ownerOf(list).isReread) for (const { start_offset, end_offset } of segments) sum += end_offset - start_offset
  }
  return sum
}

function problemsOf(survey: LogSurvey, others: readonly Problem[]): Problem[] {
  return uniqueProblems([...survey.problems, ...others]).sort((a, b) => (a.key < b.key ? -1 : 1))
}

function byPartition(a: LostOffsets, b: LostOffsets): number {
  if (a.topic !== b.topic) return a.topic < b.topic ? -1 : 1
  return a.partition - b.partition || (a.from < b.from ? -1 : 1)
}

function rowsOf(lists: ReadonlyMap<string, SalvagedList>): State['lists'] {
  return new Map([...lists].map(([list, { row }]) => [list, row]))
}

const CONCURRENCY = 4

interface SalvagedLists {
  lists: Map<string, SalvagedList>
  problems: Problem[]
  lost: LostOffsets[]
}

/** Each list without the segments whose objects are lost. A reread that has lost something begins again. */
async function salvageLists(
  storage: Storage,
  backupId: string,
  salvaged: Salvaged,
  options: RepairOptions & { foundAt: string },
  signal: AbortSignal,
): Promise<SalvagedLists> {
  const { state } = salvaged
  const sizes = await listSizes(storage, backupId, signal)
  const found: SalvagedLists = { lists: new Map(), problems: [], lost: [] }
  let checked = 0
  for (const entry of state.lists) {
    const [list] = entry
    const { isReread, topic, partition, fresh } = ownerOf(list)
    if (isReread && !(state.lists.has(fresh) && state.topics.has(topic))) continue
    const one = await salvageOne(storage, entry, salvaged, { ...options, sizes }, found.problems, signal)
    options.onProgress({ type: 'checked', objects: ++checked, bytes: 0, totalObjects: state.lists.size, totalBytes: 0 })
    if (isReread && one.lost.length > 0) continue
    const { name = topic } = state.topics.get(topic) ?? {}
    const { start_offset, end_offset } = one.row
    // Only a lost commit has said what the topic is called: the next run copies it from the start.
    const lost = state.topics.has(topic) ? one.lost : [{ from: start_offset, to: end_offset, isEnd: true }]
    if (state.topics.has(topic)) found.lists.set(list, one)
    for (const { from, to, isEnd } of lost) found.lost.push({ topic: name, partition, from, to, at_end: isEnd })
  }
  return found
}

async function salvageOne(
  storage: Storage,
  [list, row]: [string, SalvagedList['row']],
  { read, lostCommits, openBefore }: Salvaged,
  { deep, foundAt, sizes }: RepairOptions & { foundAt: string; sizes: ReadonlyMap<string, number> },
  problems: Problem[],
  signal: AbortSignal,
): Promise<SalvagedList> {
  const segments = await read(list, signal)
  const misfits = findMisfits(segments, sizes)
  problems.push(...misfits)
  const gone = new Set(misfits.map(({ key }) => key))
  const there = segments.filter(({ key }) => !gone.has(key))
  const left = deep ? await intactOf(storage, there, problems, signal) : there
  const dropped = segments.filter(one => !left.includes(one))
  const losses = { foundAt, dropped, openBefore: openBefore.get(list), isInexact: lostCommits.length > 0 }
  return salvageList(row, left, losses)
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
