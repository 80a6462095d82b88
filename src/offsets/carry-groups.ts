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
import {
  assertOwn,
  type GivenOffset,
  type IsGiven,
  isSame,
  missingOf,
  type NoteGiven,
  remedyFor,
  unnotedOf,
} from './given-offsets.ts'
import { type OpenMaps, type Placed, placeGroups } from './place-groups.ts'

const GROUPS_AT_ONCE = 16

interface CarryParts {
  cluster: Cluster
  onProgress: OnProgress
  isGiven: IsGiven
  noteGiven: NoteGiven
}

/**
 * Gives the groups their positions on the target, when all records are there. An offset that is noted as given is not touched: its
 * consumers may have advanced since. Any other one fails its group, unless it is the one that the group would get. All is read back,
 * compared and noted before it is reported: what a run wrote and could not note before it died is compared by the next one.
 */
export async function carryGroups(
  plan: CarryPlan,
  openMaps: OpenMaps,
  parts: CarryParts,
  signal: AbortSignal,
): Promise<CarryReport> {
  const { cluster, isGiven, noteGiven } = parts
  const present = await fetchStableProgress(cluster, targetsOf(plan), signal)
  const unfinished = plan.groups.map(one => {
    const unnoted = new Set(unnotedOf(one, positionsIn(present, one), isGiven))
    const noted = positionsIn(present, one).filter(each => !unnoted.has(each))
    return { ...one, streams: missingOf(one, noted), unnoted: [...unnoted] }
  })
  const { placed: places, lost } = await placeGroups(unfinished, openMaps)
  signal.throwIfAborted()
  const { failures, given } = await commitAll(unfinished, { present, places, lost }, parts, signal)
  const readBack = await fetchStableProgress(cluster, targetsOf(plan), signal)
  const errorOf = (one: CarriedGroup) =>
    failures.get(one.target) ?? compare(readBack.get(one.target), commitsOf(places, one), one)
  if (given.length > 0) await noteGiven(given, signal)
  const groups = plan.groups.map(one => {
    const there = new Set(positionsIn(present, one).map(partitionKey))
    const placed = (places.get(one.group) ?? []).filter(({ commit }) => !there.has(partitionKey(commit)))
    const committed = placed.map(({ position }) => position)
    return reportGroup(one, committed, positionsIn(present, one), errorOf(one))
  })
  return { groups, totals: sumCarried(groups), ...(plan.reason !== undefined && { reason: plan.reason }) }
}

interface Committing {
  present: ByGroup<GroupOffset[]>
  places: ReadonlyMap<string, readonly Placed[]>
  lost: ReadonlyMap<string, KafkaBackupError>
}

/**
 * The failures by group of the target, and what the target has acknowledged. That is given also where it reads back as another offset,
 * because a consumer may have joined and read on since.
 */
async function commitAll(
  groups: readonly (CarriedGroup & { unnoted: readonly GroupOffset[] })[],
  { present, places, lost }: Committing,
  { cluster, onProgress }: CarryParts,
  signal: AbortSignal,
): Promise<{ failures: Map<string, KafkaBackupError>; given: GivenOffset[] }> {
  let done = 0
  const given: GivenOffset[] = []
  const failures = new Map<string, KafkaBackupError>()
  await runPool(groups, GROUPS_AT_ONCE, async one => {
    const offsets = commitsOf(places, one)
    const there = new Set(positionsIn(present, one).map(partitionKey))
    const missing = offsets.filter(each => !there.has(partitionKey(each)))
    try {
      const unread = present.get(one.target)
      if (unread instanceof KafkaBackupError) throw unread
      assertOwn(one, one.unnoted, offsets)
      // Placing them has taken a while.
      const confirm = (current: readonly GroupOffset[]) => assertOwn(one, current, missing)
      await setProgress(cluster, { group: one.target, type: one.type }, missing, signal, confirm)
      given.push(...givenTo(one, offsets))
      assertPlaced(one, offsets, lost.get(one.group))
    } catch (error) {
      signal.throwIfAborted()
      failures.set(one.target, toKafkaBackupError(error))
    }
    onProgress({ type: 'groups', done: ++done, total: groups.length })
  })
  return { failures, given }
}

function givenTo({ group: source, target }: CarriedGroup, offsets: readonly GroupOffset[]): GivenOffset[] {
  return offsets.map(({ topic, partition }) => ({ group: target, source, topic, partition }))
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
  if (found instanceof KafkaBackupError) return found
  const held = new Map((found ?? []).map(one => [partitionKey(one), one]))
  const other = committed.find(one => !isSame(held.get(partitionKey(one)), one))
  if (!other) return undefined
  const there = held.get(partitionKey(other))
  const what = `${partitionKey(other)} of group ${target} reads back as ${there?.offset ?? 'nothing'}, not ${other.offset}`
  return new KafkaBackupError('GROUP_ACTIVE', `${what}: something else commits for the group. ${remedyFor(target)}`)
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
