import { type NewestState, newestState } from '../archive/catalog.ts'
import type { BackupParts } from '../backup/round.ts'
import type { EncryptedStorage } from '../encryption/encrypted-storage.ts'

/**
 * What a run has to know of its backup before it copies anything. It is read while the run looks for other writers, because a store may be far
 * away, and again if the run then had to wait for one. Nothing is written for it but the keys, when the run is alone.
 */
export class EarlyReadings {
  readonly #storage: EncryptedStorage
  readonly #backupId: string
  readonly #readsNewest: boolean
  readonly #stop = new AbortController()
  readonly #signal: AbortSignal
  #hasKeys: Promise<boolean> | undefined
  #newest: Promise<NewestState> | undefined
  readonly #underWay: Promise<unknown>[] = []

  constructor(storage: EncryptedStorage, backupId: string, readsNewest: boolean, signal: AbortSignal) {
    this.#storage = storage
    this.#backupId = backupId
    this.#readsNewest = readsNewest
    this.#signal = AbortSignal.any([signal, this.#stop.signal])
  }

  begin(): void {
    if (!this.#readsNewest) return
    this.#hasKeys = this.#readKeys()
    this.#newest = this.#readNewest()
    this.#underWay.push(Promise.allSettled([this.#hasKeys, this.#newest]))
  }

  /** When the run is alone. */
  async take(): Promise<Pick<BackupParts, 'encryption' | 'newest'>> {
    if (!this.#newest) this.begin()
    // A prune that ended before it was seen may have removed what was being read.
    const reading = this.#newest?.catch(() => this.#readNewest())
    const [keys, newest] = await Promise.allSettled([this.#openKeys(reading), reading])
    if (keys.status === 'rejected') throw keys.reason
    if (newest.status === 'rejected') throw newest.reason
    return { encryption: keys.value, ...(newest.value && { newest: newest.value }) }
  }

  /**
   * Made before anything is copied: shards that begin at the same time share one data key. The removal of a backup ends with the keys, and looks
   * for leases between them and the generations: keys that were found next to a generation stay, and others are read again.
   */
  async #openKeys(newest: Promise<NewestState> | undefined): Promise<BackupParts['encryption']> {
    const mayBeGone = (await this.#hasKeys?.catch(() => true)) ?? true
    if (mayBeGone && !(await newest?.catch(() => undefined))?.manifest) await this.#readKeys()
    return this.#storage.keysFor(this.#backupId, this.#signal)
  }

  #readKeys(): Promise<boolean> {
    return this.#storage.readKeysAgain(this.#backupId, this.#signal)
  }

  #readNewest(): Promise<NewestState> {
    return newestState(this.#storage, this.#backupId, this.#signal)
  }

  /** Ends what is still being read. */
  async close(): Promise<void> {
    this.#stop.abort()
    await Promise.all(this.#underWay)
  }
}
