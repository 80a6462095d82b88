import { hasCode, KafkaBackupError } from '../errors.ts'
import { METADATA_SETTING, metadataLimitOf } from '../kafka/metadata-limit.ts'
import type { EffectiveConfigs } from '../kafka/topic-configs.ts'
import type { Finding } from '../observe/finding.ts'
import { MARK_CHARS, MAX_MARKED } from './group-marks.ts'
import type { RestorePlan } from './plan.ts'

const REMEDY = `set ${METADATA_SETTING} to 4096, its default, on all brokers of the target, and restart them`
/** What a note without groups needs next to the name of the backup: the first of a restore, and one with schema IDs, shards and long numbers. */
const [SHORTEST_NOTE, LONGEST_NOTE] = [136, 354]
/** With the field of the groups, and without schema IDs. */
const PLAIN_NOTE = 263

/**
 * Pure. A blocker where the progress of a restore does not fit into the metadata that brokers take. Where the user may not read the
 * setting, the brokers refuse the first note, after topics were created and before records are written.
 */
export function findNoRoom({ backupId }: Pick<RestorePlan, 'backupId'>, defaults: EffectiveConfigs): Finding[] {
  const limit = metadataLimitOf(defaults) ?? Number.POSITIVE_INFINITY
  const [least, most] = [SHORTEST_NOTE, LONGEST_NOTE].map(bytes => bytes + Buffer.byteLength(backupId))
  const taken = `its brokers take ${limit} bytes of metadata for a committed offset, and the progress of a restore`
  if (limit < Number(least))
    return [{ severity: 'error', subject: 'target', problem: `${taken} needs at least ${least}`, remedy: REMEDY }]
  if (limit >= Number(most)) return []
  const problem = `${taken} may need up to ${most}. If they refuse it, the restore stops, and continues when they take more`
  return [{ severity: 'warning', subject: 'target', problem, remedy: REMEDY }]
}

/** Pure. About how many groups a note names where brokers take so much metadata. */
export function countMarks({ backupId }: Pick<RestorePlan, 'backupId'>, limit = Number.POSITIVE_INFINITY): number {
  const room = (limit - PLAIN_NOTE - Buffer.byteLength(backupId)) / MARK_CHARS
  return Math.max(0, Math.min(MAX_MARKED, Math.floor(room)))
}

/** What a broker has refused of the notes of a restore, with what may help. */
export function explainRefused(error: unknown): unknown {
  if (!hasCode(error, 'KAFKA_REFUSED')) return error
  const help = `Where the broker answered OFFSET_METADATA_TOO_LARGE: ${REMEDY}, then run the same command again.`
  return new KafkaBackupError('KAFKA_REFUSED', error.message, { cause: error, help })
}
