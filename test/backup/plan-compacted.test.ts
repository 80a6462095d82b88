import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Compaction, ManifestPartition } from '../../src/archive/manifest.ts'
import { emptyPartition } from '../../src/archive/summary.ts'
import type { PlannedPartition, RereadRules } from '../../src/backup/backup-plan.ts'
import { caughtUp, planCompaction } from '../../src/backup/plan-compacted.ts'
import { formatUtc } from '../../src/lib/clock.ts'
import { createRandom } from '../fakes/faulty-storage.ts'

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
  sizeBytes?: number | 'denied'
}

function plan(spec: Spec = {}): PlannedPartition {
  const { nowMs = 0, settings = compacted, highWatermark = 150n, logStart = 0n, rules, older, sizeBytes } = spec
  const before = 'before' in spec ? spec.before : held()
  const durable = before ?? emptyPartition(0, logStart)
  const planned = { durable, end: highWatermark, logStart, newGaps: [] }
  return planCompaction(planned, {
    topic: { configs: {}, effectiveConfigs: settings },
    bounds: { logStart, highWatermark, lastStable: highWatermark },
    before,
    ...(sizeBytes !== undefined && { sizeBytes }),
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

describe('a compacted partition of which the backup holds more than the source', () => {
  const grown = (bytes: number, changes: Partial<Compaction> = {}) => held({ bytes, compaction: known(changes) })

  test('is read again when that is more than twice as much', () => {
    const reasonOf = (bytes: number) => plan({ before: grown(bytes), sizeBytes: 1000 }).reread?.reason
    assert.deepEqual([reasonOf(2000), reasonOf(2001)], [undefined, 'size'])
    assert.equal(plan({ before: grown(2001), sizeBytes: 0 }).reread?.reason, 'size')
    assert.equal(isSuspect(plan({ before: grown(2001), sizeBytes: 1000 })), false)
  })

  test('that did not shrink by the last reading is not read again before it has doubled', () => {
    const futile = { base_bytes: 2001, source_bytes: 1000 }
    assert.equal(plan({ before: grown(4002, futile), sizeBytes: 1000 }).reread, undefined)
    assert.equal(plan({ before: grown(4003, futile), sizeBytes: 1000 }).reread?.reason, 'size')
    const useful = { base_bytes: 2000, source_bytes: 1000 }
    assert.equal(plan({ before: grown(2001, useful), sizeBytes: 1000 }).reread?.reason, 'size')
  })

  test('is not read again if its records also expire, which the backup is to keep', () => {
    const settings = { ...compacted, 'cleanup.policy': 'compact,delete' }
    assert.equal(plan({ before: grown(5000), sizeBytes: 1000, settings }).reread, undefined)
  })

  test('is read again by a day and when it has doubled where the source does not tell its size', () => {
    const first = plan({ before: grown(5000), sizeBytes: 'denied', nowMs: HOUR })
    assert.deepEqual([first.reread, first.durable.compaction?.base_bytes], [undefined, 5000])
    const reasonOf = (bytes: number, nowMs: number) =>
      plan({
        before: { ...grown(bytes, { base_bytes: 5000 }), end_offset: 150n },
        sizeBytes: 'denied',
        nowMs,
        settings: daily,
      }).reread?.reason
    const daily = { ...compacted, 'delete.retention.ms': String(100 * HOUR) }
    assert.deepEqual(
      [reasonOf(10_001, 23 * HOUR), reasonOf(10_000, 24 * HOUR), reasonOf(10_001, 24 * HOUR)],
      [undefined, undefined, 'growth'],
    )
  })

  test('follows the job and the interval of a continuous run, and continues what was begun', () => {
    const large = { before: grown(5000), sizeBytes: 1000, nowMs: HOUR / 2 }
    assert.equal(plan({ ...large, rules: { mode: 'never' } }).reread, undefined)
    assert.equal(plan({ ...large, rules: { intervalMs: HOUR } }).reread, undefined)
    assert.equal(plan({ ...large, rules: { intervalMs: HOUR / 2 } }).reread?.reason, 'size')
    const reread = { ...emptyPartition(0, 0n), end_offset: 60n, records: 9, compaction: known({ began_at: at(HOUR) }) }
    const pending = plan({ before: { ...grown(5000), reread }, rules: { intervalMs: HOUR } })
    assert.deepEqual([pending.reread?.reason, pending.reread?.durable.end_offset], ['size', 60n])
  })

  /** Runs over a log that grows and is cleaned at random; `tell` is the size that the source reports. */
  function simulate(seed: number, tell: (sizeBytes: number) => number, isTrue: boolean) {
    const random = createRandom(seed)
    let before = held({ bytes: 0, records: 0 })
    let source = 0
    const sum = { copied: 0, reread: 0, rereads: 0 }
    for (let run = 1; run <= 100; run++) {
      const appended = Math.floor(random() * 1000)
      source += appended
      if (random() < 0.3) source = Math.ceil(source * random())
      const nowMs = run * HOUR
      const {
        reread,
        durable,
        compacted: facts,
      } = plan({ before, sizeBytes: tell(source), nowMs, highWatermark: BigInt(run) })
      assert.ok(facts && durable.compaction)
      const isSmall = before.records === 0 || before.bytes <= 2 * tell(source)
      if (isSmall) assert.equal(reread, undefined, `run ${run} of seed ${seed}`)
      if (isTrue && !isSmall) assert.ok(reread, `run ${run} of seed ${seed}`)
      const bytes = reread ? source : before.bytes + appended
      const compaction = reread?.durable.compaction ?? durable.compaction
      const done = { end: BigInt(run), doneAtMs: start + nowMs, bytes }
      before = held({ bytes, end_offset: BigInt(run), compaction: caughtUp(compaction, facts, done) })
      sum.copied += appended
      sum.reread += reread ? source : 0
      sum.rereads += reread ? 1 : 0
    }
    return sum
  }

  test('costs less to read again than to copy, however its log grows and is cleaned', () => {
    let rereads = 0
    for (let seed = 1; seed <= 100; seed++) {
      const sum = simulate(seed, size => size, true)
      assert.ok(sum.reread <= sum.copied, `seed ${seed}: ${sum.reread} of ${sum.copied} bytes`)
      rereads += sum.rereads
    }
    assert.ok(rereads > 100, `only ${rereads} were read again`)
  })

  test('is not read again and again where the source reports a size that no reading reaches', () => {
    for (let seed = 1; seed <= 100; seed++) {
      const { copied, reread, rereads } = simulate(seed, () => 0, false)
      assert.ok(rereads > 0 && reread <= 2 * copied, `seed ${seed}: ${rereads} times, ${reread} of ${copied} bytes`)
    }
  })
})

describe('a list that has reached the end', () => {
  const facts = { observedAt: at(10 * HOUR), deleteRetentionMs: 24 * HOUR, isCompacted: true }

  test('is good where it was read fast enough since the last time', () => {
    const done = caughtUp(known(), facts, { end: 150n, doneAtMs: start + 20 * HOUR, bytes: 7 })
    assert.deepEqual(done, known({ current_at: at(10 * HOUR), current_end: 150n, base_bytes: 7 }))
  })

  test('may hold deleted keys where reading it took longer than tombstones stay', () => {
    assert.equal(
      caughtUp(known(), facts, { end: 150n, doneAtMs: start + 23 * HOUR, bytes: 7 }).may_hold_deleted_keys,
      true,
    )
  })

  test('does not get better by being read on', () => {
    const done = caughtUp(known({ may_hold_deleted_keys: true }), facts, {
      end: 150n,
      doneAtMs: start + 11 * HOUR,
      bytes: 7,
    })
    assert.equal(done.may_hold_deleted_keys, true)
  })
})
