import { KafkaBackupError } from '../../errors.ts'
import type { Look } from '../look.ts'
import type { Session } from '../session.ts'

export interface Proposal {
  /** What would be done, for people. */
  plan: (look: Look) => readonly string[]
  ask: () => Promise<boolean>
  /** The message where nothing is done. */
  nothing: string
  /** False for actions that do not take --dry-run. */
  hasDryRun?: boolean
}

/**
 * Shows the plan and asks. Without a terminal to ask on it fails: people find the plan on standard output, programs that
 * want JSON get one document, the error.
 */
export async function agrees(session: Session, { plan, ask, nothing, hasDryRun = true }: Proposal): Promise<boolean> {
  if (!session.canAsk) {
    if (session.options.format !== 'json')
      session.print(
        () => plan(session.look),
        () => undefined,
      )
    throw new KafkaBackupError('USAGE', `${nothing}: no terminal to confirm on`, {
      help: hasDryRun
        ? 'Pass --yes to do what the plan shows, or --dry-run to only show it.'
        : 'Pass --yes to confirm.',
    })
  }
  session.tell(plan)
  if (await ask()) return true
  session.tell(() => [nothing])
  return false
}

export function refuseDryRunWithYes({ dryRun, yes }: Session['options']): void {
  if (dryRun && yes) throw new KafkaBackupError('USAGE', '--dry-run and --yes do not go together')
}
