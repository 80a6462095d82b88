import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runPool } from '../../src/lib/pool.ts'

const turn = () => new Promise<void>(resolve => setImmediate(resolve))

test('results have the order of the items, however long each takes', async () => {
  const results = await runPool([5, 1, 3, 0, 4], 3, async (item, index) => {
    for (let i = 0; i < item; i++) await turn()
    return `${index}:${item}`
  })
  assert.deepEqual(results, ['0:5', '1:1', '2:3', '3:0', '4:4'])
})

test('never more than the width run at a time, and as many as that do', async () => {
  let running = 0
  let most = 0
  await runPool(Array.from({ length: 50 }).keys(), 7, async () => {
    most = Math.max(most, ++running)
    await turn()
    running--
  })
  assert.equal(most, 7)
})

test('the first failure is thrown after what runs has ended, and nothing new is begun', async () => {
  const started: number[] = []
  const ended: number[] = []
  const call = runPool([0, 1, 2, 3, 4, 5], 3, async item => {
    started.push(item)
    if (item === 1) throw new Error('first')
    for (let i = 0; i < 5; i++) await turn()
    if (item === 2) throw new Error('second')
    ended.push(item)
  })
  await assert.rejects(call, /first/)
  assert.deepEqual([started, ended], [[0, 1, 2], [0]])
})

test('no items give no results', async () => {
  assert.deepEqual(await runPool([], 4, async () => 1), [])
})

test('a source of items that fails fails the run, after what runs has ended', async () => {
  let ended = 0
  function* items() {
    yield 1
    throw new Error('no more')
  }
  const call = runPool(items(), 2, async () => {
    for (let i = 0; i < 3; i++) await turn()
    ended++
  })
  await assert.rejects(call, /no more/)
  assert.equal(ended, 1)
})
