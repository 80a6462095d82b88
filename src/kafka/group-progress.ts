import { KafkaBackupError } from '../errors.ts'
import type { ByGroup } from './at-coordinators.ts'
import type { Cluster } from './cluster.ts'
import {
  type CommittedOffsets,
  commitGroupOffsets,
  deleteGroupOffsets,
  fetchCommittedOffsets,
  fetchOffsetsOfGroups,
  type GroupOffset,
} from './group-offsets.ts'
import type { GroupState } from './groups.ts'
import type { TopicPartition } from './offsets.ts'
import { alterShareOffsets, fetchShareOffsets, unsetShareOffsets } from './share-offsets.ts'

/** A group of which it is known how it keeps its progress; one that does not exist yet commits offsets. */
export interface TypedGroup {
  group: string
  type: GroupState['type']
}

/**
 * Where each group continues: at its committed offsets or, for a share group, at its start offsets. Waits for no transaction.
 * Whatever could not be read is the error of its group.
 */
export async function fetchProgress(
  cluster: Cluster,
  groups: readonly TypedGroup[],
  signal: AbortSignal,
): Promise<ByGroup<CommittedOffsets>> {
  const [committed, shared] = await Promise.all([
    fetchCommittedOffsets(cluster, committingOf(groups), signal),
    fetchShareOffsets(cluster, sharedOf(groups), signal),
  ])
  return new Map([...committed, ...shared])
}

/** As fetchProgress, but waits for open transactions, which are in the end an error. */
export async function fetchStableProgress(
  cluster: Cluster,
  groups: readonly TypedGroup[],
  signal: AbortSignal,
): Promise<ByGroup<GroupOffset[]>> {
  const [committed, shared] = await Promise.all([
    fetchOffsetsOfGroups(cluster, committingOf(groups), signal),
    fetchShareOffsets(cluster, sharedOf(groups), signal),
  ])
  const started = [...shared].map(
    ([group, found]) => [group, found instanceof KafkaBackupError ? found : found.offsets] as const,
  )
  return new Map([...committed, ...started])
}

function committingOf(groups: readonly TypedGroup[]): string[] {
  return groups.filter(({ type }) => type !== 'share').map(({ group }) => group)
}

function sharedOf(groups: readonly TypedGroup[]): string[] {
  return groups.filter(({ type }) => type === 'share').map(({ group }) => group)
}

/**
 * Sets where a group without members continues; creates the group where there is none. Right before that `confirm` gets where it
 * continues by then, on these partitions at least, and throws where that must not be replaced.
 */
export async function setProgress(
  cluster: Cluster,
  { group, type }: TypedGroup,
  offsets: readonly GroupOffset[],
  signal: AbortSignal,
  confirm?: (current: readonly GroupOffset[]) => void,
): Promise<void> {
  if (type !== 'share') return commitGroupOffsets(cluster, group, offsets, signal, confirm)
  if (confirm && offsets.length > 0) {
    const found = (await fetchShareOffsets(cluster, [group], signal)).get(group)
    if (found instanceof KafkaBackupError) throw found
    confirm(found?.offsets ?? [])
  }
  await alterShareOffsets(cluster, group, offsets, signal)
}

/** Takes from a group where it continues, as if it had never read these partitions. */
export function removeProgress(
  cluster: Cluster,
  { group, type }: TypedGroup,
  partitions: readonly TopicPartition[],
  signal: AbortSignal,
): Promise<void> {
  return type === 'share'
    ? unsetShareOffsets(cluster, group, partitions, signal)
    : deleteGroupOffsets(cluster, group, partitions, signal)
}
