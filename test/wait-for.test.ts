import assert from 'node:assert/strict'
import { test } from 'node:test'
import { waitFor, within } from './wait-for.ts'

test('a promise that is never settled fails with what was waited for, and any other one is given on', async () => {
  const never = new Promise<never>(() => undefined)
  await assert.rejects(
    within(1, () => 'the event', never),
    /not after 0.001 s: the event/,
  )
  assert.equal(await within(3_600_000, () => 'the event', Promise.resolve(7)), 7)
  await assert.rejects(
    within(3_600_000, () => 'the event', Promise.reject(new Error('ended'))),
    /ended/,
  )
})

test('a condition is asked for until it holds', async () => {
  let asked = 0
  await waitFor('the third time', () => ++asked === 3)
  assert.equal(asked, 3)
})
