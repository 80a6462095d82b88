import * as z from 'zod'
import { writeGroups } from '../archive/groups.ts'
import type { StoredGroup, StoredPosition, TakenGroups } from '../archive/groups-section.ts'
import { backupPrefix } from '../archive/layout.ts'
import type { ManifestTopic } from '../archive/manifest.ts'
import { kafkaText } from '../archive/scalars.ts'
import { formatUtc } from '../lib/clock.ts'
import type { Storage } from '../storage/storage.ts'
import { tryJson } from './oso-manifest.ts'

const MAX_OFFSET = 2n ** 63n - 1n
const offset = z.union([z.int().nonnegative(), z.bigint().nonnegative().max(MAX_OFFSET)]).transform(BigInt)

/** `<backup_id>/consumer-groups-snapshot.json` of OSO kafka-backup: committed offsets by group, topic and partition. */
const snapshotSchema = z.object({
  snapshot_time: z.int().min(0).max(8.64e15),
  groups: z.array(
    z.object({
      group_id: kafkaText,
      offsets: z.record(z.string(), z.record(z.string().regex(/^(?:0|[1-9]\d{0,4})$/), offset)),
    }),
  ),
})

type Snapshot = z.output<typeof snapshotSchema>

export interface ImportedGroups {
  section?: TakenGroups
  /** What of the snapshot is not in the backup. */
  losses: string[]
}

/** Takes the committed offsets of the topics that were imported. A snapshot that cannot be read is a loss, and ends nothing. */
export async function importGroups(
  places: { from: Storage; to: Storage; backupId: string; run: string },
  topics: readonly ManifestTopic[],
  signal: AbortSignal,
): Promise<ImportedGroups> {
  const { from, to, backupId, run } = places
  const key = `${backupPrefix(backupId)}consumer-groups-snapshot.json`
  if ((await from.stat(key, signal)) === undefined) return { losses: [] }
  const parsed = snapshotSchema.safeParse(tryJson(await from.read(key, signal)))
  if (!parsed.success || hasRepeats(parsed.data)) {
    return { losses: [`not imported: ${key} is not a snapshot of consumer groups that OSO kafka-backup writes`] }
  }
  const { groups, unknown } = planGroups(parsed.data, topics)
  const takenAt = formatUtc(parsed.data.snapshot_time)
  const target = { backupId, generation: 1, run, takenAt, previous: undefined }
  const section = await writeGroups(to, { groups, left_out: [] }, target, signal)
  return { section, losses: describeGroups(groups, unknown) }
}

function hasRepeats({ groups }: Snapshot): boolean {
  return new Set(groups.map(({ group_id }) => group_id)).size < groups.length
}

/** Pure. `unknown` counts offsets of partitions that the archive does not have. */
export function planGroups({ groups }: Snapshot, topics: readonly ManifestTopic[]) {
  let unknown = 0
  const planned = groups.map(({ group_id, offsets }): StoredGroup => {
    const positions = Object.entries(offsets).flatMap(([topic, byPartition]) => {
      const known = topics.find(({ name }) => name === topic)
      return Object.entries(byPartition).flatMap(([number, committed]): StoredPosition[] => {
        const partition = known?.partitions[Number(number)]
        if (!partition) {
          unknown++
          return []
        }
        const behind = partition.end_offset - committed
        const lag = behind < 0n ? null : behind
        return [{ topic, partition: Number(number), offset: committed, leader_epoch: -1, metadata: '', lag }]
      })
    })
    // The snapshot does not name the type: `classic` is what a restore commits offsets with in either case.
    return { group: group_id, type: 'classic', state: null, members: null, error: null, positions }
  })
  return { groups: planned, unknown }
}

function describeGroups(groups: readonly StoredGroup[], unknown: number): string[] {
  return [
    ...(groups.length > 0
      ? ['types, states and members of consumer groups, and the metadata of their offsets, are not in the archive']
      : []),
    ...(unknown > 0
      ? [`not imported: ${unknown} committed offsets of consumer groups for partitions that are not in the archive`]
      : []),
  ]
}
