import { describeDrills, failedDrillOf } from '../../archive/drill-record.ts'
import type { BackupSummary } from '../../archive/list-backups.ts'
import {
  damageOf,
  describeVerifications,
  type LastVerifications,
  repeatingCommand,
} from '../../archive/verification.ts'
import { errorTable } from '../../error-table.ts'
import { detailsField, type ErrorCode, type ErrorDetails, KafkaBackupError, usageError } from '../../errors.ts'
import { largest } from '../../lib/largest.ts'
import { formatAgo, formatBytes, formatCount } from '../../lib/units.ts'
import type { Storage } from '../../storage/storage.ts'
import type { OutputStyle } from '../output-style.ts'
import type { Session } from '../session.ts'
import { type Column, formatTable } from '../table.ts'
import { formatInstant, printable } from '../text.ts'
import { withOpen } from './backups-at.ts'
import { formatFailure, runGenerations } from './list-generations.ts'

type Readable = Exclude<BackupSummary, { error: string }>

/** The backups at a location, or the error. */
type Listing =
  | { location: string; backups: BackupSummary[] }
  | { location: string; error: string; code: ErrorCode; details?: ErrorDetails }
type Row = BackupSummary & { location: string }

export async function run(session: Session): Promise<number> {
  const { generations, backupId, limit } = session.options
  if (generations) return runGenerations(session)
  if (backupId !== undefined || limit !== undefined) throw usageError('--backup-id and --limit need --generations')
  const places = readLocations(session)
  const listings: Listing[] = []
  for (const place of places) listings.push(await listAt(session, place, places.length > 1))
  const [first] = listings
  const backups = listings.flatMap(one => ('error' in one ? [] : one.backups))
  session.outcome.note({ warnings: backups.flatMap(one => (isBroken(one) ? [] : one.warnings)).length })
  session.print(
    () => formatListings(listings, session.clock.now(), session.style),
    () => (listings.length === 1 ? first : { locations: listings }),
  )
  // Damage takes precedence over transient errors, such as an unreadable folder.
  const codes = listings.flatMap(listing =>
    'error' in listing ? [listing.code] : listing.backups.filter(isBroken).map(({ code }) => code),
  )
  // A missing key does not fail a listing.
  return largest(codes.filter(code => code !== 'ENCRYPTION_KEY').map(code => errorTable[code].exitCode))
}

/** A location as the user wrote it, and how to open it. */
interface NamedLocation {
  name: string
  open(): Promise<Storage>
}

function readLocations(session: Session): NamedLocation[] {
  const { actions, signal } = session
  const { paths, configs, set } = session.options
  if (paths.length > 0 && configs.length > 0) throw usageError('pass either --path or --config, not both')
  if (configs.length === 0 && set.length > 0) throw usageError('--set needs --config')
  if (paths.length + configs.length === 0) throw usageError('pass --path or --config, or set KAFKA_BACKUP_LOCATION')
  return [
    ...paths.map(path => ({ name: path, open: () => actions.openLocation(path, session.givenKeys(), signal) })),
    ...configs.map(config => ({
      name: config,
      open: async () => actions.openJobStorage(await session.loadClusterlessJob(config), session.givenKeys(), signal),
    })),
  ]
}

/** Lists the other locations if one of several cannot be read. */
async function listAt(session: Session, { name, open }: NamedLocation, isOneOfSeveral: boolean): Promise<Listing> {
  try {
    return await withOpen(await open(), async storage => ({
      location: storage.location,
      backups: await session.actions.listBackups(storage, session.signal),
    }))
  } catch (error) {
    session.signal.throwIfAborted()
    if (!isOneOfSeveral || !(error instanceof KafkaBackupError)) throw error
    return { location: name, error: error.message, code: error.code, ...detailsField(error) }
  }
}

function formatListings(listings: readonly Listing[], nowMs: number, style: OutputStyle): string[] {
  const rows = listings.flatMap(listing =>
    'error' in listing ? [] : listing.backups.map(backup => ({ ...backup, location: listing.location })),
  )
  const [empty, unread] = [
    listings.filter(one => 'backups' in one && one.backups.length === 0),
    listings.filter(isBroken),
  ]
  const isOne = listings.length === 1
  const lines = rows.length === 0 ? [] : formatTable(columns(style, isOne, nowMs), rows, style)
  const notes = [
    ...empty.map(({ location }) => `No backups at ${printable(location)}.`),
    ...rows.filter(isBroken).map(row => `${style.bad(nameOf(row, isOne))}: ${printable(row.error)}`),
    ...rows.filter(isFoundDamaged).map(row => `${style.bad(nameOf(row, isOne))}: ${describeDamage(row, nowMs)}`),
    ...rows.filter(isNotProven).map(row => `${style.bad(nameOf(row, isOne))}: ${describeFailedDrill(row, nowMs)}`),
    ...rows.flatMap(row => formatWarnings(row, isOne, style)),
    ...rows.filter(isStale).map(row => `${style.warn(nameOf(row, isOne))}: ${describeStale(row)}`),
    ...unread.map(({ location, error }) => `${style.bad(printable(location))}: ${printable(error)}`),
  ]
  return [...lines, ...(lines.length > 0 && notes.length > 0 ? [''] : []), ...notes]
}

