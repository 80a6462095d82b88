import { KafkaBackupError } from '../../errors.ts'
import type { OutputStyle } from '../output-style.ts'
import type { Session } from '../session.ts'

interface Proposal {
  /** The plan as text. */
  plan: (style: OutputStyle) => readonly string[]
  ask: () => Promise<boolean>
  /** The message if the user declines. */
  nothing: string
  /** False for actions without --dry-run. */
  hasDryRun?: boolean
}

/**
 * Shows the plan and asks for confirmation. Without a terminal it prints the plan and fails; with JSON output
 * it prints only the error, as one document.
 */
export async function agrees(session: Session, { plan, ask, nothing, hasDryRun = true }: Proposal): Promise<boolean> {
  if (!session.canAsk) {
    if (session.options.format !== 'json')
      session.print(
        () => plan(session.style),
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
  if (dryRun && yes) throw new KafkaBackupError('USAGE', '--dry-run and --yes exclude each other')
}
