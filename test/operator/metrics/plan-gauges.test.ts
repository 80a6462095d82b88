import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Condition, ConditionType } from '../../../src/operator/crd/status.ts'
import { planGauges } from '../../../src/operator/metrics/plan-gauges.ts'
import { sampleResource } from './sample-resources.ts'

function condition(type: ConditionType, status: Condition['status'], reason: string): Condition {
  return { type, status, reason, message: '', lastTransitionTime: '' }
}

function gaugeOf(name: string, conditions: Condition[], spec = {}): number | undefined {
  const resource = sampleResource({ spec, status: { conditions } })
  const gauges = planGauges('backup', resource, { backup: undefined, verify: undefined })
  return gauges.find(gauge => gauge.name === name)?.value
}

test('the recovery point has no sample before a run has ended, and while the backup is suspended', () => {
  const never = condition('RecoveryPoint', 'False', 'NeverSucceeded')
  const failed = condition('Succeeded', 'False', 'KAFKA_AUTH')
  const name = 'kafka_backup_recovery_point_status'
  assert.equal(gaugeOf(name, []), undefined)
  assert.equal(gaugeOf(name, [never]), undefined)
  assert.equal(gaugeOf(name, [never, failed]), 0)
  assert.equal(gaugeOf(name, [condition('RecoveryPoint', 'False', 'LastRunFailed')]), 0)
  assert.equal(gaugeOf(name, [condition('RecoveryPoint', 'True', 'Available')]), 1)
  assert.equal(gaugeOf(name, [condition('RecoveryPoint', 'False', 'LastRunFailed')], { suspend: true }), undefined)
})

test('a resource counts as running only while its only run makes progress', () => {
  const name = 'kafka_backup_resource_running'
  assert.equal(gaugeOf(name, [condition('Ready', 'False', 'Running')]), 1)
  assert.equal(gaugeOf(name, [condition('Ready', 'False', 'Retrying')]), 0)
  assert.equal(gaugeOf(name, [condition('Ready', 'True', 'Completed')]), 0)
})
