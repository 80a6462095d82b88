import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Compaction, ManifestPartition } from '../../src/archive/manifest.ts'
import { emptyPartition } from '../../src/archive/summary.ts'
import type { PlannedPartition, RereadRules } from '../../src/backup/backup-plan.ts'
import { caughtUp, planCompaction } from '../../src/backup/plan-compacted.ts'
import { formatUtc } from '../../src/lib/clock.ts'

const HOUR = 3_600_000
const start = Date.parse('2026-01-02T00:00:00Z')
const at = (ms: number) => formatUtc(start + ms)
const compacted = { 'cleanup.policy': 'compact', 'delete.retention.ms': String(24 * HOUR) }
const known = (changes: Partial<Compaction> = {}): Compaction => ({
  began_at: at(0),
  current_at: at(0),
  current_end: 100n,
  may_hold_deleted_keys: false,
  ...changes,
})
const held = (changes: Partial<ManifestPartition> = {}): ManifestPartition => ({
  ...emptyPartition(0, 0n),
  end_offset: 100n,
  records: 80,
  compaction: known(),
  ...changes,
})

interface Spec {
  before?: ManifestPartition | undefined
  nowMs?: number
  settings?: Record<string, string>
  highWatermark?: bigint
  logStart?: bigint
  rules?: Partial<RereadRules>
  /** The settings of the newest generation, which were read an hour before it. */
  older?: Record<string, string>
}

function plan(spec: Spec = {}): PlannedPartition {
  const { nowMs = 0, settings = compacted, highWatermark = 150n, logStart = 0n, rules, older } = spec
  const before = 'before' in spec ? spec.before : held()
  const durable = before ?? emptyPartition(0, logStart)
  const planned = { durable, end: highWatermark, logStart, newGaps: [] }
  return planCompaction(planned, {
    topic: { configs: {}, effectiveConfigs: settings },
    bounds: { logStart, highWatermark, lastStable: highWatermark },
    before,
    observedAt: at(nowMs),
    ...(older && { known: { configs: {}, effective_configs: older }, knownAt: at(-HOUR) }),
    rules: { mode: 'auto', intervalMs: 0, ...rules },
  })
}

const isSuspect = ({ durable }: PlannedPartition) => durable.compaction?.may_hold_deleted_keys

