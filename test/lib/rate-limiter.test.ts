import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RateLimiter } from '../../src/lib/rate-limiter.ts'
import { JumpingClock } from '../fakes/jumping-clock.ts'

const never = new AbortController().signal

test('what is spent takes its time, however it is cut', async () => {
  for (const [amount, times] of [
    [1000, 50],
    [50_000, 1],
    [1, 50_000],
  ] as const) {
    const clock = new JumpingClock()
    const limiter = new RateLimiter(1000, clock)
    const start = clock.monotonic()
    for (let i = 0; i < times; i++) {
      await limiter.wait(never)
      limiter.spend(amount)
    }
    await limiter.wait(never)
    const seconds = (clock.monotonic() - start) / 1000
    assert.ok(seconds >= 49 && seconds <= 51, `${times} times ${amount} took ${seconds} s`)
  }
})

test('several waiters together stay within the rate', async () => {
  const clock = new JumpingClock()
  const limiter = new RateLimiter(1000, clock)
  const start = clock.monotonic()
  const work = async () => {
    for (let i = 0; i < 10; i++) {
      await limiter.wait(never)
      limiter.spend(500)
    }
  }
  await Promise.all([work(), work(), work(), work()])
  await limiter.wait(never)
  assert.ok(clock.monotonic() - start >= 19_000)
})

test('an hour of rest is not saved up for a burst', async () => {
  const clock = new JumpingClock()
  const limiter = new RateLimiter(1000, clock)
  clock.pass(3_600_000)
  limiter.spend(10_000)
  const start = clock.monotonic()
  await limiter.wait(never)
  assert.ok(clock.monotonic() - start >= 9000)
})

test('a wait ends with its signal', async () => {
  const limiter = new RateLimiter(1, new JumpingClock())
  limiter.spend(100)
  const reason = new Error('enough')
  await assert.rejects(limiter.wait(AbortSignal.abort(reason)), error => error === reason)
})
