import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatBytes, formatCount, formatDuration, parseBytes, parseDurationMs } from '../../src/lib/units.ts'

const sizes: [string, number | undefined][] = [
  ['0', 0],
  ['4096', 4096],
  ['10b', 10],
  ['128MiB', 134_217_728],
  ['128 mib', 134_217_728],
  ['1.5 GB', 1_500_000_000],
  ['1KB', 1000],
  ['1KiB', 1024],
  ['2TiB', 2_199_023_255_552],
  ['0.1', 0],
  ['', undefined],
  ['MiB', undefined],
  ['-1', undefined],
  ['+1', undefined],
  ['1.', undefined],
  ['.5MB', undefined],
  ['1e3', undefined],
  ['1 MB 2', undefined],
  ['1PB', undefined],
  ['9007199254740993', undefined],
  ['9007TB', 9_007_000_000_000_000],
  ['9008TB', undefined],
]

test('sizes are read with decimal and binary units, and what is none is refused', () => {
  assert.deepEqual(
    sizes.map(([text]) => [text, parseBytes(text)]),
    sizes,
  )
})

const durations: [string, number | undefined][] = [
  ['500ms', 500],
  ['30s', 30_000],
  ['5m', 300_000],
  ['2h', 7_200_000],
  ['7d', 604_800_000],
  ['1.5s', 1500],
  ['1 S', 1000],
  ['30', undefined],
  ['', undefined],
  ['s', undefined],
  ['1w', undefined],
  ['-1s', undefined],
  ['1h30m', undefined],
]

test('durations need a unit', () => {
  assert.deepEqual(
    durations.map(([text]) => [text, parseDurationMs(text)]),
    durations,
  )
})

test('a name that every object has is no unit', () => {
  for (const word of ['constructor', 'toString', 'valueOf']) {
    assert.equal(parseBytes(`1${word}`), undefined)
    assert.equal(parseDurationMs(`1${word}`), undefined)
  }
})

test('sizes are written in the largest unit that keeps them readable', () => {
  const table = [0, 1023, 1024, 1536, 102_400, 1_048_575, 1 << 20, 5 * 2 ** 50, 5000 * 2 ** 50]
  assert.deepEqual(table.map(formatBytes), [
    '0 B',
    '1023 B',
    '1.0 KiB',
    '1.5 KiB',
    '100 KiB',
    '1.0 MiB',
    '1.0 MiB',
    '5.0 PiB',
    '5000 PiB',
  ])
})

test('counts have their thousands marked', () => {
  assert.deepEqual([0, 999, 1000, 1234567, 9_223_372_036_854_775_807n].map(formatCount), [
    '0',
    '999',
    '1,000',
    '1,234,567',
    '9,223,372,036,854,775,807',
  ])
})

test('durations are written in two steps at most', () => {
  const table = [0, 999.4, 1000, 59_949, 60_000, 61_000, 3_599_000, 3_600_000, 90_061_000]
  const expected = ['0 ms', '999 ms', '1.0 s', '59.9 s', '1m 00s', '1m 01s', '59m 59s', '1h 00m', '25h 01m']
  assert.deepEqual(table.map(formatDuration), expected)
})

test('a duration just below a step is not shown as the impossible', () => {
  assert.deepEqual([999.6, 59_960].map(formatDuration), ['1.0 s', '1m 00s'])
})
