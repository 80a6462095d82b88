import { hasCode, KafkaBackupError } from '../errors.ts'
import type { Storage, StoredObject } from '../storage/storage.ts'
import { scanManifests } from './catalog.ts'
import { findNewestCommit } from './log/list-commits.ts'

/** Small objects with the results of one command, next to a backup. */
export interface RecordKind<F> {
  prefixOf(backupId: string): string
  /** Undefined for every key that is not such a record. Names sort by time. */
  parseKey(backupId: string, key: string): { name: string; isStrong: boolean } | undefined
  /** Throws ARCHIVE_DAMAGED for a record that cannot be read, or that does not belong to its key. */
  parse(bytes: Buffer, place: { backupId: string; key: string; isStrong: boolean }): F
  /** Whether a record makes an earlier one void; without it, it always does. */
  settles?(newer: F, earlier: F): boolean
  /** Whether a record has to stay until another one settles it. Without it, these are the weak ones, and only strong ones settle them. */
  isOpen?(facts: F): boolean
  /** How many strong and how many weak records a reader reads to find an open one: a store that lets nothing be removed keeps them all. */
  maxRead: number
}

/** Null before the first one; with an `error` where the record cannot be read. */
export type LastRecord<F> = F | { error: string } | null

export interface LastRecords<F> {
  last: LastRecord<F>
  /** The last strong one: a weaker one that follows does not supersede it. */
  lastStrong: LastRecord<F>
  /** The last open one that no later one settles; null where all are settled, with an `error` where one cannot be read. */
  lastOpen: LastRecord<F>
}

interface NewRecord<F> {
  backupId: string
  key: string
  body: Uint8Array
  /** Whether what an earlier record is about is gone, so that no later one can settle it. */
  isMoot?(earlier: F): Promise<boolean>
}

/**
 * Stores a result, and removes the records that it supersedes: an earlier strong one stays next to one that is not. Nothing of
 * the backup depends on it. Undefined where the backup was removed meanwhile. An older record that cannot be removed stays.
 */
export async function storeRecord<F>(
  storage: Storage,
  kind: RecordKind<F>,
  { backupId, key, body, isMoot }: NewRecord<F>,
  signal: AbortSignal,
): Promise<string | undefined> {
  await storage.create(key, body, signal)
  // A prune marks a backup before it lists what it removes: one that is not marked now still finds this object.
  if (await isGone(storage, backupId, signal)) {
    await storage.remove(key, signal)
    return undefined
  }
  const records = await listRecords(storage, kind, backupId, signal)
  const own = records.findIndex(one => one.key === key)
  const superseded =
    own < 0 ? [] : await findSuperseded({ storage, kind, backupId, isMoot }, records.slice(own), signal)
  for (const { key: old } of superseded) {
    try {
      await storage.remove(old, signal)
    } catch (error) {
      // Protected by the store, or not permitted: readers take the newest.
      if (!(error instanceof KafkaBackupError) || signal.aborted) throw error
      break
    }
  }
  return key
}

interface RecordsPlace<F> {
  storage: Storage
  kind: RecordKind<F>
  backupId: string
  isMoot?: NewRecord<F>['isMoot']
}

/** Of the newest record and those before it, the newest first: those that it makes void. */
async function findSuperseded<F>(
  { storage, kind, backupId, isMoot }: RecordsPlace<F>,
  [newest, ...older]: readonly RecordObject[],
  signal: AbortSignal,
): Promise<RecordObject[]> {
  if (!newest) return []
  const candidates = older.filter(one => newest.isStrong || !one.isStrong)
  if (!kind.settles) return candidates
  const facts = await readRecord(storage, kind, backupId, newest, signal)
  const superseded: RecordObject[] = []
  for (const one of candidates) {
    const isKnown = one.isStrong && !kind.isOpen
    if (isKnown || (await isVoid({ storage, kind, backupId, isMoot }, facts, one, signal))) superseded.push(one)
  }
  return superseded
}

/** Whether a record says nothing any more: a newer one settles it, or it is damaged. One that cannot be read just now may say something. */
async function isVoid<F>(
  { storage, kind, backupId, isMoot }: RecordsPlace<F>,
  newer: MaybeRecord<F>,
  { key, isStrong }: RecordObject,
  signal: AbortSignal,
): Promise<boolean> {
  try {
    const earlier = kind.parse(await storage.read(key, signal), { backupId, key, isStrong })
    if (isReadable(newer) && (kind.settles?.(newer, earlier) ?? true)) return true
    return (await isMoot?.(earlier)) ?? false
  } catch (error) {
    failureOf(error, signal)
    return hasCode(error, 'ARCHIVE_DAMAGED', 'STORAGE_NOT_FOUND')
  }
}

type MaybeRecord<F> = LastRecord<F> | undefined

function isReadable<F>(record: MaybeRecord<F>): record is F {
  return record !== null && record !== undefined && !(typeof record === 'object' && 'error' in record)
}

