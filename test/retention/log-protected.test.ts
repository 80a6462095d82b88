import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { verifyBackup } from '../../src/archive/verify.ts'
import { hasCode, KafkaBackupError } from '../../src/errors.ts'
import { deleteBackup } from '../../src/retention/delete-backup.ts'
import type { BackupOutcome } from '../../src/retention/outcome.ts'
import type { RetentionPolicy } from '../../src/retention/policy.ts'
import { keepExpired } from '../../src/retention/remove-backup.ts'
import type { Storage } from '../../src/storage/storage.ts'
import { never } from '../archive/sample-archive.ts'
import { Death, dying, momentsToTry } from './dying.ts'
import { LogRun, readAllGenerations } from './log-world.ts'
import { HOUR, World } from './world.ts'

const policy = { graceMs: 2 * HOUR }

/** A store that refuses to remove some objects; leases are not among them. */
function protecting(world: World, isProtected: (key: string) => boolean): Storage & { refused: string[] } {
  const refused: string[] = []
  return {
    ...world.storage,
    refused,
    remove: async (key, signal) => {
      if (key.includes('/leases/') || !isProtected(key)) return world.storage.remove(key, signal)
      refused.push(key)
      throw new KafkaBackupError('STORAGE_RETAINED', `${key} is protected`)
    },
  }
}

/** A retention policy of the bucket: what is younger cannot be removed. */
function lockedFor(world: World, ms: number): Storage & { refused: string[] } {
  return protecting(world, key => world.clock.now() - (world.storage.modified.get(key) ?? 0) < ms)
}

async function prune(world: World, storage: Storage, own: Partial<RetentionPolicy> = policy): Promise<BackupOutcome> {
  const { backups } = await world.prune(own, { storage })
  return backups[0] ?? assert.fail()
}

async function isWhole(world: World): Promise<void> {
  const { problems } = await verifyBackup(world.storage, 'a', { deep: true, onProgress: () => undefined }, never)
  // The rounds of this test do not renew the copy for people.
  assert.deepEqual(
    problems.filter(({ key }) => key !== 'a/manifest.json'),
    [],
  )
}

/** Rounds of ten minutes, on top of generations of version 1 if wanted. */
async function grown(rounds: number, before = 0): Promise<World> {
  const world = new World()
  for (let i = 0; i < before; i++) {
    await world.commit('a')
    world.clock.pass(HOUR / 6)
  }
  await (await LogRun.open(world, 'a')).rounds(rounds, HOUR / 6)
  return world
}

