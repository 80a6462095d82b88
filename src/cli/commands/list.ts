import type { BackupSummary } from '../../archive/describe.ts'
import { errorTable } from '../../errors.ts'
import { formatBytes, formatCount } from '../../lib/units.ts'
import type { Look } from '../look.ts'
import type { Session } from '../session.ts'
import { type Column, formatTable } from '../table.ts'
import { formatInstant, printable } from '../text.ts'
import { withBackupsAt } from './backups-at.ts'

type Readable = Exclude<BackupSummary, { error: string }>

export async function run(session: Session): Promise<number> {
  return withBackupsAt(session, async storage => {
    const backups = await session.actions.listBackups(storage, session.signal)
    session.print(
      () => formatBackups(backups, storage.location, session.look),
      () => ({ location: storage.location, backups }),
    )
    // Damage outranks what may pass, such as a folder that cannot be read now.
    return Math.max(0, ...backups.map(exitCodeOf))
  })
}

/** That there is no key for a backup is no failure of a listing. */
function exitCodeOf(backup: BackupSummary): number {
  return 'error' in backup && !isLocked(backup) ? errorTable[backup.code].exitCode : 0
}

function isLocked(backup: BackupSummary): boolean {
  return 'error' in backup && backup.code === 'ENCRYPTION_KEY'
}

function formatBackups(backups: readonly BackupSummary[], location: string, look: Look): string[] {
  if (backups.length === 0) return [`No backups at ${printable(location)}.`]
  const broken = backups.filter(backup => 'error' in backup)
  const lines = formatTable(columns(look), backups, look)
  if (broken.length > 0) lines.push('')
  return [...lines, ...broken.map(({ backup_id, error }) => `${look.bad(printable(backup_id))}: ${printable(error)}`)]
}

function columns(look: Look): Column<BackupSummary>[] {
  const of = (pick: (backup: Readable) => string) => (backup: BackupSummary) => ('error' in backup ? '-' : pick(backup))
  return [
    { title: 'BACKUP', cell: backup => backup.backup_id, shrinks: true, paint: text => look.bold(text) },
    {
      title: 'STATE',
      cell: stateOf,
      paint: (text, backup) => paintState(text, backup, look),
    },
    { title: 'GEN', align: 'right', cell: of(backup => String(backup.generation)) },
    { title: 'CREATED', cell: of(backup => formatInstant(backup.created_at)) },
    { title: 'TOPICS', align: 'right', cell: of(backup => formatCount(backup.topics)) },
    { title: 'PARTITIONS', align: 'right', cell: of(backup => formatCount(backup.partitions)) },
    { title: 'RECORDS', align: 'right', cell: of(backup => formatCount(backup.records)) },
    { title: 'BYTES', align: 'right', cell: of(backup => formatBytes(backup.bytes)) },
    { title: 'STORED', align: 'right', cell: of(backup => formatBytes(backup.stored_bytes)) },
    {
      title: 'GAPS',
      align: 'right',
      cell: of(backup => (backup.gaps === 0 ? '-' : formatCount(backup.gaps))),
      paint: text => (text === '-' ? text : look.warn(text)),
    },
    { title: 'CLUSTER', cell: of(backup => backup.cluster_id ?? '-'), shrinks: true },
  ]
}

function stateOf(backup: BackupSummary): string {
  if ('error' in backup) return isLocked(backup) ? 'encrypted, no key' : 'UNREADABLE'
  return `${backup.complete ? 'complete' : 'incomplete'}${backup.encrypted ? ', encrypted' : ''}`
}

function paintState(text: string, backup: BackupSummary, look: Look): string {
  if ('error' in backup) return isLocked(backup) ? look.warn(text) : look.bad(text)
  return backup.complete ? look.good(text) : look.warn(text)
}
