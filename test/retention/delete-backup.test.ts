import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { openBackup } from '../../src/archive/catalog.ts'
import { verifyBackup } from '../../src/archive/verify.ts'
import { KafkaBackupError } from '../../src/errors.ts'
import { type DeleteReport, deleteBackup, findBackups } from '../../src/retention/delete-backup.ts'
import type { Storage } from '../../src/storage/storage.ts'
import { never } from '../archive/sample-archive.ts'
import { Death, dying, momentsToTry } from './dying.ts'
import { DAY, World } from './world.ts'

const MINUTE = 60_000

/** A backup with all that one can have, between others whose ids begin alike, and a snapshot of groups. */
async function prepare(world: World): Promise<void> {
  for (const id of ['order', 'orders-2', 'orders.2']) await world.commit(id, { partitions: 1 })
  for (let i = 0; i < 2; i++) await world.commit('orders')
  await world.stray('orders')
  const more = ['keys/k.json', 'restores/r.json', 'reports/r.json', 'schema-registry/s/1.json', 'kafka/groups-1.x.json']
  for (const path of [...more, 'shards/00000003/shard-0-of-2.x.json', 'leases/dead.json', 'leases/dead.1.json']) {
    world.storage.objects.set(`orders/${path}`, Buffer.from('{}'))
  }
  world.storage.objects.set('offset-snapshots/20260131t080000z-1a2b3c4d.json', Buffer.from('{}'))
  world.clock.pass(DAY)
}

function remove(
  world: World,
  options: { storage?: Storage; isDryRun?: boolean; id?: string } = {},
): Promise<DeleteReport> {
  const { storage, isDryRun = false, id = 'orders' } = options
  return deleteBackup(id, world.partsAt(storage), { isDryRun }, never)
}

const ofOthers = (world: World) => world.keys().filter(key => !key.startsWith('orders/'))

