import type { NewestState } from '../archive/catalog.ts'
import type { ObservedSource } from '../backup/observed-source.ts'
import type { BackupParts } from '../backup/round.ts'
import type { EncryptedStorage } from '../encryption/encrypted-storage.ts'

export interface EarlyReading {
  newest: Promise<NewestState>
  shown: Promise<ObservedSource>
}

/**
 * What a run has to know before it copies anything. It is read while the run looks for other writers, because a store may be far away, and
 * again if the run then had to wait for one. Nothing is written for it but the keys, when the run is alone.
 */
export class EarlyReadings {
  readonly #storage: EncryptedStorage
  readonly #backupId: string
  readonly #read: (signal: AbortSignal) => EarlyReading | undefined
  readonly #stop = new AbortController()
  readonly #signal: AbortSignal
  #hasBegun = false
  #latest: EarlyReading | undefined
  readonly #underWay: Promise<unknown>[] = []

  constructor(
    storage: EncryptedStorage,
    backupId: string,
    read: (signal: AbortSignal) => EarlyReading | undefined,
    signal: AbortSignal,
  ) {
    this.#storage = storage
    this.#backupId = backupId
    this.#read = read
    this.#signal = AbortSignal.any([signal, this.#stop.signal])
  }

  begin(): void {
    this.#hasBegun = true
    const keys = this.#storage.readKeysAgain(this.#backupId, this.#signal)
    this.#latest = this.#read(this.#signal)
    this.#underWay.push(Promise.allSettled([keys, this.#latest?.newest, this.#latest?.shown]))
  }

  /** When the run is alone. */
  async take(): Promise<Pick<BackupParts, 'encryption' | 'newest' | 'shown'>> {
    if (!this.#hasBegun) this.begin()
    const { newest, shown } = this.#latest ?? {}
    const [keys, state] = await Promise.allSettled([
      // Made before anything is copied: shards that begin at the same time share one data key.
      this.#storage.keysFor(this.#backupId, this.#signal),
      newest,
    ])
    if (keys.status === 'rejected') throw keys.reason
    if (state.status === 'rejected') throw state.reason
    return { encryption: keys.value, ...(state.value && { newest: state.value }), ...(shown && { shown }) }
  }

  /** Ends what is still being read. */
  async close(): Promise<void> {
    this.#stop.abort()
    await Promise.all(this.#underWay)
  }
}
