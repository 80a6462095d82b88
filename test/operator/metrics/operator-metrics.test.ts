import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { controllers } from '../../../src/operator/crd/resource.ts'
import type { ActiveRun, ResourceStatus } from '../../../src/operator/crd/status.ts'
import { OperatorMetrics } from '../../../src/operator/metrics/operator-metrics.ts'
import { ManualClock } from '../../cli/manual-clock.ts'
import { readSamples } from './read-exposition.ts'
import { endedRun, sampleResource } from './sample-resources.ts'

/** Nine in the morning of 2025-11-15 and half an hour. */
function make(holdMs = 0) {
  const clock = new ManualClock()
  const metrics = new OperatorMetrics({ version: '1.2.3', lease: 'ops/operator', clock, holdMs })
  metrics.leads(true)
  return { clock, metrics, samples: async () => readSamples(await metrics.format()) }
}

const orders = (outcome: string) => `{backup_name="orders",namespace="shop",outcome="${outcome}"}`
const ofOrders = '{backup_name="orders",namespace="shop"}'
const seconds = (text: string) => Date.parse(text) / 1000

const active: ActiveRun = { run: 'scheduled-1', purpose: 'main', job: 'j', startTime: '2025-11-15T09:00:00Z' }

/**
 * Shows a resource whose active run was started by an earlier operator, with the first two reports of its pods: 20 records and a gap
 * between them. Returns how to read the counted records and gaps.
 */
async function reportFirst(
  metrics: OperatorMetrics,
  samples: () => Promise<Map<string, number>>,
  resource: ReturnType<typeof sampleResource>,
): Promise<() => Promise<unknown[]>> {
  const counted = async () => {
    const found = await samples()
    const records = found.get(`kafka_backup_backup_records_total${orders('success')}`)
    return [records, found.get(`kafka_backup_gaps_total${ofOrders}`)]
  }
  metrics.seen('backup', resource)
  metrics.progressed('backup', resource, active.run, { records: 70_000, gaps: 3 })
  assert.deepEqual(await counted(), [0, 0])
  metrics.progressed('backup', resource, active.run, { records: 70_020, gaps: 4 })
  return counted
}

test('failed reconciliations of a storage are counted until it is gone, and it has no series of runs', async () => {
  const { metrics, samples } = make()
  const minio = { namespace: 'shop', name: 'minio' }
  metrics.seen('storage', sampleResource({ controller: 'storage', name: 'minio' }))
  metrics.reconciled('storage', minio, 10, true)
  metrics.reconciled('storage', minio, 10, false)
  const found = await samples()
  const labels = '{controller="storage",name="minio",namespace="shop"}'
  assert.equal(found.get(`kafka_backup_operator_reconciliations_total${labels}`), 2)
  assert.equal(found.get(`kafka_backup_operator_reconciliation_errors_total${labels}`), 1)
  assert.deepEqual(
    [...found.keys()].filter(name => name.includes('minio') && !name.includes('reconciliation')),
    [],
  )
  metrics.gone('storage', minio)
  assert.deepEqual(
    [...(await samples()).keys()].filter(name => name.includes('minio')),
    [],
  )
})