function formatWarnings(row: Row, isOne: boolean, style: OutputStyle): string[] {
  if (isBroken(row)) return []
  return row.warnings.map(warning => `${style.warn(nameOf(row, isOne))}: ${printable(warning)}`)
}

function isStale(row: Row): row is Readable & { location: string } {
  return !isBroken(row) && row.stale_topics > 0
}

function isFoundDamaged(row: Row): row is Readable & { location: string } {
  return !isBroken(row) && damageOf(row) !== undefined
}

function isNotProven(row: Row): row is Readable & { location: string } {
  return !isBroken(row) && failedDrillOf(row) !== undefined
}

function describeFailedDrill(row: Readable, nowMs: number): string {
  return `a drill did not prove the backup (${printable(describeDrills(row, nowMs))})`
}

function describeDamage(row: Readable, nowMs: number): string {
  const damage = damageOf(row)
  const command = damage ? repeatingCommand(damage) : 'verify'
  return `a verification found damage (${printable(describeVerifications(row, nowMs))}); \`${command}\` lists the problems`
}

function describeStale({ stale_topics: count }: Readable): string {
  const what = count === 1 ? '1 compacted topic' : `${formatCount(count)} compacted topics`
  return `${what} may hold keys that were deleted at the source; \`describe\` lists them`
}

function nameOf({ backup_id, location }: Row, isOne: boolean): string {
  return printable(isOne ? backup_id : `${backup_id} at ${location}`)
}

function isBroken<T extends object>(one: T): one is Extract<T, { error: string }> {
  return 'error' in one
}

function columns(style: OutputStyle, isOne: boolean, nowMs: number): Column<Row>[] {
  const of = (pick: (backup: Readable) => string) => (backup: BackupSummary) => ('error' in backup ? '-' : pick(backup))
  const location: Column<Row>[] = [{ title: 'LOCATION', cell: ({ location }) => location, shrinks: true }]
  return [
    ...(isOne ? [] : location),
    { title: 'BACKUP', cell: backup => backup.backup_id, shrinks: true, paint: text => style.bold(text) },
    {
      title: 'STATE',
      cell: stateOf,
      paint: (text, backup) => paintState(text, backup, style),
    },
    { title: 'GEN', dropAs: 6, align: 'right', cell: of(backup => String(backup.generation)) },
    { title: 'CREATED', cell: of(backup => formatInstant(backup.created_at)) },
    { title: 'TOPICS', dropAs: 3, align: 'right', cell: of(backup => formatCount(backup.topics)) },
    { title: 'PARTITIONS', dropAs: 5, align: 'right', cell: of(backup => formatCount(backup.partitions)) },
    { title: 'RECORDS', align: 'right', cell: of(backup => formatCount(backup.records)) },
    { title: 'BYTES', dropAs: 4, align: 'right', cell: of(backup => formatBytes(backup.bytes)) },
    { title: 'STORED', dropAs: 2, align: 'right', cell: of(backup => formatBytes(backup.stored_bytes)) },
    {
      title: 'GAPS',
      align: 'right',
      cell: of(backup => (backup.gaps === 0 ? '-' : formatCount(backup.gaps))),
      paint: text => (text === '-' ? text : style.warn(text)),
    },
    {
      title: 'VERIFIED',
      dropAs: 1,
      cell: of(backup => formatVerified(backup, nowMs)),
      paint: (text, backup) => ('error' in backup || !damageOf(backup) ? text : style.bad(text)),
    },
    { title: 'CLUSTER', dropAs: 7, cell: of(backup => backup.cluster_id ?? '-'), shrinks: true },
  ]
}

function formatVerified(verified: LastVerifications, nowMs: number): string {
  const { last_verification: last, last_damage: open } = verified
  const damage = damageOf(verified)
  if (damage) return `DAMAGED ${formatAgo(damage.finished_at, nowMs)}`
  if (!last) return 'never'
  return 'error' in last || (open && 'error' in open) ? 'unknown' : formatAgo(last.finished_at, nowMs)
}

function isLocked(backup: BackupSummary): boolean {
  return 'error' in backup && backup.code === 'ENCRYPTION_KEY'
}

function stateOf(backup: BackupSummary): string {
  if ('error' in backup) return formatFailure(backup)
  return `${backup.complete ? 'complete' : 'incomplete'}${backup.encrypted ? ', encrypted' : ''}`
}

function paintState(text: string, backup: BackupSummary, style: OutputStyle): string {
  if ('error' in backup) return isLocked(backup) ? style.warn(text) : style.bad(text)
  return backup.complete ? style.good(text) : style.warn(text)
}