describe('delete', () => {
  test('removes all of a backup, also the newest, and nothing else', async () => {
    const world = new World()
    await prepare(world)
    const others = ofOthers(world)
    const count = world.keys('orders/').length
    const { isFound, outcome } = await remove(world)
    assert.deepEqual([isFound, outcome.state, outcome.generationsRemoved], [true, 'removed', 2])
    assert.equal(outcome.removed.objects, count - 2, 'leases of the dead are not counted')
    assert.deepEqual(world.keys(), others)
  })

  test('a dry run counts the same and changes nothing', async () => {
    const world = new World()
    await prepare(world)
    const before = world.keys()
    const plan = await remove(world, { isDryRun: true })
    assert.deepEqual(world.keys(), before)
    const { removed, generationsRemoved } = (await remove(world)).outcome
    assert.deepEqual([plan.outcome.removed, plan.outcome.generationsRemoved], [removed, generationsRemoved])
  })

  test('what is not there needs no removal, and what is none of a backup stays', async () => {
    const world = new World()
    assert.deepEqual([(await remove(world)).isFound, world.keys()], [false, []])
    world.storage.objects.set('orders/notes.txt', Buffer.from('mine'))
    const noted = await remove(world)
    assert.deepEqual([noted.isFound, noted.outcome.unknown], [false, ['orders/notes.txt']])
    await world.commit('orders')
    assert.deepEqual((await remove(world)).outcome.unknown, ['orders/notes.txt'])
    assert.deepEqual(world.keys(), ['orders/notes.txt'])
  })

  test('removes what was never committed, what is marked, and what is damaged', async () => {
    const world = new World()
    await world.stray('orders')
    assert.equal((await remove(world)).isFound, true)
    assert.deepEqual(world.keys(), [])
    await world.commit('a')
    await world.commit('orders')
    world.clock.pass(DAY)
    await world.commit('orders-new')
    await world.prune({ match: ['a', 'orders', 'orders-new'], keepLast: 1 })
    assert.ok(world.keys().includes('orders/manifests/pruned.json'))
    await remove(world)
    assert.deepEqual(world.keys('orders/'), [])
    world.storage.objects.set('a/manifests/00000001.json', Buffer.from('{"broken'))
    await remove(world, { id: 'a' })
    assert.deepEqual(world.keys('a/'), [])
  })

  test('the id can be used again', async () => {
    const world = new World()
    await prepare(world)
    await remove(world)
    await world.commit('orders')
    assert.equal((await openBackup(world.storage, 'orders', never)).generation, 1)
    const report = await verifyBackup(world.storage, 'orders', { deep: true, onProgress: () => undefined }, never)
    assert.deepEqual(report.problems, [])
  })

  test('is refused while anybody works with the backup, and touches nothing', async () => {
    for (const role of ['reader', 'writer', 'prune'] as const) {
      const world = new World()
      await prepare(world)
      await world.hold('orders', role, async () => {
        const before = world.keys()
        for (const isDryRun of [false, true]) {
          await assert.rejects(remove(world, { isDryRun }), (error: unknown) => {
            assert.ok(error instanceof KafkaBackupError)
            assert.deepEqual([error.code, error.exitCode, error.retryable], ['BACKUP_IN_USE', 5, true])
            assert.match(error.message, new RegExp(`\`orders\` is in use.*${role} on h1`))
            return true
          })
        }
        assert.deepEqual(world.keys(), before)
      })
      await remove(world)
      assert.deepEqual(world.keys('orders/'), [])
    }
  })

  test('gives way to a reader that comes while it begins, and leaves the backup whole', async () => {
    const world = new World()
    await world.commit('orders')
    const { promise: released, resolve: release } = Promise.withResolvers<void>()
    let held: Promise<unknown> = Promise.resolve()
    const storage = new Proxy(world.storage, {
      get: (target, name: keyof Storage) => {
        const call = target[name]
        if (name !== 'replace') return typeof call === 'function' ? (call as () => void).bind(target) : call
        return async (...args: Parameters<Storage['replace']>) => {
          await target.replace(...args)
          const isHeld = Promise.withResolvers<void>()
          held = world.hold('orders', 'reader', () => {
            isHeld.resolve()
            return released
          })
          await isHeld.promise
        }
      },
    })
    await assert.rejects(remove(world, { storage }), { code: 'BACKUP_IN_USE' })
    assert.equal((await openBackup(world.storage, 'orders', never)).generation, 1)
    release()
    await held
    assert.deepEqual(await world.missing(), [])
  })

  test('what the store protects is told, and goes when it is run again', async () => {
    const world = new World()
    await prepare(world)
    const storage = locked(world.storage, /manifests\/00000002\.json$/)
    const { outcome } = await remove(world, { storage })
    assert.deepEqual([outcome.state, outcome.retained.objects], ['given_up', 1])
    assert.deepEqual(await world.missing(), [], 'what a manifest names that stays, stays as well')
    await remove(world)
    assert.deepEqual(world.keys('orders/'), [])
  })

  test('backups are found by patterns, and nothing else is', async () => {
    const world = new World()
    await prepare(world)
    world.storage.objects.set('.hidden/x', Buffer.from('x'))
    const find = (...match: string[]) => findBackups(world.storage, match, never)
    assert.deepEqual(await find('*'), ['order', 'orders', 'orders-2', 'orders.2'])
    assert.deepEqual(await find('orders-?', 'order'), ['order', 'orders-2'])
    assert.deepEqual(await find('none'), [])
  })

  test('refuses what is not a valid backup id', async () => {
    const world = new World()
    await prepare(world)
    const before = world.keys()
    for (const id of ['', '.', '..', 'orders/kafka', '../orders', '*', 'offset-snapshots', 'a b', 'x'.repeat(201)]) {
      await assert.rejects(remove(world, { id }), { code: 'USAGE' }, id)
    }
    assert.deepEqual(world.keys(), before)
  })

  test('one that dies at any call to the store is ended by the next, and touches no other backup', async () => {
    const whole = new World()
    await prepare(whole)
    const counting = dying(whole.storage, 0, 'kill-before')
    await remove(whole, { storage: counting.storage })
    const others = ofOthers(whole)
    assert.ok(counting.calls.length > 30, `only ${counting.calls.length} calls`)
    const moments = momentsToTry(counting.calls.length)
    let deaths = 0
    for (const [nth, moment] of moments) {
      const world = new World()
      await prepare(world)
      const { storage } = dying(world.storage, nth, moment)
      const died = await remove(world, { storage }).then(
        () => false,
        error => error instanceof Death,
      )
      deaths += died ? 1 : 0
      assert.deepEqual(await world.missing(), [], `${moment} ${nth}`)
      // Others wait for the lease of the one that died, and so does the next.
      world.clock.pass(2 * MINUTE)
      await remove(world)
      assert.deepEqual(world.keys(), others, `${moment} ${nth}`)
    }
    assert.ok(deaths > 0.8 * moments.length, `${deaths} deaths of ${moments.length} moments`)
  })
})

/** A store that does not let objects go whose keys match. */
function locked(storage: Storage, pattern: RegExp): Storage {
  return new Proxy(storage, {
    get: (target, name: keyof Storage) => {
      const call = target[name]
      if (name !== 'remove') return typeof call === 'function' ? (call as () => void).bind(target) : call
      return async (key: string, signal: AbortSignal) => {
        if (pattern.test(key)) throw new KafkaBackupError('STORAGE_RETAINED', `${key} is locked`)
        return target.remove(key, signal)
      }
    },
  })
}
