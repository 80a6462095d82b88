import assert from 'node:assert/strict'
import { Writable } from 'node:stream'
import { test } from 'node:test'
import { flush } from '../../src/cli/io.ts'

test('output is flushed when its reader has taken all of it', async () => {
  const waiting: (() => void)[] = []
  const slow = new Writable({ write: (_chunk, _encoding, taken) => void waiting.push(taken) })
  slow.write('a')
  slow.write('b')
  let isFlushed = false
  const flushed = flush(slow).then(() => {
    isFlushed = true
  })
  const turn = () => new Promise(resolve => setImmediate(resolve))
  waiting.shift()?.()
  await turn()
  assert.equal(isFlushed, false)
  for (let turns = 0; turns < 100; turns++) {
    waiting.shift()?.()
    await turn()
  }
  assert.equal(isFlushed, true)
  await flushed
})

test('output whose reader is gone counts as flushed', async () => {
  const closed = new Writable({ write: (_chunk, _encoding, taken) => taken(new Error('EPIPE')) })
  closed.on('error', () => undefined)
  closed.write('a')
  closed.write('b')
  await flush(closed)
  await flush(closed)
  await flush(new Writable({ write: (_chunk, _encoding, taken) => taken() }))
})
