import * as z from 'zod'
import { hasCode, KafkaBackupError } from '../errors.ts'
import { formatAgo, formatCount } from '../lib/units.ts'
import type { Storage, StoredObject } from '../storage/storage.ts'
import { scanManifests } from './catalog.ts'
import { damaged } from './damage.ts'
import { parseVerificationKey, verificationKey, verificationsPrefix } from './layout.ts'
import { findNewestCommit } from './log/open-generation.ts'
import { parseSealed } from './manifest.ts'
import { sealJson } from './seal.ts'

export const verificationSchema = z.strictObject({
  format: z.literal('kafka-backup-verification'),
  format_version: z.literal(1),
  backup_id: z.string(),
  /** Null where its manifest could not be read, and none was asked for. */
  generation: z.int().positive().nullable(),
  /** Every byte was read. */
  deep: z.boolean(),
  /** How many were found. */
  problems: z.int().nonnegative(),
  started_at: z.iso.datetime(),
  finished_at: z.iso.datetime(),
  host: z.string(),
  tool_version: z.string(),
  checksum: z.string(),
})

export type Verification = Omit<z.output<typeof verificationSchema>, 'checksum'>

/** What a listing shows of a verification. */
export type VerificationFacts = Pick<Verification, 'generation' | 'deep' | 'problems' | 'started_at' | 'finished_at'>

/** Null before the first verification; with an `error` where the record of it cannot be read. */
export type LastVerification = VerificationFacts | { error: string } | null

export interface LastVerifications {
  /** Deep or not. */
  last_verification: LastVerification
  /** The last one that read every byte. */
  last_deep_verification: LastVerification
}

/**
 * Stores what a verification found, and removes the records that it supersedes: an earlier deep one stays next to one that is not. Nothing of
 * the backup depends on it. Undefined where the backup was removed meanwhile. An older record that cannot be removed stays.
 */
export async function recordVerification(
  storage: Storage,
  facts: Verification,
  run: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { backup_id: backupId, deep, started_at } = facts
  const key = verificationKey(backupId, { deep, startedAt: started_at, run })
  await storage.create(key, sealJson(facts), signal)
  // A prune marks a backup before it lists what it removes: one that is not marked now still finds this object.
  if (await isGone(storage, backupId, signal)) {
    await storage.remove(key, signal)
    return undefined
  }
  const records = await listRecords(storage, backupId, signal)
  const own = records.findIndex(one => one.key === key)
  const superseded = records.slice(own + 1).filter(one => deep || !one.deep)
  for (const { key: old } of own < 0 ? [] : superseded) {
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

async function isGone(storage: Storage, backupId: string, signal: AbortSignal): Promise<boolean> {
  const { manifests, mark } = await scanManifests(storage, backupId, signal)
  return (
    mark !== undefined || (manifests.size === 0 && (await findNewestCommit(storage, backupId, signal)) === undefined)
  )
}

/** What is known of the last verifications. A record that cannot be read must not hide the backup. */
export async function readLastVerifications(
  storage: Storage,
  backupId: string,
  signal: AbortSignal,
): Promise<LastVerifications> {
  try {
    // A later verification may have removed what was listed: its own record is in the next listing.
    const found = (await readNewest(storage, backupId, signal)) ?? (await readNewest(storage, backupId, signal))
    return found ?? { last_verification: null, last_deep_verification: null }
  } catch (error) {
    const failed = failureOf(error, signal)
    return { last_verification: failed, last_deep_verification: failed }
  }
}

/** Undefined where a record that was listed is not there any more. */
async function readNewest(
  storage: Storage,
  backupId: string,
  signal: AbortSignal,
): Promise<LastVerifications | undefined> {
  const records = await listRecords(storage, backupId, signal)
  const [newest, newestDeep] = [records[0], records.find(({ deep }) => deep)]
  const last = newest ? await readRecord(storage, backupId, newest, signal) : null
  const lastDeep =
    newest === newestDeep ? last : newestDeep ? await readRecord(storage, backupId, newestDeep, signal) : null
  if (last === undefined || lastDeep === undefined) return undefined
  return { last_verification: last, last_deep_verification: lastDeep }
}

interface RecordObject extends StoredObject {
  name: string
  deep: boolean
}

/** Newest first, by the clock of the store: that of a machine may have been wrong. */
async function listRecords(storage: Storage, backupId: string, signal: AbortSignal): Promise<RecordObject[]> {
  const found: RecordObject[] = []
  for await (const object of storage.list(verificationsPrefix(backupId), signal)) {
    const named = parseVerificationKey(backupId, object.key)
    if (named) found.push({ ...object, ...named })
  }
  return found.sort((a, b) => b.modifiedMs - a.modifiedMs || (a.name < b.name ? 1 : -1))
}

async function readRecord(
  storage: Storage,
  backupId: string,
  { key, deep: isDeep }: RecordObject,
  signal: AbortSignal,
): Promise<LastVerification | undefined> {
  try {
    const record = parseSealed(verificationSchema, await storage.read(key, signal), key)
    if (record.backup_id !== backupId || record.deep !== isDeep) throw damaged(key, 'does not belong to its key')
    const { generation, deep, problems, started_at, finished_at } = record
    return { generation, deep, problems, started_at, finished_at }
  } catch (error) {
    if (hasCode(error, 'STORAGE_NOT_FOUND')) return undefined
    return failureOf(error, signal)
  }
}

function failureOf(error: unknown, signal: AbortSignal): { error: string } {
  if (!(error instanceof KafkaBackupError) || signal.aborted) throw error
  return { error: error.message }
}

/**
 * Pure. The last verification if it found problems, or else the last deep one if it did: only a later one that reads every byte shows that
 * its problems are gone.
 */
export function damageOf({
  last_verification: last,
  last_deep_verification: lastDeep,
}: LastVerifications): VerificationFacts | undefined {
  return [last, lastDeep].flatMap(one => (one && 'problems' in one && one.problems > 0 ? [one] : []))[0]
}

/** Pure. `3 d ago, generation 17, no problems; every byte was read 9 d ago, generation 12, no problems`. */
export function describeVerifications(
  { last_verification: last, last_deep_verification: lastDeep }: LastVerifications,
  nowMs: number,
): string {
  if (!last) return 'never'
  const deep = lastDeep && 'deep' in lastDeep ? `; every byte was read ${describeOne(lastDeep, nowMs)}` : ''
  if ('error' in last) return `unknown: ${last.error}${deep}`
  return `${describeOne(last, nowMs)}${last.deep ? ', every byte was read' : deep}`
}

function describeOne({ finished_at, generation, problems }: VerificationFacts, nowMs: number): string {
  const found = problems === 0 ? 'no problems' : problems === 1 ? '1 problem' : `${formatCount(problems)} problems`
  return `${formatAgo(finished_at, nowMs)}, ${generation === null ? 'no readable generation' : `generation ${generation}`}, ${found}`
}