describe('a new resource', () => {
  test('of each kind has counters and histograms of both outcomes at zero', async () => {
    const { metrics, samples } = make()
    for (const controller of controllers) {
      metrics.seen(controller, sampleResource({ controller, spec: { strategy: 'earliest' } }))
    }
    const found = await samples()
    for (const outcome of ['success', 'failure']) {
      const restore = `{namespace="shop",outcome="${outcome}",restore_name="orders"}`
      const reset = `{namespace="shop",outcome="${outcome}",reset_name="orders",strategy="earliest"}`
      const rollback = `{namespace="shop",operation="rollback",outcome="${outcome}",rollback_name="orders"}`
      for (const name of [
        `kafka_backup_backups_total${orders(outcome)}`,
        `kafka_backup_backup_records_total${orders(outcome)}`,
        `kafka_backup_backup_duration_seconds_count${orders(outcome)}`,
        `kafka_backup_restores_total${restore}`,
        `kafka_backup_restore_records_total${restore}`,
        `kafka_backup_restore_duration_seconds_count${restore}`,
        `kafka_backup_offset_resets_total${reset}`,
        `kafka_backup_offset_reset_groups_total${reset}`,
        `kafka_backup_offset_reset_duration_seconds_count${reset}`,
        `kafka_backup_offset_rollbacks_total${rollback}`,
        `kafka_backup_offset_rollback_groups_total${rollback}`,
        `kafka_backup_offset_rollback_duration_seconds_count${rollback}`,
      ]) {
        assert.equal(found.get(name), 0, name)
      }
    }
    for (const controller of controllers) {
      const labels = `{controller="${controller}",name="orders",namespace="shop"}`
      assert.equal(found.get(`kafka_backup_operator_reconciliations_total${labels}`), 0)
      assert.equal(found.get(`kafka_backup_operator_reconciliation_errors_total${labels}`), 0)
    }
    assert.equal(found.get(`kafka_backup_gaps_total${ofOrders}`), 0)
    assert.equal(found.get(`kafka_backup_verify_failures_total${ofOrders}`), 0)
  })

  test('has counters at zero for its new strategy after a change', async () => {
    const { metrics, samples } = make()
    const reset = (strategy: string) => sampleResource({ controller: 'offset_reset', spec: { strategy } })
    metrics.seen('offset_reset', reset('timestamp'))
    metrics.seen('offset_reset', reset('earliest'))
    metrics.ended('offset_reset', reset('earliest'), endedRun({ phase: 'Failed' }))
    metrics.seen('offset_reset', reset('earliest'))
    const found = await samples()
    const labels = (outcome: string) =>
      `{namespace="shop",outcome="${outcome}",reset_name="orders",strategy="earliest"}`
    assert.equal(found.get(`kafka_backup_offset_resets_total${labels('success')}`), 0)
    assert.equal(found.get(`kafka_backup_offset_reset_duration_seconds_count${labels('success')}`), 0)
    assert.equal(found.get(`kafka_backup_offset_resets_total${labels('failure')}`), 1)
    assert.equal(found.get(`kafka_backup_offset_reset_duration_seconds_count${labels('failure')}`), 1)
  })

  test('has no unknown times and sizes, and is pending and not ready', async () => {
    const { metrics, samples } = make()
    metrics.seen('backup', sampleResource())
    const found = await samples()
    for (const name of [
      `kafka_backup_last_successful_backup_timestamp${ofOrders}`,
      `kafka_backup_backup_size_bytes${orders('success')}`,
      `kafka_backup_last_verify_timestamp${ofOrders}`,
      `kafka_backup_last_verify_status${ofOrders}`,
      `kafka_backup_backup_started_timestamp${ofOrders}`,
    ]) {
      assert.equal(found.has(name), false, name)
    }
    const labels = '{kind="KafkaBackup",name="orders",namespace="shop",phase="Pending"}'
    assert.equal(found.get(`kafka_backup_resource_phase${labels}`), 1)
    assert.equal(found.get(`kafka_backup_resource_status${labels}`), 0)
  })

  test('takes values of an earlier process from its status', async () => {
    const { metrics, samples } = make()
    const history = [
      endedRun({ run: 'verify-2', purpose: 'verify', completionTime: '2025-11-14T03:00:00Z' }),
      endedRun({ run: 'b', phase: 'Failed', completionTime: '2025-11-14T02:00:00Z', storedBytes: 700 }),
      endedRun({ run: 'a', completionTime: '2025-11-13T02:00:00Z', storedBytes: 900 }),
    ]
    const resource = sampleResource({
      status: { phase: 'Failed', lastSuccessfulTime: '2025-11-13T02:00:00Z', history },
    })
    metrics.seen('backup', resource)
    const found = await samples()
    const expected: [string, number][] = [
      [`kafka_backup_last_successful_backup_timestamp${ofOrders}`, seconds('2025-11-13T02:00:00Z')],
      [`kafka_backup_backup_size_bytes${orders('success')}`, 900],
      [`kafka_backup_backup_size_bytes${orders('failure')}`, 700],
      [`kafka_backup_last_verify_timestamp${ofOrders}`, seconds('2025-11-14T03:00:00Z')],
      [`kafka_backup_last_verify_status${ofOrders}`, 1],
      [`kafka_backup_backup_created_timestamp${ofOrders}`, seconds('2025-11-01T00:00:00Z')],
      ['kafka_backup_resource_phase{kind="KafkaBackup",name="orders",namespace="shop",phase="Failed"}', 1],
      // Runs of yesterday are not counted again.
      [`kafka_backup_backups_total${orders('failure')}`, 0],
      [`kafka_backup_backups_total${orders('success')}`, 0],
    ]
    for (const [name, value] of expected) assert.equal(found.get(name), value, name)
  })

  test('counts runs that ended just before, because no scrape may have seen them, but not their records', async () => {
    const { metrics, samples } = make()
    const failed = endedRun({ run: 'b', phase: 'Failed', completionTime: '2025-11-15T09:25:00Z', records: 50, gaps: 2 })
    const verify = endedRun({ run: 'v', purpose: 'verify', phase: 'Failed', completionTime: '2025-11-15T09:28:00Z' })
    const resource = sampleResource({ status: { phase: 'Failed', history: [verify, failed] } })
    metrics.seen('backup', resource)
    metrics.ended('backup', resource, failed)
    const found = await samples()
    assert.equal(found.get(`kafka_backup_backups_total${orders('failure')}`), 1)
    assert.equal(found.get(`kafka_backup_gaps_total${ofOrders}`), 2)
    assert.equal(found.get(`kafka_backup_verify_failures_total${ofOrders}`), 1)
    assert.equal(found.get(`kafka_backup_backup_records_total${orders('failure')}`), 0)
  })
})

