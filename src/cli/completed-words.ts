import type { CommandSpec } from './command-spec.ts'
import { commonOptions } from './common-options.ts'
import type { OptionSpec } from './option-specs.ts'

/** Options whose values are names in a backup. */
export const namedInBackup: readonly string[] = ['backup-id', 'topic']

/** What an unfinished command line names, and the option whose value is being typed. */
export interface UnfinishedLine {
  path?: string
  config?: string
  backupId?: string
  typing?: string
}

/** Reads words that the parser of the program would refuse. The first is the command, the last is being typed. */
export function readUnfinished(words: readonly string[], table: readonly CommandSpec[]): UnfinishedLine {
  const [name, ...rest] = words
  const command = table.find(one => one.name === name)
  if (!command) return {}
  const values = new Map<string, string>()
  const operands = (command.operands ?? []).map(({ option }) => option)
  let typing: string | undefined
  for (let at = 0; at < rest.length; at++) {
    const { flag, inline } = splitFlag(rest[at] ?? '')
    const option = flag === undefined ? undefined : findOption(flag, [...command.options, ...commonOptions])
    if (flag !== undefined && !option?.value) continue
    const target = option?.name ?? operands.shift()
    const value = flag === undefined ? rest[at] : (inline ?? rest[++at])
    if (at >= rest.length - 1) typing = target
    else if (target !== undefined && value) values.set(target, value)
  }
  const [path, config, backupId] = [values.get('path'), values.get('config'), values.get('backup-id')]
  return { ...(path && { path }), ...(config && { config }), ...(backupId && { backupId }), ...(typing && { typing }) }
}

function splitFlag(word: string): { flag?: string; inline?: string } {
  if (!word.startsWith('-')) return {}
  const at = word.indexOf('=')
  return at < 0 ? { flag: word } : { flag: word.slice(0, at), inline: word.slice(at + 1) }
}

function findOption(flag: string, options: readonly OptionSpec[]): OptionSpec | undefined {
  return options.find(({ name, short }) => flag === `--${name}` || (short !== undefined && flag === `-${short}`))
}
