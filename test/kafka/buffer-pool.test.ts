import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ResponseBuffer } from '../../src/kafka/wire/buffer-pool.ts'
import { BufferPool } from '../../src/kafka/wire/buffer-pool.ts'

test('never more buffers exist than were allowed; who comes later waits in turn', async () => {
  const pool = new BufferPool(2, 1024)
  const held = [await pool.acquire(), await pool.acquire()]
  assert.equal(new Set(held).size, 2)
  const order: string[] = []
  const waiting = ['a', 'b'].map(name =>
    pool.acquire().then(buffer => {
      order.push(name)
      return buffer
    }),
  )
  await new Promise(resolve => setImmediate(resolve))
  assert.deepEqual(order, [])
  for (const buffer of held) pool.release(buffer)
  assert.deepEqual(new Set(await Promise.all(waiting)), new Set(held))
  assert.deepEqual(order, ['a', 'b'])
})

test('a buffer that grew for one answer comes back at its own size', async () => {
  const pool = new BufferPool(1, 1024)
  const buffer: ResponseBuffer = await pool.acquire()
  const home = buffer.bytes
  buffer.bytes.write('keep')
  buffer.reserve(5000, 4)
  assert.equal(buffer.bytes.length, 5000)
  assert.equal(buffer.bytes.toString('utf8', 0, 4), 'keep')
  pool.release(buffer)
  assert.equal((await pool.acquire()).bytes, home)
})
