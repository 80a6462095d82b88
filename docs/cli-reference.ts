import { type CommandSpec, formatChoices } from '../src/cli/command-spec.ts'
import { commandTable } from '../src/cli/command-table.ts'
import { commonOptions, describeOption, formatFlags } from '../src/cli/common-options.ts'
import { formatOperand, type Operand } from '../src/cli/operands.ts'
import type { OptionSpec } from '../src/cli/option-specs.ts'
import { errorTable } from '../src/error-table.ts'
import { detailTable } from '../src/errors.ts'
import { lossKinds } from '../src/registry/loss-kinds.ts'

/** All commands as Markdown, for docs/cli.md. */
export function cliReference(): string {
  const common = ['## Options of every command', '', ...formatOptions(commonOptions)]
  return [...commandTable.flatMap(command => [...formatCommand(command), '']), ...common].join('\n')
}

/** All errors as a Markdown table, for docs/errors.md. */
export function errorReference(): string {
  const rows = Object.entries(errorTable).map(
    ([code, { exitCode, retryable, help }]) =>
      `| \`${code}\` | ${exitCode} | ${retryable ? 'yes' : 'no'} | ${escapeCell(help)} |`,
  )
  return ['| Code | Exit code | Retried | What to do |', '|---|---|---|---|', ...rows].join('\n')
}

/** What errors carry as data, for docs/errors.md. */
export function detailReference(): string {
  const rows = Object.entries(detailTable).map(([name, meaning]) => `| \`${name}\` | ${escapeCell(meaning)} |`)
  return ['| Detail | Meaning |', '|---|---|', ...rows].join('\n')
}

export function lossReference(): string {
  const rows = Object.entries(lossKinds).map(([kind, meaning]) => `| \`${kind}\` | ${meaning} |`)
  return ['| Loss | Meaning |', '|---|---|', ...rows].join('\n')
}

function formatCommand({
  name,
  description,
  argument,
  operands = [],
  options,
  examples,
  exits,
}: CommandSpec): string[] {
  const words = [
    'kafka-backup',
    name,
    ...options.map(formatUse),
    ...(argument ? [formatChoices(argument)] : []),
    ...operands.map(formatOperand),
    '[options]',
  ]
  return [
    `## ${name}`,
    '',
    description,
    '',
    '```',
    words.join(' '),
    '```',
    '',
    ...operands.map(formatShort),
    ...(options.length === 0 ? [] : [...formatOptions(options), '']),
    ...(exits === undefined ? [] : [`Exit code: ${exits}.`, '']),
    '```sh',
    ...examples.map(({ command, meaning }) => `${command}   # ${meaning}`),
    '```',
  ]
}

/** `[backup-id]` is short for `--backup-id`. */
function formatShort(operand: Operand): string {
  return `\`${formatOperand(operand)}\`: ${operand.description}.\n`
}

function formatUse({ name, value, isRequired, isRepeatable }: OptionSpec): string {
  const use = value === undefined ? `--${name}` : `--${name} <${value.label}>`
  return `${isRequired ? use : `[${use}]`}${isRepeatable ? '…' : ''}`
}

function formatOptions(options: readonly OptionSpec[]): string[] {
  const rows = options.map(option => {
    const choices =
      option.value?.kind === 'choice' ? ` One of ${option.value.choices.map(one => `\`${one}\``).join(', ')}.` : ''
    const required = option.isRequired ? ' Required.' : ''
    const fallback = option.fallback === undefined ? '' : ` Default: \`${option.fallback}\`.`
    const meaning = `${describeOption(option)}.${choices}${fallback}${required}`
    return `| \`${formatFlags(option)}\` | ${escapeCell(meaning)} |`
  })
  return ['| Option | Meaning |', '|---|---|', ...rows]
}

function escapeCell(text: string): string {
  return text.replaceAll('|', '\\|')
}
