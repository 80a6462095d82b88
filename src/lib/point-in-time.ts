/** What is less counts seconds, what is more microseconds: 1973 and the end of the year 9999 in milliseconds. */
export const EARLIEST_MS = 100_000_000_000
export const LATEST_MS = 253_402_300_799_999

const written = /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2})(?:(:\d{2})(?:\.(\d+))?)?)?(Z|[+-]\d{2}:?\d{2})?$/i

/** A point in time as milliseconds since 1970, or what is wrong with the value. The time zone is mandatory. */
export function parseTime(value: unknown): bigint | { wrong: string } {
  if (typeof value === 'number' || /^-?\d+$/.test(String(value))) return parseEpoch(Number(value))
  const [, date, minutes, seconds = ':00', fraction = '', offset] = written.exec(String(value)) ?? []
  if (date === undefined) return { wrong: 'is not a time' }
  if (minutes === undefined) return { wrong: 'is a day without a time; for midnight UTC, append T00:00:00Z' }
  const clock = `${date}T${minutes}${seconds}`
  if (offset === undefined) {
    return { wrong: 'has no time zone; put a Z behind it if it is in UTC, or else its offset, such as +02:00' }
  }
  if (fraction.length > 3) return { wrong: 'is more exact than milliseconds, which is all that records have' }
  return parseIso(clock, fraction.padEnd(3, '0'), offset.toUpperCase())
}

function parseEpoch(ms: number): bigint | { wrong: string } {
  if (!Number.isInteger(ms)) return { wrong: 'is not a whole number of milliseconds' }
  if (ms < EARLIEST_MS) return { wrong: 'is before March 1973 as milliseconds since 1970 (are these seconds?)' }
  if (ms > LATEST_MS) return { wrong: 'is after the year 9999 as milliseconds since 1970 (are these microseconds?)' }
  return BigInt(ms)
}

/** `Date` takes February 30 for March 2, so the way back has to give the same text. */
function parseIso(clock: string, millis: string, offset: string): bigint | { wrong: string } {
  const local = Date.parse(`${clock}.${millis}Z`)
  if (Number.isNaN(local) || new Date(local).toISOString() !== `${clock}.${millis}Z`) {
    return { wrong: 'is not a valid date' }
  }
  const [, sign, hours, minutes] = /^([+-])(\d{2}):?(\d{2})$/.exec(offset) ?? ['', '+', '0', '0']
  if (Number(hours) > 14 || Number(minutes) > 59) return { wrong: 'has an offset that no zone has' }
  const offsetMs = (Number(hours) * 60 + Number(minutes)) * 60_000
  return BigInt(local + (sign === '-' ? offsetMs : -offsetMs))
}
