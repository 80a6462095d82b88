import { failureCodeOf } from '../../archive/read-failure.ts'
import { errorTable } from '../../error-table.ts'
import { detailsField, hasCode, KafkaBackupError, usageError } from '../../errors.ts'
import type { Copies } from '../../jobs/copy.ts'
import type { StoragePlace } from '../../jobs/encryption.ts'
import { largest } from '../../lib/largest.ts'
import { parseLocation } from '../../storage/location.ts'
import type { CommandOptions } from '../option-specs.ts'
import type { Facts } from '../result/result-builder.ts'
import type { Session } from '../session.ts'
import { plural } from '../text.ts'
import { type CopyRow, formatCopies } from './copy-report.ts'

const DAMAGE_FOUND = 3
/** Error codes that concern only one of several backups. */
const ofBackup = [
  ...(['ARCHIVE_DAMAGED', 'ARCHIVE_TOO_NEW', 'WRITER_CONFLICT', 'BACKUP_NOT_FOUND', 'BACKUP_PRUNED'] as const),
  ...(['ENCRYPTION_KEY', 'ENCRYPTION_MISMATCH'] as const),
  // A service that has to be asked for a key. That of one backup may be another than those of the others.
  ...(['KMS_UNREACHABLE', 'CREDENTIALS_UNREACHABLE', 'CREDENTIALS_REFUSED'] as const),
]

export async function run(session: Session): Promise<number> {
  const { options, signal } = session
  const generation = readGeneration(options)
  const [from, to] = [await readSide(session, 'from'), await readSide(session, 'to')]
  const named = namedIds(options, from.backupId)
  const { decrypt, keyFile: keyFiles } = options
  const places = { from: { ...from, ...session.givenKeys() }, to: { ...to, keyFiles }, decrypt }
  const rows = await session.actions.withCopies(places, session, signal, async copies => {
    const ids = named ?? (await copies.listIds(signal))
    if (ids.length === 0) throw noBackups(copies.from)
    return { from: copies.from, to: copies.to, rows: await copyEach(session, copies, ids, generation) }
  })
  const exit = largest(rows.rows.map(exitCodeOf))
  const cause = rows.rows.find(row => exit > 0 && exitCodeOf(row) === exit)
  if (cause) session.outcome.note({ problem: problemOf(cause, rows.rows) })
  session.print(
    () => formatCopies(rows, session.style),
    () => ({ from: rows.from, to: rows.to, backups: rows.rows }),
  )
  return exit
}

function problemOf(cause: CopyRow, rows: readonly CopyRow[]): NonNullable<Facts['problem']> {
  const failed = `${plural(rows.filter(row => exitCodeOf(row) !== 0).length, 'backup')} not copied, or damaged`
  if ('error' in cause) return { code: cause.code, message: `${failed}; ${cause.backup_id}: ${cause.error}` }
  const [first] = cause.problems
  return { code: 'ARCHIVE_DAMAGED', message: `${failed}; ${cause.backup_id}: ${first?.key}: ${first?.problem}` }
}

/** A wrong location looks like this: a second copy that is empty must not be called a success. */
function noBackups(from: string): KafkaBackupError {
  return new KafkaBackupError('BACKUP_NOT_FOUND', `nothing to copy: there are no backups at ${from}`, {
    help: 'Correct --from or --from-config: it is the location that contains the folders of backups.',
    details: { location: from },
  })
}

/** A failure that ends the run does not hide what was copied before it. */
async function copyEach(
  session: Session,
  copies: Copies,
  ids: readonly string[],
  generation: number | 'newest' | undefined,
): Promise<CopyRow[]> {
  const rows: CopyRow[] = []
  for (const [at, id] of ids.entries()) {
    try {
      rows.push(await copyOne(session, copies, id, generation, ids.length > 1))
    } catch (error) {
      if (at === 0 || session.signal.aborted || !(error instanceof KafkaBackupError)) throw error
      const rest = ids.slice(at + 1)
      const untried = { error: `not tried after the failure of ${id}`, code: failureCodeOf(error) }
      return [...rows, failedRow(id, error), ...rest.map(backup_id => ({ backup_id, ...untried }))]
    }
  }
  return rows
}

function failedRow(backup_id: string, error: KafkaBackupError): CopyRow {
  return { backup_id, error: error.message, code: failureCodeOf(error), ...detailsField(error) }
}

/** Copies the other backups if one of several fails. */
async function copyOne(
  session: Session,
  copies: Copies,
  backupId: string,
  generation: number | 'newest' | undefined,
  isOneOfSeveral: boolean,
): Promise<CopyRow> {
  const { dryRun, verifyExisting } = session.options
  const label = isOneOfSeveral ? `copy ${backupId}` : 'copy'
  try {
    return await session.withProgress(label, 'comparing both locations', onProgress =>
      copies.copy(backupId, { generation, verifyExisting, dryRun, onProgress }, session.signal),
    )
  } catch (error) {
    const isOwn = hasCode(error, ...ofBackup)
    if (!isOneOfSeveral || !isOwn || isOfLocation(error)) throw error
    return failedRow(backupId, error)
  }
}

/** Credentials that a location needs, and not a key: every other backup would wait for them again. */
function isOfLocation(error: KafkaBackupError): boolean {
  return hasCode(error, 'CREDENTIALS_UNREACHABLE', 'CREDENTIALS_REFUSED') && error.details.resource === undefined
}

async function readSide(session: Session, side: 'from' | 'to'): Promise<StoragePlace> {
  const { from, to, fromConfig, toConfig } = session.options
  const [location, config] = side === 'from' ? [from, fromConfig] : [to, toConfig]
  if (location !== undefined && config !== undefined)
    throw usageError(`pass either --${side} or --${side}-config, not both`)
  if (location !== undefined) return { storage: parseLocation(location) }
  if (config === undefined) {
    const what = side === 'from' ? 'where the backup is' : 'where the copy goes'
    throw usageError(`say ${what}, with --${side} or --${side}-config`)
  }
  return session.loadOtherClusterlessJob(config)
}

/** Undefined means all backups. */
function namedIds({ backupIds, all }: CommandOptions, ofJob: string | undefined): string[] | undefined {
  if (all && backupIds.length > 0) throw usageError('pass either --backup-id or --all, not both')
  if (all) return undefined
  const ids = backupIds.length > 0 ? [...new Set(backupIds)] : ofJob === undefined ? [] : [ofJob]
  if (ids.length === 0) throw usageError('pass --backup-id or --all')
  return ids
}

function readGeneration({ generation, backupIds, all }: CommandOptions): number | 'newest' | undefined {
  if (generation === undefined || generation === 'newest') return generation
  if (!/^[1-9]\d{0,14}$/.test(generation)) throw usageError('--generation must be a number from 1, or `newest`')
  if (all || backupIds.length > 1)
    throw usageError('--generation with a number needs exactly one backup; `newest` works for several')
  return Number(generation)
}

function exitCodeOf(row: CopyRow): number {
  if ('error' in row) return errorTable[row.code].exitCode
  return row.ok ? 0 : DAMAGE_FOUND
}
