import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Actions } from '../../src/cli/actions.ts'
import { main } from '../../src/cli/main.ts'
import { type Estimate, estimateRestore, type OtherWork, type Rates } from '../../src/restore/estimate.ts'
import type { Recovery } from '../../src/restore/recovery.ts'
import type { Workload } from '../../src/restore/workload.ts'
import { fakeActions } from './fake-actions.ts'
import { FakeIo } from './fake-io.ts'
import { restoreDryRun, restoreReport } from './restore-samples.ts'

const MiB = 2 ** 20
const at = '2026-01-02T03:04:05.000Z'
const work: Workload = {
  ...{ bytes: 3000 * MiB, records: 1_500_000, storeBytes: 900 * MiB, streams: [], isMost: false },
  largest: { name: 'orders/3', bytes: 1000 * MiB },
}
const others: OtherWork = { registrySteps: 0, verifies: true, groups: 2, rewritesIds: true }
const probed: Rates = {
  ...{ source: { kind: 'probe', at }, storeRead: 180 * MiB, prepare: 90 * MiB },
  ...{ targetWrite: 12.5 * MiB, onePartition: 10 * MiB, problems: [] },
}

async function run(argv: string[], replaced: Partial<Actions> = {}, io = new FakeIo()) {
  const actions = fakeActions(replaced)
  const code = await main(['restore', '--config', 'restore.yaml', ...argv], io, actions)
  return { code, out: io.stdout.text, err: io.stderr.text, calls: actions.calls }
}
const dryRunWith = (estimate: Estimate) => ({
  dryRunRestoreJob: async () => ({ ...restoreDryRun, findings: [], estimate }),
})
const fieldsOf = async (estimate: Estimate) => {
  const { out } = await run(['--dry-run'], dryRunWith(estimate))
  return out.split('\n').filter(line => /^ {2}(Time|Steps|Without|Probe) /.test(line) && !line.includes('window'))
}

describe('restore --dry-run', () => {
  test('shows the estimated time, what limits it, the rates and what is not included', async () => {
    assert.deepEqual(await fieldsOf(estimateRestore(work, others, probed)), [
      '  Time         about 4m 00s, limited by writing to the target',
      '  Steps        store 5.0 s at 180 MiB/s, CPU with schema IDs 10.0 s at 90.0 MiB/s, target 4m 00s at 12.5 MiB/s, one partition 1m 40s at 10.0 MiB/s; measured now',
      '  Without      the comparison (restore.verify), committed offsets',
    ])
    const skewed = await fieldsOf(estimateRestore(work, others, { ...probed, onePartition: MiB }))
    assert.equal(skewed[0], '  Time         about 16m 40s, limited by writing to one partition, orders/3')
  })

  test('shows that the target was not measured, and why', async () => {
    const { targetWrite: _, onePartition: __, ...ofStore } = probed
    const problems = ['the target could not be measured: the user of this job may not delete topic x']
    const fields = await fieldsOf(
      estimateRestore(work, { ...others, verifies: false, groups: 0 }, { ...ofStore, problems }),
    )
    assert.deepEqual(fields, [
      '  Time         at least 10.0 s, limited by the CPU that rewrites schema IDs',
      '  Steps        store 5.0 s at 180 MiB/s, CPU with schema IDs 10.0 s at 90.0 MiB/s; measured now',
      '  Without      writing to the target (--probe-target measures it)',
      '  Probe        the target could not be measured: the user of this job may not delete topic x',
    ])
  })

  test('does not guess without a measurement, and needs none where nothing is left', async () => {
    const [unknown, ...more] = await fieldsOf(estimateRestore(work, others, undefined))
    assert.match(unknown ?? '', /^ {2}Time {9}unknown: nothing is known .*--probe-target/)
    assert.deepEqual(more, [])
    const done = { ...work, bytes: 0, records: 0, storeBytes: 0, largest: undefined }
    const left = await fieldsOf(estimateRestore(done, { ...others, groups: 0 }, undefined))
    assert.deepEqual(left, ['  Time         none: nothing is left to write'])
  })

  test('names the earlier restore that the rates are from', async () => {
    const source = { kind: 'earlier_restore' as const, at, report: 'k', isSameTarget: false, limitedBy: 'target' }
    const [time, rates] = await fieldsOf(estimateRestore(work, others, { source, records: 30 * MiB, problems: [] }))
    assert.equal(time, '  Time         about 1m 40s, limited by writing to the target')
    assert.equal(
      rates,
      '  Steps        records 1m 40s at 30.0 MiB/s; of the restore into another cluster that ended 2026-01-02 03:04:05Z',
    )
  })

  test('does not trust what the report of an earlier restore says of its limit', async () => {
    const source = { kind: 'earlier_restore' as const, at, report: 'k', isSameTarget: true, limitedBy: 'constructor' }
    const [time] = await fieldsOf(estimateRestore(work, others, { source, records: 30 * MiB, problems: [] }))
    assert.equal(time, '  Time         about 1m 40s, limited by writing records')
  })

  test('says that a probe has written to the target, and whether its topic is still there', async () => {
    const written = (isDeleted: boolean, rates = probed) => {
      const probeTopic = { name: '__kafka-backup.probe.1', isDeleted }
      return run(['--dry-run', '--probe-target'], dryRunWith(estimateRestore(work, others, { ...rates, probeTopic })))
    }
    const probing = await written(true)
    assert.match(
      probing.out,
      /^Dry run of the restore of orders: nothing is restored; the topic of the probe is deleted$/m,
    )
    const left = /^Dry run of the restore of orders: .* is still there: delete __kafka-backup\.probe\.1$/m
    const { targetWrite: _, onePartition: __, ...unmeasured } = probed
    for (const rates of [probed, unmeasured]) assert.match((await written(false, rates)).out, left)
    assert.match((await run(['--dry-run'])).out, /^Dry run of the restore of orders: nothing is written$/m)
  })

  test('has the estimate in JSON, with every step and where the rates come from', async () => {
    const { out } = await run(['--dry-run', '--format', 'json'], dryRunWith(estimateRestore(work, others, probed)))
    const { estimate } = JSON.parse(out)
    const { steps, ...rest } = estimate
    assert.deepEqual(rest, {
      ...{ seconds: 240, precision: 'about', limited_by: 'target_write', partition: null },
      ...{ bytes: 3000 * MiB, records: 1_500_000, store_bytes: 900 * MiB },
      ...{ not_included: ['verification', 'consumer_groups'], source: { kind: 'probe', at }, problems: [] },
      probe_topic: null,
    })
    assert.deepEqual(steps[2], {
      ...{ name: 'target_write', amount: 3000 * MiB, unit: 'bytes', per_second: 12.5 * MiB, seconds: 240 },
    })
    const without = await run(['--dry-run', '--format', 'json'])
    assert.equal(JSON.parse(without.out).estimate, null)
  })
})

