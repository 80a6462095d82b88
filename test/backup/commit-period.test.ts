import assert from 'node:assert/strict'
import { test } from 'node:test'
import { commitPeriodMs } from '../../src/backup/round.ts'

test('a round commits at every interval, unless rounds take longer than that', () => {
  assert.equal(commitPeriodMs({ commitIntervalMs: 1000 }), 1000)
  assert.equal(commitPeriodMs({ commitIntervalMs: 1000 }, 400), 1000)
  assert.equal(commitPeriodMs({ commitIntervalMs: 1000 }, 1500), 3000)
})

test('a round that takes minutes commits at least every ten seconds, or at the interval of the job', () => {
  assert.equal(commitPeriodMs({ commitIntervalMs: 1000 }, 600_000), 10_000)
  assert.equal(commitPeriodMs({ commitIntervalMs: 60_000 }, 600_000), 60_000)
})
