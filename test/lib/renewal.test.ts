import assert from 'node:assert/strict'
import { test } from 'node:test'
import { renewAfterMs } from '../../src/lib/renewal.ts'

test('a login is renewed after a part of its life, at least two seconds early, and never before half of it', () => {
  const table: [lifeMs: number, part: number, afterMs: number][] = [
    [3_600_000, 0.85, 3_060_000],
    [60_000, 0.8, 48_000],
    [10_000, 0.85, 8000],
    [5000, 0.85, 3000],
    [2000, 0.85, 1000],
    [100, 0.8, 50],
  ]
  for (const [lifeMs, part, afterMs] of table) assert.equal(renewAfterMs(lifeMs, part), afterMs)
})
