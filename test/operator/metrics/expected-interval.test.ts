import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { planExpectedInterval } from '../../../src/operator/metrics/expected-interval.ts'

const fromMs = Date.parse('2025-11-15T09:30:00Z')

describe('the expected interval of a schedule', () => {
  for (const [schedule, seconds] of [
    ['* * * * *', 60],
    ['*/5 * * * *', 300],
    ['0 * * * *', 3600],
    ['30 */6 * * *', 6 * 3600],
    ['@daily', 24 * 3600],
    ['0 2 * * 1-5', 3 * 24 * 3600],
    ['@weekly', 7 * 24 * 3600],
    ['0 2 1 * *', 31 * 24 * 3600],
  ] as const) {
    test(`of ${schedule} is ${seconds} s`, () => assert.equal(planExpectedInterval(schedule, fromMs), seconds))
  }

  test('includes the weekend for a schedule of office hours, within an hour', () => {
    const seconds = planExpectedInterval('*/5 8-17 * * 1-5', fromMs) ?? 0
    const weekend = (6 + 24 + 24 + 8) * 3600 + 300
    assert.ok(seconds >= weekend && seconds <= weekend + 3600, String(seconds))
  })

  test('is unknown for an invalid schedule, or one too far in the future', () => {
    for (const schedule of ['every day', '0 0 31 2 *', '0 0 29 2 *']) {
      assert.equal(planExpectedInterval(schedule, fromMs), undefined, schedule)
    }
  })
})
