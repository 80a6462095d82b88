import { type CommandSpec, formatChoices } from '../src/cli/command-spec.ts'
import { commandTable } from '../src/cli/command-table.ts'
import { commonOptions, describeOption } from '../src/cli/common-options.ts'
import { formatOperand } from '../src/cli/operands.ts'
import type { OptionSpec } from '../src/cli/option-specs.ts'

/** The manual pages of the program by file name, in the `man` macros of roff. */
export function manPages(version: string): Map<string, string> {
  const pages = commandTable.map(command => [`kafka-backup-${command.name}.1`, commandPage(command, version)] as const)
  return new Map([['kafka-backup.1', mainPage(version)], ...pages])
}

function mainPage(version: string): string {
  return page('kafka-backup', version, [
    ...section('NAME', [
      'kafka\\-backup \\- back up Kafka topics byte for byte, restore them exactly, and verify both',
    ]),
    ...section('SYNOPSIS', ['.B kafka\\-backup', '.I command', '[\\fIoptions\\fR]']),
    ...section('DESCRIPTION', [
      text('Copies topics, schemas and committed offsets of Kafka to a folder or a bucket, and restores them.'),
      text('Each command has its own manual page, such as kafka-backup-backup(1).'),
    ]),
    ...section(
      'COMMANDS',
      commandTable.flatMap(({ name, summary }) => ['.TP', `.B ${text(name)}`, text(capitalize(summary))]),
    ),
    ...section('OPTIONS', commonOptions.flatMap(formatOption)),
    ...section('ENVIRONMENT', [
      '.TP',
      '.B KAFKA_BACKUP_LOCATION',
      text('The location of the backups for commands that read them, where neither --path nor --config is given.'),
    ]),
    ...section('EXIT STATUS', [text(exitCodes)]),
  ])
}

const exitCodes =
  '0 success, 1 failure, 2 wrong command line or job file, 3 damage or a difference found, 4 partial success, 5 conflict with another writer, 6 no record found, 130 and 143 interrupted.'

function commandPage(command: CommandSpec, version: string): string {
  const { name, summary, description, argument, operands = [], options, examples, exits } = command
  const use = [argument && formatChoices(argument), ...operands.map(formatOperand), '[options]']
  return page(`kafka-backup-${name}`, version, [
    ...section('NAME', [`${text(`kafka-backup-${name}`)} \\- ${text(summary)}`]),
    ...section('SYNOPSIS', [`.B ${text(`kafka-backup ${name}`)}`, ...use.flatMap(word => (word ? [text(word)] : []))]),
    ...section('DESCRIPTION', [text(description)]),
    ...section('OPTIONS', [...options, ...commonOptions].flatMap(formatOption)),
    ...(exits === undefined ? [] : section('EXIT STATUS', [text(capitalize(`${exits}.`))])),
    ...section(
      'EXAMPLES',
      examples.flatMap(({ command: line, meaning }) => [
        '.PP',
        text(`${capitalize(meaning)}:`),
        '.PP',
        '.RS 4',
        '.nf',
        text(line),
        '.fi',
        '.RE',
      ]),
    ),
    ...section('SEE ALSO', ['.BR kafka\\-backup (1)']),
  ])
}

/** Without a date: the same version has the same pages. */
function page(name: string, version: string, lines: readonly string[]): string {
  return [`.TH ${text(name).toUpperCase()} 1 "" "kafka\\-backup ${text(version)}" "User Commands"`, ...lines, ''].join(
    '\n',
  )
}

function section(title: string, lines: readonly string[]): string[] {
  return [`.SH "${title}"`, ...lines]
}

function formatOption(option: OptionSpec): string[] {
  const { name, short, value, fallback } = option
  const flags = [...(short === undefined ? [] : [`-${short}`]), `--${name}`].map(flag => `\\fB${text(flag)}\\fR`)
  const label = value === undefined ? '' : ` \\fI${text(value.label)}\\fR`
  const choices = value?.kind === 'choice' ? ` One of ${value.choices.join(', ')}.` : ''
  const usual = fallback === undefined ? '' : ` Default: ${fallback}.`
  return ['.TP', `${flags.join(', ')}${label}`, text(`${capitalize(describeOption(option))}.${choices}${usual}`)]
}

function capitalize(sentence: string): string {
  return sentence.charAt(0).toUpperCase() + sentence.slice(1)
}

/** Text of one line in which roff finds no request, no escape and no hyphen that it could replace. */
function text(line: string): string {
  const plain = line.replaceAll('`', '').replaceAll('\\', '\\e').replaceAll('-', '\\-').replaceAll('…', '...')
  return /^[.']/.test(plain) ? `\\&${plain}` : plain
}
