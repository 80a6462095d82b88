import { KafkaBackupError } from '../../errors.ts'
import type { CommandOptions } from '../option-specs.ts'
import type { RunCommand, Session } from '../session.ts'

type Action = 'backup' | 'plan' | 'restore' | 'list' | 'diff'

const loaders: Record<Action, () => Promise<{ run: RunCommand }>> = {
  backup: () => import('./schemas-backup.ts'),
  plan: () => import('./schemas-plan.ts'),
  restore: () => import('./schemas-restore.ts'),
  list: () => import('./schemas-list.ts'),
  diff: () => import('./schemas-diff.ts'),
}

/** Options that belong to only some of the actions. */
const owners: readonly [option: string, key: keyof CommandOptions, actions: readonly Action[]][] = [
  ['--dry-run', 'dryRun', ['restore']],
  ['--path', 'path', ['list', 'diff']],
  ['--backup-id', 'backupId', ['list', 'diff']],
  ['--generation', 'generation', ['list', 'diff']],
  ['--source', 'source', ['list', 'diff']],
  ['--registry', 'registry', ['list', 'diff']],
  ['--against', 'against', ['diff']],
  ['--against-path', 'againstPath', ['diff']],
  ['--against-backup-id', 'againstBackupId', ['diff']],
  ['--against-generation', 'againstGeneration', ['diff']],
  ['--ids', 'ids', ['diff']],
]

export async function run(session: Session): Promise<number> {
  const action = session.options.action as Action
  refuseIdle(session.options, action)
  return (await loaders[action]()).run(session)
}

/** Refuses options that would have no effect. */
function refuseIdle(options: CommandOptions, action: Action): void {
  for (const [option, key, actions] of owners) {
    const isGiven = options[key] !== undefined && options[key] !== false
    if (!isGiven || actions.includes(action)) continue
    throw new KafkaBackupError('USAGE', `${option} is not for \`schemas ${action}\`, but for ${actions.join(' and ')}`)
  }
  if (action !== 'list' && action !== 'diff' && options.config === undefined) {
    throw new KafkaBackupError('USAGE', `\`schemas ${action}\` needs --config`)
  }
}
