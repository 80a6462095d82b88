import { usageError } from '../../errors.ts'
import type { HoldReport } from '../../retention/hold-generation.ts'
import type { Storage } from '../../storage/storage.ts'
import type { OutputStyle } from '../output-style.ts'
import type { Session } from '../session.ts'
import { formatInstant, printable } from '../text.ts'
import { withBackup } from './backups-at.ts'
import { choiceOf } from './generation-choice.ts'

export async function run(session: Session): Promise<number> {
  const { reason, release } = session.options
  const choice = choiceOf(session.options)
  const { generation } = choice
  if (release && generation === undefined) throw usageError('--release needs --generation')
  if (release && reason !== undefined) throw usageError('--release and --reason exclude each other')
  const act = (storage: Storage, backupId: string) =>
    release && generation !== undefined
      ? session.actions.releaseAt(storage, backupId, generation, session.signal)
      : session.withProgress('hold', 'checking the backup', onProgress =>
          session.actions.holdAt(
            storage,
            backupId,
            { ...choice, reason: reason ?? '' },
            { onProgress },
            session.signal,
          ),
        )
  return withBackup(session, async (storage, backupId) => {
    const report = await act(storage, backupId)
    session.print(
      () => [formatReport(report, session.style)],
      () => report,
    )
    return 0
  })
}

function formatReport({ backup_id, generation, held, changed, hold }: HoldReport, style: OutputStyle): string {
  const what = `generation ${generation} of backup ${style.bold(printable(backup_id))}`
  if (!held) return `${what} is released`
  if (changed) return `${what} is held`
  const since = hold?.created_at ? `, since ${formatInstant(hold.created_at)}` : ''
  return `${what} was held before${since}${hold?.reason ? `: ${printable(hold.reason)}` : ''}`
}
