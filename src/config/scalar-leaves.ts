import { textOf } from '../lib/json.ts'
import { EARLIEST_MS, LATEST_MS, parseTime } from '../lib/point-in-time.ts'
import { formatBytes, parseBytes, parseDurationMs } from '../lib/units.ts'
import { type Complain, type Item, leaf, type Reference, reference } from './leaf.ts'
import { nearMatch } from './near-match.ts'

const sizePattern = '^\\s*\\d+(\\.\\d+)?\\s*(([KkMmGgTt][Ii]?)?[Bb])?\\s*$'
const durationPattern = '^\\s*\\d+(\\.\\d+)?\\s*([Mm][Ss]|[SsMmHhDd])\\s*$'

export function choice<const V extends string>(values: readonly V[], options: { description: string }) {
  const allowed = values.join(', ')
  return leaf<V, V | Reference>({
    description: options.description,
    type: 'text',
    allowed,
    json: { anyOf: [{ enum: [...values] }, reference] },
    read: (value, complain) => {
      const found = values.find(candidate => candidate === value)
      if (found !== undefined) return found
      complain({ wrong: 'is not known', near: nearMatch(textOf(value), values) })
      return undefined
    },
  })
}

export function flag({ description }: { description: string }) {
  return leaf<boolean, boolean | Reference>({
    description,
    type: 'boolean',
    allowed: 'true, false',
    json: { anyOf: [{ enum: [true, 'true', false, 'false'] }, reference] },
    read: (value, complain) => {
      if (value === true || value === 'true') return true
      if (value === false || value === 'false') return false
      complain({ wrong: 'is neither true nor false' })
      return undefined
    },
  })
}

interface IntegerRange {
  min: number
  max?: number
}

export function integer({ description, ...range }: IntegerRange & { description: string }) {
  return leaf<number, number | Reference>({ description, type: 'integer', ...integerIn(range) })
}

/** What `integer` is made of, for the items of lists and maps too. */
export function integerIn({ min, max }: IntegerRange): Item<number, number | Reference> {
  return {
    allowed: max === undefined ? `${min} or more` : `${min} to ${max}`,
    json: {
      anyOf: [
        { type: 'integer', minimum: min, ...(max === undefined ? {} : { maximum: max }) },
        { type: 'string', pattern: '^\\d+$' },
        reference,
      ],
    },
    read: (value: unknown, complain: Complain): number | undefined => {
      const count = typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : value
      if (typeof count !== 'number' || !Number.isSafeInteger(count)) complain({ wrong: 'is not a whole number' })
      else if (count < min) complain({ wrong: 'is too small' })
      else if (max !== undefined && count > max) complain({ wrong: 'is too large' })
      else return count
      return undefined
    },
  }
}

/** A number of bytes: an integer, or a text with a unit. */
export function size(options: { description: string; minBytes: number; maxBytes?: number }) {
  const { description, minBytes, maxBytes = Number.MAX_SAFE_INTEGER } = options
  const upTo = options.maxBytes === undefined ? ' or more' : ` to ${formatSize(maxBytes)}`
  const bounds = { minimum: minBytes, ...(options.maxBytes === undefined ? {} : { maximum: maxBytes }) }
  return leaf<number, number | string>({
    description,
    type: 'size',
    allowed: `${formatSize(minBytes)}${upTo}, as 64MiB, 64MB or a number of bytes`,
    json: { anyOf: [{ type: 'integer', ...bounds }, { type: 'string', pattern: sizePattern }, reference] },
    read: (value, complain) => {
      const bytes = typeof value === 'string' ? parseBytes(value) : value
      if (typeof bytes !== 'number' || !Number.isSafeInteger(bytes)) complain({ wrong: 'is not a size' })
      else if (bytes < minBytes) complain({ wrong: 'is too small' })
      else if (bytes > maxBytes) complain({ wrong: 'is too large' })
      else return bytes
      return undefined
    },
  })
}

/** A duration with a mandatory unit, read as milliseconds. */
export function duration(options: { description: string; min: string; max: string }) {
  const { description, min, max } = options
  const [minMs, maxMs] = [parseDurationMs(min) ?? 0, parseDurationMs(max) ?? 0]
  return leaf<number, string>({
    description,
    type: 'duration',
    allowed: `${min} to ${max}, as 500ms, 30s, 5m, 2h or 1d`,
    json: { anyOf: [{ type: 'string', pattern: durationPattern }, reference] },
    read: (value, complain) => {
      const ms = typeof value === 'string' ? parseDurationMs(value) : undefined
      if (/^\s*\d+(\.\d+)?\s*$/.test(textOf(value))) complain({ wrong: 'has no unit' })
      else if (ms === undefined) complain({ wrong: 'is not a duration' })
      else if (ms < minMs) complain({ wrong: 'is too short' })
      else if (ms > maxMs) complain({ wrong: 'is too long' })
      else return ms
      return undefined
    },
  })
}

/** `formatBytes` as a job file would have it: `128MiB`. */
function formatSize(bytes: number): string {
  return formatBytes(bytes).replace('.0 ', '').replace(' ', '')
}

const zone = '(Z|[+-]\\d{2}:?\\d{2})'

/** A point in time, read as milliseconds since 1970. The time zone is mandatory. */
export function time(options: { description: string }) {
  return leaf<bigint, string | number>({
    description: options.description,
    type: 'time',
    allowed: 'an ISO 8601 time with Z or an offset, such as 2026-01-31T08:00:00Z, or milliseconds since 1970',
    json: {
      anyOf: [
        { type: 'integer', minimum: EARLIEST_MS, maximum: LATEST_MS },
        {
          type: 'string',
          pattern: `^(\\d{12,15}|\\d{4}-\\d{2}-\\d{2}[Tt ]\\d{2}:\\d{2}(:\\d{2}(\\.\\d{1,3})?)?${zone})$`,
        },
        reference,
      ],
    },
    read: (value, complain) => {
      const read = parseTime(value)
      if (typeof read === 'bigint') return read
      complain(read)
      return undefined
    },
  })
}
