import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { withLease } from '../../src/archive/writer-lease.ts'
import { storeClock } from '../../src/backup/open-target.ts'
import { hasCode } from '../../src/errors.ts'
import type { ProgressEvent } from '../../src/observe/progress.ts'
import type { RetentionPolicy } from '../../src/retention/policy.ts'
import { runPrune } from '../../src/retention/prune.ts'
import { type PruneParts, pruneClaim } from '../../src/retention/prune-context.ts'
import { never } from '../archive/sample-archive.ts'
import { grownLog, LogRun } from './log-world.ts'
import { DAY, HOUR, World } from './world.ts'

const MINUTE = 60_000
const turn = () => new Promise(resolve => setImmediate(resolve))

/** Three generations, of which two have had a successor for days. */
async function grown(): Promise<World> {
  const world = new World()
  for (let day = 0; day < 3; day++) {
    await world.commit('a')
    world.clock.pass(2 * DAY)
  }
  return world
}

async function prune(world: World, own: Partial<PruneParts> = {}, policy: Partial<RetentionPolicy> = {}) {
  const warnings: string[] = []
  const onProgress = (event: ProgressEvent) => void (event.type === 'warning' && warnings.push(event.message))
  const parts = { ...world.partsAt(), onProgress, ...own }
  const report = await runPrune({ match: ['*'], graceMs: DAY, ...policy }, parts, { isDryRun: false }, never)
  const [outcome] = report.backups
  return { report, warnings, outcome: outcome ?? assert.fail('there is no backup') }
}

describe('while the clock of the store is set forward, by less than an hour,', () => {
  test('a prune does not take a live writer for dead', async () => {
    const world = await grown()
    await world.hold('a', 'writer', async () => {
      world.storeAheadMs = 10 * MINUTE
      const { outcome } = await prune(world)
      assert.deepEqual([outcome.notes, outcome.generationsRemoved], [['skipped because it is in use'], 0])
    })
  })

  test('a second writer does not take the first for dead', async () => {
    const world = await grown()
    const end = Promise.withResolvers<void>()
    const first = world.hold('a', 'writer', () => end.promise)
    while (world.keys('a/leases/').length === 0) await turn()
    world.storeAheadMs = 10 * MINUTE
    let hasBegun = false
    let result: unknown
    const second = world
      .hold('a', 'writer', async () => {
        hasBegun = true
      })
      .catch(error => {
        result = error
      })
    for (let seconds = 0; seconds < 200 && !hasBegun && result === undefined; seconds += 2) {
      for (let i = 0; i < 20; i++) await turn()
      world.clock.pass(2000)
    }
    assert.equal(hasBegun, false)
    assert.ok(hasCode(result, 'WRITER_CONFLICT'))
    end.resolve()
    await Promise.all([first, second])
  })

  test('what a run has just stored is not old', async () => {
    const world = await grown()
    const stray = await world.stray('a')
    world.storeAheadMs = 50 * MINUTE
    const { outcome } = await prune(world, {}, { graceMs: 30 * MINUTE })
    assert.deepEqual([outcome.waiting.objects, world.storage.objects.has(stray)], [1, true])
  })
})

test('a lease whose time is in the future by the clock of this machine alone is alive', async () => {
  const world = await grown()
  world.storeAheadMs = 3 * HOUR
  await world.hold('a', 'writer', async () => {
    assert.deepEqual((await prune(world)).outcome.notes, ['skipped because it is in use'])
  })
})

test('a lease is lost if its term is over by the wall clock, though the other clock stood still while the machine was suspended', async () => {
  const world = new World()
  const clock = { ...world.clock, monotonic: () => 0 }
  await withLease({ ...world.partsAt(), clock }, pruneClaim('a'), never, async lease => {
    lease?.assertHeld()
    world.clock.pass(MINUTE + 1)
    assert.throws(
      () => lease?.assertHeld(),
      error => hasCode(error, 'WRITER_CONFLICT'),
    )
  })
})

const setSince =
  /, but by the time that has passed since this run began it is .*Z: it was set, or the machine was paused\. Prunes after .*Z remove again, by the slower of both$/