describe('a run', () => {
  test('counts its records as they are copied; its end adds the rest to its outcome', async () => {
    const { metrics, samples } = make()
    const resource = sampleResource({ status: { phase: 'Running', active: [active] } })
    metrics.seen('backup', resource)
    metrics.progressed('backup', resource, active.run, { records: 100 })
    metrics.progressed('backup', resource, active.run, { records: 250 })
    metrics.progressed('backup', resource, active.run, { records: 240 })
    metrics.ended('backup', resource, endedRun({ ...active, phase: 'Failed', records: 300, reason: 'KAFKA_DENIED' }))
    metrics.progressed('backup', resource, active.run, { records: 300 })
    metrics.ended('backup', resource, endedRun({ ...active, run: 'scheduled-2', records: 40 }))
    const found = await samples()
    assert.equal(found.get(`kafka_backup_backup_records_total${orders('success')}`), 290)
    assert.equal(found.get(`kafka_backup_backup_records_total${orders('failure')}`), 50)
    assert.equal(found.get(`kafka_backup_backups_total${orders('success')}`), 1)
    assert.equal(found.get(`kafka_backup_backups_total${orders('failure')}`), 1)
  })

  test('counts gaps as its pods find them, because a continuous run may never end', async () => {
    const { metrics, samples } = make()
    const resource = sampleResource({ status: { phase: 'Running', active: [active] } })
    metrics.seen('backup', resource)
    const name = `kafka_backup_gaps_total${ofOrders}`
    for (const [gaps, counted] of [
      [0, 0],
      [2, 2],
      [1, 2],
      [3, 3],
    ] as const) {
      metrics.progressed('backup', resource, active.run, { records: 5, gaps })
      assert.equal((await samples()).get(name), counted)
    }
    metrics.ended('backup', resource, endedRun({ ...active, records: 5, gaps: 4 }))
    assert.equal((await samples()).get(name), 4)
    metrics.progressed('backup', resource, active.run, { records: 5, gaps: 9 })
    assert.equal((await samples()).get(name), 4)
  })

  test('active at a restart does not count the gaps of its status again', async () => {
    const { metrics, samples } = make()
    const progress = { phase: 'copying', records: 10, bytes: 1, gaps: 5 }
    const resource = sampleResource({ status: { phase: 'Running', active: [active], progress } })
    metrics.seen('backup', resource)
    metrics.progressed('backup', resource, active.run, { records: 10, gaps: 5 })
    assert.equal((await samples()).get(`kafka_backup_gaps_total${ofOrders}`), 0)
    metrics.progressed('backup', resource, active.run, { records: 10, gaps: 6 })
    assert.equal((await samples()).get(`kafka_backup_gaps_total${ofOrders}`), 1)
  })

  test('that ends with fewer records than reported never decreases the counter', async () => {
    const { metrics, samples } = make()
    const resource = sampleResource({ status: { active: [active] } })
    metrics.seen('backup', resource)
    metrics.progressed('backup', resource, active.run, { records: 250 })
    metrics.ended('backup', resource, endedRun({ ...active, records: 200 }))
    assert.equal((await samples()).get(`kafka_backup_backup_records_total${orders('success')}`), 250)
  })

  test('active at a restart continues from the records of its status', async () => {
    const { metrics, samples } = make()
    const progress = { phase: 'copying', records: 1000, bytes: 1 }
    const resource = sampleResource({ status: { phase: 'Running', active: [active], progress } })
    metrics.seen('backup', resource)
    metrics.progressed('backup', resource, active.run, { records: 0 })
    metrics.progressed('backup', resource, active.run, { records: 1100 })
    metrics.ended('backup', resource, endedRun({ ...active, records: 1150 }))
    assert.equal((await samples()).get(`kafka_backup_backup_records_total${orders('success')}`), 150)
  })

  test('active at a restart continues from what its pods report if earlier pods are gone', async () => {
    const { metrics, samples } = make()
    const progress = { phase: 'copying', records: 1000, bytes: 1 }
    const resource = sampleResource({ status: { phase: 'Running', active: [active], progress } })
    metrics.seen('backup', resource)
    const name = `kafka_backup_backup_records_total${orders('success')}`
    for (const [records, counted] of [
      [100, 0],
      [150, 50],
      [140, 50],
      [160, 60],
    ] as const) {
      metrics.progressed('backup', resource, active.run, { records })
      assert.equal((await samples()).get(name), counted)
    }
    metrics.ended('backup', resource, endedRun({ ...active, records: 170 }))
    metrics.progressed('backup', resource, active.run, { records: 50 })
    metrics.progressed('backup', resource, active.run, { records: 500 })
    assert.equal((await samples()).get(name), 70)
  })

  test('active at a restart next to a newer one continues from what its pods report first', async () => {
    const { metrics, samples } = make()
    const progress = { phase: 'copying', records: 1000, bytes: 1 }
    const newer = { ...active, run: 'newer' }
    const resource = sampleResource({ status: { phase: 'Running', active: [newer, active], progress } })
    const counted = await reportFirst(metrics, samples, resource)
    metrics.progressed('backup', resource, newer.run, { records: 1003 })
    metrics.ended('backup', resource, endedRun({ ...active, records: 70_040, gaps: 4 }))
    assert.deepEqual(await counted(), [43, 1])
  })

  test('active at a restart next to one whose pod has not reported yet continues from what its pods report first', async () => {
    const { metrics, samples } = make()
    const pending = { ...active, run: 'pending' }
    const resource = sampleResource({ status: { phase: 'Running', active: [pending, active] } })
    const counted = await reportFirst(metrics, samples, resource)
    metrics.ended('backup', resource, endedRun({ ...active, records: 70_040, gaps: 4 }))
    assert.deepEqual(await counted(), [40, 1])
    metrics.ended('backup', resource, endedRun({ ...pending, records: 5, gaps: 2 }))
    assert.deepEqual(await counted(), [45, 3])
  })

  test('active at a restart, of which no pod ever reports progress, is counted at its end', async () => {
    const { metrics, samples } = make()
    const pending = { ...active, run: 'pending' }
    const resource = sampleResource({ status: { phase: 'Running', active: [pending, active] } })
    metrics.seen('backup', resource)
    metrics.ended('backup', resource, endedRun({ ...active, records: 70, gaps: 4 }))
    const found = await samples()
    assert.equal(found.get(`kafka_backup_backup_records_total${orders('success')}`), 70)
    assert.equal(found.get(`kafka_backup_gaps_total${ofOrders}`), 4)
  })

  test('that a clock ahead has ended is not counted again by each restart', async () => {
    const { metrics, samples } = make()
    const failed = endedRun({ run: 'b', phase: 'Failed', completionTime: '2025-11-15T15:25:00Z' })
    metrics.seen('backup', sampleResource({ status: { phase: 'Failed', history: [failed] } }))
    assert.equal((await samples()).get(`kafka_backup_backups_total${orders('failure')}`), 0)
  })

  test('active shows its start, unless it is continuous', async () => {
    const { metrics, samples } = make()
    metrics.seen('backup', sampleResource({ status: { phase: 'Running', active: [active] } }))
    const name = `kafka_backup_backup_started_timestamp${ofOrders}`
    assert.equal((await samples()).get(name), seconds(active.startTime))
    metrics.seen('backup', sampleResource({ status: { phase: 'Completed', active: [] } }))
    assert.equal((await samples()).has(name), false)
    const spec = { backup: { continuous: true } }
    metrics.seen('backup', sampleResource({ spec, status: { phase: 'Running', active: [active] } }))
    assert.equal((await samples()).has(name), false)
  })

  test('of a continuous backup has no duration', async () => {
    const { metrics, samples } = make()
    const took = { startTime: '2026-11-10T02:00:00Z', completionTime: '2026-11-16T02:00:00Z' }
    const continuous = sampleResource({ spec: { backup: { continuous: true } } })
    metrics.seen('backup', continuous)
    metrics.ended('backup', continuous, endedRun({ run: 'trigger-1', ...took }))
    metrics.seen('backup', sampleResource())
    metrics.ended('backup', sampleResource(), endedRun({ run: 'generation-3', ...took, reason: 'Stopped' }))
    const found = await samples()
    assert.equal(found.get(`kafka_backup_backups_total${orders('success')}`), 2)
    assert.equal(found.get(`kafka_backup_backup_duration_seconds_count${orders('success')}`), 0)
  })

  test('of a verification is not a backup: only failures count, and no records', async () => {
    const { metrics, samples } = make()
    const verify: ActiveRun = { ...active, run: 'verify-1', purpose: 'verify' }
    const resource = sampleResource({ status: { active: [verify] } })
    metrics.seen('backup', resource)
    metrics.progressed('backup', resource, 'verify-1', { records: 500 })
    metrics.ended('backup', resource, endedRun({ ...verify, phase: 'Failed', records: 500 }))
    metrics.ended('backup', resource, endedRun({ ...verify, run: 'verify-2', records: 500 }))
    metrics.ended('backup', resource, endedRun({ ...verify, run: 'delete', purpose: 'delete' }))
    const found = await samples()
    assert.equal(found.get(`kafka_backup_verify_failures_total${ofOrders}`), 1)
    for (const outcome of ['success', 'failure']) {
      assert.equal(found.get(`kafka_backup_backups_total${orders(outcome)}`), 0)
      assert.equal(found.get(`kafka_backup_backup_records_total${orders(outcome)}`), 0)
    }
  })

  test('of a reset counts groups by strategy, and of a rollback by operation', async () => {
    const { metrics, samples } = make()
    const reset = sampleResource({ controller: 'offset_reset', spec: { strategy: 'header_based' } })
    const rollback = sampleResource({ controller: 'offset_rollback', spec: { operation: 'snapshot' } })
    metrics.seen('offset_reset', reset)
    metrics.seen('offset_rollback', rollback)
    metrics.ended('offset_reset', reset, endedRun({ groups: 3 }))
    metrics.ended('offset_rollback', rollback, endedRun({ groups: 4, phase: 'Failed' }))
    const found = await samples()
    const ofReset = '{namespace="shop",outcome="success",reset_name="orders",strategy="header_based"}'
    const ofRollback = '{namespace="shop",operation="snapshot",outcome="failure",rollback_name="orders"}'
    assert.equal(found.get(`kafka_backup_offset_reset_groups_total${ofReset}`), 3)
    assert.equal(found.get(`kafka_backup_offset_resets_total${ofReset}`), 1)
    assert.equal(found.get(`kafka_backup_offset_rollback_groups_total${ofRollback}`), 4)
    assert.equal(found.get(`kafka_backup_offset_rollback_duration_seconds_sum${ofRollback}`), 600)
  })
})

