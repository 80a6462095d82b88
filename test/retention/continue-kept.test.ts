import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { listGenerations } from '../../src/archive/catalog.ts'
import { keepGeneration } from '../../src/archive/log/keep-generation.ts'
import { commitKey, keptKey } from '../../src/archive/log/keys.ts'
import { planRepair } from '../../src/archive/repair.ts'
import { verifyBackup } from '../../src/archive/verify.ts'
import { hasCode, KafkaBackupError } from '../../src/errors.ts'
import { deleteBackup } from '../../src/retention/delete-backup.ts'
import { keepExpired } from '../../src/retention/remove-backup.ts'
import type { Storage } from '../../src/storage/storage.ts'
import { never } from '../archive/sample-archive.ts'
import { Death } from './dying.ts'
import { LogRun, readAllGenerations } from './log-world.ts'
import { HOUR, World } from './world.ts'

const quiet = () => undefined

/** Generation 9 of 12 is kept, and all commits behind it are lost. */
async function keptNewest(): Promise<World> {
  const world = new World()
  await (await LogRun.open(world, 'a')).rounds(12, HOUR / 6)
  await keepGeneration(world.storage, 'a', 9, never)
  for (const lost of [10, 11, 12]) world.storage.objects.delete(commitKey('a', lost))
  return world
}

const damages: Record<string, (world: World) => void> = {
  'is damaged': ({ storage: { objects } }) => {
    objects.set(commitKey('a', 9), Buffer.from('damaged'))
  },
  'is lost, too': ({ storage: { objects } }) => {
    objects.delete(commitKey('a', 9))
  },
  'is lost with all before it': world => {
    for (const key of world.keys('a/commits/')) world.storage.objects.delete(key)
  },
}