describe('a prune of a backup of version 2 in a store that protects objects', () => {
  test('removes what the store releases, and every generation that is left can be read', async () => {
    for (const before of [0, 3]) {
      const world = await grown(0, before)
      const lockMs = 5 * HOUR
      let protectedFor = 0
      for (let day = 0; day < 7; day++) {
        await (await LogRun.open(world, 'a')).rounds(12, HOUR / 6)
        const storage = lockedFor(world, lockMs)
        const { state, notes } = await prune(world, storage)
        assert.equal(state, 'kept')
        assert.ok(storage.refused.filter(key => key.includes('/commits/')).length < 8, `${storage.refused}`)
        if (notes.length > 0) {
          protectedFor++
          assert.match(notes.join(), /the store refused to remove generations? \d+.* stay until it releases them/)
        }
        await readAllGenerations(world.storage, 'a')
      }
      await isWhole(world)
      assert.ok(protectedFor > 3)
      const left = [...(await readAllGenerations(world.storage, 'a')).keys()]
      const [oldest = 0, newest = 0] = [left[0], left.at(-1)]
      // Five hours are thirty generations; a cut lies at most some rounds before them.
      assert.ok(newest - oldest >= 29 && newest - oldest < 50, `${left}`)
      const packs = world.keys('a/packs/').map(key => world.storage.modified.get(key) ?? 0)
      assert.ok(packs.filter(ms => ms < world.clock.now() - 2 * lockMs).length < 10, 'packs that nothing names go')
    }
  })

  test('keeps a single protected generation readable, also one between those that have gone', async () => {
    for (const held of [8, 17]) {
      const world = await grown(30)
      const all = await readAllGenerations(world.storage, 'a')
      const storage = protecting(world, key =>
        key.endsWith(`commits/000000000/${String(held).padStart(12, '0')}.json.zst`),
      )
      for (let i = 0; i < 3; i++) {
        await prune(world, storage)
        const left = await readAllGenerations(world.storage, 'a')
        assert.equal(left.get(held), all.get(held), `generation ${held}`)
        await isWhole(world)
        await (await LogRun.open(world, 'a')).rounds(12, HOUR / 6)
      }
      const left = [...(await readAllGenerations(world.storage, 'a')).keys()]
      assert.ok(!left.some(one => one > held && one < 30), `${left}`)
    }
  })

  test('keeps the commits that a protected generation is read from where its roll-up is damaged', async () => {
    const world = await grown(70)
    const all = await readAllGenerations(world.storage, 'a')
    const rollup = world.keys('a/rollups/').find(key => key.includes('/000000000001-000000000008.')) ?? assert.fail()
    world.storage.objects.delete(rollup)
    const storage = protecting(world, key => key.endsWith('commits/000000000/000000000020.json.zst'))
    const { notes } = await prune(world, storage, { graceMs: HOUR / 2 })
    assert.match(notes.join(), new RegExp(rollup))
    const left = await readAllGenerations(world.storage, 'a')
    assert.deepEqual([left.get(20), left.has(40)], [all.get(20), false])
  })

  test('keeps a held generation readable that lies behind a protected one, and whose own commit has gone', async () => {
    for (const [refused, held] of [
      [8, 17],
      [17, 8],
    ]) {
      const world = await grown(30)
      const all = await readAllGenerations(world.storage, 'a')
      await world.storage.create(`a/holds/${String(held).padStart(12, '0')}.json`, Buffer.from('{}'), never)
      const storage = protecting(world, key =>
        key.endsWith(`commits/000000000/${String(refused).padStart(12, '0')}.json.zst`),
      )
      for (let i = 0; i < 2; i++) {
        await prune(world, storage)
        const left = await readAllGenerations(world.storage, 'a')
        for (const one of [refused ?? 0, held ?? 0]) assert.equal(left.get(one), all.get(one), `generation ${one}`)
        await isWhole(world)
        await (await LogRun.open(world, 'a')).rounds(12, HOUR / 6)
      }
    }
  })

  test('keeps what a protected manifest of version 1 names, and what a protected commit of a kept generation names', async () => {
    const world = await grown(24, 3)
    await world.storage.create('a/holds/000000000010.json', Buffer.from('{}'), never)
    const storage = protecting(world, key => /\/manifests\/0*2\.json|\/kept\//.test(key))
    for (let i = 0; i < 3; i++) {
      if (i === 1) await world.storage.remove('a/holds/000000000010.json', never)
      await prune(world, storage)
      await (await LogRun.open(world, 'a')).rounds(12, HOUR / 6)
    }
    const left = [...(await readAllGenerations(world.storage, 'a')).keys()]
    assert.ok(left.includes(2) && left.includes(10) && !left.includes(1) && !left.includes(11), `${left}`)
    await isWhole(world)
  })
})

describe('the removal of a whole backup of version 2', () => {
  const remove = (world: World, storage: Storage = world.storage) =>
    deleteBackup('a', world.partsAt(storage), { isDryRun: false }, never)

  test('leaves what the store protects restorable, with its data, and continues when the protection has ended', async () => {
    for (const before of [0, 3]) {
      const world = await grown(30, before)
      const all = await readAllGenerations(world.storage, 'a')
      const { outcome } = await remove(world, lockedFor(world, 2 * HOUR))
      assert.deepEqual([outcome.state, outcome.generationsRemoved], ['given_up', before])
      await keepExpired('a', world.partsAt(), never)
      const left = await readAllGenerations(world.storage, 'a')
      assert.deepEqual([...left], [...all].slice(before))
      await isWhole(world)
      world.clock.pass(3 * HOUR)
      // The mark is new.
      await remove(
        world,
        protecting(world, key => key.endsWith('/pruned.json')),
      )
      assert.deepEqual(world.keys('a/'), ['a/manifests/pruned.json'])
      await remove(world)
      assert.deepEqual(world.keys('a/'), [])
    }
  })

  test('leaves a protected commit of a kept generation restorable', async () => {
    const world = await grown(30)
    await world.storage.create('a/holds/000000000010.json', Buffer.from('{}'), never)
    await prune(world, world.storage)
    await world.storage.remove('a/holds/000000000010.json', never)
    await remove(
      world,
      protecting(world, key => key.includes('/kept/')),
    )
    await keepExpired('a', world.partsAt(), never)
    assert.equal((await readAllGenerations(world.storage, 'a')).get(10), 200)
    await remove(world)
    assert.deepEqual(world.keys('a/'), [])
  })

  test('counts in a dry run what it removes', async () => {
    const world = await grown(30, 2)
    await world.storage.create('a/holds/000000000010.json', Buffer.from('{}'), never)
    await prune(world, world.storage)
    await world.storage.remove('a/holds/000000000010.json', never)
    const objects = world.keys('a/').length
    const plan = await deleteBackup('a', world.partsAt(), { isDryRun: true }, never)
    const { outcome } = await remove(world)
    assert.deepEqual(plan.outcome.removed, outcome.removed)
    assert.equal(plan.outcome.generationsRemoved, outcome.generationsRemoved)
    assert.equal(outcome.removed.objects, objects)
  })

  test('cannot be undone once the newest commit has gone, though the marker is left', async () => {
    const world = await grown(12)
    const kill = async (key: string, signal: AbortSignal) => {
      if (key.endsWith('/manifests/00000001.json')) throw new Death()
      return world.storage.remove(key, signal)
    }
    await assert.rejects(remove(world, { ...world.storage, remove: kill }), Death)
    world.clock.pass(HOUR)
    await assert.rejects(keepExpired('a', world.partsAt(), never), /its removal has begun/)
    await remove(world)
    assert.deepEqual(world.keys('a/'), [])
  })

  test('one that dies at any call to the store leaves the newest generation whole, or cannot be undone', async () => {
    const whole = await grown(12)
    const counted = dying(whole.storage, 0, 'kill-before')
    await remove(whole, counted.storage)
    let [kept, begun] = [0, 0]
    for (const [nth, moment] of momentsToTry(counted.calls.length)) {
      const world = await grown(12)
      await remove(world, dying(world.storage, nth, moment).storage).catch(error => assert.ok(error instanceof Death))
      world.clock.pass(HOUR)
      const isKept = await keepExpired('a', world.partsAt(), never).then(
        () => true,
        error => {
          assert.ok(hasCode(error, 'BACKUP_NOT_FOUND'), String(error))
          return /has not expired/.test(error.message)
        },
      )
      if (isKept) {
        assert.equal((await readAllGenerations(world.storage, 'a')).get(12), 240, `${moment} ${nth}`)
        kept++
      } else begun++
      await remove(world)
      assert.deepEqual(world.keys('a/'), [], `${moment} ${nth}`)
    }
    assert.ok(kept > 3 && begun > 3, `${kept} ${begun}`)
  })
})
