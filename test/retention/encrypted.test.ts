import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { listGenerations, openBackup } from '../../src/archive/catalog.ts'
import { prunedMarkKey } from '../../src/archive/layout.ts'
import { verifyBackup } from '../../src/archive/verify.ts'
import { withEncryption } from '../../src/encryption/encrypted-storage.ts'
import { deleteBackup } from '../../src/retention/delete-backup.ts'
import { never } from '../archive/sample-archive.ts'
import { givenKeys, keyOf, ownKeys } from '../encryption/samples.ts'
import { LogRun } from './log-world.ts'
import { DAY, HOUR, World } from './world.ts'

const key = keyOf(1)

/** A backup `a` that grew for five days, encrypted with its names hidden. */
async function grown(): Promise<World> {
  const world = new World()
  const storage = withEncryption(world.storage, ownKeys([key], true, 'a'))
  const folderOf = (await storage.keysFor('a', never))?.folderOf
  for (let day = 0; day < 5; day++) {
    await world.commit('a', { folderOf }, storage)
    world.clock.pass(DAY)
  }
  return world
}

describe('a backup that is encrypted, with hidden names', () => {
  test('is cut, and nothing that the prune writes tells a name or stands in the clear', async () => {
    const world = await grown()
    const storage = withEncryption(world.storage, givenKeys([key]))
    const { backups } = await world.prune({ olderThanMs: 2.5 * DAY, graceMs: 0 }, { storage })
    assert.deepEqual([backups[0]?.state, backups[0]?.trimmed.segments, backups[0]?.unknown], ['kept', 6, []])
    assert.deepEqual(
      world.keys().filter(one => one.includes('orders')),
      [],
    )
    for (const [name, body] of world.storage.objects) {
      if (!name.startsWith('a/keys/')) assert.ok(!body.includes('orders') && !body.includes('topic'), name)
    }
    assert.equal(world.keys('a/keys/').length, 1)
    assert.equal(world.keys('a/kafka/').filter(name => name.endsWith('.log')).length, 4)
    const report = await verifyBackup(storage, 'a', { deep: true, onProgress: () => undefined }, never)
    assert.deepEqual([...report.problems, ...report.warnings], [])
  })

  test('is left by a prune that lacks its key, which does the rest; when it is given up already it goes with its keys', async () => {
    const world = await grown()
    await world.commit('b')
    world.clock.pass(DAY)
    await world.commit('c')
    const storage = withEncryption(world.storage, givenKeys([keyOf(2)]))
    const before = world.keys('a/')
    const first = await world.prune({ keepLast: 1, graceMs: 0 }, { storage })
    assert.deepEqual(
      first.backups.map(({ state }) => state),
      ['left', 'removed', 'kept'],
    )
    assert.match(first.backups[0]?.reasons.join() ?? '', /cannot be read: .*encrypted/)
    assert.deepEqual(world.keys('a/'), before)
    assert.equal((await openBackup(withEncryption(world.storage, givenKeys([key])), 'a', never)).generation, 5)
    world.storage.objects.set(prunedMarkKey('a'), Buffer.from('{}'))
    const second = await world.prune({ keepLast: 1, graceMs: 0 }, { storage })
    assert.equal(second.backups[0]?.state, 'removed')
    assert.deepEqual(world.keys('a/'), [])
  })

  test('is deleted without its key', async () => {
    const world = await grown()
    // As the command opens it: whoever has lost the key may well want it gone.
    const { outcome } = await deleteBackup('a', world.partsAt(world.storage), { isDryRun: false }, never)
    assert.deepEqual([outcome.state, outcome.generationsRemoved, world.keys()], ['removed', 5, []])
  })

  test('of version 2 is thinned and cut in the same way, and is deleted without its key', async () => {
    const world = new World()
    const own = withEncryption(world.storage, ownKeys([key], true, 'a'))
    const folderOf = (await own.keysFor('a', never))?.folderOf
    await (await LogRun.open(world, 'a', own, folderOf)).rounds(24, 3 * HOUR)
    const storage = withEncryption(world.storage, givenKeys([key]))
    const rules = { olderThanMs: 2.5 * DAY, graceMs: 0, generations: { keepDaily: 3 } }
    for (let i = 0; i < 2; i++) {
      const { backups } = await world.prune(rules, { storage })
      assert.deepEqual([backups[0]?.state, backups[0]?.unknown], ['kept', []])
      world.clock.pass(HOUR)
    }
    assert.ok(world.keys('a/kept/').length > 0)
    for (const [name, body] of world.storage.objects) {
      const isPlain = name.includes('orders') || body.includes('orders') || body.includes('kafka-backup-')
      assert.ok(!isPlain || name.startsWith('a/keys/'), name)
    }
    const { problems } = await verifyBackup(storage, 'a', { deep: true, onProgress: () => undefined }, never)
    assert.deepEqual(problems, [])
    const generations = (await listGenerations(storage, 'a', never)).length
    const { outcome } = await deleteBackup('a', world.partsAt(), { isDryRun: false }, never)
    assert.deepEqual([outcome.state, outcome.generationsRemoved], ['removed', generations])
    assert.deepEqual(world.keys('a/'), [])
  })
})
