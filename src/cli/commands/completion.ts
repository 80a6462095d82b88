import { formatBashCompletion } from '../completion-bash.ts'
import { formatFishCompletion } from '../completion-fish.ts'
import { formatZshCompletion } from '../completion-zsh.ts'
import type { Session } from '../session.ts'

const scripts: Record<string, () => string> = {
  bash: formatBashCompletion,
  zsh: formatZshCompletion,
  fish: formatFishCompletion,
}

export async function run(session: Session): Promise<number> {
  const shell = session.options.shell ?? ''
  if (shell === 'names') return (await import('./complete-names.ts')).completeNames(session)
  const script = scripts[shell]?.() ?? ''
  session.print(
    () => [script.trimEnd()],
    () => ({ shell, script }),
  )
  return 0
}
