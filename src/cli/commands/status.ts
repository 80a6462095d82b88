import { type BackupStatus, missingBackup } from '../../archive/backup-status.ts'
import { type ExpectedInterval, type FindingKind, type StatusLevel, worst } from '../../archive/status-finding.ts'
import type { ClusterlessJob } from '../../config/load-job.ts'
import { errorTable } from '../../error-table.ts'
import { KafkaBackupError, usageError } from '../../errors.ts'
import { formatUtc } from '../../lib/clock.ts'
import { largest } from '../../lib/largest.ts'
import { shellQuote } from '../../lib/shell.ts'
import { parseDurationMs } from '../../lib/units.ts'
import type { Session } from '../session.ts'
import { withOpen } from './backups-at.ts'
import type { LocationStatus } from './location-status.ts'
import { formatNagios, formatUnknown, NAGIOS_UNKNOWN, nagiosCodes, nagiosStateOf } from './status-nagios.ts'
import { formatStatus } from './status-table.ts'

const [UNREAD, DAMAGED, ATTENTION] = [1, 3, 4]
/** Reading a location more often would only cost requests. */
const SHORTEST_MS = 1000

export async function run(session: Session): Promise<number> {
  const { watch, nagios, format } = session.options
  if (nagios && (watch || format === 'json')) throw usageError('--nagios excludes --watch and --format json')
  const everyMs = Math.max(durationOption('--every', session.options.every ?? '60s'), SHORTEST_MS)
  if (nagios) return runNagios(session)
  const told = new Set<string>()
  for (;;) {
    const found = await readAll(session, told)
    if (watch) session.clearScreen()
    session.print(
      () => formatStatus(found, session.clock.now(), session.style),
      () => documentOf(found, session.clock.now()),
    )
    if (!watch) return exitCodeOf(found)
    session.signal.throwIfAborted()
    await session.clock.sleep(everyMs, session.signal)
  }
}

/** A plugin reports what it cannot find out as UNKNOWN. */
async function runNagios(session: Session): Promise<number> {
  try {
    const found = await readAll(session, new Set())
    session.print(
      () => [formatNagios(found)],
      () => ({}),
    )
    const state = nagiosStateOf(found)
    return state === undefined ? NAGIOS_UNKNOWN : nagiosCodes[state]
  } catch (error) {
    session.signal.throwIfAborted()
    if (!(error instanceof KafkaBackupError)) throw error
    session.print(
      () => [formatUnknown(error)],
      () => ({}),
    )
    return NAGIOS_UNKNOWN
  }
}

async function readAll(session: Session, told: Set<string>): Promise<LocationStatus[]> {
  const { paths, configs, set, interval, notify } = session.options
  if (paths.length > 0 && configs.length > 0) throw usageError('pass either --path or --config, not both')
  if (configs.length === 0 && set.length > 0) throw usageError('--set needs --config')
  if (paths.length + configs.length === 0)
    throw usageError('pass a location, --path or --config, or set KAFKA_BACKUP_LOCATION')
  if (notify && configs.length === 0) throw usageError('--notify needs --config: jobs have the webhooks')
  const stated = interval === undefined ? undefined : durationOption('--interval', interval)
  const expected = stated === undefined ? undefined : ({ ms: stated, source: 'option' } as const)
  const found: LocationStatus[] = []
  for (const path of paths) found.push(await readPlace(session, { name: path, expected }))
  for (const config of configs) {
    const job = await session.loadClusterlessJob(config, 'backup')
    const status = await readPlace(session, { name: config, expected, job })
    found.push(status)
    if (notify) await notifyStale(session, job, status, told)
  }
  return found
}

interface Place {
  name: string
  expected: ExpectedInterval | undefined
  job?: ClusterlessJob & { mode: 'backup' }
}

