import type { CommandSpec } from './command-spec.ts'
import { commandTable } from './command-table.ts'
import { commonOptions, help, version } from './common-options.ts'
import { namedInBackup } from './completed-words.ts'
import type { OptionSpec, ValueSpec } from './option-specs.ts'
import { withoutMarks } from './text.ts'

/** Works as a file in `fpath` and when sourced. */
export function formatZshCompletion(): string {
  return `#compdef kafka-backup
_kafka_backup_names() {
  local -a names
  names=(\${(f)"$(kafka-backup completion names -- \${(Q)words[1,CURRENT]} 2>/dev/null)"})
  compadd -a names
}

_kafka_backup() {
  local context state state_descr line
  typeset -A opt_args
  _arguments -C \\
    ${[help, version].map(formatOption).join(' \\\n    ')} \\
    '1:command:->command' \\
    '*::argument:->argument'
  case $state in
    command)
      local -a commands
      commands=(
${commandTable.map(({ name, summary }) => `        ${quote(`${name}:${summary}`)}`).join('\n')}
      )
      _describe command commands
      ;;
    argument)
      case $line[1] in
${commandTable.map(formatCommand).join('\n')}
      esac
      ;;
  esac
}

if [[ $funcstack[1] == _kafka_backup ]]; then
  _kafka_backup "$@"
else
  compdef _kafka_backup kafka-backup
fi
`
}

function formatCommand({ name, argument, operands = [], options }: CommandSpec): string {
  const lines = [...options, ...commonOptions].map(formatOption)
  if (argument) lines.push(quote(`1:${argument.name}:(${argument.choices.join(' ')})`))
  for (const [at, { label, option, isRepeatable }] of operands.entries()) {
    const value = options.find(one => one.name === option)?.value
    const place = isRepeatable ? '*' : String(at + 1 + (argument ? 1 : 0))
    if (value) lines.push(quote(`${place}::${label}:${actionOf(option, value)}`))
  }
  return `        ${name})\n          _arguments \\\n            ${lines.join(' \\\n            ')}\n          ;;`
}

/** `'(-c --config)'{-c,--config=}'[the job file]:file:_files'` */
function formatOption({ name, short, value, description, isRepeatable }: OptionSpec): string {
  const isLast = name === help.name || name === version.name
  const others = isLast ? '(- *)' : isRepeatable || short === undefined ? '' : `(-${short} --${name})`
  const repeat = isRepeatable ? '*' : ''
  const long = `--${name}${value ? '=' : ''}`
  const rest = `[${escapeDescription(description)}]${value ? `:${value.label}:${actionOf(name, value)}` : ''}`
  if (short === undefined) return quote(`${others}${repeat}${long}${rest}`)
  const lead = `${others}${repeat}`
  return `${lead === '' ? '' : quote(lead)}{-${short},${long}}${quote(rest)}`
}

function actionOf(name: string, value: ValueSpec): string {
  if (namedInBackup.includes(name)) return '_kafka_backup_names'
  if (value.kind === 'choice') return `(${value.choices.join(' ')})`
  return { file: '_files', folder: '_files -/', text: '' }[value.kind]
}

function escapeDescription(text: string): string {
  return withoutMarks(text).replace(/[[\]:\\]/g, '\\$&')
}

function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}
