import assert from 'node:assert/strict'
import { test } from 'node:test'
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8'
import { tuneCollector } from '../../src/cli/commands/tune-collector.ts'

/** One of the two halves, of which one is in use at a time. */
function newSpaceBytes(): number {
  const space = getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space')
  assert.ok(space)
  return space.space_used_size + space.space_available_size
}

/** Makes objects that live for a while, which lets the space for new objects grow where it may. */
function work(): void {
  let kept: object[] = []
  for (let i = 0; i < 400_000; i++) {
    kept.push({ i, list: [i] })
    if (kept.length > 50_000) kept = []
  }
}

test('a continuous run has four megabytes or more for new objects, and stays there', () => {
  // As bin/kafka-backup.js does.
  setFlagsFromString('--semi-space-growth-factor=1')
  tuneCollector()
  const after = newSpaceBytes()
  assert.ok(after > 3.5 * (1 << 20) && after < 8 << 20, `${after} bytes`)
  work()
  assert.equal(newSpaceBytes(), after)
})
