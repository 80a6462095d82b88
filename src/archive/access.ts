import type { Storage } from '../storage/storage.ts'
import {
  type AccessFile,
  type AccessReading,
  type AccessSection,
  accessFileSchema,
  accessKinds,
  type Reading,
} from './access-section.ts'
import { accessKey } from './layout.ts'
import { type Manifest, parseAs } from './manifest.ts'
import {
  type ObjectFindings,
  readRecorded,
  type SectionTarget,
  verifyRecorded,
  writeRecorded,
} from './recorded-object.ts'

/** Stores ACLs, quotas and users durably and returns their section of the manifest. */
export async function writeAccess(
  storage: Pick<Storage, 'create'>,
  reading: AccessReading,
  { backupId, generation, run, takenAt, previous }: SectionTarget<AccessSection>,
  signal: AbortSignal,
): Promise<AccessSection> {
  const file: AccessFile = {
    format: 'kafka-backup-access',
    format_version: 1,
    acls: itemsOf(reading.acls),
    quotas: itemsOf(reading.quotas),
    users: itemsOf(reading.users),
  }
  const stored = await writeRecorded(storage, file, { newKey: accessKey(backupId, generation, run), previous }, signal)
  const { acls, quotas, users } = reading
  return { taken_at: takenAt, ...stored, acls: stateOf(acls), quotas: stateOf(quotas), users: stateOf(users) }
}

function itemsOf<T>(reading: Reading<T>): T[] {
  return reading.state === 'taken' ? reading.items : []
}

function stateOf(reading: Reading<unknown>): AccessSection['acls'] {
  return reading.state === 'taken' ? { state: 'taken', count: reading.items.length } : reading
}

/** The rules that a section names. A missing object or other bytes are damage. */
export async function readAccess(storage: Storage, section: AccessSection, signal: AbortSignal): Promise<AccessFile> {
  const bytes = await readRecorded(storage, section, signal)
  return parseAs(accessFileSchema, bytes.toString('utf8'), section.key)
}

/** Checks the access rules of a backup. */
export async function verifyAccess(
  storage: Storage,
  { access: section }: Pick<Manifest, 'access'>,
  signal: AbortSignal,
): Promise<ObjectFindings> {
  if (!section) return { objects: 0, bytes: 0, problems: [] }
  return verifyRecorded(section, async () => compareCounts(await readAccess(storage, section, signal), section))
}

function compareCounts(file: AccessFile, section: AccessSection): string[] {
  return accessKinds.flatMap(kind => {
    const recorded = section[kind]
    const [expected, { length }] = [recorded.state === 'taken' ? recorded.count : 0, file[kind]]
    return expected === length ? [] : [`it has ${length} ${kind} instead of ${expected}`]
  })
}
