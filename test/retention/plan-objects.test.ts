import assert from 'node:assert/strict'
import { test } from 'node:test'
import { planSweep } from '../../src/retention/plan-objects.ts'

test('what a removed generation named is no stray; what none has named is', () => {
  const segment = 'a/kafka/orders/0/00000000000000000000.run1.log'
  const schema = 'a/schema-registry/generations/1.run1/subjects/orders-value/v1.avsc'
  const planOf = (key: string, freed: string[]) =>
    planSweep([{ key, size: 1, modifiedMs: 0 }], {
      backupId: 'a',
      references: new Set(),
      freed: new Set(freed),
      newestGeneration: 2,
      nowMs: 1,
      graceMs: 0,
    })
  for (const [key, freed, hasStrays] of [
    [segment, [segment], false],
    [segment, [], true],
    [schema, [schema], false],
    [schema, [], true],
  ] as const) {
    const plan = planOf(key, [...freed])
    assert.deepEqual([plan.remove.length, plan.hasStrays], [1, hasStrays], key)
  }
})

test('the current files of the registry stay as long as the backup, whatever generations name', () => {
  const keys = ['_schemas.json', 'current.json', 'config/global.json', 'subjects/orders-value/v1.avsc']
  const objects = keys.map(path => ({ key: `a/schema-registry/${path}`, size: 1, modifiedMs: 0 }))
  const facts = { backupId: 'a', references: new Set<string>(), freed: new Set<string>(), newestGeneration: 2 }
  const plan = planSweep(objects, { ...facts, nowMs: 1, graceMs: 0 })
  assert.deepEqual([plan.remove, plan.waiting, plan.unknown], [[], [], []])
})
