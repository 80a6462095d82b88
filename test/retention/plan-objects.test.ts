import assert from 'node:assert/strict'
import { test } from 'node:test'
import { planSweep } from '../../src/retention/plan-objects.ts'

test('a schema that was named once may be named again by a writer that sleeps; a segment may not', () => {
  const segment = 'a/kafka/orders/0/00000000000000000000.run1.log'
  const schema = 'a/schema-registry/subjects/orders-value/v1.avsc'
  const planOf = (key: string, freed: string[]) =>
    planSweep([{ key, size: 1, modifiedMs: 0 }], {
      backupId: 'a',
      references: new Set(),
      freed: new Set(freed),
      newestGeneration: 2,
      storeNowMs: 1,
      graceMs: 0,
    })
  for (const [key, freed, hasStrays] of [
    [segment, [segment], false],
    [segment, [], true],
    [schema, [schema], true],
    [schema, [], true],
  ] as const) {
    const plan = planOf(key, [...freed])
    assert.deepEqual([plan.remove.length, plan.hasStrays], [1, hasStrays], key)
  }
})
