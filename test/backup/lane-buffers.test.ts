import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LaneBuffers } from '../../src/backup/lane-buffers.ts'

const plan = { buffers: 2, remoteBuffers: 1, bufferBytes: 1 << 20 }

test('keeps the buffers of a round for the next one with the same plan', async () => {
  const buffers = new LaneBuffers()
  const { local, remote } = buffers.open(plan)
  const [first, far] = [await local.acquire(), await remote().acquire()]
  local.release(first)
  remote().release(far)
  const next = buffers.open({ ...plan })
  assert.equal(await next.local.acquire(), first)
  assert.equal(await next.remote().acquire(), far)
})

test('does not keep them for another plan, or after a round that failed', () => {
  const buffers = new LaneBuffers()
  const { local } = buffers.open(plan)
  assert.notEqual(buffers.open({ ...plan, buffers: 4 }).local, local)
  const other = buffers.open(plan).local
  buffers.forget()
  assert.notEqual(buffers.open(plan).local, other)
})
