import type { KafkaBackupError } from '../errors.ts'
import { type PartitionBounds, partitionKey, type TopicPartition } from '../kafka/offsets.ts'
import { type GroupNow, sortPlaces } from './group-now.ts'
import type { Strategy } from './strategies.ts'

/** Where a strategy wants a group to stand, before it is held against the cluster. */
export interface Wish {
  topic: string
  partition: number
  to: bigint | 'earliest' | 'latest' | { problem: string }
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
  /** Null where it is taken away, or cannot be told. */
  to: bigint | null
  leaderEpoch: number
  metadata: string
  isChange: boolean
  note?: string
  problem?: string
}

export interface PlannedGroup {
  now: GroupNow
  positions: PlannedPosition[]
  /** Why nothing can be planned for it. */
  error?: KafkaBackupError
}

export interface OffsetsPlan {
  clusterId: string | null
  /** A strategy, or `rollback`. */
  strategy: Strategy | 'rollback'
  groups: PlannedGroup[]
}

export interface ClusterFacts {
  /** Of topics that exist. */
  partitionCounts: ReadonlyMap<string, number>
  bounds: ReadonlyMap<string, PartitionBounds>
}

/** Holds the wishes for a group against the cluster: what is not there is a problem, what is out of range is moved to its end. */
export function planGroup(now: GroupNow, wishes: readonly Wish[], facts: ClusterFacts): PlannedGroup {
  if (now.error) return { now, positions: [], error: now.error }
  const present = new Map(now.positions.map(one => [partitionKey(one), one]))
  const positions = sortPlaces(wishes).map(wish => {
    const have = present.get(partitionKey(wish))
    const from = have?.offset ?? null
    const open = findUndecided(wish, now)
    const { to, note, problem } = open === undefined ? fit(wish, facts) : { to: null, note: undefined, problem: open }
    const isSame = to === from && (wish.metadata ?? have?.metadata) === have?.metadata
    return {
      topic: wish.topic,
      partition: wish.partition,
      from,
      to,
      leaderEpoch: wish.leaderEpoch ?? -1,
      metadata: wish.metadata ?? '',
      isChange: problem === undefined && !isSame,
      ...(note !== undefined && { note }),
      ...(problem !== undefined && { problem }),
    }
  })
  return { now, positions }
}

interface Fitted {
  to: bigint | null
  note?: string | undefined
  problem?: string
}

function fit(wish: Wish, { partitionCounts, bounds }: ClusterFacts): Fitted {
  const missing = findMissing(wish, partitionCounts)
  if (missing !== undefined) return { to: null, problem: missing }
  if (typeof wish.to === 'object') return { to: null, problem: wish.to.problem }
  const range = bounds.get(partitionKey(wish))
  if (!range) return { to: null, problem: 'no broker reports where the partition begins and ends' }
  const { logStart, highWatermark } = range
  if (wish.to === 'earliest') return { to: logStart, note: wish.note }
  if (wish.to === 'latest') return { to: highWatermark, note: wish.note }
  if (wish.to < logStart)
    return { to: logStart, note: join(wish.note, `${wish.to} is before the log, which begins here`) }
  if (wish.to > highWatermark)
    return { to: highWatermark, note: join(wish.note, `${wish.to} is behind the end of the log`) }
  return { to: wish.to, note: wish.note }
}

/** Why the partition cannot have a position; undefined where it is there. */
export function findMissing(
  { topic, partition }: { topic: string; partition: number },
  partitionCounts: ReadonlyMap<string, number>,
): string | undefined {
  const count = partitionCounts.get(topic)
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

/** Groups that have members, which brokers let nobody else commit for. */
export function activeGroups({ groups }: Pick<OffsetsPlan, 'groups'>): GroupNow[] {
  return groups
    .map(({ now }) => now)
    .filter(({ members, state }) => members > 0 || !['Empty', 'Dead', 'unknown'].includes(state))
}
