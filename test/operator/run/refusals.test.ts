import assert from 'node:assert/strict'
import { test } from 'node:test'
import { refusalAfter, refusalAt } from '../../../src/operator/run/resource-memory.ts'
import { sampleResource } from '../metrics/sample-resources.ts'

const minuteMs = 60_000

test('a rejected Job is created again within minutes although the clock was set back by hours', () => {
  const sample = sampleResource()
  const resource = { ...sample, metadata: { ...sample.metadata, generation: 1 } }
  const problem = { reason: 'JobRefused', message: 'exceeded quota: pods' }
  const nowMs = Date.parse('2026-11-16T08:00:00Z')
  const once = refusalAfter(undefined, { generation: 1, problem, nowMs, random: 1 })
  assert.equal(refusalAt(resource, once, nowMs), problem)
  assert.equal(refusalAt(resource, once, nowMs + minuteMs), undefined, 'it counts for a while')
  assert.equal(refusalAt(resource, once, nowMs - 5 * 60 * minuteMs), undefined)
  const changed = { ...resource, metadata: { ...resource.metadata, generation: 2 } }
  assert.equal(refusalAt(changed, once, nowMs), undefined, 'it counts for the rejected spec')
})
