import { hasCode } from '../errors.ts'
import { formatJson } from '../lib/json.ts'
import { append } from '../lib/largest.ts'
import type { Storage } from '../storage/storage.ts'
import { damaged, problemOf } from './damage.ts'
import { type GroupsFile, type GroupsSection, groupsFileSchema, type TakenGroups } from './groups-section.ts'
import { hashOf } from './hash.ts'
import { groupsKey } from './layout.ts'
import { type Manifest, parseAs } from './manifest.ts'
import { keptGroupsOf } from './named-objects.ts'
import { refuseRepeatedGroups } from './refuse-repeats.ts'
import type { Problem } from './verify-objects.ts'

export interface GroupsPlace {
  backupId: string
  /** The generation that is to name the object, and the run that makes it. */
  generation: number
  run: string
  takenAt: string
  /** What the generation before says: an object that would be the same is named again, not written. */
  previous: GroupsSection | undefined
}

/** Makes the positions of groups durable and returns what the manifest says of them. Nothing counts before it does. */
export async function writeGroups(
  storage: Storage,
  { groups, left_out }: Pick<GroupsFile, 'groups' | 'left_out'>,
  { backupId, generation, run, takenAt, previous }: GroupsPlace,
  signal: AbortSignal,
): Promise<TakenGroups> {
  const file: GroupsFile = { format: 'kafka-backup-groups', format_version: 1, groups, left_out }
  const bytes = Buffer.from(`${formatJson(file, 1)}\n`)
  const [size, blake3] = [bytes.length, hashOf(bytes)]
  const isSame = previous?.state === 'taken' && previous.size === size && previous.blake3 === blake3
  const key = isSame ? previous.key : groupsKey(backupId, generation, run)
  if (!isSame) await storage.create(key, bytes, signal)
  return {
    state: 'taken',
    taken_at: takenAt,
    key,
    size,
    blake3,
    groups: groups.length,
    positions: groups.reduce((sum, { positions }) => sum + positions.length, 0),
    errors: groups.filter(({ error }) => error !== null).length,
  }
}

/** The groups that a section names. An object that is gone, or has other bytes, is damage. */
export async function readGroups(storage: Storage, section: TakenGroups, signal: AbortSignal): Promise<GroupsFile> {
  const { key, size, blake3 } = section
  let bytes: Buffer
  try {
    bytes = await storage.read(key, signal)
  } catch (error) {
    if (!hasCode(error, 'STORAGE_NOT_FOUND')) throw error
    throw damaged(key, 'is missing', { cause: error })
  }
  if (bytes.length !== size || hashOf(bytes) !== blake3) {
    throw damaged(key, 'is not the object that the manifest recorded')
  }
  const file = parseAs(groupsFileSchema, bytes.toString('utf8'), key)
  refuseRepeatedGroups(file.groups, key)
  return file
}

export interface GroupsFindings {
  objects: number
  bytes: number
  problems: Problem[]
}

/** What is wrong with the groups of a backup, those of topics that are not current any more included. */
export async function verifyGroups(
  storage: Storage,
  manifest: Pick<Manifest, 'consumer_groups' | 'topics'>,
  signal: AbortSignal,
): Promise<GroupsFindings> {
  const { consumer_groups: section } = manifest
  const all = [...(section?.state === 'taken' ? [section] : []), ...keptGroupsOf(manifest)]
  const byKey = new Map(all.map(one => [one.key, one]))
  const found: GroupsFindings = { objects: 0, bytes: 0, problems: [] }
  for (const one of byKey.values()) {
    const { objects, bytes, problems } = await verifyTaken(storage, one, signal)
    found.objects += objects
    found.bytes += bytes
    append(found.problems, problems)
  }
  return found
}

/** The object is small: it is read whole. */
async function verifyTaken(storage: Storage, section: TakenGroups, signal: AbortSignal): Promise<GroupsFindings> {
  const { key, size } = section
  const found = { objects: 1, bytes: size }
  try {
    const { groups } = await readGroups(storage, section, signal)
    const isSame = groups.length === section.groups
    const problem = `it has ${groups.length} groups instead of ${section.groups}`
    return { ...found, problems: isSame ? [] : [{ key, problem }] }
  } catch (error) {
    if (!hasCode(error, 'ARCHIVE_DAMAGED', 'ARCHIVE_TOO_NEW')) throw error
    return { ...found, problems: [{ key, problem: problemOf(error, key) }] }
  }
}
