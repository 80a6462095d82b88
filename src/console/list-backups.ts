import { listBackupIds } from '../archive/catalog.ts'
import { failureCodeOf, type ReadFailure, readFailureOf } from '../archive/read-failure.ts'
import { deletedKeyWarnings } from '../archive/record-warnings.ts'
import { type Totals, totalsOf } from '../archive/summary.ts'
import type { LastVerifications } from '../archive/verification.ts'
import { KafkaBackupError } from '../errors.ts'
import type { ArchiveReader } from './archive-reader.ts'

export interface BackupRow {
  at: number
  location: string
  backupId: string
  state: BackupState | { error: string; failure: ReadFailure } | undefined
}

export interface BackupState {
  generation: number
  complete: boolean
  created_at: string
  encrypted: boolean
  staleTopics: number
  /** Objects that were read around. */
  damagedObjects: number
  totals: Totals
  verified: LastVerifications
}

/** The backups of all locations, and locations that cannot be listed. Nothing of a backup is read. */
export async function listAll(
  { locations, redact }: ArchiveReader,
  signal: AbortSignal,
): Promise<{ rows: BackupRow[]; problems: string[] }> {
  const rows: BackupRow[] = []
  const problems: string[] = []
  for (const [at, { name, storage }] of locations.entries()) {
    try {
      const ids = await listBackupIds(storage, signal)
      rows.push(...ids.map(backupId => ({ at, location: name, backupId, state: undefined })))
    } catch (error) {
      signal.throwIfAborted()
      if (!(error instanceof KafkaBackupError)) throw error
      problems.push(`${name} cannot be listed: ${redact(error.message)}`)
    }
  }
  return { rows, problems }
}

/** Reads what a row shows. One that cannot be read is a row with its error: it must hide neither the others nor itself. */
export async function fillRow(reader: ArchiveReader, row: BackupRow, signal: AbortSignal): Promise<void> {
  try {
    const { at, backupId } = row
    const newest = await reader.newest({ at, backupId }, signal)
    const read = () => readState(reader, row, signal)
    const state = await reader.deriveSmall({ at, backupId }, newest, 'summary', read)
    // A verification makes no new generation.
    row.state = { ...state, verified: await reader.verifications({ at, backupId }, signal) }
  } catch (error) {
    signal.throwIfAborted()
    if (!(error instanceof KafkaBackupError)) throw error
    row.state = { error: reader.redact(error.message), failure: readFailureOf(failureCodeOf(error)) }
  }
}

async function readState(
  reader: ArchiveReader,
  { at, backupId }: BackupRow,
  signal: AbortSignal,
): Promise<Omit<BackupState, 'verified'>> {
  const { manifest } = await reader.open({ at, backupId }, signal)
  const { generation, complete, created_at, encryption, topics, avoided = [] } = manifest
  return {
    ...{ generation, complete, created_at, encrypted: encryption !== undefined },
    staleTopics: deletedKeyWarnings(topics).length,
    damagedObjects: avoided.length,
    totals: totalsOf(topics),
  }
}
