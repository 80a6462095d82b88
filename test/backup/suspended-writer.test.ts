import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { listGenerations, scanManifests } from '../../src/archive/catalog.ts'
import { verifyBackup } from '../../src/archive/verify.ts'
import { withLease } from '../../src/archive/writer-lease.ts'
import type { BackupOptions } from '../../src/backup/backup-options.ts'
import { runBackup } from '../../src/backup/run-backup.ts'
import { runContinuous } from '../../src/backup/run-continuous.ts'
import { runShard } from '../../src/backup/run-shard.ts'
import { hasCode } from '../../src/errors.ts'
import { backupSchemas } from '../../src/registry/backup-schemas.ts'
import { deleteBackup } from '../../src/retention/delete-backup.ts'
import { pruneClaim } from '../../src/retention/prune-context.ts'
import type { Storage } from '../../src/storage/storage.ts'
import { encodeRun } from '../fakes/batches.ts'
import { fakeTopic, startFakeCluster } from '../fakes/fake-cluster.ts'
import { snapshotOf, versionOf } from '../fakes/registry-snapshots.ts'
import { World } from '../retention/world.ts'
import { plainOptions } from './plain-options.ts'

const never = new AbortController().signal
const options = plainOptions({ backupId: 'a', compression: 'auto', commitIntervalMs: 3_600_000 })

interface Suspension {
  /** Another process meanwhile. */
  meanwhile: (world: World) => Promise<unknown>
  /** In the log of the only partition. */
  batches?: number
  run?: typeof runBackup | ((...args: Parameters<typeof runBackup>) => Promise<unknown>)
}

/** Runs a backup that is suspended for three minutes at the object whose key contains `at`; not at all without one. */
async function suspend(
  world: World,
  at: string | undefined,
  { meanwhile, run = runBackup, batches = 3 }: Suspension,
): Promise<void> {
  const log = Array.from({ length: batches }, (_, i) => encodeRun(BigInt(10 * i), 10))
  const fake = await startFakeCluster([fakeTopic('orders', [log])])
  const cluster = await fake.open()
  let asleep: PromiseWithResolvers<void> | undefined
  let isOver = false
  const fallAsleep = async (key: string) => {
    if (at === undefined || !key.includes(at) || isOver) return
    isOver = true
    asleep = Promise.withResolvers()
    world.clock.pass(180_000)
    await meanwhile(world)
    asleep.resolve()
  }
  const storage: Storage = {
    ...world.storage,
    create: async (key, body, signal) => {
      await fallAsleep(key)
      return world.storage.create(key, body, signal)
    },
    openWriter: async (key, signal) => {
      const writer = await world.storage.openWriter(key, signal)
      const commit = async (committing: AbortSignal) => {
        await writer.commit(committing)
        await fallAsleep(key)
      }
      return { write: writer.write.bind(writer), commit, abort: writer.abort.bind(writer) }
    },
    replace: async (key, body, signal) => {
      await asleep?.promise
      return world.storage.replace(key, body, signal)
    },
  }
  try {
    await withLease(world.partsAt(storage), { backupId: 'a', role: 'writer', kind: 'backup' }, never, lease =>
      run(options, { ...world.partsAt(storage), cluster, lease }, never),
    )
    assert.equal(isOver, at !== undefined, 'the run was never suspended')
  } finally {
    await fake.close()
  }
}

/** One round of a continuous run, which begins with version 2. */
async function runRound(own: BackupOptions, parts: Parameters<typeof runBackup>[1]): Promise<void> {
  const stop = new AbortController()
  const over = new Error('one round is enough')
  const afterRound: NonNullable<typeof parts.afterRound> = async newest => {
    stop.abort(over)
    return newest
  }
  const continuous = { ...own, continuous: true, beginsLog: true }
  await runContinuous(continuous, { ...parts, afterRound }, stop.signal).catch(error => {
    if (error !== over) throw error
  })
}

const backUp = (world: World) => suspend(world, undefined, { meanwhile: async () => undefined, batches: 2 })
const remove = (world: World) => deleteBackup('a', world.partsAt(), { isDryRun: false }, never)
const isConflict = (error: unknown) => hasCode(error, 'WRITER_CONFLICT')

