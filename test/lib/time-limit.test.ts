import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startTimeLimit } from '../../src/lib/abort.ts'
import { SimulatedTime } from '../fakes/simulated-time.ts'

test('a limit is reached after the time, or when the signal is aborted, and says which', async () => {
  const time = new SimulatedTime()
  const outer = new AbortController()
  const slow = startTimeLimit(1000, time.clock(), outer.signal)
  const stopped = startTimeLimit(5000, time.clock(), outer.signal)
  await time.pass(1000)
  assert.match(String(slow.signal.reason), /no answer within 1000 ms/)
  const reason = new Error('stop')
  outer.abort(reason)
  assert.equal(stopped.signal.reason, reason)
  assert.equal(stopped.reasonOf(new Error('a consequence')), reason)
  assert.equal(startTimeLimit(1, time.clock(), outer.signal).signal.reason, reason)
})

test('a limit that has ended leaves neither a timer nor a listener that acts', async () => {
  const time = new SimulatedTime()
  const outer = new AbortController()
  const limit = startTimeLimit(1000, time.clock(), outer.signal)
  limit.end()
  assert.equal(time.pending, 0)
  outer.abort()
  assert.equal(limit.signal.aborted, false)
  const error = new Error('its own')
  assert.equal(limit.reasonOf(error), error)
})
