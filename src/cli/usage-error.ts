import type { CommanderError } from 'commander'
import { KafkaBackupError } from '../errors.ts'
import { oneLine } from '../lib/one-line.ts'
import { commandTable } from './command-table.ts'
import { commonOptions } from './common-options.ts'

/** Of the commands that have an option. */
const MAX_SHOWN = 4

/** What Commander found, with the help of the command that was called. */
export function usageError(error: CommanderError, argv: readonly string[]): KafkaBackupError {
  const message = inPlainWords(oneLine(error.message, Number.POSITIVE_INFINITY))
  const name = commandIn(argv)
  const help = `See \`kafka-backup ${name === undefined ? '' : `${name} `}--help\`.`
  const [unknown, option = ''] = /^unknown option '--([a-z-]+)/.exec(message) ?? []
  if (unknown === undefined || name === undefined) return new KafkaBackupError('USAGE', message, { help })
  if (hasOption(name, option)) {
    const place = `Options follow the command: \`kafka-backup ${name} --${option}\`.`
    return new KafkaBackupError('USAGE', `--${option} is before the command ${name}`, { help: `${place} ${help}` })
  }
  const others = commandTable.filter(command => hasOption(command.name, option)).map(command => command.name)
  if (others.length === 0) return new KafkaBackupError('USAGE', message, { help })
  const shown = others.slice(0, MAX_SHOWN).join(', ')
  const more = others.length > MAX_SHOWN ? ` and ${others.length - MAX_SHOWN} more` : ''
  const owners = `The commands with this option: ${shown}${more}.`
  return new KafkaBackupError('USAGE', `${name} has no option --${option}`, { help: `${owners} ${help}` })
}

function hasOption(command: string, option: string): boolean {
  const own = commandTable.find(({ name }) => name === command)?.options ?? []
  return [...own, ...commonOptions].some(({ name }) => name === option)
}

/** Commander adds the label `error:` itself, and calls the value of an argument a command-argument value. */
function inPlainWords(text: string): string {
  return text
    .replace(/^error: /, '')
    .replace(/^command-argument value '(.*)' is invalid for argument '(.*?)'\./, "unknown $2 '$1'.")
}

/** Only the first word is the command, because an action may have the name of another command. */
export function commandIn(argv: readonly string[]): string | undefined {
  return argv.find(word => commandTable.some(command => command.name === word))
}
