import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { openBackup, readGeneration } from '../../src/archive/catalog.ts'
import { keepGeneration } from '../../src/archive/log/keep-generation.ts'
import { commitKey } from '../../src/archive/log/keys.ts'
import { verifyBackup } from '../../src/archive/verify.ts'
import { never } from '../archive/sample-archive.ts'
import { LogRun } from './log-world.ts'
import { HOUR, World } from './world.ts'

/** A backup after so many rounds, and a copy of it that is continued by itself: from then on both have other objects. */
async function forked(rounds: number): Promise<{ world: World; other: World }> {
  const world = new World()
  await grow(world, rounds)
  const other = world.clone()
  for (let i = 0; i < 1000; i++) other.newRun()
  return { world, other }
}

async function grow(world: World, rounds: number): Promise<void> {
  await (await LogRun.open(world, 'a')).rounds(rounds, HOUR / 6)
}

/** A prune commits a checkpoint of its own. */
async function commitCheckpoint(world: World): Promise<void> {
  world.storage.modified.set(await world.stray('a'), 0)
  await world.prune({ graceMs: 100 * HOUR })
}

/** Puts a commit in the place of the one of the same number, with all that it names. */
function exchange(world: World, other: World, generation: number): void {
  const key = commitKey('a', generation)
  for (const [one, bytes] of other.storage.objects) {
    if (one !== key && world.storage.objects.has(one)) continue
    world.storage.objects.set(one, bytes)
    world.storage.modified.set(one, other.storage.modified.get(one) ?? assert.fail(one))
  }
}

describe('a prune of a backup in which a commit was exchanged for that of another log', () => {
  for (const isKept of [true, false]) {
    const what = isKept ? 'leaves what keeps the generation as it is' : 'does not keep that one instead, and names it'
    test(`whose generation is held ${what}`, async () => {
      const { world, other } = await forked(2)
      await grow(other, 2)
      await grow(world, 14)
      world.storage.objects.set('a/holds/000000000003.json', Buffer.from('{}'))
      const { run } = await readGeneration(world.storage, 'a', 3, never)
      if (isKept) await keepGeneration(world.storage, 'a', 3, never)
      exchange(world, other, 3)
      assert.notEqual((await readGeneration(world.storage, 'a', 3, never)).run, run)
      for (let i = 0; i < 2; i++) {
        world.clock.pass(3 * HOUR)
        const { notes } = await world.pruneOne({ graceMs: 2 * HOUR })
        assert.equal(notes.join().includes(commitKey('a', 3)), !isKept, notes.join())
      }
      assert.equal(world.storage.objects.has(commitKey('a', 3)), !isKept)
      if (isKept) assert.equal((await readGeneration(world.storage, 'a', 3, never)).run, run)
    })
  }

  test('removes nothing that the newest generation names', async () => {
    for (const exchanged of [9, 10, 11, 12, 13]) {
      const { world, other } = await forked(exchanged - 1)
      await grow(other, 1)
      await grow(world, 14 - exchanged)
      await commitCheckpoint(world)
      await grow(world, 2)
      exchange(world, other, exchanged)
      // The ninth commit is the cut, and the checkpoint of the thirteenth that of the newest: those in between are older than this.
      const { notes } = await world.pruneOne({ graceMs: 25 * 60_000 })
      const { problems } = await verifyBackup(
        world.storage,
        'a',
        { deep: false, onProgress: () => undefined, generation: 16 },
        never,
      )
      assert.deepEqual(problems, [], `${exchanged}`)
      assert.ok(notes.join().includes(commitKey('a', exchanged)), `${exchanged}: ${notes.join()}`)
    }
  })

  test('that is the newest removes nothing', async () => {
    const { world, other } = await forked(16)
    for (const one of [world, other]) {
      await grow(one, 2)
      await commitCheckpoint(one)
    }
    exchange(world, other, 19)
    assert.equal((await openBackup(world.storage, 'a', never)).generation, 19)
    const before = world.keys('a/')
    world.clock.pass(3 * HOUR)
    const { reasons } = await world.pruneOne({ graceMs: 2 * HOUR })
    const left = world.keys('a/')
    assert.deepEqual(
      before.filter(key => !left.includes(key) && !key.includes('/leases/')),
      [],
    )
    assert.ok(reasons.join().includes(`${commitKey('a', 19)} does not follow`), reasons.join())
  })
})
