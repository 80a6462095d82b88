import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { ProgressEvent } from '../../src/observe/progress.ts'
import type { Estimate } from '../../src/restore/estimate.ts'
import { describeWriting } from '../../src/restore/fill.ts'
import { compareEstimate, FirstSeconds, RecoveryWatch } from '../../src/restore/recovery.ts'
import { ManualClock } from '../cli/manual-clock.ts'

const planned: ProgressEvent = { type: 'planned', topics: 1, partitions: 1, offsets: 1000n, unit: 'records' }
const copied = (records: number): ProgressEvent => ({
  ...{ type: 'copied', topic: 't', partition: 0 },
  ...{ offsets: BigInt(records), records, bytes: records },
})
const source = { kind: 'probe' as const, at: '2026-01-02T03:04:05.000Z' }
const estimate: Estimate = {
  ...{ seconds: 40, precision: 'about', limitedBy: 'target_write', bytes: 1, records: 1, storeBytes: 1, steps: [] },
  ...{ notIncluded: [], source, problems: [] },
}

describe('the estimate of the first seconds', () => {
  test('is made once, after ten seconds of writing', () => {
    const clock = new ManualClock()
    const first = new FirstSeconds(clock)
    first.add(planned)
    clock.pass(9000)
    first.add(copied(100))
    assert.equal(first.compare(9000), undefined)
    clock.pass(1000)
    first.add(copied(100))
    clock.pass(30_000)
    first.add(copied(800))
    const compared = first.compare(40_000)
    assert.deepEqual([compared?.seconds, compared?.actualSeconds, compared?.source.kind], [50, 40, 'first_seconds'])
  })

  test('does not count the preparation, nor what is found to be more than planned', () => {
    const clock = new ManualClock()
    const first = new FirstSeconds(clock)
    clock.pass(60_000)
    first.add(planned)
    clock.pass(20_000)
    first.add(copied(3000))
    assert.equal(first.compare(20_000)?.seconds, 20)
  })
})

describe('the comparison of an estimate with what happened', () => {
  test('is about the same work: of schemas only where the estimate knew the registry', () => {
    const times = { schemasMs: 5000, recordsMs: 30_000 }
    assert.equal(compareEstimate(estimate, times)?.actualSeconds, 35)
    assert.equal(compareEstimate({ ...estimate, notIncluded: ['registry'] }, times)?.actualSeconds, 30)
    assert.equal(compareEstimate({ ...estimate, seconds: null }, times), undefined)
    assert.equal(compareEstimate({ ...estimate, source: null }, times), undefined, 'there was nothing to do')
  })

  test('is in the report of a restore that wrote something, and of no other', async () => {
    const clock = new ManualClock()
    const watch = new RecoveryWatch(clock)
    await watch.timeSchemas(async () => clock.pass(2000))
    await watch.timeGroups(async () => clock.pass(1000))
    const traits = { targetCluster: 'c1', rewritesIds: false, repartition: 'keep' }
    assert.equal(watch.describe({}, traits, estimate), undefined)
    assert.equal(watch.describe({ schemas: { wasComplete: true, requests: 4 } }, traits, estimate), undefined)
    const writing = { ms: 30_000, bytes: 7, limitedBy: 'target' as const }
    const { schemasMs, groupsMs, estimate: compared } = watch.describe({ writing }, traits, estimate) ?? {}
    assert.deepEqual([schemasMs, groupsMs, compared?.actualSeconds], [0, 1000, 30], 'no schema was written')
    const only = watch.describe({ schemas: { wasComplete: false, requests: 9 } }, traits, estimate)
    assert.deepEqual([only?.schemasMs, only?.registryRequests, only?.bytes, only?.limitedBy], [2000, 9, 0, null])
  })
})

test('a restore is limited by what its streams waited for, or by the limit of the job', () => {
  const streams = [{ records: { sent: 1, bytes: 950, skipped: 0 } }]
  const of = (backup: number, target: number, bytesPerSecond?: number) =>
    describeWriting(streams, { ms: 1000, waitedMs: { backup, target } }, bytesPerSecond ? { bytesPerSecond } : {})
      .limitedBy
  assert.deepEqual([of(5, 9), of(9, 5), of(9, 5, 1000), of(9, 5, 2000)], ['target', 'backup', 'rate_limit', 'backup'])
  assert.equal(describeWriting([], { ms: 0, waitedMs: { backup: 1, target: 0 } }, {}).limitedBy, null)
})
