import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { isRival, type LeaseParts, withLease } from '../../src/archive/writer-lease.ts'
import { KafkaBackupError } from '../../src/errors.ts'
import type { ProgressEvent } from '../../src/observe/progress.ts'
import { DAY, World } from '../retention/world.ts'
import { never } from './sample-archive.ts'

const turn = async () => {
  for (let i = 0; i < 20; i++) await new Promise(resolve => setImmediate(resolve))
}
const backup = { backupId: 'a', role: 'writer', kind: 'backup' } as const

/** A run whose end the test decides. */
function start(world: World, parts: Partial<LeaseParts> = {}, kind = 'backup') {
  const events: ProgressEvent[] = []
  const end = Promise.withResolvers<void>()
  const run = { hasBegun: false, events, end: end.resolve, done: Promise.resolve<unknown>(undefined) }
  const onProgress = (event: ProgressEvent) => void events.push(event)
  run.done = withLease({ ...world.partsAt(), onProgress, ...parts }, { ...backup, kind }, never, async () => {
    run.hasBegun = true
    await end.promise
  })
  run.done.catch(() => undefined)
  return run
}

async function pass(world: World, seconds: number): Promise<void> {
  for (let passed = 0; passed < seconds; passed += 2) {
    world.clock.pass(2000)
    await turn()
  }
}

/** Leaves the lease behind as a killed process does. */
async function kill(world: World, parts: Partial<LeaseParts> = {}): Promise<string> {
  const killed = start(world, parts)
  await turn()
  const [key = ''] = world.keys('a/leases/writer-')
  const bytes = world.storage.objects.get(key) ?? assert.fail()
  const modifiedMs = world.storage.modified.get(key) ?? assert.fail()
  killed.end()
  await killed.done
  world.storage.objects.set(key, bytes)
  world.storage.modified.set(key, modifiedMs)
  return key
}

