import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseSelector } from '../../src/archive/topic-selector.ts'

test('selects by a topic ID that Date.parse takes for a time', () => {
  const printed = 'aTbcdefghijklmnopqrs-5'
  assert.ok(!Number.isNaN(Date.parse(printed)))
  assert.deepEqual(parseSelector(`orders@${printed}`).which, { id: printed })
})

test('selects by a time with a zone, with or without seconds', () => {
  for (const time of ['2026-01-31T08:00Z', '2026-01-31T08:00:00Z', '2026-01-31T09:00:00+01:00'])
    assert.deepEqual(parseSelector(`orders@${time}`).which, { at: Date.UTC(2026, 0, 31, 8) })
})