describe('the time of the last successful restore', () => {
  const series =
    'kafka_backup_last_successful_restore_timestamp{namespace="shop",outcome="success",restore_name="orders"}'

  test('is that of the status, which a dry run does not set', async () => {
    const { metrics, samples } = make()
    const ended = (status: ResourceStatus) => sampleResource({ controller: 'restore', status })
    metrics.seen('restore', ended({ phase: 'Completed', history: [endedRun({ dryRun: true })] }))
    assert.equal((await samples()).get(series), undefined)
    metrics.seen('restore', ended({ phase: 'Completed', lastSuccessfulTime: '2025-11-15T09:00:00Z' }))
    assert.equal((await samples()).get(series), seconds('2025-11-15T09:00:00Z'))
  })
})

for (const operation of ['snapshot', 'rollback', 'verify'] as const) {
  test(`the groups of an offset rollback with operation ${operation} are counted`, async () => {
    const { metrics, samples } = make()
    const resource = sampleResource({ controller: 'offset_rollback', spec: { operation } })
    metrics.seen('offset_rollback', resource)
    metrics.ended('offset_rollback', resource, endedRun({ groups: 4 }))
    const labels = `{namespace="shop",operation="${operation}",outcome="success",rollback_name="orders"}`
    assert.equal((await samples()).get(`kafka_backup_offset_rollback_groups_total${labels}`), 4)
  })
}

