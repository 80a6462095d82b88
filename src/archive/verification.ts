import * as z from 'zod'
import { formatAgo, formatCount } from '../lib/units.ts'
import type { Storage } from '../storage/storage.ts'
import { damaged } from './damage.ts'
import { manifestKey, parseVerificationKey, verificationKey, verificationsPrefix } from './layout.ts'
import { hasCommit } from './log/list-commits.ts'
import { parseSealed } from './manifest.ts'
import { type LastRecord, type RecordKind, readLastRecords, storeRecord } from './result-records.ts'
import { sealJson } from './seal.ts'

export const verificationSchema = z.strictObject({
  format: z.literal('kafka-backup-verification'),
  format_version: z.literal(1),
  backup_id: z.string(),
  /** Null where it is unknown, because nothing could be read. */
  generation: z.int().positive().nullable(),
  /** It was the newest one at that time. */
  latest: z.boolean().exactOptional(),
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
export type VerificationFacts = Pick<Verification, (typeof shownFields)[number]>

const shownFields = ['generation', 'latest', 'deep', 'problems', 'started_at', 'finished_at'] as const

export type LastVerification = LastRecord<VerificationFacts>

export interface LastVerifications {
  /** Deep or not. */
  last_verification: LastVerification
  /** The last one that read every byte. */
  last_deep_verification: LastVerification
  /** The last one that found problems, if no later one has read as much. */
  last_damage: LastVerification
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
    return Object.fromEntries(
      shownFields.filter(name => record[name] !== undefined).map(name => [name, record[name]]),
    ) as unknown as VerificationFacts
  },
  settles,
  isOpen: ({ problems }) => problems > 0,
  maxRead: 20,
}

/**
 * Pure. Whether a verification stands for an earlier one, because it has read all that the earlier one found to be damaged: every byte where that
 * did, and the same generation, or a later one where that was the newest. Other generations may name other objects.
 */
function settles(newer: VerificationFacts, earlier: VerificationFacts): boolean {
  if (earlier.problems === 0) return true
  if (earlier.deep && !newer.deep) return false
  if (earlier.generation === null) return true
  if (newer.generation === null) return false
  if (earlier.latest === false) return newer.generation === earlier.generation
  return newer.generation >= earlier.generation
}

/** Stores what a verification found; see `storeRecord`. */
export function recordVerification(
  storage: Storage,
  facts: Verification,
  run: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { backup_id: backupId, deep, started_at } = facts
  const key = verificationKey(backupId, { deep, startedAt: started_at, run })
  // Retention may have removed the generation, and a user a damaged manifest. Later ones may still name the objects of one that was the newest.
  const isMoot = async ({ generation, latest }: VerificationFacts) =>
    generation !== null &&
    (latest === false || facts.latest !== false) &&
    (await storage.stat(manifestKey(backupId, generation), signal)) === undefined &&
    !(await hasCommit(storage, backupId, generation, signal))
  return storeRecord(storage, verifications, { backupId, key, body: sealJson(facts), isMoot }, signal)
}

/** What is known of the last verifications. A record that cannot be read must not hide the backup. */
export async function readLastVerifications(
  storage: Storage,
  backupId: string,
  signal: AbortSignal,
): Promise<LastVerifications> {
  const { last, lastStrong, lastOpen } = await readLastRecords(storage, verifications, backupId, signal)
  return { last_verification: last, last_deep_verification: lastStrong, last_damage: lastOpen }
}

/** Pure. The last verification that found problems, unless a later one has read as much. */
export function damageOf({ last_damage: damage }: LastVerifications): VerificationFacts | undefined {
  return damage && 'problems' in damage ? damage : undefined
}

/** Pure. The command that reads again what was damaged. */
export function repeatingCommand({ deep, latest, generation }: VerificationFacts): string {
  return `verify${deep ? ' --deep' : ''}${latest === false && generation !== null ? ` --generation ${generation}` : ''}`
}

/** Pure. `3 d ago, generation 17, no problems; every byte was read 9 d ago, generation 12, no problems`. */
export function describeVerifications(verified: LastVerifications, nowMs: number): string {
  const { last_verification: last, last_deep_verification: lastDeep } = verified
  if (!last) return 'never'
  const deep = lastDeep && 'deep' in lastDeep ? `; every byte was read ${describeOne(lastDeep, nowMs)}` : ''
  const damage = damageOf(verified)
  const isShown = [last, lastDeep].some(one => one && 'started_at' in one && one.started_at === damage?.started_at)
  const before = damage && !isShown ? `; before that ${describeOne(damage, nowMs)}` : describeUnread(verified)
  if ('error' in last) return `unknown: ${last.error}${deep}${before}`
  return `${describeOne(last, nowMs)}${last.deep ? ', every byte was read' : deep}${before}`
}

/** A result that cannot be read may say that there is damage. */
function describeUnread({ last_verification: last, last_damage: open }: LastVerifications): string {
  const isNews = open && 'error' in open && !(last && 'error' in last && last.error === open.error)
  return isNews ? `; an earlier result cannot be read: ${open.error}` : ''
}

function describeOne({ finished_at, generation, problems }: VerificationFacts, nowMs: number): string {
  const found = problems === 0 ? 'no problems' : problems === 1 ? '1 problem' : `${formatCount(problems)} problems`
  return `${formatAgo(finished_at, nowMs)}, ${generation === null ? 'no readable generation' : `generation ${generation}`}, ${found}`
}