describe('a prune removes nothing, and says why, if', () => {
  const refused = async (world: World, why: RegExp, own: Partial<PruneParts> = {}) => {
    const before = world.keys()
    const { report, outcome, warnings } = await prune(world, own, { olderThanMs: 5 * DAY })
    assert.deepEqual(world.keys(), before)
    assert.match(report.clockDoubt ?? '', why)
    assert.deepEqual(warnings, [`nothing is removed, because ${report.clockDoubt}`])
    assert.deepEqual(outcome.notes, [`nothing of it is removed, because ${report.clockDoubt}`])
    assert.equal(outcome.state, 'kept')
  }

  test('the clock of the machine is more than an hour ahead of or behind that of the store', async () => {
    for (const aheadMs of [-40 * DAY, -HOUR - 1, HOUR + 1, 40 * DAY]) {
      const world = await grown()
      world.storeAheadMs = aheadMs
      await refused(world, /^the clock of this machine says .*Z, and that of the store .*Z$/)
    }
    const world = await grown()
    world.storeAheadMs = HOUR
    const { report, outcome } = await prune(world)
    assert.deepEqual([report.clockDoubt, outcome.generationsRemoved], [undefined, 2])
  })

  test('the newest generation is dated more than an hour in the future', async () => {
    const world = await grown()
    world.storeAheadMs = 2 * HOUR
    await world.commit('a', { createdMs: world.clock.now() + 2 * HOUR })
    world.storeAheadMs = 0
    await refused(world, /^the clock of this machine says .*Z, and the newest generation is from .*Z$/)
    world.clock.pass(HOUR)
    assert.equal((await prune(world)).report.clockDoubt, undefined)
  })

  test('but not if only its writer had a wrong clock', async () => {
    const first = await grown()
    await first.commit('a', { createdMs: first.clock.now() + 2 * HOUR })
    assert.equal((await prune(first)).report.clockDoubt, undefined)
    const ahead = await grownLog(12)
    const world = new World()
    for (const [key, body] of ahead.storage.objects) await world.storage.create(key, body, never)
    assert.equal((await prune(world)).report.clockDoubt, undefined)
    for (const key of world.keys('a/commits/')) world.storage.modified.set(key, ahead.storage.modified.get(key) ?? 0)
    await refused(world, /, and the newest generation is from .*Z$/)
  })

  test('the clock was set since the run began whose process prunes', async () => {
    const world = await grown()
    const ownLease = { storeNow: () => world.clock.now() - 40 * DAY }
    await refused(world, setSince, { ownLease })
  })

  test('but not if the machine was suspended since the run began, whose time of the store counts that', async () => {
    const world = await grown()
    let suspendedMs = 0
    const monotonic = () => world.clock.monotonic() - suspendedMs
    const clock = { ...world.clock, monotonic, suspendedMs: () => suspendedMs }
    const claim = { backupId: 'a', role: 'writer', kind: 'backup' } as const
    await withLease({ ...world.partsAt(), clock }, claim, never, async lease => {
      assert.ok(lease)
      const before = lease.storeNow()
      suspendedMs = 3 * HOUR
      world.clock.pass(3 * HOUR)
      assert.equal(lease.storeNow() - before, 3 * HOUR)
      const own = { ownLease: lease, ownRuns: new Set([lease.run]), ownBackupId: 'a' }
      const { report, outcome } = await prune(world, own)
      assert.deepEqual([report.clockDoubt, outcome.generationsRemoved], [undefined, 2])
    })
  })

  test('unless it is told to trust the clock: then goes what is old by both', async () => {
    const world = await grown()
    world.storeAheadMs = 2 * HOUR
    const { report, outcome } = await prune(world, { trustsClock: true })
    assert.deepEqual([report.clockDoubt, outcome.generationsRemoved], [undefined, 2])
    world.storeAheadMs = -3 * DAY
    await world.commit('a')
    const { outcome: next } = await prune(world, { trustsClock: true })
    assert.equal(next.generationsRemoved, 0)
  })

  test('and names the backups, if the clock is in doubt for some only', async () => {
    const world = await grown()
    for (let day = 0; day < 3; day++) {
      await world.commit('b')
      world.clock.pass(2 * DAY)
    }
    world.storeAheadMs = 2 * HOUR
    await world.commit('a', { createdMs: world.clock.now() + 2 * HOUR })
    world.storeAheadMs = 0
    const { report, warnings } = await prune(world)
    assert.deepEqual(
      report.backups.map(one => [one.backupId, one.generationsRemoved]),
      [
        ['a', 0],
        ['b', 2],
      ],
    )
    assert.deepEqual(report.doubtedBackups, ['a'])
    assert.deepEqual(warnings, [`nothing is removed from the backup a, because ${report.clockDoubt}`])
  })

  test('and an expired backup stays, too', async () => {
    const world = await grown()
    await world.commit('b')
    await prune(world, {}, { keepLast: 1 })
    world.storeAheadMs = -40 * DAY
    world.clock.pass(2 * DAY)
    await prune(world, {}, { keepLast: 1 })
    assert.ok(world.keys('a/').length > 1)
    world.storeAheadMs = 0
    await prune(world, {}, { keepLast: 1 })
    assert.deepEqual(world.keys('a/'), [])
  })
})