describe('the state of a resource', () => {
  test('is one series of status with the current phase, four of phase, and one of suspension', async () => {
    const { metrics, samples } = make()
    const condition = { type: 'Ready', status: 'True', reason: 'x', message: '', lastTransitionTime: '' } as const
    metrics.seen('restore', sampleResource({ controller: 'restore', status: { phase: 'Running' } }))
    metrics.seen(
      'restore',
      sampleResource({ controller: 'restore', status: { phase: 'Completed', conditions: [condition] } }),
    )
    const found = [...(await samples())].filter(([name]) => name.startsWith('kafka_backup_resource_'))
    const labels = (phase: string) => `{kind="KafkaRestore",name="orders",namespace="shop",phase="${phase}"}`
    assert.deepEqual(
      new Map(found),
      new Map([
        [`kafka_backup_resource_status${labels('Completed')}`, 1],
        ['kafka_backup_resource_running{kind="KafkaRestore",name="orders",namespace="shop"}', 0],
        ['kafka_backup_resource_suspended{kind="KafkaRestore",name="orders",namespace="shop"}', 0],
        [`kafka_backup_resource_phase${labels('Pending')}`, 0],
        [`kafka_backup_resource_phase${labels('Running')}`, 0],
        [`kafka_backup_resource_phase${labels('Completed')}`, 1],
        [`kafka_backup_resource_phase${labels('Failed')}`, 0],
      ]),
    )
  })

  test('has the expected interval of a backup, unless it is suspended', async () => {
    const { metrics, samples } = make()
    const find = async (spec: object, purposes = ['backup', 'verify']) => {
      metrics.seen('backup', sampleResource({ spec: { ...spec } }))
      const found = await samples()
      const name = 'kafka_backup_expected_interval_seconds'
      return purposes.map(purpose => found.get(`${name}{backup_name="orders",namespace="shop",purpose="${purpose}"}`))
    }
    assert.deepEqual(await find({}), [0, undefined])
    assert.deepEqual(await find({ verify: {} }), [0, undefined])
    assert.deepEqual(await find({ schedule: '@hourly' }), [3600, undefined])
    assert.deepEqual(await find({ schedule: '@hourly', verify: {} }), [3600, 3600])
    assert.deepEqual(await find({ schedule: '@hourly', verify: { schedule: '@weekly' } }), [3600, 7 * 86_400])
    assert.deepEqual(await find({ schedule: '@hourly', verify: {}, suspend: true }), [undefined, undefined])
    assert.deepEqual(await find({ backup: { continuous: true } }), [300, undefined])
    assert.deepEqual(await find({ backup: { continuous: true, commitInterval: '10m' } }), [1920, undefined])
    assert.deepEqual(await find({ backup: { continuous: true }, suspend: true }), [undefined, undefined])
    assert.deepEqual(await find({ schedule: 'nonsense' }), [0, undefined])
    const findDrill = (schedule: string, suspend = false) => find({ drill: { schedule }, suspend }, ['drill'])
    assert.deepEqual(await findDrill('@weekly'), [7 * 86_400])
    assert.deepEqual(await findDrill('0 0 30 2 *'), [0], 'no drill ever starts, which the alert reports')
    assert.deepEqual(await findDrill('@weekly', true), [undefined])
    assert.deepEqual(await find({}, ['drill']), [undefined])
    const schedules = [{ purpose: 'drill' as const, schedule: '@weekly', since: '2026-11-16T01:30:00Z' }]
    const findSince = async (suspend: boolean) => {
      metrics.seen('backup', sampleResource({ spec: { suspend }, status: { schedules } }))
      const labels = 'backup_name="orders",namespace="shop",purpose="drill"'
      return (await samples()).get(`kafka_backup_schedule_since_timestamp{${labels}}`)
    }
    assert.deepEqual([await findSince(false), await findSince(true)], [1_794_792_600, undefined])
  })

  test('has the last known size of each outcome, and keeps it when the history drops the run', async () => {
    const { metrics, samples } = make()
    const find = async (status: ResourceStatus) => {
      metrics.seen('backup', sampleResource({ status }))
      const found = await samples()
      return ['success', 'failure'].map(outcome => found.get(`kafka_backup_backup_size_bytes${orders(outcome)}`))
    }
    const lastSuccessfulTime = '2025-11-15T09:00:00Z'
    const failed = endedRun({ run: 'b', phase: 'Failed' })
    const good = endedRun({ run: 'a', storedBytes: 900 })
    const before = { phase: 'Failed', storedBytes: 900, lastSuccessfulTime } as const
    assert.deepEqual(await find({ ...before, history: [failed, good] }), [900, undefined])
    assert.deepEqual(await find({ ...before, history: [failed] }), [900, undefined])
    assert.deepEqual(await find({ phase: 'Failed', history: [failed] }), [undefined, undefined])
    const progress = { phase: 'waiting', records: 1, bytes: 1, storedBytes: 950 }
    assert.deepEqual(
      await find({ phase: 'Running', progress, history: [good] }),
      [950, undefined],
      'of a continuous run',
    )
  })

  test('has the time of the last successful verification, not of the last attempt', async () => {
    const { metrics, samples } = make()
    const failed = endedRun({ run: 'v2', purpose: 'verify', phase: 'Failed' })
    const good = endedRun({ run: 'v1', purpose: 'verify', completionTime: '2025-11-14T03:00:00Z' })
    metrics.seen('backup', sampleResource({ status: { history: [failed, good] } }))
    const found = await samples()
    assert.equal(found.get(`kafka_backup_last_verify_timestamp${ofOrders}`), seconds('2025-11-14T03:00:00Z'))
    assert.equal(found.get(`kafka_backup_last_verify_status${ofOrders}`), 0)
  })

  test('has the result of the last verification', async () => {
    const { metrics, samples } = make()
    const verify = endedRun({ run: 'verify-1', purpose: 'verify', phase: 'Failed' })
    metrics.seen('backup', sampleResource({ status: { history: [verify] } }))
    assert.equal((await samples()).get(`kafka_backup_last_verify_status${ofOrders}`), 0)
    // The history is limited; the condition stays.
    const conditions = [{ type: 'Verified', status: 'True', reason: 'x', message: '', lastTransitionTime: '' } as const]
    metrics.seen('backup', sampleResource({ status: { conditions, lastVerifyTime: '2025-11-15T09:00:00Z' } }))
    assert.equal((await samples()).get(`kafka_backup_last_verify_status${ofOrders}`), 1)
  })
})