async function isGone(storage: Storage, backupId: string, signal: AbortSignal): Promise<boolean> {
  const { manifests, mark } = await scanManifests(storage, backupId, signal)
  return (
    mark !== undefined || (manifests.size === 0 && (await findNewestCommit(storage, backupId, signal)) === undefined)
  )
}

/** What is known of the last results. A record that cannot be read must not hide the backup. */
export async function readLastRecords<F>(
  storage: Storage,
  kind: RecordKind<F>,
  backupId: string,
  signal: AbortSignal,
): Promise<LastRecords<F>> {
  try {
    // A later run may have removed what was listed: its own record is in the next listing.
    const read = () => readNewest(storage, kind, backupId, signal)
    return (await read()) ?? (await read()) ?? { last: null, lastStrong: null, lastOpen: null }
  } catch (error) {
    const failed = failureOf(error, signal)
    return { last: failed, lastStrong: failed, lastOpen: failed }
  }
}

/** Undefined where a record that was listed is not there any more. */
async function readNewest<F>(
  storage: Storage,
  kind: RecordKind<F>,
  backupId: string,
  signal: AbortSignal,
): Promise<LastRecords<F> | undefined> {
  const records = await listRecords(storage, kind, backupId, signal)
  const [newest, newestStrong] = [records[0], records.find(({ isStrong }) => isStrong)]
  const read = (one: RecordObject | undefined) => (one ? readRecord(storage, kind, backupId, one, signal) : null)
  const last = await read(newest)
  const lastStrong = newest === newestStrong ? last : await read(newestStrong)
  if (last === undefined || lastStrong === undefined) return undefined
  const lastOpen = kind.settles ? await findOpen({ storage, kind, backupId }, records, signal) : null
  return { last, lastStrong, lastOpen }
}

/** The newest open record that no later one settles; otherwise one that cannot be read. There are few records, as each removes what it settles. */
async function findOpen<F>(
  { storage, kind, backupId }: RecordsPlace<F>,
  all: readonly RecordObject[],
  signal: AbortSignal,
): Promise<LastRecord<F>> {
  const records = newestOfBoth(all, kind.maxRead)
  const known = new Map<string, MaybeRecord<F>>()
  const read = async (one: RecordObject) => {
    if (!known.has(one.key)) known.set(one.key, await readRecord(storage, kind, backupId, one, signal))
    return known.get(one.key)
  }
  let unknown: LastRecord<F> = null
  for (const [i, object] of records.entries()) {
    if (object.isStrong && !kind.isOpen) continue
    const record = await read(object)
    if (!isReadable(record)) unknown ??= record ?? null
    else if (kind.isOpen?.(record) === false) continue
    else if (!(await isSettled(record, records.slice(0, i)))) return record
  }
  return unknown

  async function isSettled(record: F, newer: readonly RecordObject[]): Promise<boolean> {
    for (const one of newer.filter(({ isStrong }) => isStrong || kind.isOpen)) {
      const later = await read(one)
      if (isReadable(later) && (kind.settles?.(later, record) ?? true)) return true
    }
    return false
  }
}

/** A strong one must not disappear behind many weak ones. One that is not among these settles nothing. */
function newestOfBoth(records: readonly RecordObject[], count: number): RecordObject[] {
  const weak = records.filter(({ isStrong }) => !isStrong).slice(0, count)
  const strong = records.filter(({ isStrong }) => isStrong).slice(0, count)
  return records.filter(one => weak.includes(one) || strong.includes(one))
}

interface RecordObject extends StoredObject {
  name: string
  isStrong: boolean
}

/** Newest first, by the clock of the store: that of a machine may have been wrong. */
async function listRecords<F>(
  storage: Storage,
  kind: RecordKind<F>,
  backupId: string,
  signal: AbortSignal,
): Promise<RecordObject[]> {
  const found: RecordObject[] = []
  for await (const object of storage.list(kind.prefixOf(backupId), signal)) {
    const named = kind.parseKey(backupId, object.key)
    if (named) found.push({ ...object, ...named })
  }
  return found.sort((a, b) => b.modifiedMs - a.modifiedMs || (a.name < b.name ? 1 : -1))
}

async function readRecord<F>(
  storage: Storage,
  kind: RecordKind<F>,
  backupId: string,
  { key, isStrong }: RecordObject,
  signal: AbortSignal,
): Promise<LastRecord<F> | undefined> {
  try {
    return kind.parse(await storage.read(key, signal), { backupId, key, isStrong })
  } catch (error) {
    if (hasCode(error, 'STORAGE_NOT_FOUND')) return undefined
    return failureOf(error, signal)
  }
}

function failureOf(error: unknown, signal: AbortSignal): { error: string } {
  if (!(error instanceof KafkaBackupError) || signal.aborted) throw error
  return { error: error.message }
}
