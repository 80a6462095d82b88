import { usageError } from '../../errors.ts'
import { parseTime } from '../../lib/point-in-time.ts'
import { parseDurationMs } from '../../lib/units.ts'

/** The values of options that several commands have; each is a usage error that names its option if the text is something else. */

export function timeOption(name: string, text: string): bigint
export function timeOption(name: string, text: string | undefined): bigint | undefined
export function timeOption(name: string, text: string | undefined): bigint | undefined {
  if (text === undefined) return undefined
  const time = parseTime(text)
  if (typeof time === 'bigint') return time
  const form = time.wrong.includes(';') ? '' : '; write it as 2026-01-31T08:00:00Z, or as milliseconds since 1970'
  throw usageError(`--${name} ${text} ${time.wrong}${form}`)
}

/** Offsets of Kafka are 64-bit integers. */
const MAX_OFFSET = 2n ** 63n - 1n

export function offsetOption(name: string, text: string): bigint
export function offsetOption(name: string, text: string | undefined): bigint | undefined
export function offsetOption(name: string, text: string | undefined): bigint | undefined {
  if (text === undefined) return undefined
  if (/^\d{1,19}$/.test(text) && BigInt(text) <= MAX_OFFSET) return BigInt(text)
  throw usageError(`--${name} is an offset from 0 to ${MAX_OFFSET}, not ${JSON.stringify(text)}`)
}

export function numberOption(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  if (/^\d{1,15}$/.test(text)) return Number(text)
  throw usageError(`--${name} is a number, not ${JSON.stringify(text)}`)
}

export function durationOption(name: string, text: string | undefined): number | undefined {
  const ms = text === undefined ? undefined : parseDurationMs(text)
  if (text === undefined || ms !== undefined) return ms
  throw usageError(`--${name} ${JSON.stringify(text)} is not a duration: use one such as 30d, 12h or 0s`)
}
