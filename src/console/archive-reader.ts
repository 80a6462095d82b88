import {
  expiredBackup,
  listGenerations,
  newestNumber,
  type ScannedManifests,
  scanManifests,
} from '../archive/catalog.ts'
import { type LastDrills, readLastDrills } from '../archive/drill-record.ts'
import type { Manifest } from '../archive/manifest.ts'
import type { LastRecord } from '../archive/result-records.ts'
import { openSelected } from '../archive/select-generation.ts'
import { type LastVerifications, readLastVerifications } from '../archive/verification.ts'
import { hasCode, KafkaBackupError } from '../errors.ts'
import type { Clock } from '../lib/clock.ts'
import type { Storage } from '../storage/storage.ts'
import { KeptResults } from './kept-results.ts'
import type { BackupPlace } from './links.ts'

/** A location that the console was started with. */
export interface ConsoleLocation {
  /** For people; without secrets. */
  name: string
  storage: Storage
}

/** One generation of a backup, open for reading. */
export interface OpenedBackup {
  place: BackupPlace
  location: ConsoleLocation
  manifest: Manifest
  newest: number
  /** The generation that was asked for and is gone; the newest was opened instead. */
  gone?: number
}

/** A manifest of 10,000 topics takes tens of megabytes. */
const KEPT_MANIFESTS = 4
const KEPT_DERIVED = 6
const KEPT_FACTS = 500
/** How old a listing may be. */
const LISTING_MS = 1500

/**
 * Reads the locations of the console and nothing else: a backup is one that a location lists. Holds no lease, so that a prune may
 * remove what is open here; then the newest generation is opened instead.
 */
export class ArchiveReader {
  readonly locations: readonly ConsoleLocation[]
  /** Removes secrets from messages that a page shows. */
  readonly redact: (text: string) => string
  readonly #clock: Clock
  readonly #manifests = new KeptResults<Manifest>(KEPT_MANIFESTS)
  readonly #derived = new KeptResults<unknown>(KEPT_DERIVED)
  readonly #facts = new KeptResults<unknown>(KEPT_FACTS)
  /** The oldest manifest of each backup, when it was listed last. */
  readonly #seen = new Map<string, string>()

  constructor(locations: readonly ConsoleLocation[], clock: Clock, redact = (text: string) => text) {
    this.locations = locations
    this.redact = redact
    this.#clock = clock
  }

  location(at: number): ConsoleLocation {
    const location = this.locations[at]
    if (!location) throw new KafkaBackupError('BACKUP_NOT_FOUND', `this console has no location ${at}`)
    return location
  }

