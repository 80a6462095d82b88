import { hasCode } from '../errors.ts'
import { formatJson } from '../lib/json.ts'
import type { Storage } from '../storage/storage.ts'
import {
  type AccessFile,
  type AccessReading,
  type AccessSection,
  accessFileSchema,
  accessKinds,
  type Reading,
} from './access-section.ts'
import { damaged, problemOf } from './damage.ts'
import { hashOf } from './hash.ts'
import { accessKey } from './layout.ts'
import { type Manifest, parseAs } from './manifest.ts'
import type { Problem } from './verify-objects.ts'

export interface AccessPlace {
  backupId: string
  /** The generation that is to name the object, and the run that makes it. */
  generation: number
  run: string
  takenAt: string
  /** What the generation before says: an object that would be the same is named again, not written. */
  previous: AccessSection | undefined
}

/** Makes rules of access durable and returns what the manifest says of them. Nothing counts before it does. */
export async function writeAccess(
  storage: Storage,
  reading: AccessReading,
  { backupId, generation, run, takenAt, previous }: AccessPlace,
  signal: AbortSignal,
): Promise<AccessSection> {
  const file: AccessFile = {
    format: 'kafka-backup-access',
    format_version: 1,
    acls: itemsOf(reading.acls),
    quotas: itemsOf(reading.quotas),
    users: itemsOf(reading.users),
  }
  const bytes = Buffer.from(`${formatJson(file, 1)}\n`)
  const [size, blake3] = [bytes.length, hashOf(bytes)]
  const isSame = previous !== undefined && previous.size === size && previous.blake3 === blake3
  const key = isSame ? previous.key : accessKey(backupId, generation, run)
  if (!isSame) await storage.create(key, bytes, signal)
  const { acls, quotas, users } = reading
  return { taken_at: takenAt, key, size, blake3, acls: stateOf(acls), quotas: stateOf(quotas), users: stateOf(users) }
}

function itemsOf<T>(reading: Reading<T>): T[] {
  return reading.state === 'taken' ? reading.items : []
}

function stateOf(reading: Reading<unknown>): AccessSection['acls'] {
  return reading.state === 'taken' ? { state: 'taken', count: reading.items.length } : reading
}

/** The rules that a section names. An object that is gone, or has other bytes, is damage. */
export async function readAccess(storage: Storage, section: AccessSection, signal: AbortSignal): Promise<AccessFile> {
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
  return parseAs(accessFileSchema, bytes.toString('utf8'), key)
}

export interface AccessFindings {
  objects: number
  bytes: number
  problems: Problem[]
}

/** What is wrong with the rules of access of a backup. The object is small: it is read whole. */
export async function verifyAccess(
  storage: Storage,
  { access: section }: Pick<Manifest, 'access'>,
  signal: AbortSignal,
): Promise<AccessFindings> {
  if (!section) return { objects: 0, bytes: 0, problems: [] }
  const { key, size } = section
  const found = { objects: 1, bytes: size }
  try {
    return { ...found, problems: compareCounts(await readAccess(storage, section, signal), section) }
  } catch (error) {
    if (!hasCode(error, 'ARCHIVE_DAMAGED', 'ARCHIVE_TOO_NEW')) throw error
    return { ...found, problems: [{ key, problem: problemOf(error, key) }] }
  }
}

function compareCounts(file: AccessFile, section: AccessSection): Problem[] {
  return accessKinds.flatMap(kind => {
    const said = section[kind]
    const [expected, { length }] = [said.state === 'taken' ? said.count : 0, file[kind]]
    return expected === length ? [] : [{ key: section.key, problem: `it has ${length} ${kind} instead of ${expected}` }]
  })
}
