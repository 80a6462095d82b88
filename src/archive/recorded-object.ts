import { hasCode } from '../errors.ts'
import { formatJson } from '../lib/json.ts'
import type { Storage } from '../storage/storage.ts'
import { damaged, problemOf, readNamed } from './damage.ts'
import { hashOf } from './hash.ts'
import type { Problem } from './verify-objects.ts'

/** A small object whose size and hash the manifest records. */
interface RecordedObject {
  key: string
  size: number
  blake3: string
}

/** For the generation that will name the object. */
export interface SectionTarget<Section> {
  backupId: string
  generation: number
  run: string
  takenAt: string
  /** The section of the previous generation: an equal object is named again instead of written. */
  previous: Section | undefined
}

/** Writes the document durably, unless the previous object is equal. It counts only once a manifest names it. */
export async function writeRecorded(
  storage: Pick<Storage, 'create'>,
  document: object,
  { newKey, previous }: { newKey: string; previous: RecordedObject | undefined },
  signal: AbortSignal,
): Promise<RecordedObject> {
  const bytes = Buffer.from(`${formatJson(document, 1)}\n`)
  const [size, blake3] = [bytes.length, hashOf(bytes)]
  if (previous?.size === size && previous.blake3 === blake3) return { key: previous.key, size, blake3 }
  await storage.create(newKey, bytes, signal)
  return { key: newKey, size, blake3 }
}

/** The bytes of the object. A missing object or other bytes are damage. */
export async function readRecorded(
  storage: Storage,
  { key, size, blake3 }: RecordedObject,
  signal: AbortSignal,
): Promise<Buffer> {
  const bytes = await readNamed(storage, key, signal)
  if (bytes.length === size && hashOf(bytes) === blake3) return bytes
  throw damaged(key, 'is not the object that the manifest recorded')
}

export interface ObjectFindings {
  objects: number
  bytes: number
  problems: Problem[]
}

/** Runs a check that reads the object; damage is a problem that it found. */
export async function verifyRecorded(
  { key, size }: RecordedObject,
  check: () => Promise<string[]>,
): Promise<ObjectFindings> {
  const found = { objects: 1, bytes: size }
  try {
    return { ...found, problems: (await check()).map(problem => ({ key, problem })) }
  } catch (error) {
    if (!hasCode(error, 'ARCHIVE_DAMAGED', 'ARCHIVE_TOO_NEW')) throw error
    return { ...found, problems: [{ key, problem: problemOf(error, key) }] }
  }
}
