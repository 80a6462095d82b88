import { hasCode, KafkaBackupError } from '../errors.ts'
import { type Clock, formatUtc } from '../lib/clock.ts'
import type { Storage } from '../storage/storage.ts'
import type { Credential } from './credential.ts'
import { type DataKey, newDataKey } from './data-key.ts'
import { decodeKeysFile, encodeKeysFile, type KeysFile, keysKey, keysPrefix, parseKeysVersion } from './keys-file.ts'
import { ObjectCipher, openObject, sealObject } from './object-cipher.ts'
import { decodeHeader, isSealed } from './object-header.ts'
import { type OpenKeys, openKeys } from './open-keys.ts'
import { unwrapAll, wrapAll } from './recipients.ts'

/** In place of a backup id. The folder belongs to no backup, and no backup can have this id. */
export const SNAPSHOTS = 'offset-snapshots'
/** More sets of recipients than anybody has; bounds what a hostile folder makes a reader fetch. */
const MAX_FILES = 1000
const TRIES = 5

export interface VaultOptions {
  /** Everything that may open a snapshot. */
  loadCredentials: () => Promise<readonly Credential[]>
  /** Whom new snapshots are encrypted for. */
  loadRecipients: () => Promise<readonly Credential[]>
  hasCredentials: boolean
  mayAskKms: boolean
  clock: Clock
}

/**
 * Encrypts offset snapshots for the recipients of whoever takes them. All jobs of a location share one folder, so there are
 * as many keys files in `offset-snapshots/keys/` as there are sets of recipients, and all of them count: each holds one data
 * key, and the header of a snapshot names the data key that it needs.
 */
export class SnapshotVault {
  readonly #storage: Storage
  readonly #options: VaultOptions
  readonly #opened = new Map<string, OpenKeys>()

  constructor(storage: Storage, options: VaultOptions) {
    this.#storage = storage
    this.#options = options
  }

  /** Whether snapshots are written encrypted here, and a plain one is suspicious. */
  get isExpected(): boolean {
    return this.#options.hasCredentials
  }

  /** As it is to be stored. Without any key it stays plain. */
  async seal(key: string, plain: Buffer, signal: AbortSignal): Promise<Buffer> {
    if (!this.isExpected) return plain
    return sealObject(ObjectCipher.create(await this.#keyForWriting(signal), key), plain)
  }

  async open(key: string, stored: Buffer, signal: AbortSignal): Promise<{ bytes: Buffer; isEncrypted: boolean }> {
    if (!isSealed(stored)) return { bytes: stored, isEncrypted: false }
    const header = decodeHeader(stored, key)
    const keys = await this.#keysOf(header.dataKeyId, key, signal)
    const dataKey = keys.byId.get(header.dataKeyId)
    if (!dataKey) throw new KafkaBackupError('INTERNAL', `a keys file lost the data key ${header.dataKeyId}`)
    return { bytes: openObject(new ObjectCipher(header, dataKey, key), stored), isEncrypted: true }
  }

  async #keysOf(dataKeyId: string, key: string, signal: AbortSignal): Promise<OpenKeys> {
    const known = this.#opened.get(dataKeyId)
    if (known) return known
    const { files } = await this.#readFiles(signal)
    const file = files.find(({ data_keys }) => data_keys.some(({ id }) => id === dataKeyId))
    if (!file) {
      const message = `${key} is encrypted with the data key ${dataKeyId}, which no file in ${keysPrefix(SNAPSHOTS)} holds`
      const help = 'Put the keys file back from a copy of the store: without it nothing opens the snapshot.'
      throw new KafkaBackupError('ARCHIVE_DAMAGED', message, { help })
    }
    const { loadCredentials, mayAskKms } = this.#options
    try {
      return this.#remember(await openKeys(file, { credentials: await loadCredentials(), mayAskKms }, signal))
    } catch (error) {
      throw hasCode(error, 'ENCRYPTION_KEY') ? asOfSnapshot(key, error) : error
    }
  }

  /** The newest data key that is wrapped for exactly these recipients and opens with each of them; a new one otherwise. */
  async #keyForWriting(signal: AbortSignal): Promise<DataKey> {
    const recipients = await this.#options.loadRecipients()
    for (let attempt = 1; ; attempt++) {
      const { files, versions } = await this.#readFiles(signal)
      for (const file of files.toReversed()) {
        if (!(await opensWithEach(file, recipients, signal))) continue
        return this.#remember(await openKeys(file, { credentials: recipients, mayAskKms: false }, signal)).current
      }
      try {
        return await this.#create(recipients, nextVersion(versions), signal)
      } catch (error) {
        // Another process created it at the same time, maybe for the same recipients.
        if (!hasCode(error, 'STORAGE_EXISTS') || attempt === TRIES) throw error
      }
    }
  }

  async #create(recipients: readonly Credential[], version: number, signal: AbortSignal): Promise<DataKey> {
    const created_at = formatUtc(this.#options.clock.now())
    const dataKey = newDataKey()
    const head = { backup_id: SNAPSHOTS, hide_names: false }
    const keys = await wrapAll(recipients, head, [{ ...dataKey, createdAt: created_at }], signal)
    const format = { format: 'kafka-backup-keys', format_version: 1 } as const
    const file: KeysFile = { ...format, ...head, version, created_at, ...keys }
    await this.#storage.create(keysKey(SNAPSHOTS, version), encodeKeysFile(file), signal)
    return dataKey
  }

  /** Oldest first. A file that is damaged opens nothing, and must not hide the others. */
  async #readFiles(signal: AbortSignal): Promise<{ files: KeysFile[]; versions: number[] }> {
    const versions: number[] = []
    for await (const { key } of this.#storage.list(keysPrefix(SNAPSHOTS), signal)) {
      const version = parseKeysVersion(key)
      if (version !== undefined && key === keysKey(SNAPSHOTS, version)) versions.push(version)
    }
    versions.sort((a, b) => a - b)
    const files: KeysFile[] = []
    for (const version of versions.slice(0, MAX_FILES)) {
      const key = keysKey(SNAPSHOTS, version)
      try {
        files.push(decodeKeysFile(await this.#storage.read(key, signal), key))
      } catch (error) {
        if (!hasCode(error, 'ARCHIVE_DAMAGED', 'STORAGE_NOT_FOUND')) throw error
      }
    }
    return { files, versions }
  }

  #remember(keys: OpenKeys): OpenKeys {
    for (const id of keys.byId.keys()) this.#opened.set(id, keys)
    return keys
  }
}

async function opensWithEach(file: KeysFile, recipients: readonly Credential[], signal: AbortSignal): Promise<boolean> {
  if (file.recipients.length !== recipients.length) return false
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

/** A gap is filled: whoever put a file with a very high number there must not use up the numbers. */
function nextVersion(versions: readonly number[]): number {
  const taken = new Set(versions)
  let version = 1
  while (taken.has(version)) version++
  return version
}

function asOfSnapshot(key: string, error: KafkaBackupError): KafkaBackupError {
  const message = error.message.replace(`the backup \`${SNAPSHOTS}\``, `the offset snapshot ${key}`)
  return new KafkaBackupError('ENCRYPTION_KEY', message, { cause: error.cause, help: error.help })
}