describe('a backup that was suspended for longer than its lease', () => {
  test('commits nothing when its backup was deleted meanwhile', async () => {
    for (const hasPrevious of [false, true]) {
      const world = new World()
      if (hasPrevious) await backUp(world)
      await assert.rejects(suspend(world, '/index-', { meanwhile: remove }), isConflict)
      assert.equal((await scanManifests(world.storage, 'a', never)).manifests.size, 0)
    }
  })

  test('commits nothing when its backup was deleted and begun again meanwhile', async () => {
    const world = new World()
    await backUp(world)
    const meanwhile = async () => {
      await remove(world)
      await backUp(world)
    }
    await assert.rejects(suspend(world, '/index-', { meanwhile }), isConflict)
    assert.deepEqual(await world.generations('a'), [1])
    const { problems } = await verifyBackup(world.storage, 'a', { deep: true, onProgress: () => undefined }, never)
    assert.deepEqual(problems, [])
  })

  test('commits nothing while a prune is at work', async () => {
    const world = new World()
    const end = Promise.withResolvers<void>()
    let prune: Promise<unknown> = Promise.resolve()
    const meanwhile = () =>
      new Promise<void>(resolve => {
        prune = withLease(world.partsAt(), pruneClaim('a'), never, async () => {
          resolve()
          await end.promise
        })
      })
    await assert.rejects(suspend(world, '/index-', { meanwhile }), isConflict)
    end.resolve()
    await prune
  })

  test('commits nothing of version 2 either, and its packs are not missed', async () => {
    const deleted = async (world: World) => {
      await remove(world)
      await suspend(world, undefined, { meanwhile: async () => undefined, batches: 2, run: runRound })
    }
    for (const meanwhile of [remove, deleted]) {
      const world = new World()
      await suspend(world, undefined, { meanwhile: async () => undefined, batches: 2, run: runRound })
      await assert.rejects(suspend(world, '/packs/', { meanwhile, run: runRound }), isConflict)
      const left = await listGenerations(world.storage, 'a', never)
      assert.deepEqual(left, meanwhile === remove ? [] : [1])
    }
    const world = new World()
    await suspend(world, '/packs/', { meanwhile: async () => undefined, run: runRound })
    assert.deepEqual(await listGenerations(world.storage, 'a', never), [1])
    const { problems } = await verifyBackup(world.storage, 'a', { deep: true, onProgress: () => undefined }, never)
    assert.deepEqual(problems, [])
  })

  test('of version 2 loses to a prune that has swept its pack', async () => {
    const world = new World()
    await suspend(world, undefined, { meanwhile: async () => undefined, batches: 2, run: runRound })
    const meanwhile = () => world.prune({ graceMs: 0 })
    await assert.rejects(suspend(world, '/packs/', { meanwhile, run: runRound }), isConflict)
    const { problems } = await verifyBackup(world.storage, 'a', { deep: true, onProgress: () => undefined }, never)
    assert.deepEqual(problems, [])
  })

  test('commits when nothing was changed meanwhile', async () => {
    const world = new World()
    await suspend(world, '/index-', { meanwhile: async () => undefined })
    assert.deepEqual(await world.generations('a'), [1])
    assert.deepEqual(world.keys('a/leases/'), [])
  })

  test('commits no schemas either', async () => {
    const world = new World()
    await world.commit('a')
    const held = { backupId: 'a', role: 'writer', kind: 'schemas backup' } as const
    const backUpSchemas = withLease(world.partsAt(), held, never, lease => {
      const readRegistry = async () => {
        world.clock.pass(180_000)
        return snapshotOf([versionOf('s', 1, 1)])
      }
      const assertHeld = () => lease?.assertHeld()
      return backupSchemas('a', { ...world.partsAt(), readRegistry, assertHeld }, never)
    })
    await assert.rejects(backUpSchemas, isConflict)
    assert.deepEqual(await world.generations('a'), [1])
  })

  test('writes no document of a shard that names removed segments', async () => {
    const world = new World()
    const run: Suspension['run'] = (given, parts, signal) => runShard(given, { index: 0, count: 1 }, parts, signal)
    await assert.rejects(suspend(world, '.log', { meanwhile: remove, run }), isConflict)
    assert.deepEqual(world.keys('a/shards/'), [])
  })
})
