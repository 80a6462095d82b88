import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { estimateRestore, NOTHING_MEASURED, type OtherWork, type Rates } from '../../src/restore/estimate.ts'
import type { Workload } from '../../src/restore/workload.ts'

const MiB = 2 ** 20
const source = { kind: 'probe' as const, at: '2026-01-02T03:04:05.000Z' }
const work = (changes: Partial<Workload> = {}): Workload => ({
  ...{ bytes: 1000 * MiB, records: 5000, storeBytes: 400 * MiB, streams: [], isMost: false },
  ...{ largest: { name: 'orders/3', bytes: 300 * MiB } },
  ...changes,
})
const others = (changes: Partial<OtherWork> = {}): OtherWork => ({
  ...{ registrySteps: 0, verifies: false, groups: 0, rewritesIds: false },
  ...changes,
})
const rates = (changes: Partial<Rates> = {}): Rates => ({
  ...{ source, storeRead: 40 * MiB, prepare: 100 * MiB, targetWrite: 20 * MiB, onePartition: 10 * MiB, problems: [] },
  ...changes,
})
const nothing = work({ bytes: 0, records: 0, storeBytes: 0, largest: undefined })

describe('the estimate of a restore', () => {
  test('is the time of the slowest of the steps that happen at the same time, which is what limits it', () => {
    const { seconds, limitedBy, precision, steps, notIncluded } = estimateRestore(work(), others(), rates())
    assert.deepEqual([seconds, limitedBy, precision, notIncluded], [50, 'target_write', 'about', []])
    assert.deepEqual(
      steps.map(step => [step.name, step.seconds]),
      [
        ['store_read', 10],
        ['cpu', 4],
        ['target_write', 50],
        ['one_partition', 30],
      ],
    )
  })

  test('names the store, the CPU, the CPU of schema IDs, the largest partition and the rate limit where they are slowest', () => {
    const limitOf = (changed: Partial<Rates>, more: Partial<OtherWork> = {}) =>
      estimateRestore(work(), others(more), rates(changed))
    assert.equal(limitOf({ storeRead: MiB }).limitedBy, 'store_read')
    assert.equal(limitOf({ prepare: MiB }).limitedBy, 'cpu')
    assert.equal(limitOf({ prepare: MiB }, { rewritesIds: true }).limitedBy, 'id_rewriting')
    const one = limitOf({ onePartition: MiB })
    assert.deepEqual([one.limitedBy, one.partition, one.seconds], ['one_partition', 'orders/3', 300])
    const limited = limitOf({}, { bytesPerSecond: MiB })
    assert.deepEqual([limited.limitedBy, limited.seconds], ['rate_limit', 1000])
  })

  test('names the CPU where preparing alone takes nearly as long as writing what is prepared meanwhile', () => {
    const of = (prepare: number) => estimateRestore(work(), others(), rates({ prepare }))
    assert.deepEqual([of(10 * MiB).limitedBy, of(10 * MiB).seconds], ['cpu', 50], '40 of 50 seconds')
    assert.equal(of(11 * MiB).limitedBy, 'target_write')
  })

  test('adds the requests to the registry, which come before records', () => {
    const few = estimateRestore(work(), others({ registrySteps: 100 }), rates({ registry: 50 }))
    assert.deepEqual([few.seconds, few.limitedBy], [52, 'target_write'])
    const many = estimateRestore(work(), others({ registrySteps: 10_000 }), rates({ registry: 50 }))
    assert.deepEqual([many.seconds, many.limitedBy], [250, 'registry'])
  })

  test('of schemas alone is that of the registry, and unknown where it was not measured', () => {
    const only = estimateRestore(nothing, others({ registrySteps: 100 }), { source, registry: 50, problems: [] })
    assert.deepEqual([only.seconds, only.limitedBy, only.precision], [2, 'registry', 'about'])
    const unknown = estimateRestore(nothing, others({ registrySteps: 100 }), { source, problems: ['x'] })
    assert.deepEqual([unknown.seconds, unknown.limitedBy, unknown.notIncluded], [null, null, ['registry']])
    assert.deepEqual(unknown.problems, ['x'])
  })

  test('is zero where nothing is left, with or without rates, and needs no measurement', () => {
    for (const known of [undefined, rates()]) {
      const {
        seconds,
        limitedBy,
        steps,
        problems,
        source: from,
      } = estimateRestore(nothing, others({ verifies: true }), known)
      assert.deepEqual([seconds, limitedBy, steps, problems, from], [0, null, [], [], null])
    }
  })

  test('is unknown without any rate, and says how to measure; a rate limit is not a measurement', () => {
    const without = estimateRestore(work(), others(), undefined)
    assert.deepEqual([without.seconds, without.limitedBy, without.problems], [null, null, [NOTHING_MEASURED]])
    const failed = { source, problems: ['the store could not be measured: x'] }
    const limited = estimateRestore(work(), others({ bytesPerSecond: MiB }), failed)
    assert.deepEqual([limited.seconds, limited.problems], [null, failed.problems])
  })

  test('is a minimum where the target was not measured, and a maximum where a window may leave less', () => {
    const { targetWrite: _, onePartition: __, ...ofStore } = rates()
    const least = estimateRestore(work(), others(), ofStore)
    assert.deepEqual([least.precision, least.notIncluded, least.seconds], ['at_least', ['target_write'], 10])
    assert.equal(estimateRestore(work({ isMost: true }), others(), rates()).precision, 'at_most')
    assert.equal(estimateRestore(work({ isMost: true }), others(), ofStore).precision, 'about')
  })

  test('lists the work that it leaves out', () => {
    const all = estimateRestore(work(), others({ verifies: true, groups: 3, registrySteps: 1 }), rates())
    assert.deepEqual(all.notIncluded, ['registry', 'verification', 'consumer_groups'])
    assert.equal(all.precision, 'at_least')
  })

  test('takes the rate of an earlier restore as a whole', () => {
    const earlier = {
      kind: 'earlier_restore' as const,
      at: source.at,
      report: 'k',
      isSameTarget: true,
      limitedBy: null,
    }
    const { seconds, limitedBy, precision } = estimateRestore(work(), others(), {
      ...{ source: earlier, records: 25 * MiB, problems: [] },
    })
    assert.deepEqual([seconds, limitedBy, precision], [40, 'records', 'about'])
  })

  test('ignores rates of zero', () => {
    assert.equal(
      estimateRestore(work(), others(), { source, storeRead: 0, targetWrite: 0, problems: [] }).seconds,
      null,
    )
  })
})