describe('a run whose machine was paused by its host, or whose clock was set,', () => {
  /** Prunes half an hour after the first prune saw it. */
  const settled = async (world: World, behindMs: number, policy: Partial<RetentionPolicy> = {}) => {
    let byMs = behindMs
    const own = { ownLease: { storeNow: () => world.clock.now() - byMs } }
    const set = (ms: number) => {
      byMs = ms
    }
    assert.match((await prune(world, own, policy)).report.clockDoubt ?? '', setSince)
    world.clock.pass(29 * MINUTE)
    assert.match((await prune(world, own, policy)).report.clockDoubt ?? '', setSince)
    world.clock.pass(MINUTE)
    return { ...(await prune(world, own, policy)), own, set }
  }

  test('removes again half an hour later, and warns once', async () => {
    const world = await grown()
    const { report, outcome, warnings, own } = await settled(world, 2 * HOUR)
    assert.deepEqual([report.clockDoubt, outcome.generationsRemoved], [undefined, 2])
    assert.equal(warnings.length, 1)
    assert.match(
      warnings[0] ?? '',
      /^the clock of this machine says .*Z, but by the time that has passed since this run began it is .*Z: removing again, by the slower of both until this process ends$/,
    )
    assert.deepEqual((await prune(world, own)).warnings, [])
  })

  test('takes nothing for older than by the slower clock', async () => {
    const world = await grown()
    const { outcome } = await settled(world, 3 * DAY)
    assert.equal(outcome.generationsRemoved, 1)
    assert.deepEqual(world.keys('a/manifests/').length, 2)
    world.clock.pass(4 * DAY)
    await world.commit('b')
    const { report } = await settled(world, 3 * DAY, { olderThanMs: 8 * DAY })
    assert.deepEqual(
      report.backups.map(({ state }) => state),
      ['kept', 'kept'],
    )
  })

  test('waits again after another step of the clock', async () => {
    const world = await grown()
    const { own, set } = await settled(world, 2 * HOUR)
    set(4 * HOUR)
    assert.match((await prune(world, own)).report.clockDoubt ?? '', setSince)
  })

  test('waits until the clock of the store agrees', async () => {
    const world = await grown()
    const { own } = await settled(world, 2 * HOUR)
    world.storeAheadMs = -2 * HOUR
    assert.match((await prune(world, own)).report.clockDoubt ?? '', /, and that of the store .*Z$/)
    world.storeAheadMs = 0
    assert.match((await prune(world, own)).report.clockDoubt ?? '', setSince)
    world.clock.pass(30 * MINUTE)
    assert.equal((await prune(world, own)).report.clockDoubt, undefined)
  })
})

test('a prune keeps what a run has stored since its machine was paused by its host, by the clock of the store', async () => {
  const world = new World()
  let pausedMs = 0
  const late = () => world.clock.now() - pausedMs
  const clock = { ...world.clock, now: late, monotonic: late }
  const claim = { backupId: 'a', role: 'writer', kind: 'backup' } as const
  await withLease({ ...world.partsAt(), clock }, claim, never, async lease => {
    const run = await LogRun.open(world, 'a', world.storage, undefined, storeClock({ lease, clock }))
    await run.round()
    pausedMs = 3 * DAY
    world.clock.pass(3 * DAY)
    await run.round()
  })
  world.clock.pass(DAY)
  const { outcome } = await prune(world, {}, { olderThanMs: 2 * DAY })
  assert.deepEqual([outcome.trimmed.segments, outcome.trimmed.records], [2, 20])
})
