import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gitopsCases } from './gitops-cases.ts'

for (const { name, resource, ready, point } of gitopsCases) {
  test(`conditions of ${name}`, () => {
    const of = (type: string) => resource.status?.conditions?.find(condition => condition.type === type)
    const isTrue = (type: string) => of(type)?.status === 'True'
    assert.deepEqual([of('Ready')?.reason, isTrue('Ready'), isTrue('Reconciling'), isTrue('Stalled')], ready)
    const { status, reason } = of('RecoveryPoint') ?? {}
    assert.deepEqual([status, reason], point ?? [undefined, undefined])
    for (const condition of resource.status?.conditions ?? []) assert.equal(condition.observedGeneration, 1)
  })
}