  /** The newest generation. BACKUP_NOT_FOUND for a name that the location does not list. */
  async newest({ at, backupId }: BackupPlace, signal: AbortSignal): Promise<number> {
    const { storage } = this.location(at)
    return this.#recently(`newest/${at}/${backupId}`, signal, async own => {
      await this.#assertListed(at, backupId, own)
      const scanned = await scanManifests(storage, backupId, own)
      if (scanned.mark) throw expiredBackup(storage, backupId)
      this.#forgetOther({ at, backupId }, scanned)
      const newest = await newestNumber(storage, backupId, scanned, own)
      if (newest !== undefined) return newest
      throw new KafkaBackupError('BACKUP_NOT_FOUND', `no backup \`${backupId}\` at ${storage.location}`)
    })
  }

  /** Of a backup that the location lists. */
  async verifications({ at, backupId }: BackupPlace, signal: AbortSignal): Promise<LastVerifications> {
    const { storage } = this.location(at)
    const read = await this.#recently(`verified/${at}/${backupId}`, signal, own =>
      readLastVerifications(storage, backupId, own),
    )
    return {
      last_verification: this.#shown(read.last_verification),
      last_deep_verification: this.#shown(read.last_deep_verification),
      last_damage: this.#shown(read.last_damage),
    }
  }

  /** The same for drills. */
  async drills({ at, backupId }: BackupPlace, signal: AbortSignal): Promise<LastDrills> {
    const { storage } = this.location(at)
    const read = await this.#recently(`drilled/${at}/${backupId}`, signal, own =>
      readLastDrills(storage, backupId, own),
    )
    return {
      last_drill: this.#shown(read.last_drill),
      last_proven_drill: this.#shown(read.last_proven_drill),
      last_failed_drill: this.#shown(read.last_failed_drill),
    }
  }

  #shown<F extends object>(last: LastRecord<F>): LastRecord<F> {
    return last && 'error' in last ? { error: this.redact(String(last.error)) } : last
  }

  /** Opens the generation that is asked for, or the newest where that one is gone. */
  async open(place: BackupPlace, signal: AbortSignal): Promise<OpenedBackup> {
    const location = this.location(place.at)
    const newest = await this.newest(place, signal)
    const opened = { place, location, newest }
    const { generation = newest } = place
    try {
      if (generation !== newest) await this.#assertKept(place, generation, signal)
      return { ...opened, manifest: await this.#manifest(place, generation, signal) }
    } catch (error) {
      if (generation === newest || !hasCode(error, 'GENERATION_NOT_FOUND')) throw error
      const current = { at: place.at, backupId: place.backupId }
      return { ...opened, place: current, manifest: await this.#manifest(place, newest, signal), gone: generation }
    }
  }

  /**
   * Works with a generation. If objects of it are missing because a prune has removed it meanwhile, the work is done again with
   * the newest one.
   */
  async read<T>(place: BackupPlace, signal: AbortSignal, work: (backup: OpenedBackup) => Promise<T>): Promise<T> {
    const backup = await this.open(place, signal)
    try {
      return await work(backup)
    } catch (error) {
      if (!hasCode(error, 'ARCHIVE_DAMAGED', 'STORAGE_NOT_FOUND', 'GENERATION_NOT_FOUND')) throw error
      const { generation } = backup.manifest
      if (await this.#isThere(backup, signal)) throw error
      this.forget(place)
      const current = { at: place.at, backupId: place.backupId }
      return work({ ...(await this.open(current, signal)), gone: generation })
    }
  }

  /** What is derived from generations, which do not change: read once for each newest generation. */
  derive<T>({ place, newest }: OpenedBackup, what: string, read: () => Promise<T>): Promise<T> {
    return this.#derived.get(`${what}/${place.at}/${place.backupId}/${newest}`, read) as Promise<T>
  }

  /** The same for what is small: much of it is kept. */
  deriveSmall<T>({ at, backupId }: BackupPlace, newest: number, what: string, read: () => Promise<T>): Promise<T> {
    return this.#facts.get(`${what}/${at}/${backupId}/${newest}`, read) as Promise<T>
  }

  forget({ at, backupId }: BackupPlace): void {
    for (const kept of [this.#manifests, this.#derived, this.#facts])
      kept.forget(key => key.split('/').slice(1, 3).join('/') === `${at}/${backupId}`)
  }

  /** A backup that was removed and made again has the same numbers for other contents. */
  #forgetOther(place: BackupPlace, { manifests }: ScannedManifests): void {
    const [first] = manifests.values()
    const name = `${place.at}/${place.backupId}`
    const found = first && `${first.key} ${first.size} ${first.modifiedMs}`
    const seen = this.#seen.get(name)
    this.#seen.set(name, found ?? '')
    if (seen !== undefined && seen !== found) this.forget(place)
  }

  /** What is kept here may have been pruned since. */
  async #assertKept({ at, backupId }: BackupPlace, generation: number, signal: AbortSignal): Promise<void> {
    const { storage } = this.location(at)
    const there = await this.#recently(`generations/${at}/${backupId}`, signal, own =>
      listGenerations(storage, backupId, own),
    )
    if (there.includes(generation)) return
    throw new KafkaBackupError('GENERATION_NOT_FOUND', `backup \`${backupId}\` has no generation ${generation}`)
  }

  async #isThere({ location, manifest }: OpenedBackup, signal: AbortSignal): Promise<boolean> {
    try {
      await openSelected(location.storage, manifest.backup_id, { generation: manifest.generation }, signal)
      return true
    } catch (error) {
      if (hasCode(error, 'GENERATION_NOT_FOUND', 'BACKUP_NOT_FOUND', 'BACKUP_PRUNED')) return false
      throw error
    }
  }

  #manifest({ at, backupId }: BackupPlace, generation: number, signal: AbortSignal): Promise<Manifest> {
    const { storage } = this.location(at)
    return this.#manifests.get(`manifest/${at}/${backupId}/${generation}`, () =>
      openSelected(storage, backupId, { generation }, signal),
    )
  }

  /** A name is looked up in the listing of the location, never put into a key as it came. */
  async #assertListed(at: number, backupId: string, signal: AbortSignal): Promise<void> {
    const { storage } = this.location(at)
    for await (const folder of storage.listFolders('', signal)) if (folder === backupId) return
    throw new KafkaBackupError('BACKUP_NOT_FOUND', `no backup \`${backupId}\` at ${storage.location}`)
  }

  async #recently<T>(key: string, signal: AbortSignal, read: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const nowMs = this.#clock.monotonic()
    const kept = await this.#facts.get(key, async () => ({ atMs: nowMs, value: await read(signal) }))
    const { atMs, value } = kept as { atMs: number; value: T }
    if (nowMs - atMs <= LISTING_MS) return value
    this.#facts.forget(one => one === key)
    return this.#recently(key, signal, read)
  }
}
