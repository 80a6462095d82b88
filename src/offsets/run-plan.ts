import { hasCode, KafkaBackupError, toKafkaBackupError } from '../errors.ts'
import type { CommittedOffsets, GroupOffset } from '../kafka/group-offsets.ts'
import { partitionKey } from '../kafka/offsets.ts'
import { runPool } from '../lib/pool.ts'
import { typeToSet } from './group-type.ts'
import type { OffsetsPort } from './offsets-port.ts'
import {
  activeGroups,
  expectedOutcome,
  type OffsetsOutcome,
  type OffsetsPlan,
  type PlannedGroup,
  type PlannedPosition,
} from './plan-reset.ts'
import { assertSameCluster, type OffsetSnapshot, topicIdsIn, topicsOf } from './snapshot.ts'
import type { SnapshotBook } from './snapshot-book.ts'
import { snapshotPlanned } from './take-snapshot.ts'
import { isRecreated, type TopicIds } from './topic-ids.ts'

const GROUPS_AT_ONCE = 16

export interface GroupOutcome {
  planned: PlannedGroup
  outcome: OffsetsOutcome
  error?: KafkaBackupError
}

export interface PlanReport {
  clusterId: string | null
  strategy: OffsetsPlan['strategy']
  /** Of the positions as they were before; null where there was nothing to change. */
  snapshotId: string | null
  groups: GroupOutcome[]
}

interface RunParts {
  port: OffsetsPort
  book: SnapshotBook
  /** The ID of the snapshot, the same for every attempt; without it each attempt takes a new one. */
  snapshotAs?: string
  /** Told as soon as the snapshot is durable, before anything is changed. */
  onSnapshot?: (snapshotId: string) => void
}

/**
 * Carries a plan out: a snapshot of all its groups first, then the commits, many groups at a time, then all are read back.
 * A failure is reported for its group; the others continue. Groups that have members already when it was planned
 * are refused by name, and nothing is written.
 */
export async function runPlan(plan: OffsetsPlan, parts: RunParts, signal: AbortSignal): Promise<PlanReport> {
  refuseActive(plan)
  const { clusterId, strategy, groups } = plan
  const snapshotId = await keepPrevious(plan, parts, signal)
  const failures = await changeAll(groups, parts.port, signal)
  return { clusterId, strategy, snapshotId, groups: groups.map(one => judge(one, failures.get(one.now.group))) }
}

/**
 * The snapshot to roll back to; null where nothing was or will be changed. That of an earlier attempt stays the one to roll back to,
 * because what is read now may be what that attempt has set. What it does not contain is kept in another one.
 */
async function keepPrevious(
  { clusterId, strategy, topicIds, groups }: OffsetsPlan,
  { book, snapshotAs, onSnapshot }: RunParts,
  signal: AbortSignal,
): Promise<string | null> {
  const earlier = snapshotAs === undefined ? undefined : await book.find(snapshotAs, signal)
  if (earlier) assertSameCluster(earlier, clusterId)
  if (groups.some(one => !isKept(one, topicIds, earlier))) {
    const reason = strategy === 'rollback' ? 'rollback' : 'reset'
    const kept = groups.map(snapshotPlanned)
    const content = { reason, cluster_id: clusterId, groups: kept, ...topicsOf(kept, topicIds) } as const
    const { snapshot_id: snapshotId } = await book.write(content, signal, earlier ? undefined : snapshotAs)
    onSnapshot?.(snapshotId)
    if (!earlier) return snapshotId
  }
  if (earlier) onSnapshot?.(earlier.snapshot_id)
  return earlier?.snapshot_id ?? null
}

/** Whether the snapshot contains all that changes with the offsets of now: others were committed after it was taken. */
function isKept({ now, positions }: PlannedGroup, topicIds: TopicIds, snapshot: OffsetSnapshot | undefined): boolean {
  const idsThen = topicIdsIn(snapshot ?? {})
  const known = snapshot?.groups.find(({ group }) => group === now.group)
  const absent = (known?.absent ?? []).map(one => [partitionKey(one), null] as const)
  const offsets = new Map([...(known?.positions ?? []).map(one => [partitionKey(one), one.offset] as const), ...absent])
  return positions.every(
    one => !one.isChange || (offsets.get(partitionKey(one)) === one.from && !isRecreated(one.topic, idsThen, topicIds)),
  )
}

