import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  formatInstant,
  formatRatio,
  formatTimestamp,
  plural,
  printable,
  printableLines,
  terminalText,
} from '../../src/cli/text.ts'

test('shows a time in UTC with seconds', () => {
  assert.equal(formatTimestamp(1_763_199_372_123n), '2025-11-15 09:36:12Z')
  assert.equal(formatTimestamp(-1n), 'none')
  assert.equal(formatTimestamp(-2n), '1969-12-31 23:59:59Z')
  assert.equal(formatInstant('2025-11-15T09:36:12.345Z'), '2025-11-15 09:36:12Z')
})

test('shows an invalid time unchanged', () => {
  assert.equal(formatTimestamp(null), '-')
  assert.equal(formatTimestamp(1_763_199_372_123_456_789n), '1763199372123456789')
  assert.equal(formatInstant('yesterday\x1b'), 'yesterday\\u001b')
})

test('shows the compression ratio of stored bytes', () => {
  assert.equal(formatRatio(1000, 250), '4.0x')
  assert.equal(formatRatio(0, 0), '-')
})

test('uses the singular only for one', () => {
  assert.deepEqual(
    [0, 1, 2, 1500n].map(count => plural(count, 'topic')),
    ['0 topics', '1 topic', '2 topics', '1,500 topics'],
  )
})

test('shows control characters and direction marks as codes', () => {
  assert.equal(printableLines('a\x1b\r\u202eb\nc é 日本'), 'a\\u001b\\u000d\\u202eb\nc é 日本')
  assert.equal(printable('a\nb\tc'), 'a\\u000ab\\u0009c')
})

test('keeps only its own styles in text for a terminal', () => {
  const own = '\x1b[1m\x1b[31mbad\x1b[39m\x1b[22m'
  assert.equal(terminalText(`${own}\ta\nb`), `${own}\ta\nb`)
  const hidden = '\x1b[8msecret\x1b[2J\x1b]0;title\x07\x9b31m'
  assert.equal(terminalText(hidden), '\\u001b[8msecret\\u001b[2J\\u001b]0;title\\u0007\\u009b31m')
})
