import { incarnationKey } from '../archive/incarnation.ts'
import { backupPrefix, leasesPrefix } from '../archive/layout.ts'
import type { ManifestTopic } from '../archive/manifest.ts'
import { readRecoveryWindows } from '../archive/recovery-window.ts'
import type { EncryptedStorage } from '../encryption/encrypted-storage.ts'
import { KafkaBackupError } from '../errors.ts'
import type { Clock } from '../lib/clock.ts'
import type { TopicWindow } from '../observe/progress.ts'
import type { Storage } from '../storage/storage.ts'

/**
 * The bytes of all objects of a backup in the store, of every generation that is kept, by one listing, without leases. Undefined
 * where the store cannot be listed, because the size must not fail a run.
 */
export async function measureBackup(
  storage: Pick<EncryptedStorage, 'listStored'>,
  backupId: string,
  signal: AbortSignal,
): Promise<number | undefined> {
  try {
    let bytes = 0
    for await (const { key, size } of storage.listStored(backupPrefix(backupId), signal)) {
      if (!key.startsWith(leasesPrefix(backupId))) bytes += size
    }
    return bytes
  } catch (error) {
    if (error instanceof KafkaBackupError || signal.aborted) return undefined
    throw error
  }
}

/** May read more of the backup, which ends with the signal and must not fail a run either. */
type OnMeasured = (storedBytes: number, signal: AbortSignal) => void | Promise<void>

type CurrentTopic = Pick<ManifestTopic, 'name' | 'id' | 'incarnation' | 'state'>

/** The recovery windows of the topics that the newest complete generation counts as current. */
export async function readTopicWindows(
  storage: Storage,
  backupId: string,
  newest: { topics: readonly CurrentTopic[] },
  signal: AbortSignal,
): Promise<TopicWindow[]> {
  const windows = await readRecoveryWindows(storage, backupId, signal)
  return newest.topics.flatMap(topic => {
    const window = topic.state === 'current' ? windows.get(incarnationKey(topic)) : undefined
    return window ? [{ topic: topic.name, oldestAt: window.oldest.created_at, newestAt: window.newest.created_at }] : []
  })
}

const EVERY_MS = 3_600_000

/** Measures a backup at most once an hour, next to the rounds: the listing of a large one takes longer than a round may. */
export class HourlyMeasure {
  readonly #storage: Pick<EncryptedStorage, 'listStored'>
  readonly #backupId: string
  readonly #clock: Pick<Clock, 'monotonic'>
  readonly #onMeasured: OnMeasured
  readonly #stop = new AbortController()
  #nextMs = Number.NEGATIVE_INFINITY
  #running: Promise<void> | undefined

  constructor(
    storage: Pick<EncryptedStorage, 'listStored'>,
    backupId: string,
    clock: Pick<Clock, 'monotonic'>,
    onMeasured: OnMeasured,
  ) {
    this.#storage = storage
    this.#backupId = backupId
    this.#clock = clock
    this.#onMeasured = onMeasured
  }

  /** Does nothing while a listing is under way, or where the last one is recent. */
  begin(signal: AbortSignal): void {
    if (this.#running !== undefined || this.#clock.monotonic() < this.#nextMs) return
    this.#nextMs = this.#clock.monotonic() + EVERY_MS
    this.#running = this.#measure(AbortSignal.any([signal, this.#stop.signal])).finally(() => {
      this.#running = undefined
    })
  }

  /** Breaks off a listing that is under way. */
  async end(): Promise<void> {
    this.#stop.abort()
    await this.#running
  }

  async #measure(signal: AbortSignal): Promise<void> {
    // Measuring the size of a backup must not fail a run.
    const storedBytes = await measureBackup(this.#storage, this.#backupId, signal).catch(() => undefined)
    if (storedBytes === undefined || signal.aborted) return
    await Promise.resolve(this.#onMeasured(storedBytes, signal)).catch(() => undefined)
  }
}
