import { hasCode, KafkaBackupError } from '../errors.ts'
import type { Storage } from '../storage/storage.ts'
import { readKeysFile, removeOlderFiles } from './key-book.ts'
import { isBesideData } from './key-state.ts'
import { type KeysFile, keysKey } from './keys-file.ts'

/**
 * Gives the copy of an encrypted backup the keys of the original: whoever opens the one opens the other, and a change of
 * recipients follows with the next copy. Refuses a target whose backup is not encrypted, or with keys of its own.
 */
export async function carryKeys(
  { source, target }: { source: Storage; target: Storage },
  backupId: string,
  signal: AbortSignal,
): Promise<void> {
  const file = await readKeysFile(source, backupId, signal)
  if (!file) throw new KafkaBackupError('INTERNAL', `the backup \`${backupId}\` has no keys to carry over`)
  const there = await readKeysFile(target, backupId, signal)
  if (there ? !isSame(file, there) : await holdsData(target, backupId, signal)) throw otherwise(target, backupId, there)
  if (there && there.version >= file.version) return
  const key = keysKey(backupId, file.version)
  try {
    await target.create(key, await source.read(key, signal), signal)
  } catch (error) {
    if (!hasCode(error, 'STORAGE_EXISTS')) throw error
  }
  await removeOlderFiles(target, file, signal)
}

/** Data keys are never taken away, so two files of one backup share the first. */
function isSame(one: KeysFile, other: KeysFile): boolean {
  return one.data_keys[0]?.id === other.data_keys[0]?.id
}

async function holdsData(storage: Storage, backupId: string, signal: AbortSignal): Promise<boolean> {
  for await (const { key } of storage.list(`${backupId}/`, signal)) if (!isBesideData(key)) return true
  return false
}

function otherwise({ location }: Storage, backupId: string, there: KeysFile | undefined): KafkaBackupError {
  const how = there ? 'is encrypted with other keys than the source' : 'is not encrypted, and the source is'
  return new KafkaBackupError('ENCRYPTION_MISMATCH', `the backup \`${backupId}\` at ${location} ${how}`, {
    help: there
      ? 'Give its `encryption` by `--to-config`, or copy to another location.'
      : 'Give `--decrypt` to go on with a copy that is not encrypted, or copy to another location.',
  })
}
