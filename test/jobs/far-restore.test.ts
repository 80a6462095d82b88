import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseJob } from '../../src/config/load-job.ts'
import { runRestoreJob } from '../../src/jobs/restore.ts'
import type { Storage } from '../../src/storage/storage.ts'
import { encodeRun } from '../fakes/batches.ts'
import { fakeTopic } from '../fakes/fake-cluster.ts'
import { countStoreWaits, openFarStorage } from '../fakes/far-storage.ts'
import { openMemoryStorage } from '../fakes/memory-storage.ts'
import { backUpTopics, type FakeTarget, withFakeTarget } from '../restore/fake-target.ts'
import { World } from '../retention/world.ts'

const never = new AbortController().signal
const topics = () => [fakeTopic('orders', [[encodeRun(0n, 3)], [encodeRun(0n, 5)]])]

/** Restores the backup `b1` of a store into `<prefix>orders`. */
async function restore(target: FakeTarget, storage: Storage, prefix: string, more: object = {}) {
  const document = {
    mode: 'restore',
    backup_id: 'b1',
    target: { bootstrap_servers: target.fake.brokers.map(({ address }) => address) },
    storage: { backend: 's3', bucket: 'bucket', prefix: 'p', region: 'r', access_key_id: 'a', secret_access_key: 's' },
    restore: { replication_factor: 1, retention: 'apply', topic_mapping: { orders: `${prefix}orders` }, ...more },
  }
  const job = parseJob(JSON.stringify(document), { source: 'test', env: {}, mode: 'restore' })
  return runRestoreJob(job, { onProgress: () => undefined, decorateStorage: () => storage }, never)
}

test('a restore waits for a far store five times, from its start to its end', async () => {
  const near = openMemoryStorage()
  await withFakeTarget(
    topics(),
    async target => {
      // What is loaded once is loaded before it is counted.
      await restore(target, near, 'first-')
      let least: Awaited<ReturnType<typeof countStoreWaits>> | undefined
      for (let i = 0; i < 3 && (least?.roundTrips ?? 99) > 5; i++) {
        target.notes.clear()
        const far = openFarStorage(near)
        const counted = await countStoreWaits(far, () => restore(target, far.storage, `n${i}-`))
        if (counted.roundTrips <= (least?.roundTrips ?? 99)) least = counted
      }
      assert.equal(least?.roundTrips, 5, JSON.stringify(least?.waits, null, 1))
    },
    near,
  )
})

/** Calls `before` once, before the first lease is written. */
function beforeLease(storage: Storage, before: () => Promise<void>): Storage {
  let isCalled = false
  return {
    ...storage,
    create: async (key, body, signal) => {
      if (key.includes('/leases/') && !isCalled) {
        isCalled = true
        await before()
      }
      await storage.create(key, body, signal)
    },
  }
}

test('a restore whose generation is pruned before it has its lease restores the one that replaced it', async () => {
  const world = new World()
  await withFakeTarget(
    topics(),
    async target => {
      const pruned = beforeLease(world.storage, async () => {
        await backUpTopics(world.storage, topics())
        world.clock.pass(1000)
        await world.prune({ graceMs: 0 })
        assert.deepEqual(await world.generations('b1'), [2])
      })
      const report = await restore(target, pruned, 'pruned-')
      assert.equal(report.generation, 2)
      assert.equal(target.log('pruned-orders', 1).length, 1)
    },
    world.storage,
  )
})

test('a restore of a generation that is pruned before it has its lease is refused, and names those that are there', async () => {
  const world = new World()
  await withFakeTarget(
    topics(),
    async target => {
      const pruned = beforeLease(world.storage, async () => {
        await backUpTopics(world.storage, topics())
        world.clock.pass(1000)
        await world.prune({ graceMs: 0 })
      })
      await assert.rejects(restore(target, pruned, 'gone-', { generation: 1 }), {
        code: 'RESTORE_REFUSED',
        message: /has no generation 1; its newest is 2/,
      })
      assert.equal(target.topic('gone-orders'), undefined)
    },
    world.storage,
  )
})
