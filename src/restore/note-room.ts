import { hasCode, KafkaBackupError } from '../errors.ts'
import type { EffectiveConfigs } from '../kafka/topic-configs.ts'
import type { Finding } from '../observe/finding.ts'
import type { RestorePlan } from './plan.ts'

const SETTING = 'offset.metadata.max.bytes'
const REMEDY = `set ${SETTING} to 4096, its default, on all brokers of the target, and restart them`
/** What a note without groups needs next to the name of the backup, also where its numbers are long. */
const NOTE_BYTES = 256

/**
 * Pure. A blocker where the progress of a restore does not fit into the metadata that brokers take. Where the user may not read the
 * setting, the brokers refuse the first note, after topics were created and before records are written.
 */
export function findNoRoom({ backupId }: Pick<RestorePlan, 'backupId'>, defaults: EffectiveConfigs): Finding[] {
  const limit = Number(defaults.get(SETTING)?.value ?? Number.POSITIVE_INFINITY)
  const needed = NOTE_BYTES + Buffer.byteLength(backupId)
  if (limit >= needed) return []
  const problem = `its brokers take ${limit} bytes of metadata for a committed offset, and the progress of a restore needs ${needed}`
  return [{ severity: 'error', subject: 'target', problem, remedy: REMEDY }]
}

/** What a broker has refused of the notes of a restore, with what may help. */
export function explainRefused(error: unknown): unknown {
  if (!hasCode(error, 'KAFKA_REFUSED')) return error
  const help = `Where the broker answered OFFSET_METADATA_TOO_LARGE: ${REMEDY}, then run the same command again.`
  return new KafkaBackupError('KAFKA_REFUSED', error.message, { cause: error, help })
}
