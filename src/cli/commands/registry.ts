import { KafkaBackupError } from '../../errors.ts'
import type { CommandOptions } from '../option-specs.ts'
import type { RunCommand, Session } from '../session.ts'

type Action = 'serve' | 'probe'

const loaders: Record<Action, () => Promise<{ run: RunCommand }>> = {
  serve: () => import('./registry-serve.ts'),
  probe: () => import('./registry-probe.ts'),
}

/** Options that belong to only one action. */
const owners: readonly [option: string, key: keyof CommandOptions, action: Action][] = [
  ['--url', 'url', 'probe'],
  ['--write', 'write', 'probe'],
  ['--path', 'path', 'serve'],
  ['--backup-id', 'backupId', 'serve'],
  ['--generation', 'generation', 'serve'],
  ['--key-file', 'keyFile', 'serve'],
  ['--first-id', 'firstId', 'serve'],
  ['--username', 'username', 'serve'],
  ['--tls-cert', 'tlsCert', 'serve'],
  ['--tls-key', 'tlsKey', 'serve'],
  ['--tls-ca', 'tlsCa', 'serve'],
]

export async function run(session: Session): Promise<number> {
  const action = session.options.action as Action
  refuseIdle(session.options, action)
  return (await loaders[action]()).run(session)
}

/** Refuses options that would have no effect. */
function refuseIdle(options: CommandOptions, action: Action): void {
  for (const [option, key, owner] of owners) {
    const value = options[key]
    const isGiven = Array.isArray(value) ? value.length > 0 : value !== undefined && value !== false
    if (isGiven && owner !== action)
      throw new KafkaBackupError('USAGE', `${option} is not for \`registry ${action}\`, but for ${owner}`)
  }
}
