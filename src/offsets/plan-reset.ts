import type { KafkaBackupError } from '../errors.ts'
import { type PartitionBounds, partitionKey, type TopicPartition } from '../kafka/offsets.ts'
import { type GroupNow, sortPlaces } from './group-now.ts'
import type { TopicFacts } from './offsets-port.ts'
import type { Strategy } from './reset-request.ts'
import { RECREATED, type TopicIds } from './topic-ids.ts'

/** The offset that a strategy selects for a group, before it is checked against the cluster. */
export interface DesiredOffset {
  topic: string
  partition: number
  /** `none` is a row that changes nothing. */
  to: bigint | 'earliest' | 'latest' | 'none' | { problem: string }
  /** Of the topic for which the offset was committed, where it is known. */
  topicId?: string | undefined
  /** -1 and '' where they are not given. */
  leaderEpoch?: number
  metadata?: string
  note?: string
}

/** A position as a plan sets it; where there is a problem it is left as it is. */
export interface PlannedPosition {
  topic: string
  partition: number
  /** Null where the group has none. */
  from: bigint | null
  /** Null if it is deleted, unknown, or stays without one. */
  to: bigint | null
  leaderEpoch: number
  metadata: string
  isChange: boolean
  note?: string
  problem?: string
}

export interface PlannedGroup {
  now: GroupNow
  /** A group that does not exist and is created as a share group; without it a commit creates a group without a protocol. */
  createAs?: 'share'
  positions: PlannedPosition[]
  /** Why nothing can be planned for it. */
  error?: KafkaBackupError
}

export interface OffsetsPlan {
  clusterId: string | null
  /** A strategy, or `rollback`. */
  strategy: Strategy | 'rollback'
  /** Of the topics that groups have positions on, or get them. */
  topicIds: TopicIds
  groups: PlannedGroup[]
}

export interface ClusterFacts {
  /** Those that exist. */
  topics: ReadonlyMap<string, TopicFacts>
  bounds: ReadonlyMap<string, PartitionBounds>
}

/** Checks the desired offsets of a group against the cluster: a missing partition is a problem, an offset out of range is moved into it. */
export function planGroup(now: GroupNow, desiredOffsets: readonly DesiredOffset[], facts: ClusterFacts): PlannedGroup {
  if (now.error) return { now, positions: [], error: now.error }
  const present = new Map(now.positions.map(one => [partitionKey(one), one]))
  const isNeeded = (one: DesiredOffset) =>
    one.to !== 'none' || !(present.has(partitionKey(one)) || findUndecided(one, now) !== undefined)
  const positions = sortPlaces(desiredOffsets.filter(isNeeded)).map(desired => {
    const have = present.get(partitionKey(desired))
    const from = have?.offset ?? null
    const open = findUndecided(desired, now)
    const { to, note, problem } =
      open === undefined ? fit(desired, facts) : { to: null, note: undefined, problem: open }
    const isSame = to === from && (desired.metadata ?? have?.metadata) === have?.metadata
    return {
      topic: desired.topic,
      partition: desired.partition,
      from,
      to,
      leaderEpoch: desired.leaderEpoch ?? -1,
      metadata: desired.metadata ?? '',
      isChange: problem === undefined && !isSame,
      ...(note !== undefined && { note }),
      ...(problem !== undefined && { problem }),
    }
  })
  return { now, positions }
}

/** Of a partition with restored records, of a topic that the group has read. A consumer commits nothing where it has processed nothing. */
export const NONE_COMMITTED = {
  to: 'none',
  note:
    'the group had no committed offset on this partition, and gets none: consumers begin where auto.offset.reset says, and with ' +
    '`latest` they skip the restored records',
} as const

export const NO_BOUNDS = 'no broker reports where the partition begins and ends'
export const NO_TIME = 'no broker reports the first record of that time'

interface Fitted {
  to: bigint | null
  note?: string | undefined
  problem?: string
}

function fit(desired: DesiredOffset, { topics, bounds }: ClusterFacts): Fitted {
  const missing = findMissing(desired, topics)
  if (missing !== undefined) return { to: null, problem: missing }
  const id = topics.get(desired.topic)?.id
  const isOther = id !== undefined && desired.topicId !== undefined && id !== desired.topicId
  if (isOther) return { to: null, problem: RECREATED }
  if (typeof desired.to === 'object') return { to: null, problem: desired.to.problem }
  if (desired.to === 'none') return { to: null, note: desired.note }
  const range = bounds.get(partitionKey(desired))
  if (!range) return { to: null, problem: NO_BOUNDS }
  const { logStart, highWatermark } = range
  if (desired.to === 'earliest') return { to: logStart, note: desired.note }
  if (desired.to === 'latest') return { to: highWatermark, note: desired.note }
  if (desired.to < logStart)
    return { to: logStart, note: join(desired.note, `${desired.to} is before the log, which begins here`) }
  if (desired.to > highWatermark)
    return { to: highWatermark, note: join(desired.note, `${desired.to} is behind the end of the log`) }
  return { to: desired.to, note: desired.note }
}

/** Why the partition cannot have a position; undefined where it is there. */
export function findMissing(
  { topic, partition }: { topic: string; partition: number },
  topics: ReadonlyMap<string, TopicFacts>,
): string | undefined {
  const count = topics.get(topic)?.partitions
  if (count === undefined) return 'the topic does not exist on this cluster'
  return partition < count ? undefined : `the topic has ${count} partitions on this cluster`
}

/** Why a position would not last; undefined where it does. */
export function findUndecided(place: TopicPartition, { undecided }: GroupNow): string | undefined {
  const isOpen = undecided.some(one => partitionKey(one) === partitionKey(place))
  return isOpen
    ? 'an open transaction holds a newer offset of the group here, which would replace this one when it is committed. ' +
        'Wait until the transaction ends, or abort it with kafka-transactions.sh'
    : undefined
}

function join(...notes: readonly (string | undefined)[]): string {
  return notes.filter(note => note !== undefined).join('; ')
}

/** Groups with members; brokers refuse commits by others for them. */
export function activeGroups({ groups }: Pick<OffsetsPlan, 'groups'>): GroupNow[] {
  return groups
    .map(({ now }) => now)
    .filter(({ members, state }) => members > 0 || !['Empty', 'Dead', 'unknown'].includes(state))
}

/** `partly`: what could be set is set, and the rows with a problem are as they were. */
export type OffsetsOutcome = 'done' | 'unchanged' | 'partly' | 'failed'

/** What becomes of a group if nothing fails while it is set. */
export function expectedOutcome({ positions, error }: PlannedGroup): OffsetsOutcome {
  if (error) return 'failed'
  if (positions.some(({ problem }) => problem !== undefined)) {
    const isSet = ({ problem, to, isChange }: PlannedPosition) => problem === undefined && (to !== null || isChange)
    return positions.some(isSet) ? 'partly' : 'failed'
  }
  return positions.some(({ isChange }) => isChange) ? 'done' : 'unchanged'
}
