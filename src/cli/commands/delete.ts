import { hasCode, KafkaBackupError } from '../../errors.ts'
import { formatBytes } from '../../lib/units.ts'
import type { DeleteReport } from '../../retention/delete-backup.ts'
import type { Storage } from '../../storage/storage.ts'
import type { Look } from '../look.ts'
import { deleteFacts } from '../result/data-facts.ts'
import type { Session } from '../session.ts'
import { plural, printable } from '../text.ts'
import { bare, withBackup } from './backups-at.ts'

const PARTLY_DONE = 4

export async function run(session: Session): Promise<number> {
  const { dryRun, yes } = session.options
  if (dryRun && yes) throw new KafkaBackupError('USAGE', '--dry-run and --yes do not go together')
  try {
    return await withBackup(session, (storage, backupId) => remove(session, storage, backupId), bare(session))
  } catch (error) {
    // A location that is not there holds nothing; a removal that is run again may find it so.
    if (!yes || !hasCode(error, 'STORAGE_NOT_FOUND')) throw error
    session.print(
      () => [`nothing to remove: ${printable(error.message)}`],
      () => ({ found: false, note: error.message }),
    )
    return 0
  }
}

async function remove(session: Session, storage: Storage, backupId: string): Promise<number> {
  const { dryRun, yes } = session.options
  session.outcome.isAbout(backupId)
  if (!yes) {
    const plan = await act(session, storage, backupId, true)
    if (dryRun || !plan.isFound) return show(session, plan)
    session.tell(look => formatDelete(plan, look))
    const agreed = await session.confirmByTyping('Nobody can take it back. Type the id to remove it:', backupId)
    if (agreed === undefined) {
      show(session, plan)
      throw new KafkaBackupError('USAGE', 'nothing was removed: nobody can be asked here', {
        help: 'Give --yes to remove the backup, or --dry-run to see what there is of it.',
      })
    }
    if (!agreed) {
      session.tell(() => ['nothing was removed'])
      return 0
    }
  }
  const report = await act(session, storage, backupId, false)
  session.outcome.note(deleteFacts(report))
  return show(session, report)
}

function act(session: Session, storage: Storage, backupId: string, isDryRun: boolean): Promise<DeleteReport> {
  return session.withProgress('delete', 'looking at the backup', onProgress =>
    session.actions.deleteAt(storage, backupId, { onProgress }, { isDryRun }, session.signal),
  )
}

function show(session: Session, report: DeleteReport): number {
  session.print(
    () => formatDelete(report, session.look),
    () => deleteDocument(report),
  )
  return report.outcome.retained.objects > 0 ? PARTLY_DONE : 0
}

function formatDelete({ backupId, location, isDryRun, isFound, outcome }: DeleteReport, look: Look): string[] {
  const { removed, retained, waiting, generationsRemoved, unknown } = outcome
  const name = look.bold(printable(backupId))
  const head = isFound
    ? `backup ${name}: ${plural(removed.objects, 'object')} (${formatBytes(removed.bytes)}), ${plural(generationsRemoved, 'generation')} ${isDryRun ? 'would be removed' : 'removed'}`
    : `nothing to remove: there is no backup ${name} at ${printable(location)}`
  const kept = retained.objects + waiting.objects
  return [
    head,
    ...(kept > 0 ? [look.warn(`${plural(kept, 'object')} kept by the store until it lets go; run it again then`)] : []),
    ...(unknown.length > 0
      ? [`${plural(unknown.length, 'object')} that no backup has, left: ${printable(unknown.slice(0, 5).join(', '))}`]
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
