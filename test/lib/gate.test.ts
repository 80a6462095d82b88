import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Gate } from '../../src/lib/gate.ts'

test('no more tasks run at a time than the gate is wide, in the order in which they came', async () => {
  const gate = new Gate(2)
  const started: number[] = []
  let now = 0
  let most = 0
  const results = await Promise.all(
    [0, 1, 2, 3, 4].map(index =>
      gate.run(async () => {
        started.push(index)
        most = Math.max(most, ++now)
        await new Promise(resolve => setImmediate(resolve))
        now--
        return index
      }),
    ),
  )
  assert.deepEqual(results, [0, 1, 2, 3, 4])
  assert.deepEqual(started, [0, 1, 2, 3, 4])
  assert.equal(most, 2)
})

test('a task that fails makes room for the next', async () => {
  const gate = new Gate(1)
  const failed = gate.run(() => Promise.reject(new Error('no')))
  const next = gate.run(async () => 'yes')
  await assert.rejects(failed, /no/)
  assert.equal(await next, 'yes')
})
