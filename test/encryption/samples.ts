import { randomBytes } from 'node:crypto'
import type { Credential } from '../../src/encryption/credential.ts'
import { type EncryptedStorage, withEncryption } from '../../src/encryption/encrypted-storage.ts'
import type { KeyOptions } from '../../src/encryption/key-state.ts'
import { systemClock } from '../../src/lib/clock.ts'
import type { Storage } from '../../src/storage/storage.ts'

export const never = new AbortController().signal

export function keyOf(byte: number | Buffer = randomBytes(32), name?: string): Credential {
  return { kind: 'key', key: typeof byte === 'number' ? Buffer.alloc(32, byte) : byte, from: 'a test', name }
}

/** What reads and writes the backup `b1`, which is to be encrypted. */
export function ownKeys(credentials: readonly Credential[], hideNames = false, backupId = 'b1'): KeyOptions {
  return { ...givenKeys(credentials), own: { backupId, hideNames } }
}

/** What only has keys, as `--key-file` gives them. */
export function givenKeys(credentials: readonly Credential[]): KeyOptions {
  return {
    loadCredentials: async () => credentials,
    hasCredentials: credentials.length > 0,
    mayAskKms: true,
    clock: systemClock,
  }
}

/** Every folder at the top as an encrypted backup, without its keys in the listings: an empty store to whoever uses it. */
export function encryptEverything(inner: Storage): Storage {
  const credentials = [keyOf()]
  const byId = new Map<string, EncryptedStorage>()
  const of = (key: string): EncryptedStorage => {
    const [backupId = ''] = key.split('/')
    const found = byId.get(backupId) ?? withEncryption(inner, ownKeys(credentials, false, backupId))
    byId.set(backupId, found)
    return found
  }
  return {
    location: inner.location,
    writerBytes: inner.writerBytes,
    create: (key, body, signal) => of(key).create(key, body, signal),
    replace: (key, body, signal) => of(key).replace(key, body, signal),
    openWriter: (key, signal) => of(key).openWriter(key, signal),
    read: (key, signal) => of(key).read(key, signal),
    readRange: (key, start, length, signal) => of(key).readRange(key, start, length, signal),
    stat: (key, signal) => of(key).stat(key, signal),
    list: async function* (prefix, signal) {
      for await (const object of of(prefix).list(prefix, signal)) if (!object.key.includes('/keys/')) yield object
    },
    listFolders: async function* (prefix, signal) {
      for await (const folder of of(prefix).listFolders(prefix, signal)) if (folder !== 'keys') yield folder
    },
    remove: (key, signal) => of(key).remove(key, signal),
    close: () => inner.close(),
  }
}
