import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { MetricSpec } from '../../../src/observe/job-metrics-catalogue.ts'
import { jobMetrics } from '../../../src/observe/job-metrics-catalogue.ts'
import { controllers } from '../../../src/operator/crd/resource.ts'
import { bucketsOf, operatorMetrics } from '../../../src/operator/metrics/catalogue.ts'
import { OperatorMetrics } from '../../../src/operator/metrics/operator-metrics.ts'
import { ManualClock } from '../../cli/manual-clock.ts'
import { readExposition } from './read-exposition.ts'
import { endedRun, sampleResource } from './sample-resources.ts'

/** The interface that is promised, copied by hand: name, type, labels. */
const promised: [string, string, string][] = [
  ['kafka_backup_operator_reconciliations_total', 'counter', 'controller name namespace'],
  ['kafka_backup_operator_reconciliation_errors_total', 'counter', 'controller name namespace'],
  ['kafka_backup_operator_reconciliation_duration_seconds', 'histogram', 'controller name namespace'],
  ['kafka_backup_operator_workqueue_depth', 'gauge', 'controller'],
  ['kafka_backup_operator_workqueue_adds_total', 'counter', 'controller'],
  ['kafka_backup_operator_workqueue_retries_total', 'counter', 'controller'],
  ['kafka_backup_backups_total', 'counter', 'backup_name namespace outcome'],
  ['kafka_backup_backup_duration_seconds', 'histogram', 'backup_name namespace outcome'],
  ['kafka_backup_backup_size_bytes', 'gauge', 'backup_name namespace outcome'],
  ['kafka_backup_backup_records_total', 'counter', 'backup_name namespace outcome'],
  ['kafka_backup_last_successful_backup_timestamp', 'gauge', 'backup_name namespace'],
  ['kafka_backup_restores_total', 'counter', 'namespace outcome restore_name'],
  ['kafka_backup_restore_duration_seconds', 'histogram', 'namespace outcome restore_name'],
  ['kafka_backup_restore_records_total', 'counter', 'namespace outcome restore_name'],
  ['kafka_backup_last_successful_restore_timestamp', 'gauge', 'namespace outcome restore_name'],
  ['kafka_backup_offset_resets_total', 'counter', 'namespace outcome reset_name strategy'],
  ['kafka_backup_offset_reset_duration_seconds', 'histogram', 'namespace outcome reset_name strategy'],
  ['kafka_backup_offset_reset_groups_total', 'counter', 'namespace outcome reset_name strategy'],
  ['kafka_backup_resource_status', 'gauge', 'kind name namespace phase'],
  ['kafka_backup_resource_phase', 'gauge', 'kind name namespace phase'],
]

/** What an operator shows that has one resource of each kind, each with a run that ended well. */
async function readFull() {
  const metrics = new OperatorMetrics({ version: '1.2.3', clock: new ManualClock(), holdMs: 0 })
  metrics.leads(true)
  metrics.namespaceReadable('shop', true)
  for (const controller of controllers) {
    const run = endedRun({ storedBytes: 5000, records: 10, groups: 2 })
    const verify = endedRun({ run: 'verify-1', purpose: 'verify' })
    const active = [{ run: 'scheduled-2', purpose: 'main' as const, job: 'j', startTime: '2025-11-15T09:20:00Z' }]
    const resource = sampleResource({
      controller,
      spec: { strategy: 'latest', schedule: '@daily', verify: {}, drill: { schedule: '@weekly' } },
      status: {
        phase: 'Running',
        conditions: [
          { type: 'RecoveryPoint', status: 'True', reason: 'Available', message: '', lastTransitionTime: '' },
        ],
        restarts: 2,
        lastSuccessfulTime: '2025-11-15T09:10:00Z',
        schedules: [{ purpose: 'drill', schedule: '@weekly', since: '2025-11-01T00:00:00Z' }],
        drill: { result: 'Proven', lastProvenTime: '2025-11-15T09:15:00Z', recoverySeconds: 3 },
        history: [verify, run],
        active,
      },
    })
    const queue = metrics.queue(controller)
    queue.added()
    queue.depth(1)
    metrics.seen(controller, resource)
    metrics.ended(controller, resource, { ...run, run: 'scheduled-1' })
    metrics.reconciled(controller, resource.metadata, 20, false)
  }
  return readExposition(await metrics.format())
}

describe('the metrics of the operator', () => {
  test('have the names, types and labels of the specification', async () => {
    const families = await readFull()
    for (const [name, type, labels] of promised) {
      const family = families.get(name)
      assert.equal(family?.type, type, name)
      assert.ok((family?.samples.size ?? 0) > 0, `${name} has no samples`)
      assert.equal([...(family?.labels ?? [])].sort().join(' '), labels, name)
    }
  })

  test('are exactly those of the catalog, each with help, type, labels and at least one sample', async () => {
    const families = await readFull()
    assert.deepEqual([...families.keys()], Object.keys(operatorMetrics))
    for (const [name, { type, help, labels }] of Object.entries<MetricSpec>(operatorMetrics)) {
      const family = families.get(name)
      assert.equal(family?.type, type)
      assert.equal(family?.help, help)
      assert.deepEqual([...(family?.labels ?? [])].sort(), [...labels].sort(), name)
      assert.ok((family?.samples.size ?? 0) > 0, name)
    }
  })

  test('share no name with the metrics of a job', () => {
    assert.deepEqual(
      Object.keys(operatorMetrics).filter(name => name in jobMetrics),
      [],
    )
  })

  test('measure runs from a second to twelve hours, with the buckets of alerts and specification', async () => {
    const buckets = bucketsOf('kafka_backup_backup_duration_seconds')
    assert.equal(buckets[0], 1)
    assert.equal(buckets.at(-1), 12 * 3600)
    for (const step of [60, 300, 600, 3600]) assert.ok(buckets.includes(step), String(step))
    const { samples } = (await readFull()).get('kafka_backup_backup_duration_seconds') ?? { samples: new Map() }
    const of = (part: string, le: string) =>
      samples.get(
        `kafka_backup_backup_duration_seconds_${part}{backup_name="orders",${le}namespace="shop",outcome="success"}`,
      )
    assert.deepEqual(
      [
        of('bucket', 'le="300",'),
        of('bucket', 'le="600",'),
        of('bucket', 'le="+Inf",'),
        of('sum', ''),
        of('count', ''),
      ],
      [0, 1, 1, 600, 1],
    )
  })
})
