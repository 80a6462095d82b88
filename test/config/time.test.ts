import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { parseTime } from '../../src/lib/point-in-time.ts'
import { errorsOf, minimalRestore, parseRestore } from './job-texts.ts'

const at = Date.UTC(2026, 0, 31, 8)

describe('a time', () => {
  const read: Record<string, [value: unknown, expectedMs: number]> = {
    'in UTC': ['2026-01-31T08:00:00Z', at],
    'in UTC without seconds': ['2026-01-31T08:00Z', at],
    'in lower case': ['2026-01-31t08:00:00z', at],
    'with a space': ['2026-01-31 08:00:00Z', at],
    'with milliseconds': ['2026-01-31T08:00:00.250Z', at + 250],
    'with tenths': ['2026-01-31T08:00:00.5Z', at + 500],
    'east of Greenwich': ['2026-01-31T09:00:00+01:00', at],
    'west of Greenwich': ['2026-01-30T22:30:00-09:30', at],
    'with an offset as `date` writes it': ['2026-01-31T09:00:00+0100', at],
    'on a leap day': ['2024-02-29T00:00:00Z', Date.UTC(2024, 1, 29)],
    'in milliseconds': [at, at],
    'in milliseconds as a text': [String(at), at],
    'of the seventies, written out': ['1970-01-21T10:53:45Z', 1_767_225_000],
  }
  for (const [name, [value, expected]] of Object.entries(read)) {
    test(`${name} is read`, () => assert.equal(parseTime(value), BigInt(expected)))
  }

  const refused: Record<string, [value: unknown, wrong: RegExp]> = {
    'without a zone': [
      '2026-01-31T08:00:00',
      /^has no time zone; put a Z behind it if it is in UTC, or else its offset/,
    ],
    'without a zone and seconds': ['2026-01-31 08:00', /^has no time zone/],
    'of a whole day': ['2026-01-31', /^is a day without a time; for midnight UTC, append T00:00:00Z$/],
    'in seconds': [1_769_846_400, /^is before March 1973 as milliseconds since 1970 \(are these seconds\?\)$/],
    'in microseconds': [1_769_846_400_000_000, /^is after the year 9999 .* \(are these microseconds\?\)$/],
    'below 0': [-1, /^is before March 1973/],
    'in half milliseconds': [at + 0.5, /^is not a whole number of milliseconds$/],
    'more exact than Kafka': ['2026-01-31T08:00:00.0001Z', /^is more exact than milliseconds/],
    'on February 30': ['2026-02-30T08:00:00Z', /^is not a valid date$/],
    'on February 29 of a year without': ['2026-02-29T08:00:00Z', /^is not a valid date$/],
    'in month 13': ['2026-13-01T08:00:00Z', /^is not a valid date$/],
    'at 24 hours': ['2026-01-31T24:00:00Z', /^is not a valid date$/],
    'with 61 seconds': ['2026-01-31T08:00:61Z', /^is not a valid date$/],
    'in no zone of the earth': ['2026-01-31T08:00:00+15:00', /^has an offset that no zone has$/],
    'in a zone of a name': ['2026-01-31T08:00:00 CET', /^is not a time$/],
    'in words': ['yesterday', /^is not a time$/],
    'in another order': ['31.01.2026 08:00', /^is not a time$/],
    'in a list': [['2026-01-31T08:00:00Z', 1], /^is not a time$/],
    'that is true': [true, /^is not a time$/],
  }
  for (const [name, [value, wrong]] of Object.entries(refused)) {
    test(`${name} is refused`, () => {
      const result = parseTime(value)
      assert.match(typeof result === 'bigint' ? `read as ${result}` : result.wrong, wrong)
    })
  }
})

describe('the time window of a restore', () => {
  const window = (start: string, end: string) =>
    `${minimalRestore}restore:\n  time_window_start: ${start}\n  time_window_end: ${end}\n`

  test('may have one end', () => {
    const { restore } = parseRestore(`${minimalRestore}restore: {time_window_end: 2026-01-31T08:00:00Z}`)
    assert.deepEqual([restore.timeWindowStartMs, restore.timeWindowEndMs], [undefined, BigInt(at)])
  })

  test('may have ends written in different ways and from variables', () => {
    const { restore } = parseRestore(window(`\${FROM}`, '2026-01-31T09:00:00.001+01:00'), { env: { FROM: String(at) } })
    assert.deepEqual([restore.timeWindowStartMs, restore.timeWindowEndMs], [BigInt(at), BigInt(at + 1)])
  })

  test('is refused where no record is in it, by the moment and not by the text', () => {
    const message =
      'restore.time_window_end: is not after time_window_start, so that no record is in the window [line 10]'
    assert.deepEqual(errorsOf(window('2026-01-31T08:00:00Z', '2026-01-31T09:00:00+01:00')), [message])
    assert.deepEqual(errorsOf(window('2026-01-31T08:00:00Z', '2026-01-31T08:30:00+01:00')), [message])
  })

  test('is refused with the fault of each end, in its line', () => {
    const [start = '', end = ''] = errorsOf(window('2026-01-31', '2026-01-31T08:00'))
    const allowed =
      'allowed: an ISO 8601 time with Z or an offset, such as 2026-01-31T08:00:00Z, or milliseconds since 1970'
    assert.equal(
      start,
      `restore.time_window_start: "2026-01-31" is a day without a time; for midnight UTC, append T00:00:00Z; ${allowed} [line 9]`,
    )
    assert.match(end, /^restore\.time_window_end: "2026-01-31T08:00" has no time zone; .* \[line 10\]$/)
  })
})
