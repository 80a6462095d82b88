import { runPool } from '../lib/pool.ts'
import type { OnProgress } from '../observe/progress.ts'
import type { Storage } from '../storage/storage.ts'
import { backupNotFound, lostMarkerOf, scanGenerations } from './catalog.ts'
import { damaged } from './damage.ts'
import { ownerOf } from './log/as-manifest.ts'
import type { State } from './log/change.ts'
import { commitKey } from './log/keys.ts'
import type { SalvagedList } from './log/salvage.ts'
import { type Salvaged, salvageLog } from './log/salvage-log.ts'
import { type LogSurvey, rangesOf, surveyLog } from './log/survey-log.ts'
import type { LostMarker } from './lost-marker.ts'
import type { Segment } from './manifest.ts'
import {
  findUnnamedTopics,
  type LostOffsets,
  type OffsetRange,
  type SalvagedLists,
  salvageLists,
} from './salvage-lists.ts'
import { listSizes, type Problem, uniqueProblems } from './verify-objects.ts'

export interface RepairOptions {
  /** Reads every byte of the records; otherwise objects and sizes. */
  deep: boolean
  onProgress: OnProgress
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
  /** The newest generation whose state can be read: the repair begins with it. */
  base: number | undefined
  /** Generations that cannot be opened, before and after the repair. */
  unreadable: { from: number; to: number }[]
  /** Commits whose changes are lost. */
  lost_commits: { from: number; to: number }[]
  lost: LostOffsets[]
  /** Topics with segments in the store that neither the repaired state nor `lost` has; only where commits are lost, which may have begun with them. */
  unnamed_topics: string[]
  /** Offsets whose newest objects are lost, and that the repair takes from objects of older generations. */
  from_older: OffsetRange[]
  problems: Problem[]
  deep: boolean
  dry_run: boolean
}

/** What a repair would commit. */
export interface RepairPlan {
  report: RepairReport
  lostMarker: LostMarker | undefined
  /** Whether the newest generation that could be read was complete. */
  wasComplete: boolean
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
  const sizes = await listSizes(storage, backupId, signal)
  const found = await runPool(survey.bases, 1, async base => {
    const salvaged = await salvageLog(storage, backupId, { ...survey, base, stored: sizes }, signal)
    const place = { storage, backupId, sizes, generations: { manifests, commits } }
    return { salvaged, ...(await salvageLists(place, salvaged, options, signal)) }
  })
  const best = found.reduce((a, b) => (isBetter(b, a) ? b : a))
  const { salvaged, lists, problems, lost, fromOlder } = best
  const state = { ...salvaged.state, lists: rowsOf(lists) }
  // A run that finished a damaged reread would put it in the place of records that are intact.
  const isShort = lost.length + fromOlder.length + salvaged.lostCommits.length + best.droppedRereads > 0
  // The next prune would remove the commits that are read in the place of a damaged roll-up.
  const isDamaged = isShort || survey.unreadable.includes(newest) || survey.throughCommits.includes(newest)
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
    unnamed_topics: salvaged.lostCommits.length > 0 ? findUnnamedTopics(sizes.keys(), state, lost) : [],
    from_older: fromOlder.sort(byPartition),
    problems: problemsOf(survey, [...markerProblems(lostMarker), ...problems]),
  }
  const segments = new Map([...lists].map(([list, one]) => [list, one.segments]))
  return { report, lostMarker, wasComplete: salvaged.complete, state, lists: segments }
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
  unnamed_topics: [],
  from_older: [],
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
  return uniqueProblems([...survey.problems, ...survey.replaced, ...others]).sort((a, b) => (a.key < b.key ? -1 : 1))
}

function byPartition(a: OffsetRange, b: OffsetRange): number {
  if (a.topic !== b.topic) return a.topic < b.topic ? -1 : 1
  return a.partition - b.partition || (a.from < b.from ? -1 : 1)
}

function rowsOf(lists: ReadonlyMap<string, SalvagedList>): State['lists'] {
  return new Map([...lists].map(([list, { row }]) => [list, row]))
}
