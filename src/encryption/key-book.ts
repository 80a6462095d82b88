import { hasCode, KafkaBackupError } from '../errors.ts'
import { type Clock, formatUtc } from '../lib/clock.ts'
import type { Storage } from '../storage/storage.ts'
import type { Credential } from './credential.ts'
import { type DataKey, newDataKey } from './key-wrap.ts'
import { decodeKeysFile, encodeKeysFile, type KeysFile, keysKey, keysPrefix, parseKeysVersion } from './keys-file.ts'
import { wrapAll } from './recipients.ts'

/** A reader that lost the race with a rewrap finds the newer file at its next try. */
const TRIES = 3

/** The newest keys file of a backup; undefined where it has none. */
export async function readKeysFile(
  storage: Storage,
  backupId: string,
  signal: AbortSignal,
): Promise<KeysFile | undefined> {
  for (let attempt = 1; ; attempt++) {
    const version = (await listVersions(storage, backupId, signal)).at(-1)
    if (version === undefined) return undefined
    const key = keysKey(backupId, version)
    try {
      return decodeKeysFile(await storage.read(key, signal), key)
    } catch (error) {
      if (!hasCode(error, 'STORAGE_NOT_FOUND') || attempt === TRIES) throw error
    }
  }
}

interface NewKeys {
  backupId: string
  hideNames: boolean
  credentials: readonly Credential[]
}

/** Makes the first keys file of a backup. Answers with the one that is there then, which may be another process's. */
export async function createKeysFile(
  storage: Storage,
  { backupId, hideNames, credentials }: NewKeys,
  clock: Clock,
  signal: AbortSignal,
): Promise<KeysFile | undefined> {
  const created_at = formatUtc(clock.now())
  const head = { backup_id: backupId, hide_names: hideNames }
  const keys = await wrapAll(credentials, head, [{ ...newDataKey(), createdAt: created_at }], signal)
  const file = fileOf({ ...head, version: 1, created_at, ...keys })
  try {
    await storage.create(keysKey(backupId, 1), encodeKeysFile(file), signal)
  } catch (error) {
    if (!hasCode(error, 'STORAGE_EXISTS')) throw error
  }
  return readKeysFile(storage, backupId, signal)
}

/** Puts the data keys of a backup into a newer file, wrapped for others. The older files stay where they are. */
export async function writeNextKeysFile(
  storage: Storage,
  file: KeysFile,
  {
    credentials,
    dataKeys,
  }: { credentials: readonly Credential[]; dataKeys: readonly (DataKey & { createdAt: string })[] },
  clock: Clock,
  signal: AbortSignal,
): Promise<KeysFile> {
  const { backup_id, hide_names } = file
  const version = file.version + 1
  const keys = await wrapAll(credentials, { backup_id, hide_names }, dataKeys, signal)
  const next = fileOf({ backup_id, hide_names, version, created_at: formatUtc(clock.now()), ...keys })
  const key = keysKey(backup_id, version)
  try {
    await storage.create(key, encodeKeysFile(next), signal)
  } catch (error) {
    if (!hasCode(error, 'STORAGE_EXISTS')) throw error
    const message = `another process wrote ${key} at ${storage.location} meanwhile`
    throw new KafkaBackupError('WRITER_CONFLICT', message, { cause: error, help: 'Look at `kafka-backup key list`.' })
  }
  return decodeKeysFile(await storage.read(key, signal), key)
}

export async function removeOlderFiles(storage: Storage, file: KeysFile, signal: AbortSignal): Promise<number> {
  const older = (await listVersions(storage, file.backup_id, signal)).filter(version => version < file.version)
  for (const version of older) await storage.remove(keysKey(file.backup_id, version), signal)
  return older.length
}

async function listVersions(storage: Storage, backupId: string, signal: AbortSignal): Promise<number[]> {
  const versions: number[] = []
  for await (const { key } of storage.list(keysPrefix(backupId), signal)) {
    const version = parseKeysVersion(key)
    if (version !== undefined) versions.push(version)
  }
  return versions.sort((a, b) => a - b)
}

function fileOf(content: Omit<KeysFile, 'format' | 'format_version'>): KeysFile {
  return { format: 'kafka-backup-keys', format_version: 1, ...content }
}
