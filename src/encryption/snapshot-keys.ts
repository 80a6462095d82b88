import { hasCode } from '../errors.ts'
import type { Storage } from '../storage/storage.ts'
import type { Credential } from './credential.ts'
import type { DataKey } from './key-wrap.ts'
import { decodeKeysFile, encodeKeysFile, type KeysFile, keysKey, keysPrefix, parseKeysVersion } from './keys-file.ts'
import { recipientId, unwrapAll, wrapAll } from './recipients.ts'

/** In place of a backup id. The folder belongs to no backup, and no backup can have this id. */
export const SNAPSHOTS = 'offset-snapshots'

/** Versions of the keys files of offset snapshots, newest first. Unlike those of a backup all of them count. */
export async function listSnapshotKeys(storage: Storage, signal: AbortSignal): Promise<number[]> {
  const versions: number[] = []
  for await (const { key } of storage.list(keysPrefix(SNAPSHOTS), signal)) {
    const version = parseKeysVersion(key)
    if (version !== undefined && key === keysKey(SNAPSHOTS, version)) versions.push(version)
  }
  return versions.sort((a, b) => b - a)
}

/** A file that is damaged opens nothing, and must not hide the others. */
export async function* readSnapshotKeys(
  storage: Storage,
  versions: readonly number[],
  signal: AbortSignal,
): AsyncGenerator<KeysFile> {
  for (const version of versions) {
    const key = keysKey(SNAPSHOTS, version)
    try {
      yield decodeKeysFile(await storage.read(key, signal), key)
    } catch (error) {
      if (!hasCode(error, 'ARCHIVE_DAMAGED', 'STORAGE_NOT_FOUND')) throw error
    }
  }
}

interface NewSnapshotKeys {
  recipients: readonly Credential[]
  dataKey: DataKey & { createdAt: string }
  createdAt: string
}

/** STORAGE_EXISTS where another process took the number at the same time. */
export async function createSnapshotKeys(
  storage: Storage,
  { recipients, dataKey, createdAt }: NewSnapshotKeys,
  versions: readonly number[],
  signal: AbortSignal,
): Promise<KeysFile> {
  const head = { backup_id: SNAPSHOTS, hide_names: false }
  const keys = await wrapAll(recipients, head, [dataKey], signal)
  const format = { format: 'kafka-backup-keys', format_version: 1 } as const
  const file: KeysFile = { ...format, ...head, version: nextVersion(versions), created_at: createdAt, ...keys }
  await storage.create(keysKey(SNAPSHOTS, file.version), encodeKeysFile(file), signal)
  return file
}

/** By what the file says, which costs nothing to compare. */
export function isFor(file: KeysFile, recipients: readonly Credential[]): boolean {
  const stated = new Set(file.recipients.map(({ kind, id }) => `${kind} ${id}`))
  const isSized = stated.size === recipients.length && file.recipients.length === recipients.length
  return isSized && recipients.every(one => stated.has(`${one.kind} ${recipientId(one)}`))
}

export async function opensWithEach(
  file: KeysFile,
  recipients: readonly Credential[],
  signal: AbortSignal,
): Promise<boolean> {
  for (const credential of recipients) {
    if (!(await opensWith(file, credential, signal))) return false
  }
  return true
}

async function opensWith(file: KeysFile, credential: Credential, signal: AbortSignal): Promise<boolean> {
  for (const recipient of file.recipients) {
    try {
      if (await unwrapAll(credential, recipient, file, signal)) return true
    } catch (error) {
      // KMS refuses what it did not wrap.
      if (!hasCode(error, 'ENCRYPTION_KEY')) throw error
    }
  }
  return false
}

/** Gaps are filled: a planted file with a very high number must not use up the numbers. */
function nextVersion(versions: readonly number[]): number {
  const taken = new Set(versions)
  let version = 1
  while (taken.has(version)) version++
  return version
}
