import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { JobProgress, type ProgressField, progressFields } from '../../src/observe/job-progress.ts'
import type { ProgressEvent } from '../../src/observe/progress.ts'
import { ManualClock } from '../cli/manual-clock.ts'

function open() {
  const clock = new ManualClock()
  const progress = new JobProgress({ job: 'backup', backupId: 'b1', version: '1.2.3', clock })
  const tell = (...events: ProgressEvent[]) => {
    for (const event of events) progress.onProgress(event)
    return JSON.parse(progress.format())
  }
  return { clock, tell }
}

const planned: ProgressEvent = { type: 'planned', topics: 2, partitions: 4, offsets: 100n }
const copied = (records: number): ProgressEvent => ({
  ...{ type: 'copied', topic: 'a', partition: 0 },
  ...{ offsets: BigInt(records), records, bytes: records * 10 },
})

const byTopic: ProgressEvent = {
  ...{ type: 'planned', topics: 2, partitions: 2, offsets: 100n, unit: 'records' },
  byTopic: [
    { topic: 'a', records: 80 },
    { topic: 'b', records: 20 },
  ],
}

describe('the page /progress', () => {
  test('follows each topic of a restore, and its groups that are released early', () => {
    const { clock, tell } = open()
    assert.deepEqual([tell().topics_done, tell().active_topics], [null, null])
    assert.deepEqual([tell(byTopic).topics_done, tell().active_topics], [0, []])
    tell({ type: 'begun', topic: 'a', partition: 0 })
    clock.pass(1000)
    const active = tell(copied(20)).active_topics
    const a = { topic: 'a', records: 20, planned_records: 80, fraction: 0.25, remaining_seconds: 3 }
    assert.deepEqual(active, [a])
    const waiting = tell({ type: 'begun', topic: 'b', partition: 0 }).active_topics
    assert.deepEqual(waiting[1], { topic: 'b', records: 0, planned_records: 20, fraction: 0, remaining_seconds: null })
    const page = tell(
      { type: 'filled', topic: 'a', done: 1, total: 2 },
      { type: 'released', group: 'g', done: 1, total: 3 },
    )
    assert.deepEqual([page.topics_done, page.active_topics.length], [1, 1])
    assert.deepEqual([page.groups, page.planned_groups, page.phase], [1, 3, 'copying'])
  })

  test('has the fields of the catalogue in their order, each of its type', () => {
    const { tell } = open()
    for (const page of [
      tell(),
      tell(planned, copied(50)),
      tell(byTopic),
      tell({ type: 'groups', done: 1, total: 2 }),
    ]) {
      assert.deepEqual(Object.keys(page), Object.keys(progressFields))
      for (const [name, { type, isNullable }] of Object.entries<ProgressField>(progressFields)) {
        if (isNullable && page[name] === null) continue
        if (type === 'list') assert.ok(Array.isArray(page[name]), name)
        else assert.equal(typeof page[name], type === 'text' || type === 'time' ? 'string' : 'number', name)
        if (type === 'integer') assert.ok(Number.isSafeInteger(page[name]), name)
        if (type === 'time') assert.ok(Number.isFinite(Date.parse(page[name])), name)
      }
    }
  })

  test('has the size of the backup in the store as soon as it was measured', () => {
    const { tell } = open()
    assert.equal(tell(planned).stored_bytes, null)
    assert.equal(tell({ type: 'measured', storedBytes: 1234 }).stored_bytes, 1234)
  })

  test('moves with a backup: plan, amount, rate, what remains, generation', () => {
    const { clock, tell } = open()
    const before = tell()
    assert.deepEqual([before.phase, before.fraction, before.planned_offsets], ['preparing', null, null])
    tell({ type: 'resumed', generation: 3, committedAt: '2025-11-15T09:00:00Z' }, planned)
    clock.pass(1000)
    const page = tell(copied(25))
    assert.deepEqual([page.phase, page.fraction, page.records, page.bytes], ['copying', 0.25, 25, 250])
    assert.deepEqual([page.planned_topics, page.planned_partitions, page.planned_offsets], [2, 4, 100])
    assert.deepEqual([page.bytes_per_second, page.remaining_seconds, page.generation], [250, 3, 3])
    assert.deepEqual([page.started_at, page.last_event_at], ['2025-11-15T09:30:00.000Z', '2025-11-15T09:30:01.000Z'])
    assert.equal(tell({ type: 'committed', generation: 4, complete: true }).generation, 4)
  })

  test('counts warnings, gaps and retries', () => {
    const { tell } = open()
    const { warnings, gaps, retries } = tell(
      { type: 'warning', message: 'x' },
      { type: 'gap', topic: 'a', partition: 0, from: 0n, to: 1n, reason: 'retention' },
      { type: 'retry', what: 'x', delayMs: 1 },
    )
    assert.deepEqual([warnings, gaps, retries], [1, 1, 1])
  })

  test('follows a restore from its schemas over records and the comparison to its groups', () => {
    const { tell } = open()
    const schemas = tell({ type: 'schemas', done: 1, total: 3 })
    assert.deepEqual([schemas.phase, schemas.schemas, schemas.planned_schemas], ['schemas', 1, 3])
    const writing = tell({ ...planned, unit: 'records' }, copied(10))
    assert.deepEqual([writing.phase, writing.planned_records, writing.planned_offsets], ['copying', 100, null])
    const comparing = tell({ ...planned, phase: 'compare' })
    assert.deepEqual([comparing.phase, comparing.records], ['comparing', 0])
    const groups = tell({ type: 'groups', done: 1, total: 2 })
    assert.deepEqual([groups.phase, groups.groups, groups.planned_groups], ['groups', 1, 2])
  })

  test('follows a deep verification', () => {
    const page = open().tell({ type: 'checked', objects: 1, bytes: 50, totalObjects: 4, totalBytes: 200 })
    assert.deepEqual([page.phase, page.fraction, page.objects, page.planned_objects], ['verifying', 0.25, 1, 4])
    assert.deepEqual([page.bytes, page.planned_bytes], [50, 200])
  })

  test('tells a continuous run that waits from one that tries again', () => {
    const { tell } = open()
    assert.equal(tell(planned, { type: 'round', ok: true }, { type: 'idle', ms: 5000 }).phase, 'waiting')
    assert.equal(tell(planned).phase, 'copying')
    assert.equal(tell({ type: 'round', ok: false }).phase, 'retrying')
  })

  test('tells when a continuous run last had all, also while it never waits', () => {
    const { clock, tell } = open()
    assert.equal(tell(planned, copied(25)).last_round_at, null)
    assert.equal(tell({ type: 'round', ok: true }).last_round_at, '2025-11-15T09:30:00.000Z')
    clock.pass(1000)
    assert.equal(tell(planned, { type: 'round', ok: false }).last_round_at, '2025-11-15T09:30:00.000Z')
    assert.equal(tell(planned, { type: 'round', ok: true }).last_round_at, '2025-11-15T09:30:01.000Z')
  })
})
