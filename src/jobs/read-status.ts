import { type BackupStatus, judgeBackup, type StatusFacts } from '../archive/backup-status.ts'
import { listGenerationsOf } from '../archive/generations.ts'
import { listBackups } from '../archive/list-backups.ts'
import type { ExpectedInterval } from '../archive/status-finding.ts'
import { KafkaBackupError } from '../errors.ts'
import { runPool } from '../lib/pool.ts'
import type { Storage } from '../storage/storage.ts'

/** So many show the usual interval and the growth. */
const GENERATIONS = 20
const CONCURRENCY = 4

export interface StatusRequest {
  /** How often a backup of the location is expected to commit. */
  expectedOf(backupId: string): ExpectedInterval | undefined
  /** The options of a command that name the location. */
  at: string
}

/** The status of every backup at a location. */
export async function readStatus(
  storage: Storage,
  { expectedOf, at }: StatusRequest,
  nowMs: number,
  signal: AbortSignal,
): Promise<BackupStatus[]> {
  const summaries = await listBackups(storage, signal)
  return runPool(summaries, CONCURRENCY, async summary => {
    const { backup_id } = summary
    const listed = 'error' in summary ? { generations: [] } : await readGenerations(storage, backup_id, signal)
    return judgeBackup({ summary, ...listed, expected: expectedOf(backup_id), at }, nowMs)
  })
}

/** Older generations that cannot be read must not hide the latest. */
async function readGenerations(
  storage: Storage,
  backupId: string,
  signal: AbortSignal,
): Promise<Pick<StatusFacts, 'generations' | 'problem'>> {
  try {
    return await listGenerationsOf(storage, backupId, { limit: GENERATIONS }, signal)
  } catch (error) {
    signal.throwIfAborted()
    if (!(error instanceof KafkaBackupError)) throw error
    return {
      generations: [],
      problem: { code: error.code, error: `its generations cannot be listed: ${error.message}` },
    }
  }
}
