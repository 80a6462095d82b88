import * as z from 'zod'
import { formatAgo, formatCount, formatDuration } from '../lib/units.ts'
import type { Storage } from '../storage/storage.ts'
import { damaged } from './damage.ts'
import { drillKey, drillsPrefix, parseDrillKey } from './layout.ts'
import { parseSealed } from './manifest.ts'
import { type LastRecord, type RecordKind, readLastRecords, storeRecord } from './result-records.ts'
import { sealJson } from './seal.ts'

export const drillRecordSchema = z.strictObject({
  format: z.literal('kafka-backup-drill'),
  format_version: z.literal(1),
  backup_id: z.string(),
  generation: z.int().positive(),
  /** Every record of the stated part was restored and compared equal. */
  proven: z.boolean(),
  /** What was restored, such as `all topics` or `5% of every partition`. */
  scope: z.string(),
  /** Which topics, such as `all topics`. */
  selection: z.string().exactOptional(),
  /** Only a part of the records of these topics was restored. */
  limited: z.boolean().exactOptional(),
  /** The restored records differ, or the backup is damaged: only a restore of this part proves that it is not any more. */
  damaged: z.boolean().exactOptional(),
  topics: z.int().nonnegative(),
  records: z.int().nonnegative(),
  bytes: z.int().nonnegative(),
  differences: z.int().nonnegative(),
  /** From the begin of the restore until all records were written, without the comparison. */
  recovery_ms: z.int().nonnegative(),
  started_at: z.iso.datetime(),
  finished_at: z.iso.datetime(),
  /** Of the evidence document, in hexadecimal: the record names the evidence that it belongs to. */
  evidence_sha256: z.string().regex(/^[0-9a-f]{64}$/),
  host: z.string(),
  tool_version: z.string(),
  checksum: z.string(),
})

export type DrillRecord = Omit<z.output<typeof drillRecordSchema>, 'checksum'>

/** What a listing shows of a drill. */
export type DrillFacts = Pick<DrillRecord, (typeof shownFields)[number]>

const shownFields = [
  ...(['generation', 'proven', 'scope', 'selection', 'limited', 'damaged', 'records'] as const),
  ...(['recovery_ms', 'started_at', 'finished_at'] as const),
] as const

export interface LastDrills {
  /** Null before the first drill; with an `error` where the record cannot be read. */
  last_drill: LastRecord<DrillFacts>
  /** The last one that proved that the backup can be restored. */
  last_proven_drill: LastRecord<DrillFacts>
  /** The last one that failed, if no later one has proven its part. */
  last_failed_drill: LastRecord<DrillFacts>
}

const drills: RecordKind<DrillFacts> = {
  prefixOf: drillsPrefix,
  parseKey: (backupId, key) => {
    const named = parseDrillKey(backupId, key)
    return named && { name: named.name, isStrong: named.proven }
  },
  parse: (bytes, { backupId, key, isStrong }) => {
    const record = parseSealed(drillRecordSchema, bytes, key)
    if (record.backup_id !== backupId || record.proven !== isStrong) throw damaged(key, 'does not belong to its key')
    return Object.fromEntries(
      shownFields.filter(name => record[name] !== undefined).map(name => [name, record[name]]),
    ) as unknown as DrillFacts
  },
  settles,
  maxRead: 100,
}

/** What `*` may leave out, and a restore takes by its name only: topics of Kafka and of registries, and older incarnations. */
const beyondAll = /(?:^topics |, )_|@/

/**
 * Pure. Whether a drill stands for an earlier one that failed: all records of its topics were restored, or the same part, unless that was
 * found to be damaged, because a sample is of other records each time. A drill that failed for another reason shows nothing about damage,
 * and one of an older generation nothing about what was stored later.
 */
function settles(newer: DrillFacts, failed: DrillFacts): boolean {
  if (newer.generation < failed.generation) return false
  const { scope, selection = scope, limited = scope !== 'all topics' } = newer
  const { selection: failedTopics = failed.scope } = failed
  const hasAll = selection === 'all topics' && !beyondAll.test(failedTopics)
  const isAll = !limited && (hasAll || selection === failedTopics)
  const isDamaged = failed.damaged !== false
  if (newer.proven) return isAll || (!isDamaged && scope === failed.scope)
  return (isAll || scope === failed.scope) && (!isDamaged || newer.damaged !== false)
}

/** Stores the result of a drill; see `storeRecord`. One that proved the backup supersedes earlier ones, and failed ones of its part. */
export function recordDrill(
  storage: Storage,
  record: DrillRecord,
  run: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { backup_id: backupId, proven, started_at } = record
  const key = drillKey(backupId, { proven, startedAt: started_at, run })
  return storeRecord(storage, drills, { backupId, key, body: sealJson(record) }, signal)
}

/** What is known of the last drills. A record that cannot be read must not hide the backup. */
export async function readLastDrills(storage: Storage, backupId: string, signal: AbortSignal): Promise<LastDrills> {
  const { last, lastStrong, lastOpen } = await readLastRecords(storage, drills, backupId, signal)
  return { last_drill: last, last_proven_drill: lastStrong, last_failed_drill: lastOpen }
}

/** Pure. The last drill that failed, unless a later one has proven its part. */
export function failedDrillOf({ last_failed_drill: failed }: LastDrills): DrillFacts | undefined {
  return failed && 'proven' in failed ? failed : undefined
}

/** Pure. `3 d ago, generation 17, proven: 5% of every partition, 1,200 records in 12 s`. */
export function describeDrills(drilled: LastDrills, nowMs: number): string {
  const { last_drill: last, last_proven_drill: proven, last_failed_drill: failed } = drilled
  if (!last) return 'never'
  if ('error' in last) return `unknown: ${last.error}`
  const other = last.proven ? failed : proven
  const earlier = other && 'proven' in other ? `; before that ${describeOne(other, nowMs)}` : ''
  return `${describeOne(last, nowMs)}${earlier}`
}

function describeOne(facts: DrillFacts, nowMs: number): string {
  const { finished_at, generation, proven, scope, records, recovery_ms } = facts
  const extent = `${scope}, ${formatCount(records)} ${records === 1 ? 'record' : 'records'} in ${formatDuration(recovery_ms)}`
  return `${formatAgo(finished_at, nowMs)}, generation ${generation}, ${proven ? 'proven' : 'FAILED'}: ${extent}`
}