function refuseActive(plan: OffsetsPlan): void {
  const active = activeGroups(plan)
  if (active.length === 0) return
  const names = active.map(({ group, state, members }) => `${group} (${state}, ${members} members)`)
  const shown = names.length > 20 ? [...names.slice(0, 20), `and ${names.length - 20} more`] : names
  throw new KafkaBackupError('GROUP_ACTIVE', `consumer groups with active members: ${shown.join(', ')}`, {
    help: 'No committed offset was changed. Stop the consumers of these groups, or leave the groups out, then run the command again.',
  })
}

/** The failure of each group that has one. */
async function changeAll(
  groups: readonly PlannedGroup[],
  port: OffsetsPort,
  signal: AbortSignal,
): Promise<Map<string, KafkaBackupError>> {
  const failures = new Map<string, KafkaBackupError>()
  const changing = groups.filter(({ positions }) => positions.some(({ isChange }) => isChange))
  if (changing.length === 0) return failures
  await runPool(changing, GROUPS_AT_ONCE, async planned => {
    try {
      await changeGroup(planned, port, signal)
    } catch (error) {
      signal.throwIfAborted()
      const { group } = planned.now
      failures.set(group, explain(group, error))
    }
  })
  const kept = changing.filter(({ now }) => !failures.has(now.group))
  const readBack = await readAgain(kept, port, signal)
  for (const { now, positions } of kept) {
    const failure = compareReadBack(now.group, positions, readBack.get(now.group))
    if (failure) failures.set(now.group, failure)
  }
  return failures
}

/** A failure is that of each group, because all of them are set. */
async function readAgain(
  groups: readonly PlannedGroup[],
  port: OffsetsPort,
  signal: AbortSignal,
): Promise<Awaited<ReturnType<OffsetsPort['readPositions']>>> {
  try {
    return await port.readPositions(groups.map(typeToSet), signal)
  } catch (error) {
    signal.throwIfAborted()
    return new Map(groups.map(({ now }) => [now.group, toKafkaBackupError(error)]))
  }
}

async function changeGroup(planned: PlannedGroup, port: OffsetsPort, signal: AbortSignal): Promise<void> {
  const group = typeToSet(planned)
  const changes = planned.positions.filter(({ isChange }) => isChange)
  const commits = changes.flatMap(({ topic, partition, to, leaderEpoch, metadata }): GroupOffset[] =>
    to === null ? [] : [{ topic, partition, offset: to, leaderEpoch, metadata }],
  )
  const removals = changes.filter(({ to }) => to === null)
  if (commits.length > 0) await port.commit(group, commits, signal)
  if (removals.length > 0) await port.remove(group, removals, signal)
}

/** What does not fit into one request is set in several, of which the first ones may have gone through. */
function explain(group: string, error: unknown): KafkaBackupError {
  const known = toKafkaBackupError(error)
  if (!hasCode(known, 'GROUP_ACTIVE')) return known
  const message = `consumers joined group ${group} after the plan was made, so not all of its offsets were set`
  return new KafkaBackupError('GROUP_ACTIVE', message, { cause: known })
}

function compareReadBack(
  group: string,
  positions: readonly PlannedPosition[],
  answer: CommittedOffsets | KafkaBackupError | undefined,
): KafkaBackupError | undefined {
  if (answer === undefined || answer instanceof KafkaBackupError) {
    const cause = answer?.message ?? 'no answer'
    return new KafkaBackupError('KAFKA_NOT_READY', `group ${group} was set, but cannot be read back: ${cause}`, {
      details: { group },
      help: 'Run the same command again: it changes only what is not yet as planned.',
    })
  }
  const there = new Map(answer.offsets.map(one => [partitionKey(one), one]))
  const wrong = positions.find(one => one.isChange && !isThere(one, there.get(partitionKey(one))))
  if (!wrong) return undefined
  const found = there.get(partitionKey(wrong))?.offset ?? 'none'
  const what = found === wrong.to ? `${found} with other metadata` : found
  const message = `group ${group} was set to ${wrong.to ?? 'none'} on ${partitionKey(wrong)}, but ${what} was read back`
  return new KafkaBackupError('OFFSETS_DIFFER', message)
}

function isThere({ to, metadata }: PlannedPosition, found: GroupOffset | undefined): boolean {
  return to === null ? found === undefined : found?.offset === to && found.metadata === metadata
}

function judge(planned: PlannedGroup, failure = planned.error): GroupOutcome {
  if (failure) return { planned, outcome: 'failed', error: failure }
  return { planned, outcome: expectedOutcome(planned) }
}
