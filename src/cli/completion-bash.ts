import { commandTable } from './command-table.ts'
import { commonOptions, help, version } from './common-options.ts'
import { namedInBackup } from './completed-words.ts'
import type { Operand } from './operands.ts'
import type { OptionSpec, ValueSpec } from './option-specs.ts'

/** Works in bash 3.2 too, which macOS has, and without the bash-completion package. */
export function formatBashCompletion(): string {
  const names = commandTable.map(command => command.name)
  return `# bash completion for kafka-backup
_kafka_backup_reply() {
  local line
  while IFS= read -r line; do COMPREPLY+=("$line"); done
}

# Names of a backup. compgen -W would evaluate them.
_kafka_backup_names() {
  local name words
  read -ra words <<<"\${COMP_LINE:0:COMP_POINT}"
  [[ \${COMP_LINE:0:COMP_POINT} == *' ' ]] && words+=('')
  while IFS= read -r name; do
    if [[ $name == "$1"* ]]; then COMPREPLY+=("$name"); fi
  done < <("\${COMP_WORDS[0]}" completion names -- "\${words[@]:1}" 2>/dev/null)
}

_kafka_backup() {
  local cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD-1]} command= i
  COMPREPLY=()
  # bash makes three words of --name=value
  if [[ $cur == '=' ]]; then
    cur=
  elif [[ $prev == '=' ]]; then
    prev=\${COMP_WORDS[COMP_CWORD-2]}
  fi
  for ((i = 1; i < COMP_CWORD; i++)); do
    case \${COMP_WORDS[i]} in
      ${names.join('|')}) command=\${COMP_WORDS[i]}; break ;;
    esac
  done
  case $prev in
${valueCases()}
  esac
  case $command in
${commandCases()}
    *) _kafka_backup_reply < <(compgen -W '${[...names, 'help', `--${help.name}`, `--${version.name}`].join(' ')}' -- "$cur") ;;
  esac
}
complete -F _kafka_backup kafka-backup
`
}

/** The values of an option; options with the same name take the same values in every command. */
function valueCases(): string {
  const options = [...commandTable.flatMap(command => command.options), ...commonOptions]
  const byName = new Map(options.flatMap(option => (option.value ? [[option.name, option] as const] : [])))
  return [...byName.values()]
    .map(option => `    ${flagsOf([option]).join('|')}) ${replyWith(option.name, option.value)}return ;;`)
    .join('\n')
}

function replyWith(name: string, value: ValueSpec | undefined): string {
  if (namedInBackup.includes(name)) return '_kafka_backup_names "$cur"; '
  if (value?.kind === 'choice') return `_kafka_backup_reply < <(compgen -W '${value.choices.join(' ')}' -- "$cur"); `
  if (value?.kind === 'text' || value === undefined) return ''
  const names = `_kafka_backup_reply < <(compgen ${value.kind === 'file' ? '-f' : '-d'} -- "$cur")`
  return `compopt -o filenames 2>/dev/null; ${names}; `
}

function commandCases(): string {
  return commandTable
    .map(({ name, argument, operands = [], options }) => {
      const words = [...(argument?.choices ?? []), ...[...options, ...commonOptions].map(option => `--${option.name}`)]
      const offered = `_kafka_backup_reply < <(compgen -W '${words.join(' ')}' -- "$cur")`
      return `    ${name}) ${offered}${operandReply(name, operands)} ;;`
    })
    .join('\n')
}

/** What an argument is short for; after a dash there are options only. */
function operandReply(name: string, operands: readonly Operand[]): string {
  const options = commandTable.find(command => command.name === name)?.options ?? []
  const replies = operands.map(({ option }) => replyWith(option, options.find(one => one.name === option)?.value))
  const used = [...new Set(replies)].filter(reply => reply !== '')
  return used.length === 0 ? '' : `; if [[ $cur != -* ]]; then ${used.join('')}fi`
}

function flagsOf(options: readonly OptionSpec[]): string[] {
  return options.flatMap(({ name, short }) => (short === undefined ? [`--${name}`] : [`-${short}`, `--${name}`]))
}
