import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  giveBackMemory,
  keepMemory,
  keepUntilFreed,
  lendMemory,
  shareMemory,
  takeMemory,
} from '../../src/lib/recycled-memory.ts'

const MIB = 1 << 20

test('memory that was given back is used again, for the same size or a little less', () => {
  const first = takeMemory(3 * MIB)
  assert.equal(first.length, 3 * MIB)
  giveBackMemory(first.subarray(10, 20))
  const second = takeMemory(4 * MIB)
  assert.equal(second.buffer, first.buffer)
  assert.equal(second.length, 4 * MIB)
  assert.notEqual(takeMemory(4 * MIB).buffer, first.buffer, 'it is in use')
})

test('what was given back twice, or is from elsewhere, is lent to no one', () => {
  const own = takeMemory(MIB)
  giveBackMemory(own)
  giveBackMemory(own)
  const [one, other] = [takeMemory(MIB), takeMemory(MIB)]
  assert.notEqual(one.buffer, other.buffer)
  const foreign = Buffer.allocUnsafeSlow(MIB)
  giveBackMemory(foreign)
  assert.notEqual(takeMemory(MIB).buffer, foreign.buffer)
})

test('small and very large memory, and more than 24 MiB of it, is not kept', () => {
  for (const bytes of [0, 1000, 5 * MIB]) {
    const memory = takeMemory(bytes)
    assert.equal(memory.length, bytes)
    giveBackMemory(memory)
    assert.notEqual(takeMemory(bytes).buffer, memory.buffer)
  }
  const many = Array.from({ length: 10 }, () => takeMemory(4 * MIB))
  for (const one of many) giveBackMemory(one)
  const again = new Set(Array.from({ length: 10 }, () => takeMemory(4 * MIB).buffer))
  assert.equal(many.filter(({ buffer }) => again.has(buffer)).length, 6)
})

test('what has waited longest is freed first: a size that is not needed again makes room for others', () => {
  const rare = takeMemory(2 * MIB)
  giveBackMemory(rare)
  const usual = Array.from({ length: 6 }, () => takeMemory(4 * MIB))
  for (const one of usual) giveBackMemory(one)
  assert.equal(rare.length, 0)
  const again = new Set(usual.map(() => takeMemory(4 * MIB).buffer))
  assert.ok(usual.every(({ buffer }) => again.has(buffer)))
})

test('memory from elsewhere that was lent is used again when it is given back, or freed where no one could use it', () => {
  const fitting = lendMemory(Buffer.allocUnsafeSlow(MIB))
  giveBackMemory(fitting)
  assert.equal(takeMemory(MIB).buffer, fitting.buffer)
  const odd = lendMemory(Buffer.allocUnsafeSlow(MIB + 1))
  giveBackMemory(odd.subarray(10, 20))
  assert.equal(odd.length, 0)
  const pooled = lendMemory(Buffer.from('shares its memory with others'))
  giveBackMemory(pooled)
  assert.equal(String(pooled), 'shares its memory with others')
})

test('what someone keeps is lent to no one, although a reader of a part of it gives it back', () => {
  const kept = keepMemory(takeMemory(300_000))
  giveBackMemory(kept.subarray(0, 1000))
  const others = Array.from({ length: 200 }, () => takeMemory(300_000))
  assert.ok(others.every(({ buffer }) => buffer !== kept.buffer))
})

test('what someone frees later is lent to no one meanwhile, and memory from elsewhere is never freed', () => {
  const kept = takeMemory(300_000)
  const free = keepUntilFreed(kept)
  giveBackMemory(kept.subarray(0, 1000))
  const others = Array.from({ length: 200 }, () => takeMemory(300_000))
  assert.ok(others.every(({ buffer }) => buffer !== kept.buffer))
  free()
  assert.equal(kept.length, 0)
  const foreign = Buffer.allocUnsafeSlow(300_000)
  keepUntilFreed(foreign)()
  assert.equal(foreign.length, 300_000)
})

test('memory is shared while someone shares it, and such memory is lent to no one afterwards', () => {
  const isShared = () => takeMemory(2 * MIB).buffer instanceof SharedArrayBuffer
  const before = takeMemory(2 * MIB)
  assert.equal(before.buffer instanceof SharedArrayBuffer, false)
  const [endOne, endOther] = [shareMemory(), shareMemory()]
  const shared = takeMemory(2 * MIB)
  assert.ok(shared.buffer instanceof SharedArrayBuffer)
  giveBackMemory(shared)
  assert.equal(takeMemory(2 * MIB).buffer, shared.buffer)
  giveBackMemory(shared)
  giveBackMemory(before)
  const late = Array.from({ length: 2 }, () => takeMemory(2 * MIB))
  assert.ok(late.every(({ buffer }) => buffer instanceof SharedArrayBuffer))
  endOne()
  endOne()
  assert.equal(isShared(), true)
  endOther()
  for (const one of late) giveBackMemory(one)
  assert.equal(isShared(), false)
})
