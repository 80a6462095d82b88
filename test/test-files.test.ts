import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findTestFiles, orderByDuration, planShards, readDurations } from './test-files.ts'

test('every test file belongs to exactly one of both groups', () => {
  const { unit, e2e } = findTestFiles()
  assert.ok(unit.includes('test/test-files.test.ts'))
  assert.ok(unit.includes('test/lib/clock.test.ts'))
  assert.ok(e2e.includes('test/e2e/command-line.test.ts') && e2e.includes('test/faults/faults.test.ts'))
  assert.deepEqual(
    unit.filter(file => e2e.includes(file)),
    [],
  )
})

test('shards hold every file once and differ by one file at most', () => {
  const files = Array.from({ length: 11 }, (_, index) => `file-${index}`)
  const shards = planShards(files, 4)
  assert.deepEqual(shards.flat().sort(), [...files].sort())
  assert.deepEqual(
    shards.map(shard => shard.length),
    [3, 3, 3, 2],
  )
  assert.deepEqual(planShards(['one'], 4), [['one']])
})

test('the longest file comes first, and one that was never measured counts as a minute', () => {
  const durations = { short: 2, long: 480, middle: 30 }
  assert.deepEqual(orderByDuration(['short', 'middle', 'new', 'long'], durations), ['long', 'new', 'middle', 'short'])
})

test('durations are of files that exist', () => {
  const { e2e } = findTestFiles()
  assert.deepEqual(
    Object.keys(readDurations()).filter(file => !e2e.includes(file)),
    [],
  )
})
