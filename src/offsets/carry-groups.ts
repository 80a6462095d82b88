import { KafkaBackupError, toKafkaBackupError } from '../errors.ts'
import type { ByGroup } from '../kafka/at-coordinators.ts'
import type { Cluster } from '../kafka/cluster.ts'
import type { GroupOffset } from '../kafka/group-offsets.ts'
import { fetchStableProgress, setProgress, type TypedGroup } from '../kafka/group-progress.ts'
import { partitionKey } from '../kafka/offsets.ts'
import { runPool } from '../lib/pool.ts'
import type { OnProgress } from '../observe/progress.ts'
import type { CarriedGroup, CarryPlan } from './carry-plan.ts'
import { type CarriedGroupReport, type CarriedPosition, type CarryReport, sumCarried } from './carry-report.ts'
import { type OpenMaps, type Placed, placeGroups } from './place-groups.ts'
import { missingOf } from './survey-groups.ts'

const GROUPS_AT_ONCE = 16

/**
 * Gives the groups their positions on the target, when all records are there. What a partition has already is not touched:
 * an earlier run set it, and its consumers may have advanced since. All is read back and compared; a group that fails is
 * reported as failed, and the others continue.
 */
export async function carryGroups(
  plan: CarryPlan,
  openMaps: OpenMaps,
  { cluster, onProgress }: { cluster: Cluster; onProgress: OnProgress },
  signal: AbortSignal,
): Promise<CarryReport> {
  const present = await fetchStableProgress(cluster, targetsOf(plan), signal)
  const unfinished = plan.groups.map(one => ({ ...one, streams: missingOf(one, positionsIn(present, one)) }))
  const { placed: places, lost } = await placeGroups(unfinished, openMaps)
  signal.throwIfAborted()
  let done = 0
  const failures = new Map<string, KafkaBackupError>()
  await runPool(unfinished, GROUPS_AT_ONCE, async one => {
    const offsets = commitsOf(places, one)
    try {
      const unread = present.get(one.target)
      if (unread instanceof KafkaBackupError) throw unread
      await setProgress(cluster, { group: one.target, type: one.type }, offsets, signal)
      assertPlaced(one, offsets, lost.get(one.group))
    } catch (error) {
      signal.throwIfAborted()
      failures.set(one.target, toKafkaBackupError(error))
    }
    onProgress({ type: 'groups', done: ++done, total: unfinished.length })
  })
  const readBack = await fetchStableProgress(cluster, targetsOf(plan), signal)
  const groups = plan.groups.map(one => {
    const placed = places.get(one.group) ?? []
    const error = failures.get(one.target) ?? compare(readBack.get(one.target), commitsOf(places, one), one)
    return reportGroup(
      one,
      placed.map(({ position }) => position),
      positionsIn(present, one),
      error,
    )
  })
  return { groups, totals: sumCarried(groups), ...(plan.reason !== undefined && { reason: plan.reason }) }
}

/** Of a restore that has not come to groups, or has none; the reason says why. */
export function skippedGroups(reason: string | undefined): CarryReport {
  return { groups: [], totals: sumCarried([]), ...(reason !== undefined && { reason }) }
}

function targetsOf({ groups }: CarryPlan): TypedGroup[] {
  return groups.map(({ target, type }) => ({ group: target, type }))
}

function positionsIn(all: ByGroup<GroupOffset[]>, { target }: CarriedGroup): GroupOffset[] {
  const found = all.get(target)
  return Array.isArray(found) ? found : []
}

function commitsOf(places: ReadonlyMap<string, readonly Placed[]>, { group }: CarriedGroup): GroupOffset[] {
  return (places.get(group) ?? []).map(({ commit }) => commit)
}

/** A partition that the map says nothing of has got no position, which must not pass for one that was there. */
function assertPlaced(
  { target, streams }: CarriedGroup,
  offsets: readonly GroupOffset[],
  failure: KafkaBackupError | undefined,
): void {
  const [without] = missingOf({ streams }, offsets)
  if (!without) return
  if (failure) throw failure
  const place = partitionKey({ topic: without.targetTopic, partition: without.targetPartition })
  const what = `the offset map says nothing of ${place}, so group ${target} has no committed offset there`
  throw new KafkaBackupError('KAFKA_NOT_READY', what, { help: 'Run the same command again.' })
}

/** What the target holds has to be what was committed, to the letter. */
function compare(
  found: GroupOffset[] | KafkaBackupError | undefined,
  committed: readonly GroupOffset[],
  { target }: CarriedGroup,
): KafkaBackupError | undefined {
  if (found === undefined || found instanceof KafkaBackupError) return found
  const held = new Map(found.map(one => [partitionKey(one), one]))
  const other = committed.find(one => {
    const there = held.get(partitionKey(one))
    return there?.offset !== one.offset || there.metadata !== one.metadata
  })
  if (!other) return undefined
  const there = held.get(partitionKey(other))
  const what = `${partitionKey(other)} of group ${target} reads back as ${there?.offset ?? 'nothing'}, not ${other.offset}`
  return new KafkaBackupError('GROUP_ACTIVE', `${what}: something else commits for the group`)
}

function reportGroup(
  { group, target, streams, leftOut }: CarriedGroup,
  committed: CarriedPosition[],
  present: readonly GroupOffset[],
  error: KafkaBackupError | undefined,
): CarriedGroupReport {
  const wanted = new Set(streams.map(one => partitionKey({ topic: one.targetTopic, partition: one.targetPartition })))
  const kept = present.filter(one => wanted.has(partitionKey(one)))
  return {
    group,
    target,
    outcome: error ? 'failed' : committed.length === 0 ? 'kept' : 'committed',
    ...(error && { error: error.message }),
    committed: error ? [] : committed,
    kept: kept.map(({ topic, partition, offset }) => ({ topic, partition, offset })),
    leftOut,
  }
}
