import type { OptionSpec } from './option-specs.ts'

const format: OptionSpec = {
  name: 'format',
  short: 'f',
  value: { kind: 'choice', label: 'format', choices: ['text', 'json'] },
  description:
    'output format; `json` prints one document to standard output, and `cat` and `search` one line for each record',
  fallback: 'text',
}

const verbose: OptionSpec = {
  name: 'verbose',
  short: 'v',
  description: 'log more: `-v` events and causes of errors, `-vv` every step',
  isRepeatable: true,
}

const quiet: OptionSpec = {
  name: 'quiet',
  short: 'q',
  description: 'print only the result and errors, without progress and warnings',
}

const noProgress: OptionSpec = { name: 'no-progress', description: 'do not show progress' }

const logFormat: OptionSpec = {
  name: 'log-format',
  value: { kind: 'choice', label: 'format', choices: ['text', 'json'] },
  description: 'format of log lines on standard error; `json` prints one object per line, including errors',
  fallback: 'text',
}

export const help: OptionSpec = { name: 'help', short: 'h', description: 'show this help' }

export const version: OptionSpec = { name: 'version', short: 'V', description: 'show the version' }

/** Every command has these. */
export const commonOptions: readonly OptionSpec[] = [format, verbose, quiet, noProgress, logFormat, help]

/** `-c, --config <file>`, as help and documentation show it. */
export function formatFlags({ name, short, value }: OptionSpec): string {
  const long = value === undefined ? `--${name}` : `--${name} <${value.label}>`
  return short === undefined ? long : `-${short}, ${long}`
}

/** The description with the variable that has the default. */
export function describeOption({ description, variable }: OptionSpec): string {
  return variable === undefined ? description : `${description}; default: \`${variable}\``
}
