import { hasCode, KafkaBackupError } from '../errors.ts'
import { type Clock, formatUtc } from '../lib/clock.ts'
import type { Storage } from '../storage/storage.ts'
import type { Credential } from './credential.ts'
import { readKeysFile, removeOlderFiles, writeNextKeysFile } from './key-book.ts'
import { type DataKey, newDataKey } from './key-wrap.ts'
import { type KeysFile, keysKey } from './keys-file.ts'
import { type OpenKeys, openKeys } from './open-keys.ts'
import { rewrapSnapshots, type SnapshotRewrap } from './rewrap-snapshots.ts'

interface RewrapOptions {
  backupId: string
  /** Who is to open the backup from now on. */
  recipients: readonly Credential[]
  /** Keys of today, where none of the recipients is one. */
  present: readonly Credential[]
  /** What is written from now on gets another data key. What is there stays as it is. */
  isDataKeyNew: boolean
}

/**
 * Wraps the data keys of a backup, and of offset snapshots that were taken for its recipients, for others. No object is touched. The files of before are removed when the new one was
 * read back and opened by each of its recipients.
 */
export async function rewrapKeys(
  storage: Storage,
  { backupId, recipients, present, isDataKeyNew }: RewrapOptions,
  clock: Clock,
  signal: AbortSignal,
): Promise<{ file: KeysFile; removed: number; snapshots: SnapshotRewrap }> {
  const file = await requireKeysFile(storage, backupId, signal)
  // Not whatever KMS key the file names: what it unwraps is to be trusted from now on.
  const { byId } = await openKeys(file, { credentials: [...present, ...recipients], mayAskKms: false }, signal)
  const dataKeys = file.data_keys.map(({ id, created_at }) => ({ ...required(byId, id), createdAt: created_at }))
  if (isDataKeyNew) dataKeys.push({ ...newDataKey(), createdAt: formatUtc(clock.now()) })
  // First, because the keys file of the backup says whom snapshots were taken for: a run that dies in between can be repeated.
  const snapshots = await rewrapSnapshots(storage, { former: file, recipients, present }, clock, signal)
  const next = await writeNextKeysFile(storage, file, { credentials: recipients, dataKeys }, clock, signal)
  for (const recipient of recipients) {
    assertSame(dataKeys, await openKeys(next, { credentials: [recipient], mayAskKms: false }, signal))
  }
  return { file: next, removed: await removeOlder(storage, next, signal), snapshots }
}

async function removeOlder(storage: Storage, file: KeysFile, signal: AbortSignal): Promise<number> {
  try {
    return await removeOlderFiles(storage, file, signal)
  } catch (error) {
    if (!hasCode(error, 'STORAGE_DENIED', 'STORAGE_RETAINED')) throw error
    const message = `${keysKey(file.backup_id, file.version)} counts from now on, but an older keys file cannot be removed: ${error.message}`
    throw new KafkaBackupError(error.code, message, {
      cause: error,
      help: 'Do not rewrap again. Remove the older file when the store lets you: until then former recipients open it.',
    })
  }
}

/** Of a backup that must be encrypted. */
export async function requireKeysFile(storage: Storage, backupId: string, signal: AbortSignal): Promise<KeysFile> {
  const file = await readKeysFile(storage, backupId, signal)
  if (file) return file
  const message = `there is no encrypted backup \`${backupId}\` at ${storage.location}`
  throw new KafkaBackupError('ENCRYPTION_MISMATCH', message, {
    help: '`kafka-backup list` shows the backups there. `key` needs an encrypted one.',
  })
}

function required(keys: ReadonlyMap<string, DataKey>, id: string): DataKey {
  const key = keys.get(id)
  if (key) return key
  throw new KafkaBackupError('INTERNAL', `the data key ${id} was not opened`)
}

function assertSame(dataKeys: readonly DataKey[], { byId }: OpenKeys): void {
  if (dataKeys.every(({ id, bytes }) => byId.get(id)?.bytes.equals(bytes))) return
  throw new KafkaBackupError('INTERNAL', 'the keys that were written are not those that were read back')
}
