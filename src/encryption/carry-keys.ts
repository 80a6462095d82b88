import { hasCode, KafkaBackupError } from '../errors.ts'
import type { Storage } from '../storage/storage.ts'
import { readKeysFile, removeOlderFiles } from './key-book.ts'
import { isStoredPlain } from './key-state.ts'
import { type KeysFile, keysKey, keysPrefix } from './keys-file.ts'

interface Sides {
  source: Storage
  target: Storage
}

/**
 * Gives the copy of an encrypted backup the keys of the original: the same keys decrypt both, and a change of
 * recipients follows with the next copy. Refuses a target whose backup is not encrypted, or has other keys. Reports it
 * where the store keeps the file of former recipients.
 */
export async function carryKeys(sides: Sides, backupId: string, signal: AbortSignal): Promise<string | undefined> {
  const { source, target } = sides
  const { file, there } = await readBoth(sides, backupId, signal)
  if (there && there.version > file.version) return undefined
  const key = keysKey(backupId, file.version)
  try {
    if (there?.version !== file.version) await target.create(key, await source.read(key, signal), signal)
  } catch (error) {
    if (!hasCode(error, 'STORAGE_EXISTS')) throw error
  }
  try {
    await removeOlderFiles(target, file, signal)
    return undefined
  } catch (error) {
    if (!hasCode(error, 'STORAGE_DENIED', 'STORAGE_RETAINED')) throw error
    const what = `files in ${keysPrefix(backupId)} at ${target.location} that are older than ${key} cannot be removed`
    return `${what}, so that former recipients still open them: ${error.message}`
  }
}

/** Refuses what `carryKeys` refuses, and writes nothing. */
export async function assertCarries(sides: Sides, backupId: string, signal: AbortSignal): Promise<void> {
  await readBoth(sides, backupId, signal)
}

/** Needs no key. */
export async function isEncrypted(storage: Storage, backupId: string, signal: AbortSignal): Promise<boolean> {
  return (await readKeysFile(storage, backupId, signal)) !== undefined
}

async function readBoth(
  { source, target }: Sides,
  backupId: string,
  signal: AbortSignal,
): Promise<{ file: KeysFile; there: KeysFile | undefined }> {
  const file = await readKeysFile(source, backupId, signal)
  if (!file) throw new KafkaBackupError('INTERNAL', `the backup \`${backupId}\` has no keys to carry over`)
  const there = await readKeysFile(target, backupId, signal)
  if (there ? isSame(file, there) : !(await holdsData(target, backupId, signal))) return { file, there }
  throw otherwise(target, backupId, there)
}

/** Data keys are never taken away, so two files of one backup share the first. */
function isSame(one: KeysFile, other: KeysFile): boolean {
  return one.data_keys[0]?.id === other.data_keys[0]?.id
}

async function holdsData(storage: Storage, backupId: string, signal: AbortSignal): Promise<boolean> {
  for await (const { key } of storage.list(`${backupId}/`, signal)) if (!isStoredPlain(key)) return true
  return false
}

function otherwise({ location }: Storage, backupId: string, there: KeysFile | undefined): KafkaBackupError {
  const how = there ? 'is encrypted with other keys than the source' : 'is not encrypted, and the source is'
  return new KafkaBackupError('ENCRYPTION_MISMATCH', `the backup \`${backupId}\` at ${location} ${how}`, {
    help: there
      ? 'Give its `encryption` by `--to-config`, or copy to another location.'
      : 'Give `--decrypt` to continue with a copy that is not encrypted, or copy to another location.',
  })
}
