import type { StoredGroup } from '../archive/groups-section.ts'
import type { Cluster } from '../kafka/cluster.ts'
import type { GroupOffset } from '../kafka/group-offsets.ts'
import { maySeeAllGroups } from '../kafka/permissions.ts'
import { findGroups } from './find-groups.ts'
import type { FoundGroup, GroupSelection } from './model.ts'

/** Where logs end, by topic and partition. */
export type PartitionEnds = ReadonlyMap<string, ReadonlyMap<number, bigint>>

export interface TakenGroups {
  groups: StoredGroup[]
  left_out: { group: string; type: string }[]
  warnings: string[]
}

/**
 * The groups that have positions on these topics, as a backup keeps them. A group that could not be read is kept as one
 * that could not be read, whatever its topics are.
 */
export async function takeGroups(
  cluster: Cluster,
  selection: GroupSelection,
  ends: PartitionEnds,
  signal: AbortSignal,
): Promise<TakenGroups> {
  const { groups, leftOut } = await findGroups(cluster, selection, signal)
  const stored = groups
    .map(group => toStored(group, ends))
    .filter(({ positions, error }) => positions.length > 0 || error !== null)
  return { groups: stored, left_out: leftOut, warnings: await warningsOf(cluster, stored, leftOut, signal) }
}

function toStored({ positions, ...group }: FoundGroup, ends: PartitionEnds): StoredGroup {
  const kept = positions
    .filter(({ topic }) => ends.has(topic))
    .toSorted((a, b) => (a.topic === b.topic ? a.partition - b.partition : a.topic < b.topic ? -1 : 1))
  return {
    ...group,
    positions: kept.map(one => ({
      topic: one.topic,
      partition: one.partition,
      offset: one.offset,
      leader_epoch: one.leaderEpoch,
      metadata: one.metadata,
      lag: lagOf(one, ends),
    })),
  }
}

/** A group that read on since the ends were fixed has none. */
function lagOf({ topic, partition, offset }: GroupOffset, ends: PartitionEnds): bigint | null {
  const end = ends.get(topic)?.get(partition)
  if (end === undefined) return null
  return end > offset ? end - offset : 0n
}

async function warningsOf(
  cluster: Cluster,
  groups: readonly StoredGroup[],
  leftOut: readonly { group: string; type: string }[],
  signal: AbortSignal,
): Promise<string[]> {
  const failed = groups.filter(({ error }) => error !== null)
  const others = leftOut.map(({ group, type }) => `${group} (${type})`)
  return [
    ...failed.map(({ group, error }) => `consumer group ${group} could not be read: ${error}`),
    ...(others.length === 0 ? [] : [`groups that commit no offsets are not taken: ${others.join(', ')}`]),
    ...((await maySeeAllGroups(cluster, signal)) ? [] : [HIDDEN]),
  ]
}

const HIDDEN =
  'consumer groups that this login may not describe are not among those taken: a broker leaves them out of its list ' +
  'without a word. Grant Describe on the cluster to be sure of all.'
