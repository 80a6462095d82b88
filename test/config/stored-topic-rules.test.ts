import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { storedTopicName, storedTopicPartition, storedTopicPattern } from '../../src/config/kafka-text-rules.ts'

describe('a topic of a backup in a job file', () => {
  for (const text of [
    'orders',
    'orders@1a2b',
    'orders@1A2B3C4D.2',
    `orders@${'0'.repeat(32)}`,
    'orders@SvF0IXvUT8qY4E5dHjSqgg',
    'orders@2026-01-31T08:00:00Z',
    'orders@2026-01-31T08:00+02:00',
  ]) {
    test(`may be ${text}`, () => {
      for (const rule of [storedTopicName, storedTopicPattern]) {
        assert.equal(rule.wrong(text), undefined)
        assert.match(text, new RegExp(rule.pattern))
      }
      assert.equal(storedTopicPartition.wrong(`${text}/3`), undefined)
      assert.match(`${text}/3`, new RegExp(storedTopicPartition.pattern))
    })
  }

  for (const [text, wrong] of [
    ['orders@', /neither a topic ID nor a time/],
    ['orders@1a2', /neither a topic ID nor a time/],
    ['orders@1a2b.0', /neither a topic ID nor a time/],
    ['orders@2026-01-31', /a day without a time/],
    ['orders@2026-01-31T08:00:00', /no time zone/],
    ['or ders@1a2b', /is not a topic name/],
  ] as const) {
    test(`may not be ${text}`, () => assert.match(storedTopicName.wrong(text) ?? '', wrong))
  }

  test('may be a pattern with an incarnation only where patterns are allowed', () => {
    assert.equal(storedTopicPattern.wrong('*@2026-01-31T08:00:00Z'), undefined)
    assert.match(storedTopicName.wrong('*@2026-01-31T08:00:00Z') ?? '', /is a pattern/)
  })
})