describe('a kept generation is the newest state that is left, and its own commit', () => {
  for (const [damage, apply] of Object.entries(damages)) {
    test(`${damage}: the next runs continue it with generations that can be opened, in their order`, async () => {
      const world = await keptNewest()
      apply(world)
      const before = await listGenerations(world.storage, 'a', never)
      await (await LogRun.open(world, 'a')).rounds(1, HOUR / 6)
      await (await LogRun.open(world, 'a')).rounds(10, HOUR / 6)
      const after = await readAllGenerations(world.storage, 'a')
      assert.deepEqual([...after.keys()], [...before, ...Array.from({ length: 11 }, (_, i) => 10 + i)])
      assert.deepEqual(
        Array.from({ length: 12 }, (_, i) => after.get(9 + i)),
        Array.from({ length: 12 }, (_, i) => 20 * (9 + i)),
      )
    })
  }

  test('is damaged: verify and repair name it with the object that takes its place, and nothing has to be repaired', async () => {
    const world = await keptNewest()
    damages['is damaged']?.(world)
    await (await LogRun.open(world, 'a')).rounds(10, HOUR / 6)
    const replaced = new RegExp(`readable through ${keptKey('a', 9)}`)
    const { problems, warnings } = await verifyBackup(world.storage, 'a', { deep: true, onProgress: quiet }, never)
    assert.deepEqual(problems, [])
    assert.match(warnings.find(one => one.startsWith(`${commitKey('a', 9)}: it `)) ?? '', replaced)
    const options = { deep: true, onProgress: quiet, foundAt: '' }
    const { report } = await planRepair(world.storage, 'a', options, never)
    assert.deepEqual([report.needed, report.unreadable], [false, []])
    assert.deepEqual(
      report.problems.map(({ key }) => key),
      [commitKey('a', 9)],
    )
    assert.match(report.problems[0]?.problem ?? '', replaced)
  })

  test('comes back from a version of the bucket: it is the one that the next generation follows', async () => {
    for (const rounds of [1, 3]) {
      const world = await keptNewest()
      const { objects } = world.storage
      const commit = objects.get(commitKey('a', 9)) ?? assert.fail()
      damages['is damaged']?.(world)
      await (await LogRun.open(world, 'a')).rounds(rounds, HOUR)
      objects.set(commitKey('a', 9), commit)
      const { problems } = await verifyBackup(world.storage, 'a', { deep: true, onProgress: quiet }, never)
      assert.deepEqual(problems, [])
      const options = { deep: true, onProgress: quiet, foundAt: '' }
      const { report } = await planRepair(world.storage, 'a', options, never)
      assert.deepEqual([report.needed, report.unreadable, report.lost_commits], [false, [], []])
      const { notes } = await world.pruneOne({ graceMs: 2 * HOUR })
      assert.deepEqual(notes, [])
      assert.equal((await readAllGenerations(world.storage, 'a')).get(9 + rounds), 20 * (9 + rounds))
    }
  })

  test('is damaged: a prune removes it, and the generation stays readable while it is held', async () => {
    const world = await keptNewest()
    damages['is damaged']?.(world)
    await world.storage.create('a/holds/000000000009.json', Buffer.from('{}'), never)
    await (await LogRun.open(world, 'a')).rounds(12, HOUR)
    const { notes } = await world.pruneOne({ graceMs: 2 * HOUR })
    assert.deepEqual(notes, [])
    assert.equal(world.storage.objects.has(commitKey('a', 9)), false)
    const left = await readAllGenerations(world.storage, 'a')
    assert.deepEqual([left.get(9), Math.max(...left.keys())], [180, [...left.keys()].at(-1)])
  })

  for (const damage of Object.keys(damages)) {
    test(`${damage}: a prune does not remove the generation, though it is neither complete nor held`, async () => {
      const world = new World()
      const run = await LogRun.open(world, 'a')
      await run.rounds(8, HOUR)
      await run.round(false)
      await keepGeneration(world.storage, 'a', 9, never)
      damages[damage]?.(world)
      world.clock.pass(100 * HOUR)
      await world.prune({ graceMs: 2 * HOUR })
      assert.equal((await readAllGenerations(world.storage, 'a')).get(9), 180)
    })
  }

  for (const [damage, apply] of Object.entries(damages)) {
    test(`${damage}: a removal of the backup that dies leaves the generation readable, or cannot be undone`, async () => {
      const undone: boolean[] = []
      for (let nth = 1; nth <= 6; nth++) {
        const world = await keptNewest()
        apply(world)
        let removals = 0
        const remove: Storage['remove'] = async (key, signal) => {
          if (!key.includes('/leases/') && ++removals >= nth) throw new Death()
          return world.storage.remove(key, signal)
        }
        const parts = world.partsAt({ ...world.storage, remove })
        await assert.rejects(deleteBackup('a', parts, { isDryRun: false }, never), Death)
        world.clock.pass(HOUR)
        const keeping = keepExpired('a', world.partsAt(), never)
        const isUndone = await keeping.then(
          () => true,
          error => !hasCode(error, 'BACKUP_NOT_FOUND'),
        )
        undone.push(isUndone)
        if (isUndone) assert.equal((await readAllGenerations(world.storage, 'a')).get(9), 180, `removal ${nth}`)
      }
      assert.deepEqual([undone[0], undone.at(-1)], [true, false])
    })

    test(`${damage}: a removal of the backup leaves the generation readable if the store protects it`, async () => {
      const world = await keptNewest()
      apply(world)
      const remove: Storage['remove'] = async (key, signal) => {
        if (key === keptKey('a', 9)) throw new KafkaBackupError('STORAGE_RETAINED', `${key} is protected`)
        return world.storage.remove(key, signal)
      }
      await deleteBackup('a', world.partsAt({ ...world.storage, remove }), { isDryRun: false }, never)
      await keepExpired('a', world.partsAt(), never)
      assert.equal((await readAllGenerations(world.storage, 'a')).get(9), 180)
      await deleteBackup('a', world.partsAt(), { isDryRun: false }, never)
      assert.deepEqual(world.keys('a/'), [])
    })
  }
})
