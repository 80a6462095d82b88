import type { CommandSpec } from './command-spec.ts'
import { commandTable } from './command-table.ts'
import { commonOptions, help, version } from './common-options.ts'
import { namedInBackup } from './completed-words.ts'
import type { Operand } from './operands.ts'
import type { OptionSpec, ValueSpec } from './option-specs.ts'
import { withoutMarks } from './text.ts'

const NAMES = '(kafka-backup completion names -- (commandline -opc)[2..-1] (commandline -ct) 2>/dev/null)'
const FOLDERS = " -a '(__fish_complete_directories)'"

export function formatFishCompletion(): string {
  return [
    '# fish completion for kafka-backup',
    'complete -c kafka-backup -f',
    ...[help, version].map(option => formatOption(option, '__fish_use_subcommand')),
    ...commandTable.flatMap(formatCommand),
    '',
  ].join('\n')
}

function formatCommand({ name, summary, argument, operands = [], options }: CommandSpec): string[] {
  const isChosen = conditionOf(name)
  const choices = argument?.choices.join(' ') ?? ''
  return [
    `complete -c kafka-backup -n __fish_use_subcommand -a ${name} -d ${quote(summary)}`,
    ...(argument
      ? [`complete -c kafka-backup -n ${quote(isChosen)} -a ${quote(choices)} -d ${quote(argument.description)}`]
      : []),
    ...operands.flatMap(operand => formatOperand(operand, isChosen)),
    ...[...options, ...commonOptions].map(option => formatOption(option, isChosen)),
  ]
}

/** Names come from `completion names`, which knows the place of the word; files and folders are offered at each place. */
function formatOperand({ option, description }: Operand, condition: string): string[] {
  const offered = namedInBackup.includes(option) ? ` -a ${quote(NAMES)}` : { config: ' -F', path: FOLDERS }[option]
  if (offered === undefined) return []
  return [`complete -c kafka-backup -n ${quote(condition)}${offered} -d ${quote(description)}`]
}

/** A word may also be an action of another command: `schemas backup` is not `backup`. */
function conditionOf(name: string): string {
  const others = commandTable.filter(({ argument }) => argument?.choices.includes(name)).map(other => other.name)
  const isNone = others.map(other => `; and not __fish_seen_subcommand_from ${other}`)
  return `__fish_seen_subcommand_from ${name}${isNone.join('')}`
}

function formatOption({ name, short, value, description }: OptionSpec, condition: string): string {
  const names = short === undefined ? `-l ${name}` : `-s ${short} -l ${name}`
  return `complete -c kafka-backup -n ${quote(condition)} ${names}${formatValue(name, value)} -d ${quote(description)}`
}

function formatValue(name: string, value: ValueSpec | undefined): string {
  if (value === undefined) return ''
  if (namedInBackup.includes(name)) return ` -x -a ${quote(NAMES)}`
  switch (value.kind) {
    case 'choice':
      return ` -x -a ${quote(value.choices.join(' '))}`
    case 'file':
      return ' -r -F'
    case 'folder':
      return ` -x${FOLDERS}`
    case 'text':
      return ' -x'
  }
}

function quote(text: string): string {
  return `'${withoutMarks(text).replace(/[\\']/g, '\\$&')}'`
}