describe('a writer', () => {
  test('waits for another one, names it, and begins when that has ended', async () => {
    const world = new World()
    const first = start(world)
    await turn()
    const second = start(world)
    await pass(world, 10)
    assert.deepEqual([first.hasBegun, second.hasBegun], [true, false])
    const [warning] = second.events
    assert.match(
      warning?.type === 'warning' ? warning.message : '',
      /^backup `a` at .* is being written by another run \(backup on h1, process 1, since 2026-03-15T12:00:00.000Z\); waiting up to 1m 58s for it to end, until 2026-03-15T12:02:00.000Z$/,
    )
    first.end()
    await first.done
    await pass(world, 4)
    assert.equal(second.hasBegun, true)
    assert.equal(second.events.length, 1)
    second.end()
    await second.done
    assert.deepEqual(world.keys(), [])
  })

  test('is refused when the other one renews its lease meanwhile', async () => {
    const world = new World()
    const first = start(world)
    await turn()
    const second = start(world)
    await pass(world, 38)
    assert.equal(second.hasBegun, false)
    await pass(world, 6)
    await assert.rejects(second.done, {
      code: 'WRITER_CONFLICT',
      exitCode: 5,
      message: /^backup `a` at .* is being written by another run \(backup on h1, process 1, since /,
    })
    assert.equal(second.hasBegun, false)
    assert.equal(world.keys('a/leases/').length, 1)
    first.end()
    await first.done
  })

  test('that was killed elsewhere is waited for until its lease expires', async () => {
    const world = new World()
    await kill(world)
    await pass(world, 60)
    const next = start(world)
    await pass(world, 58)
    assert.equal(next.hasBegun, false)
    await pass(world, 6)
    assert.equal(next.hasBegun, true)
    next.end()
    await next.done
  })

  test('that was killed a while ago is not waited for', async () => {
    const world = new World()
    await kill(world)
    await pass(world, 122)
    const next = start(world)
    await turn()
    assert.equal(next.hasBegun, true)
    next.end()
    await next.done
  })

  test('that was killed is waited for no longer than its term, though the clock of the store jumped back', async () => {
    const world = new World()
    const key = await kill(world)
    world.storage.modified.set(key, world.clock.now() + 365 * 86_400_000)
    const next = start(world)
    await pass(world, 118)
    assert.equal(next.hasBegun, false)
    await pass(world, 10)
    assert.equal(next.hasBegun, true)
    next.end()
    await next.done
  })

  test('with a forged lease is waited for no longer than a term of its own, and the message says until when', async () => {
    const world = new World()
    const key = await kill(world)
    const lease = JSON.parse(world.storage.objects.get(key)?.toString() ?? '')
    world.storage.objects.set(key, Buffer.from(JSON.stringify({ ...lease, ttl_ms: Number.MAX_SAFE_INTEGER })))
    world.storage.modified.set(key, world.clock.now() + 365 * 86_400_000)
    const next = start(world)
    await turn()
    const [warning] = next.events
    assert.match(
      warning?.type === 'warning' ? warning.message : '',
      /waiting up to 2m 00s for it to end, until \d{4}-.*Z$/,
    )
    await pass(world, 116)
    assert.equal(next.hasBegun, false)
    await pass(world, 10)
    assert.equal(next.hasBegun, true)
    next.end()
    await next.done
  })

  test('that fails right after it created its lease leaves none behind', async () => {
    const world = new World()
    const storage: typeof world.storage = {
      ...world.storage,
      list: (prefix, signal) => {
        if (world.keys('a/leases/writer-').length > 0) throw new KafkaBackupError('STORAGE_DENIED', 'no')
        return world.storage.list(prefix, signal)
      },
    }
    await assert.rejects(start(world, { storage }).done, { code: 'STORAGE_DENIED' })
    assert.deepEqual(world.keys(), [])
  })

  test('that is interrupted while the store creates its lease leaves none behind', async () => {
    const world = new World()
    const stop = new AbortController()
    const storage = {
      ...world.storage,
      create: async (...[key, body, signal]: Parameters<typeof world.storage.create>) => {
        await world.storage.create(key, body, signal)
        // The store has it, and its answer is under way.
        stop.abort(new Error('interrupted'))
        await turn()
        signal.throwIfAborted()
      },
    }
    await assert.rejects(
      withLease(world.partsAt(storage), backup, stop.signal, async () => undefined),
      /^Error: interrupted$/,
    )
    assert.deepEqual(world.keys(), [])
    assert.equal(world.clock.timers, 0)
  })

  test('that is interrupted while the store does not answer ends soon', async () => {
    const world = new World()
    const stop = new AbortController()
    const storage = {
      ...world.storage,
      create: (...[, , signal]: Parameters<typeof world.storage.create>) => world.clock.sleep(DAY, signal),
    }
    const begun = withLease(world.partsAt(storage), backup, stop.signal, async () => undefined)
    begun.catch(() => undefined)
    await turn()
    stop.abort(new Error('interrupted'))
    await pass(world, 4)
    await assert.rejects(begun, /^Error: interrupted$/)
    assert.equal(world.clock.timers, 0)
  })

  test('that ends while it renews its lease leaves none behind', async () => {
    const world = new World()
    const storage = {
      ...world.storage,
      // A store carries out what it has received, also where the client has left.
      replace: async (...[key, body, signal]: Parameters<typeof world.storage.replace>) => {
        const stored = turn().then(() => world.storage.replace(key, body, never))
        const left = Promise.withResolvers<never>()
        signal.addEventListener('abort', () => left.reject(signal.reason))
        await Promise.race([stored, left.promise])
      },
    }
    const run = start(world, { storage })
    await turn()
    world.clock.pass(40_000)
    run.end()
    await run.done
    await turn()
    await turn()
    assert.deepEqual(world.keys(), [])
    assert.equal(world.clock.timers, 0)
  })

  for (const wakes of ['renews its lease', 'ends']) {
    test(`that was suspended until its lease was removed, and then ${wakes}, leaves that of another one alone`, async () => {
      const world = new World()
      let isSuspended = true
      const storage = {
        ...world.storage,
        replace: async (...args: Parameters<typeof world.storage.replace>) => {
          if (isSuspended) throw new KafkaBackupError('STORAGE_UNAVAILABLE', 'suspended')
          await world.storage.replace(...args)
        },
      }
      const suspended = start(world, { storage })
      await turn()
      const key = 'a/leases/writer-00000001.json'
      await pass(world, 130)
      // As a prune does with the leases of dead processes.
      await world.storage.remove(key, never)
      const other = start(world)
      await turn()
      const runIn = () => JSON.parse(String(world.storage.objects.get(key) ?? '{}')).run
      const run = runIn()
      assert.deepEqual([other.hasBegun, typeof run], [true, 'string'])
      if (wakes !== 'ends') {
        isSuspended = false
        await pass(world, 42)
        assert.equal(runIn(), run)
      }
      suspended.end()
      await suspended.done
      assert.equal(runIn(), run)
      other.end()
      await other.done
      assert.deepEqual(world.keys(), [])
    })
  }

  test('whose clock is wrong finds another one, though the store lists new objects late', async () => {
    const world = new World()
    const first = start(world)
    await turn()
    const listed = world.keys()
    const storage = {
      ...world.storage,
      list: async function* (...args: Parameters<typeof world.storage.list>) {
        for await (const object of world.storage.list(...args)) if (listed.includes(object.key)) yield object
      },
    }
    const clock = { ...world.clock, now: () => world.clock.now() + 3_600_000 }
    const second = start(world, { storage, clock })
    await pass(world, 10)
    assert.deepEqual([first.hasBegun, second.hasBegun], [true, false])
    first.end()
    await first.done
    await pass(world, 4)
    assert.equal(second.hasBegun, true)
    second.end()
    await second.done
  })

  test('that was killed on this machine is not waited for', async () => {
    const world = new World()
    const identity = { machine: 'm1', processStart: 77 }
    await kill(world, { identity, pid: 7 })
    const next = start(world, { hasEnded: holder => holder.pid === 7 && holder.identity?.processStart === 77 })
    await turn()
    assert.equal(next.hasBegun, true)
    next.end()
    await next.done
  })

  test('that starts together with others works alone, and each gets its turn', async () => {
    const world = new World()
    const runs = [1, 2, 3, 4].map(() => start(world))
    for (let turns = 1; turns <= 4; turns++) {
      await pass(world, 12)
      assert.equal(runs.filter(({ hasBegun }) => hasBegun).length, turns)
      for (const run of runs) if (run.hasBegun) run.end()
    }
    await Promise.all(runs.map(({ done }) => done))
    assert.deepEqual(world.keys(), [])
  })

  test('that may not remove its lease says that it has ended, so that the next one does not wait', async () => {
    for (const mayReplace of [true, false]) {
      const world = new World()
      const denied = async () => {
        throw new KafkaBackupError('STORAGE_DENIED', 'no')
      }
      const storage = { ...world.storage, remove: denied, ...(mayReplace ? {} : { replace: denied }) }
      for (let i = 0; i < 3; i++) {
        const run = start(world, { storage })
        await turn()
        assert.equal(run.hasBegun, true)
        run.end()
        await run.done
      }
      assert.ok(world.keys().length >= 3)
    }
  })

  test('is no rival of a shard as a shard or as their commit, and a rival of every other writer', () => {
    const writer = (kind: string) => ({ role: 'writer', kind }) as const
    const rivalsOf = (kind: string) =>
      ['backup', 'shard', 'commit', 'copy', 'schemas backup'].filter(other => isRival(kind, writer(other)))
    assert.deepEqual(rivalsOf('backup'), ['backup', 'shard', 'commit', 'copy', 'schemas backup'])
    assert.deepEqual(rivalsOf('shard'), ['backup', 'copy', 'schemas backup'])
    assert.deepEqual(rivalsOf('commit'), ['backup', 'commit', 'copy', 'schemas backup'])
    assert.equal(isRival('backup', { role: 'reader', kind: 'restore' }), false)
  })

  test('waits for shards, which work side by side and wait for it', async () => {
    const world = new World()
    const shards = [1, 2].map(() => start(world, {}, 'shard'))
    await turn()
    assert.deepEqual(
      shards.map(({ hasBegun }) => hasBegun),
      [true, true],
    )
    const whole = start(world)
    await pass(world, 4)
    assert.equal(whole.hasBegun, false)
    for (const shard of shards) shard.end()
    await Promise.all(shards.map(({ done }) => done))
    await pass(world, 4)
    assert.equal(whole.hasBegun, true)
    const late = start(world, {}, 'shard')
    await pass(world, 4)
    assert.equal(late.hasBegun, false)
    whole.end()
    await whole.done
    await pass(world, 4)
    assert.equal(late.hasBegun, true)
    late.end()
    await late.done
  })
})

test('what a writer reads while it looks for others is read again when it had to wait for one', async () => {
  const world = new World()
  const written: string[][] = []
  const begin = () => {
    const end = Promise.withResolvers<void>()
    const onWritten = () => void written.push(world.keys('a/leases/'))
    const done = withLease(world.partsAt(), { ...backup, onWritten }, never, () => end.promise)
    return { done, end: end.resolve }
  }
  const first = begin()
  await turn()
  assert.deepEqual(written, [['a/leases/writer-00000001.json']])
  const second = begin()
  await pass(world, 4)
  assert.equal(written.length, 1, 'its lease is not written while another one is there')
  first.end()
  await first.done
  await pass(world, 4)
  assert.equal(written.length, 2)
  second.end()
  await second.done

  const endPrune = Promise.withResolvers<void>()
  const prune = world.hold('a', 'prune', () => endPrune.promise)
  await turn()
  const third = begin()
  await pass(world, 4)
  assert.equal(written.length, 3)
  endPrune.resolve()
  await prune
  await pass(world, 4)
  assert.equal(written.length, 4, 'a prune may have changed what was read')
  third.end()
  await third.done
})

test('a forged lease with the last number, or with one that no number follows, does not keep a writer from beginning', async () => {
  for (const forged of [['9007199254740992'], ['99999999', '100000000'], ['99999999', '00000001']]) {
    const world = new World()
    for (const number of forged) {
      await world.storage.create(`a/leases/writer-${number}.json`, Buffer.from('{}'), never)
    }
    world.clock.pass(2 * DAY)
    const run = start(world)
    await pass(world, 10)
    assert.equal(run.hasBegun, true, forged.join())
    run.end()
    await run.done
  }
})
