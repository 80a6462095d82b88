import type { Cluster } from '../kafka/cluster.ts'
import type { OnProgress } from '../observe/progress.ts'
import { carryGroups, skippedGroups } from '../offsets/carry-groups.ts'
import type { CarryPlan } from '../offsets/carry-plan.ts'
import type { CarryReport } from '../offsets/carry-report.ts'
import type { GivenOffset, IsGiven, NoteGiven } from '../offsets/given-offsets.ts'
import type { OpenMaps } from '../offsets/place-groups.ts'
import type { Storage } from '../storage/storage.ts'
import { EarlyGroups } from './early-groups.ts'
import { givenIn, noteGiven } from './given-groups.ts'
import { locateSurveyed } from './locate-restore.ts'
import { openStreamMaps } from './offset-map.ts'
import { type RestoreProgress, readProgress, streamKey } from './progress.ts'
import type { RecordsSurvey } from './survey-records.ts'

interface GroupParts {
  cluster: Cluster
  storage: Storage
  onProgress: OnProgress
}

export const DIFFERS = 'the target differs from the backup'

/** Undefined where all groups get their offsets at the end. */
export function planEarly(plan: CarryPlan, records: RecordsSurvey, parts: GroupParts): EarlyGroups | undefined {
  if (plan.release !== 'per_topic' || records.isComplete || plan.groups.length === 0) return undefined
  const openMaps = (signal: AbortSignal) => mapOffsets(records, parts, signal)
  return new EarlyGroups(plan, { ...parts, openMaps, isGiven: isGivenIn(records.progress) })
}

/** Committed offsets are only right where the records are on the target, as they are in the backup. */
export async function restoreGroups(
  plan: CarryPlan,
  { isDone }: { isDone: boolean },
  { records, early }: { records: RecordsSurvey; early: EarlyGroups | undefined },
  parts: GroupParts,
  signal: AbortSignal,
): Promise<CarryReport> {
  const left = early?.left ?? plan
  const { cluster } = parts
  const carry = async () => {
    if (!isDone) return skippedGroups(DIFFERS)
    if (left.groups.length === 0) return skippedGroups(plan.reason)
    const onProgress = early?.onProgressOfLeft ?? parts.onProgress
    const note: NoteGiven = (offsets, scoped) => noteGiven(cluster, records.restoreId, offsets, scoped)
    const maps = await mapOffsets(records, parts, signal)
    // This run may have noted some since its survey, and so may another one that finishes the same restore.
    const progress = await readProgress(cluster, records.restoreId, topicsOf(records), signal)
    const carrying = { cluster, onProgress, isGiven: isGivenIn(records.progress, progress), noteGiven: note }
    return carryGroups(left, maps, carrying, signal)
  }
  const carried = await carry()
  return early?.join(carried) ?? carried
}

function topicsOf({ plan }: RecordsSurvey): ReadonlySet<string> {
  return new Set(plan.topics.map(({ name }) => name))
}

/** A run knows what it has written: what its notes have no room for is unknown only where an earlier run had completed the partition. */
function isGivenIn(surveyed: RestoreProgress | undefined, now = surveyed): IsGiven {
  const isGiven: IsGiven = now ? givenIn(now) : () => false
  const wasDone = (one: GivenOffset) => surveyed?.streams.get(streamKey(one))?.isDone ?? false
  return one => isGiven(one) === true || (wasDone(one) && isGiven(one))
}

async function mapOffsets(
  records: RecordsSurvey,
  { cluster, storage }: Pick<GroupParts, 'cluster' | 'storage'>,
  signal: AbortSignal,
): Promise<OpenMaps> {
  const located = await locateSurveyed(records, { cluster, storage }, signal)
  return isWanted => openStreamMaps(located, { cluster, storage }, { isWanted, isWhole: true }, signal)
}
