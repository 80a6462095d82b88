import { formatUtc } from '../lib/clock.ts'
import type { Redactor } from './redact.ts'

const logLevels = ['error', 'warn', 'info', 'debug'] as const

export type LogLevel = (typeof logLevels)[number]

export type LogFields = Readonly<Record<string, unknown>>

export interface Log {
  write(level: LogLevel, message: string, fields?: LogFields): void
  /** Whether lines of the level are written: spares the making of those that are not. */
  has(level: LogLevel): boolean
}

export interface LogOptions {
  level: LogLevel
  format: 'text' | 'json'
  /** Takes whole lines, each with its newline. */
  destination: { write(line: string): void }
  /** Milliseconds since the epoch. */
  now(): number
  /** Every line goes through it; secrets added later are hidden from then on. */
  redactor: Redactor
  /** Lines of text begin with the time; lines of JSON always have it. */
  hasTimes?: boolean
}

/** A log whose lines hold no secret. */
export async function openLog(options: LogOptions): Promise<Log> {
  const { redactor } = options
  const write = options.format === 'json' ? await openJsonLines(options) : openTextLines(options)
  const has = (level: LogLevel) => logLevels.indexOf(level) <= logLevels.indexOf(options.level)
  return {
    has,
    write: (level, message, fields = {}) => {
      if (has(level)) write(level, redactor.text(message), redactor.value(fields) as LogFields)
    },
  }
}

type WriteLine = (level: LogLevel, message: string, fields: LogFields) => void

/** The library is loaded only where its lines are asked for. */
async function openJsonLines({ level, destination, now }: LogOptions): Promise<WriteLine> {
  const { pino } = await import('pino')
  const logger = pino(
    {
      level,
      base: null,
      timestamp: () => `,"time":"${formatUtc(now())}"`,
      formatters: { level: label => ({ level: label }) },
    },
    destination,
  )
  return (lineLevel, message, fields) => logger[lineLevel](fields, message)
}

const textLabels: Record<LogLevel, string> = { error: 'error', warn: 'warning', info: 'info', debug: 'debug' }

/** The message alone: it is complete, and the fields are its parts for programs. */
function openTextLines({ destination, now, hasTimes = false }: LogOptions): WriteLine {
  return (level, message) => {
    const time = hasTimes ? `${formatUtc(now())} ` : ''
    // A name in a message cannot fake a separate line.
    const entry = message.replaceAll(/\n(?! {2})/g, '\n  ')
    destination.write(`${time}${textLabels[level]}: ${entry}\n`)
  }
}