describe('restore --probe', () => {
  test('announces each step on standard error before it is done', async () => {
    const dryRunRestoreJob: Actions['dryRunRestoreJob'] = async (_, __, probe) => {
      probe?.onStep(`creating topic x as ${probe.scope}`)
      return { ...restoreDryRun, findings: [] }
    }
    for (const [options, scope] of [
      [['--probe'], 'store'],
      [['--probe-target'], 'target'],
      [['--probe', '--probe-target'], 'target'],
    ] as const) {
      const { err } = await run(['--dry-run', ...options], { dryRunRestoreJob })
      assert.equal(err, `probe: creating topic x as ${scope}\n`)
    }
    const { err } = await run(['--dry-run', '--probe', '--log-format', 'json', '-v'], { dryRunRestoreJob })
    assert.match(err, /"msg":"probe: creating topic x as store"/)
    assert.equal((await run(['--dry-run'], { dryRunRestoreJob })).err, '', 'nothing is measured unless it is asked for')
  })

  test('is about a restore with one process', async () => {
    for (const step of [['--prepare', '--shards', '4'], ['--shard', '0/4'], ['--finish']]) {
      for (const option of ['--probe', '--probe-target']) {
        const { code, err } = await run([option, ...step])
        assert.equal(code, 2)
        assert.match(
          err,
          new RegExp(`${option}.*cannot be combined|cannot be combined.*${option}|${option} and ${step[0]}`),
        )
      }
    }
  })
})

describe('the report of a restore', () => {
  const recovery: Recovery = {
    ...{
      targetCluster: 'c1',
      rewritesIds: false,
      repartition: 'keep',
      measuredAt: at,
      schemasMs: 0,
      registryRequests: 0,
    },
    ...{ recordsMs: 252_000, bytes: 3000 * MiB, comparisonMs: 0, groupsMs: 100, limitedBy: 'target' },
  }
  const estimate = {
    ...{ seconds: 240, precision: 'about' as const, limitedBy: 'target_write' as const, actualSeconds: 252 },
    source: { kind: 'probe' as const, at },
  }

  test('compares the estimate with what happened', async () => {
    const of = async (one: Recovery) =>
      (await run([], { runRestoreJob: async () => ({ ...restoreReport, recovery: one }) })).out
    assert.match(await of({ ...recovery, estimate }), /^ {2}Limited by {2}writing to the target$/m)
    assert.match(
      await of({ ...recovery, estimate }),
      /^ {2}Estimate {4}about 4m 00s before the restore; it took 4m 12s$/m,
    )
    const first = { ...estimate, source: { kind: 'first_seconds' as const, at } }
    assert.match(await of({ ...recovery, estimate: first }), /about 4m 00s after the first seconds; it took 4m 12s$/m)
    assert.doesNotMatch(await of(recovery), /Estimate/)
  })

  test('has it in JSON, with the rates for the next estimate', async () => {
    const runRestoreJob = async () => ({ ...restoreReport, recovery: { ...recovery, estimate } })
    const { out } = await run(['--format', 'json'], { runRestoreJob })
    assert.deepEqual(JSON.parse(out).recovery, {
      ...{ measured_at: at, target_cluster_id: 'c1', rewrites_ids: false, repartition: 'keep' },
      ...{ schemas_seconds: 0, registry_requests: 0, records_seconds: 252, bytes: 3000 * MiB },
      ...{ comparison_seconds: 0, groups_seconds: 0.1, limited_by: 'target' },
      estimate: {
        ...{ seconds: 240, precision: 'about', limited_by: 'target_write', actual_seconds: 252 },
        source: { kind: 'probe', at },
      },
    })
  })
})
