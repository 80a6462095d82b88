import { KafkaBackupError } from '../errors.ts'
import { compareSnapshot, type SnapshotComparison } from './compare-snapshot.ts'
import { readGroups } from './group-now.ts'
import type { OffsetsPort } from './offsets-port.ts'
import { selectGroups } from './select-groups.ts'
import { assertSameCluster, type OffsetSnapshot, snapshotGroup } from './snapshot.ts'
import type { SnapshotBook } from './snapshot-book.ts'

/**
 * Takes a snapshot of committed offsets, also for groups with active members, because reading does not disturb them. A group that cannot be read is
 * in it with the reason. Where there is nothing at all, no snapshot is made.
 */
export async function takeSnapshot(
  wanted: readonly string[],
  { port, book }: { port: OffsetsPort; book: SnapshotBook },
  signal: AbortSignal,
): Promise<OffsetSnapshot> {
  const listed = (await port.listGroups(signal)).filter(({ type }) => type !== 'other').map(({ group }) => group)
  const names = selectGroups(wanted.length > 0 ? wanted : ['*'], listed)
  const unknown = names.find(name => !listed.includes(name))
  if (unknown !== undefined) throw new KafkaBackupError('GROUP_NOT_FOUND', `there is no consumer group ${unknown}`)
  const groups = await readGroups(port, names, signal)
  const content = { cluster_id: await port.clusterId(signal), groups: groups.map(snapshotGroup) }
  return book.write({ reason: 'snapshot', ...content }, signal)
}

/** Compares the committed offsets of groups with a snapshot. */
export async function verifySnapshot(
  snapshot: OffsetSnapshot,
  isStrict: boolean,
  port: OffsetsPort,
  signal: AbortSignal,
): Promise<SnapshotComparison> {
  assertSameCluster(snapshot, await port.clusterId(signal))
  const names = snapshot.groups.map(({ group }) => group)
  return compareSnapshot(snapshot, await readGroups(port, names, signal), isStrict)
}
