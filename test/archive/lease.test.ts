import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { readLiveLeases } from '../../src/archive/lease.ts'
import { withLease } from '../../src/archive/writer-lease.ts'
import { hasCode, KafkaBackupError } from '../../src/errors.ts'
import type { ProgressEvent } from '../../src/observe/progress.ts'
import { pruneClaim } from '../../src/retention/prune-context.ts'
import { DAY, World } from '../retention/world.ts'
import { never } from './sample-archive.ts'

const turn = () => new Promise(resolve => setImmediate(resolve))
const reader = { backupId: 'a', role: 'reader', kind: 'restore' } as const

describe('a lease', () => {
  test('is there while the work goes on, says whose it is, and goes with it, also when that fails', async () => {
    const world = new World()
    await assert.rejects(
      withLease(world.partsAt(), reader, never, async lease => {
        const [found] = await readLiveLeases(world.storage, 'a', world.times(), never)
        assert.equal(found?.run, lease?.run)
        assert.match(found?.holder ?? '', /^restore on h1, process 1, since 2026-/)
        throw new Error('the work failed')
      }),
      /the work failed/,
    )
    assert.deepEqual(world.keys(), [])
  })

  test('is renewed in time, and lives by the clock of the store', async () => {
    const world = new World()
    await world.hold('a', 'writer', async () => {
      const [key = ''] = world.keys()
      const times = new Set<number>()
      for (let minute = 0; minute < 30; minute++) {
        world.clock.pass(60_000)
        await turn()
        times.add(world.storage.modified.get(key) ?? 0)
        await withLease(world.partsAt(), reader, never, async lease =>
          assert.equal((await lease?.others(never))?.length, 1),
        )
      }
      assert.ok(times.size >= 10, `${times.size} renewals`)
    })
  })

  test('that nobody renews is dead, and one that cannot be read is not', async () => {
    const world = new World()
    await world.storage.create('a/leases/x.json', Buffer.from('{}'), never)
    await world.hold('a', 'writer', async () => {
      const key = world.keys().find(one => !one.endsWith('/x.json')) ?? ''
      const bytes = world.storage.objects.get(key) ?? assert.fail()
      await world.storage.create('a/leases/dead.json', bytes, never)
    })
    world.clock.pass(300_001)
    await withLease(world.partsAt(), reader, never, async lease => {
      assert.deepEqual(
        (await lease?.others(never))?.map(({ run }) => run),
        ['x'],
      )
    })
  })

  test('that could not be renewed in time is told to its holder', async () => {
    const world = new World()
    const storage = {
      ...world.storage,
      replace: async () => {
        throw new KafkaBackupError('STORAGE_UNAVAILABLE', 'the store is away')
      },
    }
    await withLease(world.partsAt(storage), { ...reader, role: 'prune', ttlMs: 60_000 }, never, async lease => {
      world.clock.pass(60_000)
      lease?.assertHeld()
      await turn()
      world.clock.pass(1)
      const message = /^the lease a\/leases\/\S+ at \S+ could not be renewed in time, so another run may have started$/
      assert.throws(() => lease?.assertHeld(), { code: 'WRITER_CONFLICT', message })
    })
  })

  test('names the clock, and not the store, if that moved ahead of the time that has passed', async () => {
    const world = new World()
    let aheadMs = 0
    const clock = { ...world.clock, now: () => world.clock.now() + aheadMs }
    const message =
      /^the lease a\/leases\/\S+ at \S+ may have expired, because the clock of this machine moved ahead by 3m 00s: it was set, or the machine was paused; so another run may have started$/
    await withLease({ ...world.partsAt(), clock }, { ...reader, role: 'prune', ttlMs: 60_000 }, never, async lease => {
      world.clock.pass(10_000)
      aheadMs = 180_000
      assert.throws(() => lease?.assertHeld(), { code: 'WRITER_CONFLICT', message })
      world.clock.pass(10_000)
      await turn()
      world.clock.pass(10_000)
      await turn()
      assert.throws(() => lease?.assertHeld(), { code: 'WRITER_CONFLICT', message })
      await lease?.confirm(async () => undefined, never)
      lease?.assertHeld()
    })
  })

  test('that was renewed too late stays lost, since another run may have begun meanwhile', async () => {
    const world = new World()
    let isAway = true
    const storage = {
      ...world.storage,
      replace: async (...args: Parameters<typeof world.storage.replace>) => {
        if (isAway) throw new KafkaBackupError('STORAGE_UNAVAILABLE', 'the store is away')
        await world.storage.replace(...args)
      },
    }
    await withLease(world.partsAt(storage), { ...reader, role: 'prune', ttlMs: 60_000 }, never, async lease => {
      for (let second = 0; second <= 70; second += 10) {
        world.clock.pass(10_000)
        await turn()
      }
      isAway = false
      for (let second = 0; second <= 70; second += 10) {
        world.clock.pass(10_000)
        await turn()
      }
      assert.equal((await readLiveLeases(world.storage, 'a', world.times(), never)).length, 1)
      assert.throws(
        () => lease?.assertHeld(),
        error => hasCode(error, 'WRITER_CONFLICT'),
      )
    })
  })

  test('is kept up by further objects where the store lets none be replaced, and all of them are one lease', async () => {
    for (const code of ['STORAGE_DENIED', 'STORAGE_RETAINED'] as const) {
      const world = new World()
      const storage = {
        ...world.storage,
        replace: async () => {
          throw new KafkaBackupError(code, 'what is there stays')
        },
      }
      await withLease(world.partsAt(storage), { ...reader, role: 'prune' }, never, async lease => {
        for (let minute = 0; minute < 30; minute++) {
          world.clock.pass(60_000)
          await turn()
          await turn()
          lease?.assertHeld()
          assert.deepEqual(await lease?.others(never), [])
          const seen = await readLiveLeases(world.storage, 'a', world.times(), never)
          assert.deepEqual(
            seen.map(({ run }) => run),
            [lease?.run],
          )
        }
      })
      assert.deepEqual(await readLiveLeases(world.storage, 'a', world.times(), never), [])
    }
  })

  test('is done without by a reader that may not write, which says so, and not by a writer', async () => {
    const world = new World()
    const storage = {
      ...world.storage,
      create: async () => {
        throw new KafkaBackupError('STORAGE_DENIED', 'read-only')
      },
    }
    const events: ProgressEvent[] = []
    const parts = { ...world.partsAt(storage), onProgress: (event: ProgressEvent) => events.push(event) }
    assert.equal(await withLease(parts, reader, never, async lease => lease), undefined)
    assert.deepEqual(
      events.map(({ type }) => type),
      ['note'],
    )
    const reasons: string[] = []
    const claim = { ...reader, onUnleased: (reason: string) => reasons.push(reason) }
    assert.equal(await withLease(parts, claim, never, async lease => lease), undefined)
    assert.deepEqual([reasons, events.length], [['no lease can be written at memory: read-only'], 1])
    await assert.rejects(
      withLease(parts, { ...reader, role: 'writer' }, never, async () => undefined),
      error => hasCode(error, 'STORAGE_DENIED'),
    )
  })

  test('of a writer waits for a prune, until that has ended or is dead', async () => {
    for (const dies of [false, true]) {
      const world = new World()
      let hasBegun = false
      const endPrune = Promise.withResolvers<void>()
      const prune = world.hold('a', 'prune', () => endPrune.promise)
      await turn()
      const frozen = new Map(world.storage.objects)
      const writer = world.hold('a', 'writer', async () => {
        hasBegun = true
      })
      for (let i = 0; i < 10; i++) {
        world.clock.pass(2000)
        await turn()
      }
      assert.equal(hasBegun, false)
      if (!dies) endPrune.resolve()
      else {
        const key = [...frozen.keys()][0] ?? assert.fail()
        world.storage.modified.set(key, world.clock.now() - 300_001)
      }
      for (let i = 0; i < 5; i++) {
        await turn()
        world.clock.pass(2000)
      }
      await writer
      assert.equal(hasBegun, true)
      endPrune.resolve()
      await prune
    }
  })

  test('of a dead prune keeps a writer for its term alone, though a clock that jumped back says otherwise', async () => {
    const world = new World()
    const endPrune = Promise.withResolvers<void>()
    const prune = withLease(world.partsAt(), pruneClaim('a'), never, () => endPrune.promise)
    await turn()
    const [key = ''] = world.keys()
    const body = world.storage.objects.get(key) ?? assert.fail()
    endPrune.resolve()
    await prune
    world.storage.objects.set(key, body)
    world.storage.modified.set(key, world.clock.now() + 365 * DAY)
    let hasBegun = false
    const writer = world.hold('a', 'writer', async () => {
      hasBegun = true
    })
    for (let seconds = 0; seconds < 70 && !hasBegun; seconds += 2) {
      await turn()
      world.clock.pass(2000)
    }
    await turn()
    assert.equal(hasBegun, true)
    await writer
  })
})
