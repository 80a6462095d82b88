import { damaged } from '../archive/damage.ts'
import { hasCode, KafkaBackupError } from '../errors.ts'
import type { Clock } from '../lib/clock.ts'
import type { Storage } from '../storage/storage.ts'
import type { Credential } from './credential.ts'
import { createKeysFile, readKeysFile } from './key-book.ts'
import { type KeysFile, keysPrefix } from './keys-file.ts'
import { HEADER_BYTES, isSealed } from './object-header.ts'
import { type OpenKeys, openKeys } from './open-keys.ts'

export interface KeyOptions {
  /** Reads what was given, when it is needed. */
  loadCredentials: () => Promise<readonly Credential[]>
  /** Whether anything was given. */
  hasCredentials: boolean
  mayAskKms: boolean
  /** The backup that must be encrypted, and is where it is new. */
  own?: {
    backupId: string
    hideNames?: boolean | undefined
    /** Who is to open it where it is new; without it, all that was given. */
    loadRecipients?: () => Promise<readonly Credential[]>
  }
  clock: Clock
  /** Called when the store is closed, where something was read and nothing of it needed a key. */
  onUnused?: (backupIds: readonly string[]) => void
}

interface Known {
  /** Null where none was found. */
  file: KeysFile | null
  keys?: OpenKeys
}

/** What is known of the backups at a store: which are encrypted, and their keys. Each is found out once, when it counts. */
export class KeyState {
  readonly #storage: Storage
  readonly #options: KeyOptions
  readonly #known = new Map<string, Known>()
  readonly #turns = new Map<string, Promise<unknown>>()
  readonly #readPlain = new Set<string>()

  constructor(storage: Storage, options: KeyOptions) {
    this.#storage = storage
    this.#options = options
  }

  /** Undefined until it is read. */
  isEncryptedSoFar(backupId: string): boolean | undefined {
    const known = this.#known.get(backupId)
    return known && known.file !== null
  }

  /** Whether a backup has keys. */
  async isEncrypted(backupId: string, signal: AbortSignal): Promise<boolean> {
    return (await this.#find(backupId, signal)) !== undefined
  }

  /** Finds out again whether a backup has keys. */
  async readAgain(backupId: string, signal: AbortSignal): Promise<boolean> {
    return (await this.#inTurn(backupId, () => this.#reread(backupId, signal))) !== undefined
  }

  /** The keys of what was found encrypted. */
  async keysOf(backupId: string, signal: AbortSignal): Promise<OpenKeys> {
    return this.#inTurn(backupId, async () => {
      // Keys that were not there a while ago may have been made since.
      const file = (await this.#read(backupId, signal)) ?? (await this.#reread(backupId, signal))
      if (file) return this.#open(backupId, file, signal)
      throw this.#missing(backupId)
    })
  }

  /** The keys of a backup that has some. */
  async existingKeysOf(backupId: string, signal: AbortSignal): Promise<OpenKeys | undefined> {
    return (await this.isEncrypted(backupId, signal)) ? this.keysOf(backupId, signal) : undefined
  }

  /** The same with the newest keys file, for an object whose key is not in the one that is known. */
  async renewedKeysOf(backupId: string, signal: AbortSignal): Promise<OpenKeys> {
    this.#known.delete(backupId)
    return this.keysOf(backupId, signal)
  }

  /** What objects are written with; undefined where the backup is not encrypted. Makes the keys of a new one. */
  async keysForWriting(backupId: string, signal: AbortSignal): Promise<OpenKeys | undefined> {
    return this.#inTurn(backupId, async () => {
      const isOwn = this.#options.own?.backupId === backupId
      const file = (await this.#read(backupId, signal)) ?? (isOwn ? await this.#create(backupId, signal) : undefined)
      return file && this.#open(backupId, file, signal)
    })
  }

