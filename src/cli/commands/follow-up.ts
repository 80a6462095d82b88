import { shellQuote } from '../../lib/shell.ts'
import type { Session } from '../session.ts'

/** The same command for the next step, with every option that decides what the job is; secrets of the job are not shown. */
export function sameCommand(command: string, session: Session): string {
  const { config = '', set, generation, asOf } = session.options
  const options: [string, string][] = [
    ['config', config],
    ...set.map((value): [string, string] => ['set', value]),
    ...(generation === undefined ? [] : [['generation', generation] satisfies [string, string]]),
    ...(asOf === undefined ? [] : [['as-of', asOf] satisfies [string, string]]),
  ]
  const words = options.map(([name, value]) => `--${name} ${shellQuote(value)}`)
  return session.withoutSecrets(['kafka-backup', command, ...words].join(' '))
}
