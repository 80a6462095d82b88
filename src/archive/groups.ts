import { KafkaBackupError } from '../errors.ts'
import { append } from '../lib/largest.ts'
import type { Storage } from '../storage/storage.ts'
import { type GroupsFile, type GroupsSection, groupsFileSchema, type TakenGroups } from './groups-section.ts'
import { keptGroupsOf } from './kept-groups.ts'
import { groupsKey } from './layout.ts'
import { type Manifest, parseAs } from './manifest.ts'
import {
  type ObjectFindings,
  readRecorded,
  type SectionTarget,
  verifyRecorded,
  writeRecorded,
} from './recorded-object.ts'
import { findRepeatedGroup, refuseRepeatedGroups } from './refuse-repeats.ts'

/** Stores the committed offsets of groups durably and returns their section of the manifest. */
export async function writeGroups(
  storage: Pick<Storage, 'create'>,
  { groups, left_out }: Pick<GroupsFile, 'groups' | 'left_out'>,
  { backupId, generation, run, takenAt, previous }: SectionTarget<GroupsSection>,
  signal: AbortSignal,
): Promise<TakenGroups> {
  const repeated = findRepeatedGroup(groups)
  if (repeated !== undefined) throw new KafkaBackupError('KAFKA_PROTOCOL', `the cluster lists ${repeated} twice`)
  const file: GroupsFile = { format: 'kafka-backup-groups', format_version: 1, groups, left_out }
  const names = {
    newKey: groupsKey(backupId, generation, run),
    previous: previous?.state === 'taken' ? previous : undefined,
  }
  return {
    state: 'taken',
    taken_at: takenAt,
    ...(await writeRecorded(storage, file, names, signal)),
    groups: groups.length,
    positions: groups.reduce((sum, { positions }) => sum + positions.length, 0),
    errors: groups.filter(({ error }) => error !== null).length,
  }
}

/** The groups that a section names. A missing object or other bytes are damage. */
export async function readGroups(storage: Storage, section: TakenGroups, signal: AbortSignal): Promise<GroupsFile> {
  const bytes = await readRecorded(storage, section, signal)
  const file = parseAs(groupsFileSchema, bytes.toString('utf8'), section.key)
  refuseRepeatedGroups(file.groups, section.key)
  return file
}

/** Checks the groups of a backup, including those of topics that are no longer current. */
export async function verifyGroups(
  storage: Storage,
  manifest: Pick<Manifest, 'consumer_groups' | 'topics'>,
  signal: AbortSignal,
): Promise<ObjectFindings> {
  const { consumer_groups: section } = manifest
  const all = [...(section?.state === 'taken' ? [section] : []), ...keptGroupsOf(manifest)]
  const byKey = new Map(all.map(one => [one.key, one]))
  const found: ObjectFindings = { objects: 0, bytes: 0, problems: [] }
  for (const one of byKey.values()) {
    const { objects, bytes, problems } = await verifyRecorded(one, async () => {
      const { groups } = await readGroups(storage, one, signal)
      return groups.length === one.groups ? [] : [`it has ${groups.length} groups instead of ${one.groups}`]
    })
    found.objects += objects
    found.bytes += bytes
    append(found.problems, problems)
  }
  return found
}