async function readPlace(session: Session, { name, expected, job }: Place): Promise<LocationStatus> {
  const { actions, signal } = session
  const ofJob = job?.monitoring?.expectedIntervalMs
  const expectedOf = (backupId: string): ExpectedInterval | undefined =>
    expected ?? (ofJob !== undefined && backupId === job?.backupId ? { ms: ofJob, source: 'job' } : undefined)
  try {
    const keys = session.givenKeys()
    const storage = await (job ? actions.openJobStorage(job, keys, signal) : actions.openLocation(name, keys, signal))
    return await withOpen(storage, async opened => {
      const at = `${job ? '--config' : '--path'} ${shellQuote(name)}`
      const found = await actions.readStatus(opened, { expectedOf, at }, session.clock.now(), signal)
      const backups = withBackupOf(job, found)
      return { location: opened.location, level: levelOf(backups), backups }
    })
  } catch (error) {
    signal.throwIfAborted()
    if (!(error instanceof KafkaBackupError)) throw error
    return { location: name, level: 'critical', error: error.message, code: error.code }
  }
}

/** A job whose backup is not there is not well, however well other backups at its location are. */
function withBackupOf(job: Place['job'], found: readonly BackupStatus[]): BackupStatus[] {
  const isThere = job === undefined || found.some(({ backup_id }) => backup_id === job.backupId)
  return isThere ? [...found] : [...found, missingBackup(job.backupId)]
}

/** An empty location may be a wrong one. */
function levelOf(backups: readonly BackupStatus[]): StatusLevel {
  return backups.length === 0 ? 'warning' : worst(backups.map(({ level }) => level))
}

/** Posts once for each time that a backup becomes stale; a location that cannot be read counts as such. */
async function notifyStale(
  session: Session,
  job: NonNullable<Place['job']>,
  status: LocationStatus,
  told: Set<string>,
): Promise<void> {
  const key = `${status.location}\n${job.backupId}`
  const message = staleMessage(job.backupId, status)
  if (message === undefined) return void told.delete(key)
  if (told.has(key)) return
  told.add(key)
  const help = 'Check the schedule and the log of its runs.'
  const { location } = status
  for (const warning of await session.actions.notifyWebhooks(job, { event: 'stale', location, message, help })) {
    session.log.write('warn', warning)
  }
}

function staleMessage(backupId: string, status: LocationStatus): string | undefined {
  if ('error' in status) return `the location cannot be read: ${status.error}`
  const findings = status.backups.find(one => one.backup_id === backupId)?.findings ?? []
  return findings.find(({ kind, level }) => kind === 'stale' || (level === 'critical' && unknownAges.includes(kind)))
    ?.message
}

/** A backup whose age is not known counts as stale. */
const unknownAges: readonly FindingKind[] = ['missing', 'unreadable', 'denied', 'unreachable', 'future']

function exitCodeOf(found: readonly LocationStatus[]): number {
  const codes = found.flatMap(one => {
    if ('error' in one) return [errorTable[one.code].exitCode]
    if (one.backups.length === 0) return [ATTENTION]
    const findings = one.backups.flatMap(({ findings }) => findings).filter(({ level }) => level !== 'notice')
    return findings.map(({ kind }) => (isDamage(kind) ? DAMAGED : (ownCodes.get(kind) ?? ATTENTION)))
  })
  return codes.includes(DAMAGED) ? DAMAGED : largest(codes)
}

/** Like a location that cannot be read. */
const ownCodes = new Map<FindingKind, number>([
  ['locked', 0],
  ['denied', UNREAD],
  ['unreachable', UNREAD],
])

function isDamage(kind: FindingKind): boolean {
  return kind === 'damaged' || kind === 'unreadable' || kind === 'drill_failed'
}

function documentOf(found: readonly LocationStatus[], nowMs: number) {
  return { level: worst(found.map(({ level }) => level)), checked_at: formatUtc(nowMs), locations: found }
}

function durationOption(option: string, text: string): number {
  const ms = parseDurationMs(text)
  if (!ms) throw usageError(`${option} ${text} is not a duration, such as 30s or 24h`)
  return ms
}