  /**
   * Refuses an object that is not encrypted where it should be. A reader without a key could not detect that the encryption
   * was removed, and does not check; a reader with a key does.
   */
  async meetPlain(backupId: string, key: string, signal: AbortSignal): Promise<void> {
    const { own, hasCredentials } = this.#options
    if (hasCredentials) await this.#find(backupId, signal)
    const { file } = this.#known.get(backupId) ?? { file: null }
    if (file) throw notEncrypted(key)
    if (own?.backupId === backupId) throw mismatch(backupId, this.#storage.location)
    this.#known.set(backupId, { file })
    this.#readPlain.add(backupId)
  }

  /** Nothing is read any more. */
  end(): void {
    const isUsed = [...this.#known.values()].some(({ file }) => file !== null)
    if (!isUsed && this.#readPlain.size > 0) this.#options.onUnused?.([...this.#readPlain].sort())
  }

  async #find(backupId: string, signal: AbortSignal): Promise<KeysFile | undefined> {
    return this.#inTurn(backupId, () => this.#read(backupId, signal))
  }

  async #read(backupId: string, signal: AbortSignal): Promise<KeysFile | undefined> {
    const known = this.#known.get(backupId)
    return known ? (known.file ?? undefined) : this.#reread(backupId, signal)
  }

  async #reread(backupId: string, signal: AbortSignal): Promise<KeysFile | undefined> {
    const file = await readKeysFile(this.#storage, backupId, signal)
    this.#known.set(backupId, { file: file ?? null })
    return file
  }

  async #open(backupId: string, file: KeysFile, signal: AbortSignal): Promise<OpenKeys> {
    const known = this.#known.get(backupId)
    if (known?.keys) return known.keys
    const { own, mayAskKms } = this.#options
    if (own?.backupId === backupId && own.hideNames !== undefined && own.hideNames !== file.hide_names) {
      throw otherNames(backupId, file.hide_names)
    }
    const keys = await openKeys(file, { credentials: await this.#options.loadCredentials(), mayAskKms }, signal)
    this.#known.set(backupId, { file, keys })
    return keys
  }

  /** Refuses to add keys to a backup with unencrypted objects. */
  async #create(backupId: string, signal: AbortSignal): Promise<KeysFile | undefined> {
    for await (const { key } of this.#storage.list(`${backupId}/`, signal)) {
      if (isStoredPlain(key)) continue
      // Another process may have made keys since, and be at work.
      const file = await readKeysFile(this.#storage, backupId, signal)
      if (file) return file
      throw (await this.#isSealed(key, signal)) ? this.#missing(backupId) : mismatch(backupId, this.#storage.location)
    }
    const { loadRecipients = this.#options.loadCredentials, hideNames = false } = this.#options.own ?? {}
    const credentials = await loadRecipients()
    return createKeysFile(this.#storage, { backupId, hideNames, credentials }, this.#options.clock, signal)
  }

  async #isSealed(key: string, signal: AbortSignal): Promise<boolean> {
    try {
      // Not all of it: it may be a segment of gigabytes.
      return isSealed(await this.#storage.readRange(key, 0, HEADER_BYTES, signal))
    } catch (error) {
      if (hasCode(error, 'STORAGE_SHORT')) return false
      throw error
    }
  }

  #missing(backupId: string): KafkaBackupError {
    const missing = `${keysPrefix(backupId)} at ${this.#storage.location} holds no keys`
    return new KafkaBackupError('ARCHIVE_DAMAGED', `${missing}, but the backup \`${backupId}\` is encrypted`, {
      details: { backup_id: backupId, location: this.#storage.location },
      help: 'Put the keys file back from a copy of the store: without it nothing opens the backup.',
    })
  }

  /** One at a time for a backup: who comes second finds what the first has found, or tries for itself. */
  async #inTurn<T>(backupId: string, work: () => Promise<T>): Promise<T> {
    const before = this.#turns.get(backupId) ?? Promise.resolve()
    const turn = before.then(work, work)
    this.#turns.set(
      backupId,
      turn.catch(() => undefined),
    )
    return turn
  }
}

/** Keys and leases are stored as they are. */
export function isStoredPlain(key: string): boolean {
  return /^[^/]+\/(keys|leases)\//.test(key)
}

export function notEncrypted(key: string): KafkaBackupError {
  return damaged(key, 'is not encrypted, but its backup is: it was exchanged')
}

function mismatch(backupId: string, location: string): KafkaBackupError {
  return new KafkaBackupError(
    'ENCRYPTION_MISMATCH',
    `the job has \`encryption\`, but the backup \`${backupId}\` at ${location} is not encrypted`,
    {
      help: 'Take another `backup_id` for an encrypted backup, or remove `encryption` from the job.',
      details: { backup_id: backupId, location, field: 'encryption' },
    },
  )
}

function otherNames(backupId: string, isHidden: boolean): KafkaBackupError {
  return new KafkaBackupError(
    'ENCRYPTION_MISMATCH',
    `the backup \`${backupId}\` was begun with \`encryption.hide_names: ${isHidden}\`, which holds for all of its life`,
    { help: `Set \`encryption.hide_names: ${isHidden}\`, or take another \`backup_id\`.` },
  )
}