describe('a deleted resource', () => {
  test('loses all of its series, including histograms and reconciliations, and no others', async () => {
    const { metrics, samples } = make()
    metrics.seen('backup', sampleResource({ name: 'kept' }))
    const before = await samples()
    const resource = sampleResource({ spec: { schedule: '@daily', verify: {} }, status: { active: [active] } })
    metrics.seen('backup', resource)
    metrics.reconciled('backup', resource.metadata, 5, true)
    metrics.ended('backup', resource, endedRun())
    metrics.gone('backup', resource.metadata)
    metrics.reconciled('backup', resource.metadata, 5, false)
    const deleted = { ...resource, metadata: { ...resource.metadata, deletionTimestamp: '2025-11-15T09:30:00Z' } }
    metrics.ended('backup', deleted, endedRun({ run: 'delete', purpose: 'delete' }))
    assert.deepEqual(await samples(), before)
  })

  test('leaves no series if its pod or last status arrives later', async () => {
    const { metrics, samples } = make()
    const before = await samples()
    const resource = sampleResource({ status: { active: [active] } })
    metrics.seen('backup', resource)
    metrics.gone('backup', resource.metadata)
    metrics.progressed('backup', resource, active.run, { records: 100 })
    metrics.ended('backup', resource, endedRun(active))
    assert.deepEqual(await samples(), before)
  })

  test('does not remove the series of its successor', async () => {
    const { metrics, samples } = make()
    const gone = sampleResource({ uid: 'one', status: { active: [active] } })
    metrics.seen('backup', gone)
    metrics.seen('backup', sampleResource({ uid: 'two' }))
    metrics.ended('backup', sampleResource({ uid: 'two' }), endedRun())
    metrics.progressed('backup', gone, active.run, { records: 100 })
    metrics.ended('backup', gone, endedRun({ ...active, phase: 'Failed' }))
    const found = await samples()
    assert.equal(found.get(`kafka_backup_backups_total${orders('success')}`), 1)
    assert.equal(found.get(`kafka_backup_backups_total${orders('failure')}`), 0)
    assert.equal(found.get(`kafka_backup_backup_records_total${orders('success')}`), 0)
    assert.ok(
      found.has('kafka_backup_resource_phase{kind="KafkaBackup",name="orders",namespace="shop",phase="Pending"}'),
    )
  })

  test('starts again at zero when it is re-created, also if the deletion was not seen', async () => {
    const { metrics, samples } = make()
    metrics.seen('backup', sampleResource({ uid: 'one' }))
    metrics.ended('backup', sampleResource({ uid: 'one' }), endedRun())
    metrics.seen('backup', sampleResource({ uid: 'two' }))
    assert.equal((await samples()).get(`kafka_backup_backups_total${orders('success')}`), 0)
    assert.equal((await samples()).get(`kafka_backup_backup_duration_seconds_count${orders('success')}`), 0)
  })

  test('and others have series only at the leader, so old values raise no alert', async () => {
    const { metrics, samples } = make()
    metrics.seen('backup', sampleResource({ status: { lastSuccessfulTime: '2025-11-15T09:00:00Z' } }))
    metrics.leads(false)
    const found = await samples()
    assert.equal(found.get('kafka_backup_operator_leader{lease="ops/operator"}'), 0)
    assert.deepEqual(
      [...found.keys()].filter(name => name.includes('orders')),
      [],
    )
    assert.equal(found.get('kafka_backup_operator_build_info{version="1.2.3"}'), 1)
  })
})

