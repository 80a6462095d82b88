import assert from 'node:assert/strict'
import { test } from 'node:test'
import { backoffMs, retry } from '../../src/lib/retry.ts'
import { JumpingClock } from '../fakes/jumping-clock.ts'

const policy = { attempts: 4, baseDelayMs: 100, maxDelayMs: 250 }
const passing = new Error('passing')

test('a call that succeeds is made once and waits for nothing', async () => {
  const clock = new JumpingClock()
  assert.equal(await retry(async attempt => attempt, policy, { isRetryable: () => true, clock }), 1)
  assert.deepEqual(clock.slept, [])
})

test('it tries again with growing delays up to the limit, then throws the last error', async () => {
  const clock = new JumpingClock()
  const seen: unknown[] = []
  const call = retry(
    async attempt => {
      throw new Error(`attempt ${attempt}`)
    },
    policy,
    {
      isRetryable: () => true,
      clock,
      random: () => 1,
      onRetry: (error, attempt, delayMs) => seen.push([String(error), attempt, delayMs]),
    },
  )
  await assert.rejects(call, /attempt 4/)
  assert.deepEqual(clock.slept, [100, 200, 250])
  assert.deepEqual(seen, [
    ['Error: attempt 1', 1, 100],
    ['Error: attempt 2', 2, 200],
    ['Error: attempt 3', 3, 250],
  ])
})

test('an error that will not pass is thrown at once', async () => {
  const clock = new JumpingClock()
  let calls = 0
  const call = retry(
    async () => {
      calls++
      throw calls === 2 ? new Error('final') : passing
    },
    policy,
    { isRetryable: error => error === passing, clock },
  )
  await assert.rejects(call, /final/)
  assert.equal(calls, 2)
})

test('an aborted signal prevents the call, and the next one', async () => {
  const reason = new Error('stopped')
  let calls = 0
  const fail = async () => {
    calls++
    throw passing
  }
  await assert.rejects(
    retry(fail, policy, { isRetryable: () => true, clock: new JumpingClock() }, AbortSignal.abort(reason)),
    error => error === reason,
  )
  assert.equal(calls, 0)
  const controller = new AbortController()
  const onRetry = () => controller.abort(reason)
  const parts = { isRetryable: () => true, clock: new JumpingClock(), onRetry }
  await assert.rejects(retry(fail, policy, parts, controller.signal), error => error === reason)
  assert.equal(calls, 1)
})

test('a call that fails after the abort gives its own error and is not repeated', async () => {
  const controller = new AbortController()
  let calls = 0
  const call = retry(
    async () => {
      calls++
      controller.abort(new Error('stopped'))
      throw passing
    },
    policy,
    { isRetryable: () => true, clock: new JumpingClock() },
    controller.signal,
  )
  await assert.rejects(call, error => error === passing)
  assert.equal(calls, 1)
})

test('a delay keeps at least half of its length, and no attempt is too late for one', () => {
  const wide = { attempts: 1, baseDelayMs: 100, maxDelayMs: 5000 }
  assert.deepEqual(
    [1, 2, 3, 6, 7, 5000].map(attempt => [backoffMs(attempt, wide, 0), backoffMs(attempt, wide, 1)]),
    [
      [50, 100],
      [100, 200],
      [200, 400],
      [1600, 3200],
      [2500, 5000],
      [2500, 5000],
    ],
  )
})

test('a wait that the other side asks for is kept where it is the longer one', async () => {
  const clock = new JumpingClock()
  const asked = [0, 9000]
  const call = retry(
    async attempt => {
      if (attempt < 3) throw passing
      return attempt
    },
    policy,
    { isRetryable: () => true, clock, random: () => 1, leastDelayMs: () => asked.shift() ?? 0 },
  )
  assert.equal(await call, 3)
  assert.deepEqual(clock.slept, [100, 9000])
})
