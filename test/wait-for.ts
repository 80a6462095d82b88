import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'

const LIMIT_MS = 60_000

/** Asks until it is so, for a minute. */
export async function waitFor(what: string, check: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = performance.now() + LIMIT_MS
  while (!(await check())) {
    assert.ok(performance.now() < deadline, `not after a minute: ${what}`)
    await sleep(20)
  }
}

/** Fails with what was waited for when the promise is not settled by then. */
export async function within<T>(limitMs: number, what: () => string, promise: Promise<T>): Promise<T> {
  const ended = new AbortController()
  const late = sleep(limitMs, undefined, ended).then(() => assert.fail(`not after ${limitMs / 1000} s: ${what()}`))
  try {
    return await Promise.race([promise, late])
  } finally {
    ended.abort()
    late.catch(() => undefined)
  }
}
