import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findFault, parseSelector, selectBy } from '../../src/archive/topic-selector.ts'
import { manifest } from '../cli/fake-actions.ts'

test('selects by a topic ID that Date.parse takes for a time', () => {
  const printed = 'aTbcdefghijklmnopqrs-5'
  assert.ok(!Number.isNaN(Date.parse(printed)))
  assert.deepEqual(parseSelector(`orders@${printed}`).which, { id: printed })
})

test('selects by a time with a zone, with or without seconds', () => {
  for (const time of ['2026-01-31T08:00Z', '2026-01-31T08:00:00Z', '2026-01-31T09:00:00+01:00'])
    assert.deepEqual(parseSelector(`orders@${time}`).which, { at: BigInt(Date.UTC(2026, 0, 31, 8)) })
})

test('selects nothing by a time that there is not, or that has no zone, and says so', () => {
  const wrong = {
    '2026-13-01T08:00:00Z': 'is not a valid date',
    '2026-02-30T08:00:00Z': 'is not a valid date',
    '2026-01-31T08:00:00': 'has no time zone; put a Z behind it if it is in UTC, or else its offset, such as +02:00',
  }
  for (const [time, what] of Object.entries(wrong)) {
    const selector = parseSelector(`orders@${time}`)
    assert.deepEqual(selectBy(selector, manifest.topics), [])
    assert.equal(findFault(selector, manifest.topics), `orders@${time}: the time ${time} ${what}`)
  }
})