describe('the first increase of a counter', () => {
  const name = `kafka_backup_backups_total${orders('failure')}`
  const count = `kafka_backup_backup_duration_seconds_count${orders('failure')}`
  const bucket = `kafka_backup_backup_duration_seconds_bucket{backup_name="orders",le="600",namespace="shop",outcome="failure"}`

  test('follows a zero that every scraper has seen, also for a failure found at the start', async () => {
    const { clock, metrics, samples } = make(45_000)
    const failed = endedRun({
      phase: 'Failed',
      completionTime: '2025-11-15T09:25:00Z',
      startTime: '2025-11-15T09:20:00Z',
    })
    metrics.seen('backup', sampleResource({ status: { history: [failed] } }))
    clock.pass(3_600_000)
    const look = async () => {
      const found = await samples()
      return [found.get(name), found.get(count), found.get(bucket)]
    }
    assert.deepEqual(await look(), [0, 0, 0])
    clock.pass(30_000)
    assert.deepEqual(await look(), [0, 0, 0])
    clock.pass(15_000)
    assert.deepEqual(await look(), [1, 1, 1])
    metrics.ended('backup', sampleResource(), endedRun({ run: 'next', phase: 'Failed' }))
    assert.equal((await look())[0], 2)
  })

  test('follows a new zero after the resource was re-created', async () => {
    const { clock, metrics, samples } = make(45_000)
    metrics.seen('backup', sampleResource({ uid: 'one' }))
    await samples()
    clock.pass(60_000)
    metrics.gone('backup', sampleResource().metadata)
    metrics.seen('backup', sampleResource({ uid: 'two' }))
    metrics.ended('backup', sampleResource({ uid: 'two' }), endedRun({ phase: 'Failed' }))
    assert.equal((await samples()).get(name), 0)
    clock.pass(45_000)
    assert.equal((await samples()).get(name), 1)
  })

  test('does not delay gauges', async () => {
    const { metrics, samples } = make(45_000)
    metrics.seen('backup', sampleResource())
    assert.ok(((await samples()).get(`kafka_backup_backup_created_timestamp${ofOrders}`) ?? 0) > 0)
  })
})

