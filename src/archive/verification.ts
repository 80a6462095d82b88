import * as z from 'zod'
import { formatAgo, formatCount } from '../lib/units.ts'
import type { Storage } from '../storage/storage.ts'
import { damaged } from './damage.ts'
import { parseVerificationKey, verificationKey, verificationsPrefix } from './layout.ts'
import { parseSealed } from './manifest.ts'
import { type LastRecord, type RecordKind, readLastRecords, storeRecord } from './result-records.ts'
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

export type LastVerification = LastRecord<VerificationFacts>

export interface LastVerifications {
  /** Deep or not. */
  last_verification: LastVerification
  /** The last one that read every byte. */
  last_deep_verification: LastVerification
}

const verifications: RecordKind<VerificationFacts> = {
  prefixOf: verificationsPrefix,
  parseKey: (backupId, key) => {
    const named = parseVerificationKey(backupId, key)
    return named && { name: named.name, isStrong: named.deep }
  },
  parse: (bytes, { backupId, key, isStrong }) => {
    const record = parseSealed(verificationSchema, bytes, key)
    if (record.backup_id !== backupId || record.deep !== isStrong) throw damaged(key, 'does not belong to its key')
    const { generation, deep, problems, started_at, finished_at } = record
    return { generation, deep, problems, started_at, finished_at }
  },
}

/** Stores what a verification found; see `storeRecord`. A deep one supersedes all earlier ones. */
export function recordVerification(
  storage: Storage,
  facts: Verification,
  run: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { backup_id: backupId, deep, started_at } = facts
  const key = verificationKey(backupId, { deep, startedAt: started_at, run })
  return storeRecord(storage, verifications, { backupId, key, body: sealJson(facts) }, signal)
}

/** What is known of the last verifications. A record that cannot be read must not hide the backup. */
export async function readLastVerifications(
  storage: Storage,
  backupId: string,
  signal: AbortSignal,
): Promise<LastVerifications> {
  const { last, lastStrong } = await readLastRecords(storage, verifications, backupId, signal)
  return { last_verification: last, last_deep_verification: lastStrong }
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
