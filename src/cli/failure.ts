import { detailsField, type KafkaBackupError } from '../errors.ts'
import { formatJson } from '../lib/json.ts'
import type { Log } from '../observe/log.ts'
import type { Redactor } from '../observe/redact.ts'
import { RestoreRefusal } from '../restore/refusal.ts'
import type { Io } from './io.ts'
import type { CommandOptions } from './option-specs.ts'
import type { OutputStyle } from './output-style.ts'
import type { Screen } from './screen.ts'
import { printableMessage } from './text.ts'

export interface FailureOutput {
  options: Pick<CommandOptions, 'format' | 'logFormat' | 'verbose'>
  io: Io
  screen: Screen
  redactor: Redactor
  log: Log
  /** The format of standard error. */
  errorLook: OutputStyle
}

/**
 * Prints an error to standard error and returns the exit code. With JSON output,
 * standard output also gets the error, instead of the result.
 */
export function reportFailure(error: KafkaBackupError, output: FailureOutput): number {
  const { options, io, screen, redactor, log } = output
  const { code, message, help, exitCode } = error
  const causes = options.verbose > 0 ? causesOf(error) : []
  if (options.format === 'json') {
    const findings = error instanceof RestoreRefusal ? { findings: error.findings } : {}
    const document = { error: { code, message, help, exit_code: exitCode, ...detailsField(error), ...findings } }
    io.stdout.write(`${formatJson(redactor.value(document), 2)}\n`)
  }
  if (options.logFormat === 'json') {
    const fields = { code, help, exit_code: exitCode, ...detailsField(error) }
    log.write('error', message, { ...fields, ...(causes.length > 0 && { causes }) })
  } else {
    screen.write(`${redactor.text(formatFailure(error, causes, output.errorLook))}\n`)
  }
  return exitCode
}

/** The error, its causes, and what to do. */
function formatFailure(
  { message, help, code }: KafkaBackupError,
  causes: readonly string[],
  style: OutputStyle,
): string {
  return [
    `${style.bad('error:')} ${printableMessage(message)}`,
    ...causes.map(cause => style.dim(`  caused by: ${printableMessage(cause)}`)),
    `${style.bold('help:')} ${printableMessage(help)} ${style.dim(`(${code})`)}`,
  ].join('\n')
}

/** The chain of causes; an internal error also shows its stack. */
function causesOf(error: KafkaBackupError): string[] {
  const causes: string[] = []
  const seen = new Set<unknown>([error])
  for (let { cause } = error; cause instanceof Error && !seen.has(cause); { cause } = cause) {
    seen.add(cause)
    const code = 'code' in cause ? ` (${String(cause.code)})` : ''
    causes.push(error.code === 'INTERNAL' ? (cause.stack ?? cause.message) : `${cause.message}${code}`)
  }
  return causes
}
