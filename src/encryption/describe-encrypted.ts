import { KafkaBackupError } from '../errors.ts'
import type { Storage } from '../storage/storage.ts'
import { keysPrefix, parseKeysVersion } from './keys-file.ts'
import { SNAPSHOTS } from './snapshot-keys.ts'

/**
 * Says what at a location is encrypted, in words of a message; undefined where nothing is. Needs no key. It is for a warning:
 * a store that refuses the listing does not make the work fail.
 */
export async function describeEncrypted(storage: Storage, signal: AbortSignal): Promise<string | undefined> {
  try {
    for await (const folder of storage.listFolders('', signal)) {
      if (!(await hasKeys(storage, folder, signal))) continue
      const what = folder === SNAPSHOTS ? 'other snapshots' : `the backup \`${folder}\``
      return `${what} at ${storage.location} ${folder === SNAPSHOTS ? 'are' : 'is'}`
    }
  } catch (error) {
    if (signal.aborted || !(error instanceof KafkaBackupError)) throw error
  }
  return undefined
}

async function hasKeys(storage: Storage, folder: string, signal: AbortSignal): Promise<boolean> {
  for await (const { key } of storage.list(keysPrefix(folder), signal)) {
    if (parseKeysVersion(key) !== undefined) return true
  }
  return false
}
