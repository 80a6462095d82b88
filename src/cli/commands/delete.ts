import { detailsField, hasCode, KafkaBackupError } from '../../errors.ts'
import { writerTermOf } from '../../jobs/prune.ts'
import { formatBytes } from '../../lib/units.ts'
import type { DeleteReport } from '../../retention/delete-backup.ts'
import type { Storage } from '../../storage/storage.ts'
import type { OutputStyle } from '../output-style.ts'
import { deleteFacts } from '../result/data-facts.ts'
import type { Session } from '../session.ts'
import { plural, printable } from '../text.ts'
import { agrees, refuseDryRunWithYes } from './agree.ts'
import { bare, withBackup, withBackupsAt } from './backups-at.ts'

const PARTLY_DONE = 4

export async function run(session: Session): Promise<number> {
  const { yes, match, backupId } = session.options
  refuseDryRunWithYes(session.options)
  if (match.length > 0 && backupId !== undefined) {
    throw new KafkaBackupError('USAGE', 'pass either --backup-id or --match, not both')
  }
  try {
    if (match.length === 0)
      return await withBackup(
        session,
        (storage, id, job) => remove(session, { storage, ...writerTermOf(job, { match: [id] }) }, [id]),
        bare(session),
      )
    const ofMatch = async (storage: Storage) =>
      remove(session, { storage }, await session.actions.findBackupsAt(storage, match, session.signal))
    return await withBackupsAt(session, ofMatch, bare(session))
  } catch (error) {
    // A location that does not exist is empty; a repeated removal may find this.
    if (!yes || !hasCode(error, 'STORAGE_NOT_FOUND')) throw error
    session.print(
      () => [`nothing to remove: ${printable(error.message)}`],
      () => ({ found: false, note: error.message }),
    )
    return 0
  }
}

interface Place {
  storage: Storage
  writerTtlMs?: number
}

async function remove(session: Session, place: Place, ids: readonly string[]): Promise<number> {
  const { storage } = place
  const { dryRun, yes, match } = session.options
  if (match.length === 0) session.outcome.isAbout(ids[0])
  if (!yes) {
    const plan: DeleteReport[] = []
    for (const id of ids) plan.push(await act(session, place, id, true))
    if (dryRun) return show(session, storage, plan)
    if (!plan.some(({ isFound }) => isFound)) {
      return show(
        session,
        storage,
        plan.map(one => ({ ...one, isDryRun: false })),
      )
    }
    const [what, text] = match.length === 0 ? ['id', ids[0] ?? ''] : ['pattern', match.join(' ')]
    const ask = () => session.confirmByTyping(`This cannot be undone. Type the ${what} to remove it:`, text)
    const formatted = (style: OutputStyle) => plan.flatMap(one => formatDelete(one, style))
    if (!(await agrees(session, { plan: formatted, ask, nothing: 'nothing was removed' }))) return 0
  }
  return removeAll(session, place, ids)
}

/** Removes the other backups if one is in use or held. */
async function removeAll(session: Session, place: Place, ids: readonly string[]): Promise<number> {
  const { storage } = place
  const reports: DeleteReport[] = []
  const busy: KafkaBackupError[] = []
  for (const id of ids) {
    try {
      reports.push(await act(session, place, id, false))
    } catch (error) {
      if (!hasCode(error, 'BACKUP_IN_USE', 'BACKUP_HELD')) throw error
      busy.push(error)
    }
    session.outcome.note(deleteFacts(reports))
  }
  const [first] = busy
  if (first && reports.length === 0) throw first
  if (first && session.options.format === 'json') return showInUse(session, storage, reports, first)
  const code = show(session, storage, reports)
  if (first) throw first
  return code
}

/** One document with the removed backups and the failures. */
function showInUse(
  session: Session,
  { location }: Storage,
  reports: readonly DeleteReport[],
  { code, message, help, exitCode, details }: KafkaBackupError,
): number {
  session.outcome.note({ problem: { code, message, details } })
  const fields = { code, help, exit_code: exitCode, ...detailsField({ details }) }
  session.log.write('error', message, fields)
  const error = { ...fields, message }
  session.print(
    () => [],
    () => ({ location, backups: reports.map(deleteDocument), error }),
  )
  return exitCode
}

function act(
  session: Session,
  { storage, ...term }: Place,
  backupId: string,
  isDryRun: boolean,
): Promise<DeleteReport> {
  return session.withProgress('delete', 'reading the backup', onProgress =>
    session.actions.deleteAt(storage, backupId, { onProgress }, { isDryRun, ...term }, session.signal),
  )
}

function show(session: Session, { location }: Storage, reports: readonly DeleteReport[]): number {
  const isPattern = session.options.match.length > 0
  const nothing = `nothing to remove: no backup at ${printable(location)} matches`
  session.print(
    () => (reports.length === 0 ? [nothing] : reports.flatMap(report => formatDelete(report, session.style))),
    () => (isPattern ? { location, backups: reports.map(deleteDocument) } : reports.map(deleteDocument)[0]),
  )
  return reports.some(({ outcome }) => outcome.retained.objects > 0) ? PARTLY_DONE : 0
}

function formatDelete({ backupId, location, isDryRun, isFound, outcome }: DeleteReport, style: OutputStyle): string[] {
  const { removed, retained, waiting, generationsRemoved, unknown } = outcome
  const name = style.bold(printable(backupId))
  const head = isFound
    ? `backup ${name}: ${plural(removed.objects, 'object')} (${formatBytes(removed.bytes)}), ${plural(generationsRemoved, 'generation')} ${isDryRun ? 'would be removed' : 'removed'}`
    : `nothing to remove: there is no backup ${name} at ${printable(location)}`
  const kept = retained.objects + waiting.objects
  return [
    head,
    ...(kept > 0
      ? [
          style.warn(
            `${plural(kept, 'object')} protected by the retention of the store; run it again when that has ended`,
          ),
        ]
      : []),
    ...(unknown.length > 0
      ? [`${plural(unknown.length, 'object')} of no backup, not removed: ${printable(unknown.slice(0, 5).join(', '))}`]
      : []),
  ]
}

function deleteDocument({ location, backupId, isDryRun, isFound, outcome }: DeleteReport) {
  return {
    location,
    backup_id: backupId,
    dry_run: isDryRun,
    found: isFound,
    generations_removed: outcome.generationsRemoved,
    removed: outcome.removed,
    retained: outcome.retained,
    waiting: outcome.waiting,
    unknown: outcome.unknown,
  }
}
