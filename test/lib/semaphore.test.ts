import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Semaphore } from '../../src/lib/semaphore.ts'

test('no more tasks run at a time than there are permits, in the order in which they came', async () => {
  const semaphore = new Semaphore(2)
  const started: number[] = []
  let now = 0
  let most = 0
  const results = await Promise.all(
    [0, 1, 2, 3, 4].map(index =>
      semaphore.run(async () => {
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
  const semaphore = new Semaphore(1)
  const failed = semaphore.run(() => Promise.reject(new Error('no')))
  const next = semaphore.run(async () => 'yes')
  await assert.rejects(failed, /no/)
  assert.equal(await next, 'yes')
})

describe('permits', () => {
  const never = new AbortController().signal

  test('let in as many as there are, and the next when one is given back', async () => {
    const semaphore = new Semaphore(2)
    const release = await semaphore.acquire(never)
    await semaphore.acquire(never)
    const order: string[] = []
    const third = semaphore.acquire(never).then(() => order.push('third'))
    const fourth = semaphore.acquire(never).then(() => order.push('fourth'))
    await Promise.resolve()
    assert.deepEqual(order, [])
    release()
    release()
    await third
    assert.deepEqual(order, ['third'], 'a place is given back once only')
    void fourth
  })

  test('who stops waiting takes no place', async () => {
    const semaphore = new Semaphore(1)
    const release = await semaphore.acquire(never)
    const controller = new AbortController()
    const waiting = semaphore.acquire(controller.signal)
    const next = semaphore.acquire(never)
    controller.abort(new Error('stopped'))
    await assert.rejects(waiting, /stopped/)
    release()
    ;(await next)()
    await assert.rejects(semaphore.acquire(controller.signal), /stopped/)
    await semaphore.acquire(never)
  })
})
