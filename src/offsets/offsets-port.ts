import type { ByGroup } from '../kafka/at-coordinators.ts'
import type { CommittedOffsets, GroupOffset } from '../kafka/group-offsets.ts'
import type { TypedGroup } from '../kafka/group-progress.ts'
import type { GroupListing, GroupState } from '../kafka/groups.ts'
import type { PartitionBounds, TopicPartition } from '../kafka/offsets.ts'

/** The origin of a record, from its headers. */
export interface HeadedRecord {
  offset: bigint
  headers: readonly (readonly [string, Uint8Array | null])[]
}

export interface TopicFacts {
  partitions: number
  /** Absent where brokers give topics no IDs. */
  id?: string
}

/**
 * The groups of one cluster, as a reset sees and changes them. What is asked for many groups is answered for each of them,
 * with its committed offsets or with an error; the calls that change something are for one group each and
 * fail with GROUP_ACTIVE while it has members.
 */
export interface OffsetsPort {
  clusterId(signal: AbortSignal): Promise<string | null>
  listGroups(signal: AbortSignal): Promise<GroupListing[]>
  /** Whether no group is left out of the list because the login may not describe it. */
  maySeeAllGroups(signal: AbortSignal): Promise<boolean>
  describeGroups(groups: readonly string[], signal: AbortSignal): Promise<ByGroup<GroupState>>
  /** All that each group has committed, or its start offsets; nothing for one that does not exist. */
  readPositions(groups: readonly TypedGroup[], signal: AbortSignal): Promise<ByGroup<CommittedOffsets>>
  /** By name; those that do not exist are left out. */
  describeTopics(topics: readonly string[], signal: AbortSignal): Promise<Map<string, TopicFacts>>
  /** By `topic/partition`, of partitions that exist. */
  readBounds(partitions: readonly TopicPartition[], signal: AbortSignal): Promise<Map<string, PartitionBounds>>
  /** The first offset at or after a time, by `topic/partition`; -1 where no record is that late. */
  findByTime(
    partitions: readonly TopicPartition[],
    timestampMs: bigint,
    signal: AbortSignal,
  ): Promise<Map<string, bigint>>
  /** The records at [from, to) that a reader of committed data sees, some at a time, in order. */
  readRecords(
    place: TopicPartition,
    range: { from: bigint; to: bigint },
    signal: AbortSignal,
  ): AsyncIterable<readonly HeadedRecord[]>
  commit(group: TypedGroup, positions: readonly GroupOffset[], signal: AbortSignal): Promise<void>
  /** Takes these positions from the group. */
  remove(group: TypedGroup, partitions: readonly TopicPartition[], signal: AbortSignal): Promise<void>
}
