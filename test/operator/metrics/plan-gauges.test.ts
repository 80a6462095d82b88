import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Condition, ConditionType, DrillStatus } from '../../../src/operator/crd/status.ts'
import { planGauges } from '../../../src/operator/metrics/plan-gauges.ts'
import { sampleResource } from './sample-resources.ts'

const noIntervals = { backup: undefined, verify: undefined, drill: undefined }

function condition(type: ConditionType, status: Condition['status'], reason: string): Condition {
  return { type, status, reason, message: '', lastTransitionTime: '' }
}

function gaugeOf(name: string, conditions: Condition[], spec = {}): number | undefined {
  const resource = sampleResource({ spec, status: { conditions } })
  const gauges = planGauges('backup', resource, noIntervals)
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

test('drills show the last result, the last success, the recovery time and the interval', () => {
  const shown = (drill: DrillStatus | undefined, interval?: number) => {
    const resource = sampleResource({ status: drill === undefined ? {} : { drill } })
    const gauges = planGauges('backup', resource, { ...noIntervals, drill: interval })
    return Object.fromEntries(
      gauges.flatMap(({ name, labels, value }) => (/drill/.test(name + labels.purpose) ? [[name, value]] : [])),
    )
  }
  assert.deepEqual(shown(undefined), {})
  assert.deepEqual(shown({ nextTime: '2026-11-16T02:00:00Z' }), {}, 'no drill has ended yet')
  const proven = { lastProvenTime: '1970-01-01T00:01:00Z', recoverySeconds: 12.5 }
  assert.deepEqual(shown({ ...proven, result: 'Failed' }, 86_400), {
    kafka_backup_last_successful_drill_timestamp: 60,
    kafka_backup_last_drill_status: 0,
    kafka_backup_drill_recovery_seconds: 12.5,
    kafka_backup_expected_interval_seconds: 86_400,
  })
  assert.equal(shown({ ...proven, result: 'Proven' }).kafka_backup_last_drill_status, 1)
})
