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
  #hasBegun = false
  #newest: Promise<NewestState> | undefined
  readonly #underWay: Promise<unknown>[] = []

  constructor(storage: EncryptedStorage, backupId: string, readsNewest: boolean, signal: AbortSignal) {
    this.#storage = storage
    this.#backupId = backupId
    this.#readsNewest = readsNewest
    this.#signal = AbortSignal.any([signal, this.#stop.signal])
  }

  begin(): void {
    this.#hasBegun = true
    const keys = this.#storage.readKeysAgain(this.#backupId, this.#signal)
    this.#newest = this.#readsNewest ? this.#readNewest() : undefined
    this.#underWay.push(Promise.allSettled([keys, this.#newest]))
  }

  /** When the run is alone. */
  async take(): Promise<Pick<BackupParts, 'encryption' | 'newest'>> {
    if (!this.#hasBegun) this.begin()
    const [keys, newest] = await Promise.allSettled([
      // Made before anything is copied: shards that begin at the same time share one data key.
      this.#storage.keysFor(this.#backupId, this.#signal),
      // A prune that ended before it was seen may have removed what was being read.
      this.#newest?.catch(() => this.#readNewest()),
    ])
    if (keys.status === 'rejected') throw keys.reason
    if (newest.status === 'rejected') throw newest.reason
    return { encryption: keys.value, ...(newest.value && { newest: newest.value }) }
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
