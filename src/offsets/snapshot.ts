import * as z from 'zod'
import { parseSealed } from '../archive/manifest.ts'
import { findRepeatedGroup, refuseRepeatedGroups } from '../archive/refuse-repeats.ts'
import { count, int64, kafkaText, topicName } from '../archive/scalars.ts'
import { sealJson } from '../archive/seal.ts'
import { KafkaBackupError } from '../errors.ts'
import { parseJson } from '../lib/json.ts'
import type { TopicIds } from './topic-ids.ts'

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
  /** The IDs of their topics; absent where the cluster gives topics none, and in snapshots of versions that did not store them. */
  topics: z.array(z.strictObject({ topic: topicName, id: kafkaText })).exactOptional(),
  checksum: z.string(),
})

export type SnapshotGroup = z.output<typeof group>

/** The positions of groups at one moment, as they are written down. */
export type OffsetSnapshot = Omit<z.output<typeof snapshotSchema>, 'checksum'>

export function topicIdsIn({ topics = [] }: Pick<OffsetSnapshot, 'topics'>): TopicIds {
  return new Map(topics.map(({ topic, id }) => [topic, id]))
}

/** The field of a snapshot; those of topics that its groups do not name are left out. */
export function topicsOf(groups: readonly SnapshotGroup[], ids: TopicIds): Pick<OffsetSnapshot, 'topics'> {
  const named = new Set(groups.flatMap(({ positions, absent }) => [...positions, ...absent].map(({ topic }) => topic)))
  const topics = [...named].sort().flatMap(topic => {
    const id = ids.get(topic)
    return id === undefined ? [] : [{ topic, id }]
  })
  return topics.length > 0 ? { topics } : {}
}

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

export function assertSameCluster({ snapshot_id, cluster_id }: OffsetSnapshot, clusterId: string | null): void {
  if (cluster_id === clusterId) return
  const message = `the snapshot ${snapshot_id} is of the cluster ${cluster_id ?? '?'}, and this is ${clusterId ?? '?'}`
  throw new KafkaBackupError('OFFSETS_REFUSED', message, {
    help: 'Offsets of one cluster mean nothing on another. After a restore use the strategy header_based or from_mapping.',
  })
}
