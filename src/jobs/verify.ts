import { hostname } from 'node:os'
import { newestNumber, scanManifests } from '../archive/catalog.ts'
import { recordVerification } from '../archive/verification.ts'
import { type VerifyOptions, type VerifyReport, verifyBackup } from '../archive/verify.ts'
import { hasCode, KafkaBackupError } from '../errors.ts'
import { formatUtc, systemClock } from '../lib/clock.ts'
import type { Storage } from '../storage/storage.ts'
import { version } from '../version.ts'
import { withLeaseAt } from './leases.ts'
import { newRun } from './parts.ts'

export interface VerifyRequest extends VerifyOptions {
  /** False: the result is not stored with the backup. */
  record: boolean
}

export interface RecordedReport extends VerifyReport {
  /** The object that holds the result for `list`, `describe` and the console; or why there is none. */
  record: { key: string } | { not_recorded: string }
}

/**
 * Verifies, and stores the result with the backup where that can be written. A deep look takes long enough for what it reads to be pruned away; a
 * quick one does not.
 */
export async function verifyAt(
  storage: Storage,
  backupId: string,
  { record, ...options }: VerifyRequest,
  signal: AbortSignal,
): Promise<RecordedReport> {
  const startedAt = formatUtc(systemClock.now())
  const work = async (): Promise<RecordedReport> => {
    const isChosen = options.generation !== undefined || options.asOfMs !== undefined
    const keep = (found: Found) =>
      keepResult(storage, { backupId, startedAt, deep: options.deep, isChosen, ...found }, signal)
    try {
      const report = await verifyBackup(storage, backupId, options, signal)
      const { generation, problems } = report
      const kept = record ? await keep({ generation, problems: problems.length }) : { not_recorded: 'not requested' }
      return { ...report, record: kept }
    } catch (error) {
      // A manifest that cannot be read is damage, too: an earlier result must not be the last one.
      if (record && hasCode(error, 'ARCHIVE_DAMAGED'))
        await keep({ generation: options.generation ?? null, problems: 1 })
      throw error
    }
  }
  if (!options.deep) return work()
  return withLeaseAt(storage, { backupId, role: 'reader', kind: 'verify' }, options, signal, work)
}

interface Found {
  generation: number | null
  problems: number
}

interface Result extends Found {
  backupId: string
  startedAt: string
  deep: boolean
  /** False: the newest generation was meant. */
  isChosen: boolean
}

/** Never fails: the verification has its result without it. */
async function keepResult(
  storage: Storage,
  { backupId, startedAt, isChosen, deep, problems, ...found }: Result,
  signal: AbortSignal,
): Promise<RecordedReport['record']> {
  try {
    const newest = await newestNumber(storage, backupId, await scanManifests(storage, backupId, signal), signal)
    const generation = found.generation ?? (isChosen ? null : (newest ?? null))
    const verification = {
      ...({ format: 'kafka-backup-verification', format_version: 1, backup_id: backupId } as const),
      ...{ generation, latest: !isChosen || generation === newest, deep, problems },
      ...{ started_at: startedAt, finished_at: formatUtc(systemClock.now()), host: hostname(), tool_version: version },
    }
    const key = await recordVerification(storage, verification, newRun(), signal)
    return key === undefined ? { not_recorded: 'the backup was removed meanwhile' } : { key }
  } catch (error) {
    if (!(error instanceof KafkaBackupError) || signal.aborted) throw error
    return { not_recorded: error.message }
  }
}
