import { commandTable } from './command-table.ts'
import { commonOptions, help, type OptionSpec, type ValueSpec, version } from './option-specs.ts'

/** Works in bash 3.2 too, which macOS has, and without the bash-completion package. */
export function formatBashCompletion(): string {
  const names = commandTable.map(command => command.name)
  return `# bash completion for kafka-backup
_kafka_backup_reply() {
  local line
  while IFS= read -r line; do COMPREPLY+=("$line"); done
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
    .map(option => `    ${flagsOf([option]).join('|')}) ${replyWith(option.value)}return ;;`)
    .join('\n')
}

function replyWith(value: ValueSpec | undefined): string {
  if (value?.kind === 'choice') return `_kafka_backup_reply < <(compgen -W '${value.choices.join(' ')}' -- "$cur"); `
  if (value?.kind === 'text' || value === undefined) return ''
  const names = `_kafka_backup_reply < <(compgen ${value.kind === 'file' ? '-f' : '-d'} -- "$cur")`
  return `compopt -o filenames 2>/dev/null; ${names}; `
}

function commandCases(): string {
  return commandTable
    .map(({ name, argument, options }) => {
      const words = [...(argument?.choices ?? []), ...[...options, ...commonOptions].map(option => `--${option.name}`)]
      return `    ${name}) _kafka_backup_reply < <(compgen -W '${words.join(' ')}' -- "$cur") ;;`
    })
    .join('\n')
}

function flagsOf(options: readonly OptionSpec[]): string[] {
  return options.flatMap(({ name, short }) => (short === undefined ? [`--${name}`] : [`-${short}`, `--${name}`]))
}
