import type { CommandSpec } from './command-spec.ts'
import { commandTable } from './command-table.ts'
import { commonOptions, help, type OptionSpec, type ValueSpec, version } from './option-specs.ts'
import { withoutMarks } from './text.ts'

export function formatFishCompletion(): string {
  return [
    '# fish completion for kafka-backup',
    'complete -c kafka-backup -f',
    ...[help, version].map(option => formatOption(option, '__fish_use_subcommand')),
    ...commandTable.flatMap(formatCommand),
    '',
  ].join('\n')
}

function formatCommand({ name, summary, argument, options }: CommandSpec): string[] {
  const isChosen = conditionOf(name)
  const choices = argument?.choices.join(' ') ?? ''
  return [
    `complete -c kafka-backup -n __fish_use_subcommand -a ${name} -d ${quote(summary)}`,
    ...(argument
      ? [`complete -c kafka-backup -n ${quote(isChosen)} -a ${quote(choices)} -d ${quote(argument.description)}`]
      : []),
    ...[...options, ...commonOptions].map(option => formatOption(option, isChosen)),
  ]
}

/** A word may also be an action of another command: `schemas backup` is not `backup`. */
function conditionOf(name: string): string {
  const others = commandTable.filter(({ argument }) => argument?.choices.includes(name)).map(other => other.name)
  const isNone = others.map(other => `; and not __fish_seen_subcommand_from ${other}`)
  return `__fish_seen_subcommand_from ${name}${isNone.join('')}`
}

function formatOption({ name, short, value, description }: OptionSpec, condition: string): string {
  const names = short === undefined ? `-l ${name}` : `-s ${short} -l ${name}`
  return `complete -c kafka-backup -n ${quote(condition)} ${names}${formatValue(value)} -d ${quote(description)}`
}

function formatValue(value: ValueSpec | undefined): string {
  if (value === undefined) return ''
  switch (value.kind) {
    case 'choice':
      return ` -x -a ${quote(value.choices.join(' '))}`
    case 'file':
      return ' -r -F'
    case 'folder':
      return ` -x -a ${quote('(__fish_complete_directories)')}`
    case 'text':
      return ' -x'
  }
}

function quote(text: string): string {
  return `'${withoutMarks(text).replace(/[\\']/g, '\\$&')}'`
}
