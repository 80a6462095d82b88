import * as z from 'zod'
import { hasCode } from '../errors.ts'
import type { Storage } from '../storage/storage.ts'
import { manifestCopyKey, manifestKey } from './layout.ts'
import { LOG_VERSION } from './log/document.ts'
import { commitKey } from './log/keys.ts'
import { FORMAT_VERSION, type Manifest, parseManifest, parseSealed } from './manifest.ts'
import type { Problem } from './verify-objects.ts'

/** What should be known of the copy of the manifest. One that is old or gone does not put the data in doubt. */
export async function judgeCopy(
  storage: Storage,
  { backup_id, generation, format_version }: Manifest,
  problems: Problem[],
  signal: AbortSignal,
): Promise<string[]> {
  const warnings: string[] = []
  const key = manifestCopyKey(backup_id)
  const copy = await readIfThere(storage, key, signal)
  const isLog = format_version > FORMAT_VERSION
  const copied = copy && (generationIn(copy) ?? (isLog ? stateIn(copy) : undefined))
  if (copied !== undefined && copied > generation) {
    // The copy is made after its generation: a copy that is ahead means that a manifest was removed.
    const missing = isLog ? commitKey(backup_id, copied) : manifestKey(backup_id, copied)
    problems.push({ key: missing, problem: `it is missing: ${key} is a copy of it` })
  } else if (copy && isLog && stateIn(copy) !== undefined) {
    // It is renewed now and then only.
    return warnings
  } else if (copy && !(await isCommitted(storage, backup_id, copied, copy, signal))) {
    problems.push({ key, problem: 'it does not equal a committed generation: it was changed' })
  } else if (copied !== generation) {
    warnings.push(`${key} is not a copy of the newest generation; the next run renews it`)
  }
  return warnings
}

/** Undefined for a copy that is damaged. */
function generationIn(copy: Buffer): number | undefined {
  try {
    return parseManifest(copy, 'the copy').generation
  } catch {
    return undefined
  }
}

/** The generation whose state a copy of version 2 shows; undefined for one that is damaged. */
function stateIn(copy: Buffer): number | undefined {
  try {
    return parseSealed(copiedState, copy, 'the copy', LOG_VERSION).generation
  } catch {
    return undefined
  }
}

const copiedState = z.looseObject({
  format_version: z.literal(LOG_VERSION),
  generation: z.int().positive(),
  checksum: z.string(),
})

async function isCommitted(
  storage: Storage,
  backupId: string,
  generation: number | undefined,
  copy: Buffer,
  signal: AbortSignal,
): Promise<boolean> {
  if (generation === undefined) return false
  return (await readIfThere(storage, manifestKey(backupId, generation), signal))?.equals(copy) ?? false
}

async function readIfThere(storage: Storage, key: string, signal: AbortSignal): Promise<Buffer | undefined> {
  try {
    return await storage.read(key, signal)
  } catch (error) {
    if (hasCode(error, 'STORAGE_NOT_FOUND')) return undefined
    // One that does not even open, in an encrypted backup, is a copy of nothing.
    if (hasCode(error, 'ARCHIVE_DAMAGED')) return Buffer.alloc(0)
    throw error
  }
}