describe('the operator itself', () => {
  test('counts reconciliations, their duration and failures', async () => {
    const { metrics, samples } = make()
    const { metadata } = sampleResource()
    metrics.seen('backup', sampleResource())
    metrics.reconciled('backup', metadata, 20, false)
    metrics.reconciled('backup', metadata, 2000, true)
    const found = await samples()
    const labels = '{controller="backup",name="orders",namespace="shop"}'
    assert.equal(found.get(`kafka_backup_operator_reconciliations_total${labels}`), 2)
    assert.equal(found.get(`kafka_backup_operator_reconciliation_errors_total${labels}`), 1)
    assert.equal(found.get(`kafka_backup_operator_reconciliation_duration_seconds_sum${labels}`), 2.02)
  })

  test('has no queue when it no longer leads', async () => {
    const { metrics, samples } = make()
    metrics.queue('backup').depth(37)
    metrics.leads(false)
    const found = await samples()
    assert.equal(found.get('kafka_backup_operator_workqueue_depth{controller="backup"}'), 0)
    assert.equal(found.has('kafka_backup_operator_workqueue_depth{controller="restore"}'), false)
  })

  test('reports its queues', async () => {
    const { metrics, samples } = make()
    const queue = metrics.queue('restore')
    queue.added()
    queue.added()
    queue.depth(2)
    queue.retried(new Error('x'), 'a/b', 100)
    const found = await samples()
    assert.equal(found.get('kafka_backup_operator_workqueue_depth{controller="restore"}'), 2)
    assert.equal(found.get('kafka_backup_operator_workqueue_adds_total{controller="restore"}'), 2)
    assert.equal(found.get('kafka_backup_operator_workqueue_retries_total{controller="restore"}'), 1)
  })

  test('escapes names with quotes and backslashes for Prometheus', async () => {
    const { metrics, samples } = make()
    metrics.seen('offset_reset', sampleResource({ controller: 'offset_reset', spec: { strategy: 'a"b\\c\nd' } }))
    const labels = '{namespace="shop",outcome="success",reset_name="orders",strategy="a\\"b\\\\c\\nd"}'
    assert.equal((await samples()).get(`kafka_backup_offset_resets_total${labels}`), 0)
  })
})
