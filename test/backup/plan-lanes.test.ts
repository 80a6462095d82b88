import assert from 'node:assert/strict'
import { test } from 'node:test'
import { planLanes } from '../../src/backup/plan-lanes.ts'
import { SEALED_WRITER_BYTES } from '../../src/encryption/sealed-writer.ts'

const MiB = 1 << 20

test('the buffers stay within the budget, or are two of the smallest, for any number of brokers', () => {
  for (const brokers of [0, 1, 3, 50, 1000]) {
    for (const connectionsPerBroker of [1, 2, 16]) {
      for (const budgetMiB of [1, 32, 96, 100, 4096]) {
        for (const writerBytes of [0, MiB / 4, 16 * MiB]) {
          const limits = { memoryBudgetBytes: budgetMiB * MiB, connectionsPerBroker, writerBytes }
          const plan = planLanes(brokers, limits)
          const bytes = plan.buffers * plan.bufferBytes
          const what = JSON.stringify({ brokers, ...limits, plan })
          assert.ok(bytes <= limits.memoryBudgetBytes || (plan.buffers === 2 && plan.bufferBytes === MiB), what)
          assert.ok(plan.buffers >= 2 && plan.bufferBytes >= MiB && plan.bufferBytes <= 8 * MiB, what)
          assert.ok(plan.maxActive >= 1 && plan.maxActive <= 128, what)
          assert.ok(Object.values(plan).every(Number.isInteger), what)
        }
      }
    }
  }
})

test('with room for all, each lane has two large buffers', () => {
  const plan = planLanes(3, { memoryBudgetBytes: 96 * MiB, connectionsPerBroker: 2, writerBytes: 0 })
  const rest = { maxActive: 128, fetchBytes: 8 * MiB }
  assert.deepEqual(plan, { lanesPerBroker: 2, buffers: 12, remoteBuffers: 0, bufferBytes: 8 * MiB, ...rest })
})

test('a rate limit makes answers small, so that the rate is even, but never too small', () => {
  const limits = { memoryBudgetBytes: 96 * MiB, connectionsPerBroker: 2, writerBytes: 0 }
  const sizes = [4 * MiB, 1000, 1000 * MiB].map(
    bytesPerSecond => planLanes(1, { ...limits, bytesPerSecond }).fetchBytes,
  )
  assert.deepEqual(sizes, [2 * MiB, MiB, 8 * MiB])
})

test('a store whose writers hold memory gets half of the budget', () => {
  const plan = planLanes(1, { memoryBudgetBytes: 96 * MiB, connectionsPerBroker: 2, writerBytes: 8 * MiB })
  assert.ok(plan.buffers * plan.bufferBytes <= 48 * MiB)
  assert.equal(plan.maxActive, 3)
})

test('answers are as large with encryption as without it, and small on their way to a bucket', () => {
  const fetchBytes = [0, SEALED_WRITER_BYTES, MiB, 5 * MiB + SEALED_WRITER_BYTES].map(
    writerBytes => planLanes(1, { memoryBudgetBytes: 96 * MiB, connectionsPerBroker: 2, writerBytes }).fetchBytes,
  )
  assert.deepEqual(fetchBytes, [8 * MiB, 8 * MiB, 2 * MiB, 2 * MiB])
})

test('tiered topics take half of the buffers, and no memory more', () => {
  const limits = { memoryBudgetBytes: 96 * MiB, connectionsPerBroker: 2, writerBytes: 0 }
  const { buffers, remoteBuffers, bufferBytes } = planLanes(3, { ...limits, hasTiered: true })
  assert.deepEqual([buffers, remoteBuffers, bufferBytes], [12, 12, 4 * MiB])
  const least = planLanes(3, { ...limits, memoryBudgetBytes: 2 * MiB, hasTiered: true })
  assert.deepEqual([least.buffers, least.remoteBuffers, least.bufferBytes], [1, 1, MiB])
})
