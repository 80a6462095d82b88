import assert from 'node:assert/strict'
import { getEventListeners } from 'node:events'
import { test } from 'node:test'
import { elapsedOf, formatUtc, measureSuspension, systemClock } from '../../src/lib/clock.ts'

test('a sleep ends after its time, and leaves no listener on the signal', async () => {
  const { signal } = new AbortController()
  const before = systemClock.monotonic()
  await systemClock.sleep(20, signal)
  assert.ok(systemClock.monotonic() - before >= 19)
  assert.equal(getEventListeners(signal, 'abort').length, 0)
})

test('an abort ends a sleep at once with its reason, also one from before', async () => {
  const reason = new Error('stopped')
  const controller = new AbortController()
  const sleeping = systemClock.sleep(60_000, controller.signal)
  controller.abort(reason)
  await assert.rejects(sleeping, error => error === reason)
  await assert.rejects(systemClock.sleep(60_000, controller.signal), error => error === reason)
})

test('a timer that was cancelled does not ring', async () => {
  let rings = 0
  const cancel = systemClock.after(5, () => rings++)
  systemClock.after(5, () => (rings += 10))
  cancel()
  await systemClock.sleep(20)
  assert.equal(rings, 10)
})

test('times are written in UTC with milliseconds', () => {
  assert.equal(formatUtc(1_700_000_000_123), '2023-11-14T22:13:20.123Z')
  assert.ok(Math.abs(systemClock.now() - Date.now()) < 1000)
})

test('the time for which a machine was suspended is what the clock since its start has more than the monotonic one', () => {
  let [sinceBootMs, monotonicMs] = [90_000, 1000]
  const suspendedMs = measureSuspension(
    () => sinceBootMs,
    () => monotonicMs,
  )
  assert.equal(suspendedMs(), 0)
  sinceBootMs += 60_999
  monotonicMs += 60_000
  assert.equal(suspendedMs(), 0, 'a clock of whole seconds')
  sinceBootMs += 3_600_000
  assert.equal(suspendedMs(), 3_600_999)
  assert.equal(elapsedOf({ monotonic: () => monotonicMs, suspendedMs }), monotonicMs + 3_600_999)
  assert.equal(elapsedOf({ monotonic: () => monotonicMs }), monotonicMs)
  assert.equal(systemClock.suspendedMs?.(), 0)
})
