import { damaged } from '../archive/damage.ts'
import { KafkaBackupError } from '../errors.ts'
import type { Storage, StoredObject } from '../storage/storage.ts'
import { isStoredPlain, type KeyOptions, KeyState, notEncrypted } from './key-state.ts'
import { ObjectCipher, openObject, sealObject } from './object-cipher.ts'
import { decodeHeader, isSealed, newerObject, plainSizeOf } from './object-header.ts'
import type { OpenKeys } from './open-keys.ts'
import { SealedReader } from './sealed-reader.ts'
import { SEALED_WRITER_BYTES, SealedWriter } from './sealed-writer.ts'
import { SNAPSHOTS } from './snapshot-keys.ts'

export interface EncryptedStorage extends Storage {
  /** The keys that a backup is written with, made where it is to be encrypted and new; undefined where it is not. */
  keysFor(backupId: string, signal: AbortSignal): Promise<OpenKeys | undefined>
  /** The keys that a backup has; undefined where it is not encrypted. Makes none. */
  existingKeys(backupId: string, signal: AbortSignal): Promise<OpenKeys | undefined>
  /** Reads whether a backup has keys, although it may be known: another process may have made them since. */
  readKeysAgain(backupId: string, signal: AbortSignal): Promise<boolean>
  /** As `list`, with the sizes that the objects have in the store. */
  listStored(prefix: string, signal: AbortSignal): AsyncIterable<StoredObject>
}

/** Top-level folders that are not backups. Snapshots are encrypted one by one, for different recipients: `SnapshotVault`. */
const otherFolders = new Set([SNAPSHOTS])

/**
 * Encrypts what is written below the folder of a backup that has keys, and decrypts what is read; callers see plain
 * bytes and plain sizes. Keys and leases, and what belongs to no backup, pass as they are. Backups without keys pass too.
 * One thing is looser than in the contract: until something of a backup was read, its `manifests/` are listed with their
 * stored sizes, which are not compared, so that finding the newest costs a backup without encryption nothing.
 */
export function withEncryption(storage: Storage, options: KeyOptions): EncryptedStorage {
  if (options.own && otherFolders.has(options.own.backupId)) throw neverEncrypted(options.own.backupId)
  const state = new KeyState(storage, options)
  const reader = new SealedReader(storage, createCipherOf(state))
  const cipherFor = (key: string, signal: AbortSignal) => {
    reader.forget(key)
    return createCipher(key, state, signal)
  }
  const isEncrypted = (key: string, signal: AbortSignal) => hasEncryption(key, state, signal)
  return {
    location: storage.location,
    writerBytes: storage.writerBytes + (options.own ? SEALED_WRITER_BYTES : 0),
    keysFor: (backupId, signal) => state.keysForWriting(backupId, signal),
    existingKeys: (backupId, signal) => state.existingKeysOf(backupId, signal),
    readKeysAgain: (backupId, signal) => state.readAgain(backupId, signal),
    create: async (key, body, signal) => {
      const cipher = await cipherFor(key, signal)
      await storage.create(key, cipher ? sealObject(cipher, body) : body, signal)
    },
    replace: async (key, body, signal) => {
      const cipher = await cipherFor(key, signal)
      await storage.replace(key, cipher ? sealObject(cipher, body) : body, signal)
    },
    openWriter: async (key, signal) => {
      const cipher = await cipherFor(key, signal)
      const writer = await storage.openWriter(key, signal)
      return cipher ? new SealedWriter(writer, cipher) : writer
    },
    read: async (key, signal) => openWhole(key, await storage.read(key, signal), state, signal),
    readRange: async (key, start, length, signal) =>
      (await isEncrypted(key, signal))
        ? reader.readRange(key, start, length, signal)
        : storage.readRange(key, start, length, signal),
    stat: async (key, signal) => {
      const object = await storage.stat(key, signal)
      return object && (await isEncrypted(key, signal)) ? withPlainSize(object) : object
    },
    listStored: (prefix, signal) => storage.list(prefix, signal),
    list: (prefix, signal) => listPlain(storage.list(prefix, signal), state, signal),
    listFolders: (prefix, signal) => storage.listFolders(prefix, signal),
    remove: (key, signal) => {
      reader.forget(key)
      return storage.remove(key, signal)
    },
    close: () => {
      state.end()
      return storage.close()
    },
  }
}

function neverEncrypted(folder: string): KafkaBackupError {
  return new KafkaBackupError('CONFIG_INVALID', `a backup called \`${folder}\` cannot be encrypted`, {
    help: 'That folder holds what belongs to no backup. Take another `backup_id`.',
  })
}

/** The backup whose encryption an object has; undefined for one that is stored as it is. */
function backupOf(key: string): string | undefined {
  const at = key.indexOf('/')
  if (at < 1 || isStoredPlain(key)) return undefined
  const folder = key.slice(0, at)
  return otherFolders.has(folder) ? undefined : folder
}

async function hasEncryption(key: string, state: KeyState, signal: AbortSignal): Promise<boolean> {
  const backupId = backupOf(key)
  return backupId !== undefined && (await state.isEncrypted(backupId, signal))
}

async function createCipher(key: string, state: KeyState, signal: AbortSignal): Promise<ObjectCipher | undefined> {
  const backupId = backupOf(key)
  const keys = backupId === undefined ? undefined : await state.keysForWriting(backupId, signal)
  return keys && ObjectCipher.create(keys.current, key)
}

function createCipherOf(state: KeyState) {
  return async (key: string, begin: Buffer, signal: AbortSignal): Promise<ObjectCipher> => {
    if (!isSealed(begin)) throw notEncrypted(key)
    const backupId = backupOf(key) ?? ''
    const header = decodeHeader(begin, key)
    const keys = await state.keysOf(backupId, signal)
    const dataKey =
      keys.byId.get(header.dataKeyId) ?? (await state.renewedKeysOf(backupId, signal)).byId.get(header.dataKeyId)
    if (dataKey) return new ObjectCipher(header, dataKey, key)
    if (header.unknownVersion !== undefined) throw newerObject(key, header.unknownVersion)
    throw damaged(
      key,
      `is encrypted with the data key ${header.dataKeyId}, which is none of the backup \`${backupId}\``,
    )
  }
}

async function openWhole(key: string, bytes: Buffer, state: KeyState, signal: AbortSignal): Promise<Buffer> {
  const backupId = backupOf(key)
  if (backupId === undefined) return bytes
  if (isSealed(bytes)) return openObject(await createCipherOf(state)(key, bytes, signal), bytes)
  await state.meetPlain(backupId, key, signal)
  return bytes
}

async function* listPlain(
  objects: AsyncIterable<StoredObject>,
  state: KeyState,
  signal: AbortSignal,
): AsyncGenerator<StoredObject> {
  for await (const object of objects) {
    const backupId = backupOf(object.key)
    const isEncrypted = backupId !== undefined && (await isEncryptedListed(backupId, object.key, state, signal))
    yield isEncrypted ? withPlainSize(object) : object
  }
}

async function isEncryptedListed(
  backupId: string,
  key: string,
  state: KeyState,
  signal: AbortSignal,
): Promise<boolean> {
  const isKnown = state.isEncryptedSoFar(backupId)
  if (isKnown !== undefined || key.startsWith(`${backupId}/manifests/`)) return isKnown ?? false
  return state.isEncrypted(backupId, signal)
}

/** An impossible size of an encrypted object never matches an expected size. */
function withPlainSize(object: StoredObject): StoredObject {
  return { ...object, size: plainSizeOf(object.size) ?? 0 }
}