describe('a partition of a compacted topic', () => {
  test('is read on where it ends while tombstones since the last read are still there', () => {
    const soon = plan({ nowMs: 20 * HOUR })
    assert.deepEqual([soon.reread, isSuspect(soon)], [undefined, false])
    assert.deepEqual(soon.durable.compaction, known())
  })

  test('is read again from its log start where they may be gone, and says so until that is done', () => {
    const late = plan({ nowMs: 24 * HOUR, logStart: 7n })
    assert.deepEqual([late.reread?.reason, isSuspect(late)], ['late', true])
    const { start_offset, end_offset, compaction } = late.reread?.durable ?? assert.fail('it is not read again')
    assert.deepEqual([start_offset, end_offset, compaction?.may_hold_deleted_keys], [7n, 7n, false])
    assert.equal(compaction?.current_at, at(24 * HOUR))
  })

  test('leaves a tenth of the time to clocks and cleaners', () => {
    assert.equal(plan({ nowMs: 21.5 * HOUR }).reread, undefined)
    assert.equal(plan({ nowMs: 21.7 * HOUR }).reread?.reason, 'late')
  })

  test('is read again where the clock was set back', () => {
    assert.equal(plan({ nowMs: -1 * HOUR }).reread, undefined)
    assert.equal(plan({ nowMs: -3 * HOUR }).reread?.reason, 'late')
  })

  test('is not read again where nothing was written since, however long ago that was', () => {
    const idle = plan({ nowMs: 1000 * HOUR, highWatermark: 100n })
    assert.deepEqual([idle.reread, isSuspect(idle)], [undefined, false])
    assert.equal(idle.durable.compaction?.current_at, at(1000 * HOUR))
  })

  test('is read again where tombstones are kept for a shorter time than the rounds since the settings were read', () => {
    const settings = { ...compacted, 'delete.retention.ms': String(HOUR) }
    const lowered = { settings, older: compacted, nowMs: HOUR / 60 }
    assert.equal(plan(lowered).reread?.reason, 'late')
    assert.equal(plan({ ...lowered, highWatermark: 100n }).reread?.reason, 'late')
    assert.equal(plan({ ...lowered, older: settings }).reread, undefined)
    assert.equal(
      plan({ ...lowered, settings: { ...settings, 'delete.retention.ms': String(2 * HOUR) } }).reread,
      undefined,
    )
  })

  test('is not read again where the backup holds no record of it', () => {
    const empty = plan({ nowMs: 1000 * HOUR, before: held({ records: 0 }) })
    assert.deepEqual([empty.reread, isSuspect(empty)], [undefined, false])
    assert.equal(plan({ before: undefined }).reread, undefined)
  })

  test('is read again where the backup does not say when it was read, or an earlier run was late', () => {
    const { compaction: _, ...silent } = held()
    const unknown = plan({ before: silent })
    assert.deepEqual([unknown.reread?.reason, isSuspect(unknown)], ['unknown', true])
    const suspect = plan({ before: held({ compaction: known({ may_hold_deleted_keys: true }) }) })
    assert.equal(suspect.reread?.reason, 'suspect')
    assert.equal(plan({ settings: { 'cleanup.policy': 'compact' }, nowMs: 1 }).reread?.reason, 'late')
  })

  test('is read again although it is not compacted any more, and is then like any other', () => {
    const settings = { ...compacted, 'cleanup.policy': 'delete' }
    assert.equal(plan({ settings, nowMs: 30 * HOUR }).reread?.reason, 'late')
    assert.equal(plan({ settings, before: undefined }).compacted, undefined)
  })

  test('continues the reading that an earlier run began, unless the log start has passed it', () => {
    const reread = { ...emptyPartition(0, 0n), end_offset: 60n, records: 9, compaction: known({ began_at: at(HOUR) }) }
    const before = held({ reread, compaction: known({ may_hold_deleted_keys: true }) })
    const resumed = plan({ before, nowMs: 30 * HOUR })
    assert.equal(resumed.reread?.durable.end_offset, 60n)
    assert.equal(resumed.reread?.durable.compaction?.began_at, at(HOUR))
    assert.equal('reread' in resumed.durable, false)
    assert.equal(plan({ before, nowMs: 30 * HOUR, logStart: 61n }).reread?.durable.end_offset, 61n)
  })

  test('follows the job', () => {
    const never = plan({ nowMs: 30 * HOUR, rules: { mode: 'never' } })
    assert.deepEqual([never.reread, isSuspect(never)], [undefined, true])
    assert.equal(plan({ nowMs: HOUR, rules: { mode: 'always' } }).reread?.reason, 'always')
    const rules = { intervalMs: 48 * HOUR }
    assert.equal(plan({ nowMs: 30 * HOUR, rules }).reread, undefined)
    assert.equal(plan({ nowMs: 50 * HOUR, rules }).reread?.reason, 'late')
  })
})

describe('a list that has reached the end', () => {
  const facts = { observedAt: at(10 * HOUR), deleteRetentionMs: 24 * HOUR, isCompacted: true }

  test('is good where it was read fast enough since the last time', () => {
    const done = caughtUp(known(), facts, 150n, start + 20 * HOUR)
    assert.deepEqual(done, known({ current_at: at(10 * HOUR), current_end: 150n }))
  })

  test('may hold deleted keys where reading it took longer than tombstones stay', () => {
    assert.equal(caughtUp(known(), facts, 150n, start + 23 * HOUR).may_hold_deleted_keys, true)
  })

  test('does not get better by being read on', () => {
    const done = caughtUp(known({ may_hold_deleted_keys: true }), facts, 150n, start + 11 * HOUR)
    assert.equal(done.may_hold_deleted_keys, true)
  })
})
