import { damaged } from '../archive/damage.ts'
import { hasCode, KafkaBackupError } from '../errors.ts'
import { type Clock, formatUtc } from '../lib/clock.ts'
import type { Storage } from '../storage/storage.ts'
import type { Credential } from './credential.ts'
import { type DataKey, newDataKey } from './key-wrap.ts'
import { keysPrefix } from './keys-file.ts'
import { ObjectCipher, openObject, sealObject } from './object-cipher.ts'
import { decodeHeader, isSealed, newerObject, type ObjectHeader } from './object-header.ts'
import { KeyRefusal, type OpenKeys, openKeys, serviceCodes } from './open-keys.ts'
import { recipientId } from './recipients.ts'
import {
  createSnapshotKeys,
  isFor,
  listSnapshotKeys,
  opensWithEach,
  readSnapshotKeys,
  SNAPSHOTS,
} from './snapshot-keys.ts'

/** Of files that claim to be for the recipients; bounds the work with passphrases that a hostile folder can cause. */
const MAX_TRIED = 5
const TRIES = 5

interface VaultOptions {
  /** Everything that may open a snapshot. */
  loadCredentials: () => Promise<readonly Credential[]>
  /** Whom new snapshots are encrypted for. */
  loadRecipients: () => Promise<readonly Credential[]>
  hasCredentials: boolean
  mayAskKms: boolean
  clock: Clock
}

/**
 * Encrypts offset snapshots for the recipients of the command that takes them. All jobs of a location share one folder, so there are
 * as many keys files in `offset-snapshots/keys/` as there are sets of recipients, and all of them count: each holds one data
 * key, and the header of a snapshot names the data key that it needs.
 */
export class SnapshotVault {
  readonly #storage: Storage
  readonly #options: VaultOptions
  readonly #opened = new Map<string, OpenKeys>()
  /** By data key: a folder may hold hundreds of snapshots of another key, and a try with a passphrase, or of a service that is silent, takes a while. */
  readonly #refused = new Map<string, KafkaBackupError>()

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
    const keys = await this.#keysOf(header, key, signal)
    const dataKey = keys.byId.get(header.dataKeyId)
    if (!dataKey) throw new KafkaBackupError('INTERNAL', `a keys file lost the data key ${header.dataKeyId}`)
    return { bytes: openObject(new ObjectCipher(header, dataKey, key), stored), isEncrypted: true }
  }

  /** Of several files that claim the data key, the one that opens: others may have been put there. */
  async #keysOf({ dataKeyId, unknownVersion }: ObjectHeader, key: string, signal: AbortSignal): Promise<OpenKeys> {
    const known = this.#opened.get(dataKeyId)
    if (known) return known
    const { loadCredentials, mayAskKms } = this.#options
    const before = this.#refused.get(dataKeyId)
    if (before) throw asOfSnapshot(key, before)
    let refused: KafkaBackupError | undefined
    const credentials = await loadCredentials()
    for await (const file of readSnapshotKeys(this.#storage, await listSnapshotKeys(this.#storage, signal), signal)) {
      if (!file.data_keys.some(({ id }) => id === dataKeyId)) continue
      try {
        return this.#remember(await openKeys(file, { credentials, mayAskKms }, signal))
      } catch (error) {
        if (!(error instanceof KeyRefusal || hasCode(error, ...serviceCodes))) throw error
        if (!refused || hasCode(error, ...serviceCodes)) refused = error
      }
    }
    if (!refused && unknownVersion !== undefined) throw newerObject(key, unknownVersion)
    if (!refused) throw missingKeys(key, dataKeyId)
    this.#refused.set(dataKeyId, refused)
    throw asOfSnapshot(key, refused)
  }

  /** The newest data key that is wrapped for exactly these recipients and opens with each of them; a new one otherwise. */
  async #keyForWriting(signal: AbortSignal): Promise<DataKey> {
    const recipients = withoutRepeats(await this.#options.loadRecipients())
    for (let attempt = 1; ; attempt++) {
      const versions = await listSnapshotKeys(this.#storage, signal)
      let tried = 0
      for await (const file of readSnapshotKeys(this.#storage, versions, signal)) {
        if (!isFor(file, recipients)) continue
        if (await opensWithEach(file, recipients, signal)) {
          return this.#remember(await openKeys(file, { credentials: recipients, mayAskKms: false }, signal)).current
        }
        if (++tried === MAX_TRIED) break
      }
      try {
        return await this.#create(recipients, versions, signal)
      } catch (error) {
        // Another process created it at the same time, maybe for the same recipients.
        if (!hasCode(error, 'STORAGE_EXISTS') || attempt === TRIES) throw error
      }
    }
  }

  async #create(recipients: readonly Credential[], versions: readonly number[], signal: AbortSignal): Promise<DataKey> {
    const createdAt = formatUtc(this.#options.clock.now())
    const dataKey = newDataKey()
    const wanted = { recipients, dataKey: { ...dataKey, createdAt }, createdAt }
    await createSnapshotKeys(this.#storage, wanted, versions, signal)
    return dataKey
  }

  #remember(keys: OpenKeys): OpenKeys {
    for (const id of keys.byId.keys()) this.#opened.set(id, keys)
    return keys
  }
}

/** The same key may come from an option and from the environment. */
function withoutRepeats(credentials: readonly Credential[]): readonly Credential[] {
  const isSame = (one: Credential, other: Credential) =>
    one.kind === 'passphrase' && other.kind === 'passphrase'
      ? one.passphrase === other.passphrase
      : one.kind === other.kind && recipientId(one) === recipientId(other)
  return credentials.filter((one, at) => credentials.findIndex(other => isSame(one, other)) === at)
}

function missingKeys(key: string, dataKeyId: string): KafkaBackupError {
  const problem = `is encrypted with the data key ${dataKeyId}, which no file in ${keysPrefix(SNAPSHOTS)} holds`
  const help = 'Put the keys file back from a copy of the store: without it nothing opens the snapshot.'
  return damaged(key, problem, { help })
}

function asOfSnapshot(key: string, error: KafkaBackupError): KafkaBackupError {
  if (!(error instanceof KeyRefusal)) return error
  const { reason, cause, help } = error
  return new KeyRefusal(`the offset snapshot ${key}`, reason, { cause, help, details: { key } })
}
