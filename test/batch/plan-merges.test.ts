import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { BatchHeader } from '../../src/batch/header.ts'
import { planMerges } from '../../src/batch/plan-merges.ts'
import { walkBatches } from '../../src/batch/walk.ts'
import { encodeMarker, encodeRun } from '../fakes/batches.ts'

const limits = { targetBytes: 10_000, smallBytes: 1000, smallPackedBytes: 200 }
const small = encodeRun(0n, 1)
const large = encodeRun(0n, 1, { valueBytes: 2000 })

test('batches of one record each become batches near the target', () => {
  const groups = planMerges(
    headersOf(Array.from({ length: 10_000 }, () => encodeRun(0n, 1, { valueBytes: 100 }))),
    limits,
  )
  for (const { count } of groups.slice(0, -1)) assert.ok(count * 107 > 8500 && count * 107 <= 10_000, `${count}`)
  assert.deepEqual(shape(groups), { covered: 10_000, isInOrder: true })
})

test('large ones stay alone, and what lies between them is merged', () => {
  assert.deepEqual(counts([small, small, large, large, small, small, small, large, small]), [2, 1, 1, 3, 1, 1])
  assert.deepEqual(counts([large]), [1])
  assert.deepEqual(counts([]), [])
})

test('a compressed one, which has to be packed anew, stays alone from a smaller size on', () => {
  const packed = encodeRun(0n, 40, { codec: 'gzip', valueBytes: 300 })
  assert.ok(packed.length > limits.smallPackedBytes && packed.length < limits.smallBytes, `${packed.length}`)
  assert.deepEqual(counts([packed, packed]), [1, 1])
  assert.deepEqual(counts([small, packed, packed, small]), [1, 1, 1, 1])
})

test('another codec or kind of timestamp begins a new group', () => {
  const gzip = encodeRun(0n, 1, { codec: 'gzip' })
  const stamped = encodeRun(0n, 1, { logAppendTime: true })
  const transactional = encodeRun(0n, 1, { transactional: true, producerId: 4n })
  assert.deepEqual(counts([small, small, gzip, gzip, small, stamped, stamped, small]), [2, 2, 1, 2, 1])
  assert.deepEqual(counts([small, transactional, small]), [3], 'transactions leave nothing behind on the target')
})

test('control batches are never merged', () => {
  const marker = encodeMarker(3n, 4n, 'commit')
  assert.deepEqual(counts([small, marker, marker, small, small]), [1, 1, 1, 2])
})

test('a target smaller than any batch merges nothing', () => {
  const groups = planMerges(headersOf([small, small, small]), { ...limits, targetBytes: 10 })
  assert.deepEqual(
    groups.map(group => group.count),
    [1, 1, 1],
  )
})

function counts(batches: readonly Buffer[]): number[] {
  const groups = planMerges(headersOf(batches), limits)
  assert.deepEqual(shape(groups), { covered: batches.length, isInOrder: true })
  return groups.map(group => group.count)
}

function shape(groups: readonly { start: number; count: number }[]) {
  let covered = 0
  let isInOrder = true
  for (const { start, count } of groups) {
    isInOrder &&= start === covered
    covered += count
  }
  return { covered, isInOrder }
}

function headersOf(batches: readonly Buffer[]): BatchHeader[] {
  const bytes = Buffer.concat(batches)
  return walkBatches(bytes, 0, bytes.length)
}
