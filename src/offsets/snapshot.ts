import * as z from 'zod'
import { parseSealed } from '../archive/manifest.ts'
import { findRepeatedGroup, refuseRepeatedGroups } from '../archive/refuse-repeats.ts'
import { count, int64, kafkaText, topicName } from '../archive/scalars.ts'
import { sealJson } from '../archive/seal.ts'
import { KafkaBackupError } from '../errors.ts'
import { partitionKey } from '../kafka/offsets.ts'
import { parseJson } from '../lib/json.ts'
import { compareSnapshot, type SnapshotComparison } from './compare-snapshot.ts'
import { type GroupNow, readGroups } from './group-now.ts'
import type { OffsetsPort } from './offsets-port.ts'
import type { PlannedGroup } from './plan-reset.ts'
import { selectGroups } from './select-groups.ts'
import type { SnapshotBook } from './snapshot-book.ts'

const place = { topic: topicName, partition: count }

const group = z.strictObject({
  group: kafkaText,
  type: kafkaText,
  state: kafkaText,
  members: count,
  positions: z.array(z.strictObject({ ...place, offset: int64, leader_epoch: z.int(), metadata: kafkaText })),
  /** Partitions that a reset gave a first position right after this was taken. */
  absent: z.array(z.strictObject(place)),
  /** Partitions for which an open transaction held a newer offset. */
  undecided: z.array(z.strictObject(place)).exactOptional(),
  /** Why nothing is known of the group; then there are no positions. */
  error: z.string().exactOptional(),
})

const snapshotSchema = z.strictObject({
  format: z.literal('kafka-backup-offset-snapshot'),
  format_version: z.literal(1),
  tool_version: z.string(),
  snapshot_id: z.string(),
  created_at: z.string(),
  /** What it was taken for. */
  reason: z.enum(['snapshot', 'reset', 'rollback']),
  cluster_id: kafkaText.nullable(),
  groups: z.array(group),
  checksum: z.string(),
})

export type SnapshotGroup = z.output<typeof group>

/** The positions of groups at one moment, as they are written down. */
export type OffsetSnapshot = Omit<z.output<typeof snapshotSchema>, 'checksum'>

export function encodeSnapshot(snapshot: OffsetSnapshot): Buffer {
  return sealJson(snapshot)
}

/** Refuses what is damaged, and a document that carries no checksum at all. */
export function decodeSnapshot(bytes: Buffer, key: string): OffsetSnapshot {
  const { checksum: _, ...snapshot } = parseSealed(snapshotSchema, bytes, key)
  refuseRepeatedGroups(snapshot.groups, key)
  return snapshot
}

/** What keeps a snapshot from being read again, with the path of the field; undefined where nothing does. */
export function findUnreadable(snapshot: OffsetSnapshot): string | undefined {
  const result = snapshotSchema.safeParse(parseJson(encodeSnapshot(snapshot).toString('utf8')))
  const issue = result.error?.issues[0]
  if (issue) return `${issue.path.join('.')}: ${issue.message}`
  const repeated = findRepeatedGroup(snapshot.groups)
  return repeated && `the cluster lists ${repeated} twice`
}

export function snapshotGroup(now: GroupNow): SnapshotGroup {
  const { group: name, type, state, members, positions, undecided, error } = now
  return {
    group: name,
    type,
    state,
    members,
    positions: positions.map(({ topic, partition, offset, leaderEpoch, metadata }) => ({
      ...{ topic, partition, offset, leader_epoch: leaderEpoch, metadata },
    })),
    absent: [],
    ...(undecided.length > 0 && { undecided }),
    ...(error && { error: error.message }),
  }
}

/** With the partitions that the plan gives a first position, so that a rollback can take it away again. */
export function snapshotPlanned({ now, positions }: PlannedGroup): SnapshotGroup {
  const had = new Set(now.positions.map(partitionKey))
  const absent = positions
    .filter(one => one.isChange && !had.has(partitionKey(one)))
    .map(({ topic, partition }) => ({ topic, partition }))
  return { ...snapshotGroup(now), absent }
}

export function assertSameCluster({ snapshot_id, cluster_id }: OffsetSnapshot, clusterId: string | null): void {
  if (cluster_id === clusterId) return
  const message = `the snapshot ${snapshot_id} is of the cluster ${cluster_id ?? '?'}, and this is ${clusterId ?? '?'}`
  throw new KafkaBackupError('OFFSETS_REFUSED', message, {
    help: 'Offsets of one cluster mean nothing on another. After a restore use the strategy header_based or from_mapping.',
  })
}

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
