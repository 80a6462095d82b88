import assert from 'node:assert/strict'
import { test } from 'node:test'
import { listSegments } from '../../src/archive/indexes.ts'
import { commitKey, keptKey } from '../../src/archive/log/keys.ts'
import { withLease } from '../../src/archive/writer-lease.ts'
import { confirmChosen, readChosen, relyOnChosen } from '../../src/restore/find-restore.ts'
import { deleteBackup } from '../../src/retention/delete-backup.ts'
import type { Storage } from '../../src/storage/storage.ts'
import { never } from '../archive/sample-archive.ts'
import { plainOptions } from '../restore/plain-options.ts'
import { LogRun } from './log-world.ts'
import { DAY, HOUR, World } from './world.ts'

/** A restore that reads its generation, then meets what happens before its lease is written, and reads all segments. The run of the generation. */
async function restore(world: World, generation: number, meanwhile: () => Promise<unknown>): Promise<string> {
  const { storage } = world
  const options = plainOptions({ backupId: 'a', generation })
  const early = readChosen(storage, options, never)
  await early
  await meanwhile()
  return withLease(world.partsAt(), { backupId: 'a', role: 'reader', kind: 'restore' }, never, async () => {
    const chosen = await relyOnChosen(await confirmChosen(storage, options, early, never), storage, options, never)
    if ('problem' in chosen) throw chosen.problem
    const { topics, run } = chosen.manifest
    for (const topic of topics) {
      for (const partition of topic.partitions) {
        for (const { key } of await listSegments(storage, topic, partition, never)) await storage.read(key, never)
      }
    }
    return run
  })
}

test('a generation whose commit a prune has replaced by one in kept/ is read from that one', async () => {
  const world = new World()
  const rules = { graceMs: 2 * HOUR, generations: { keepHourly: 3 } }
  // The generations after the first prune begin with its checkpoint, whose pages the last one removes.
  for (let i = 0; i < 2; i++) {
    await (await LogRun.open(world, 'a')).rounds(24, HOUR / 6)
    await world.prune(rules)
  }
  world.clock.pass(3 * HOUR)
  const pruned = world.clone()
  await pruned.prune(rules)
  const isReplaced = (one: number) =>
    world.storage.objects.has(commitKey('a', one)) &&
    !pruned.storage.objects.has(commitKey('a', one)) &&
    pruned.storage.objects.has(keptKey('a', one))
  const replaced = Array.from({ length: 60 }, (_, i) => i + 1).filter(isReplaced)
  assert.ok(replaced.length > 0)
  for (const generation of replaced) {
    const one = world.clone()
    await restore(one, generation, () => one.prune(rules))
  }
})

/** The store of a removal, which is held up before the first object that the test is interested in. */
function holdRemoval(storage: Storage, isHeld: (key: string) => boolean) {
  const reached = Promise.withResolvers<void>()
  const released = Promise.withResolvers<void>()
  const held: Storage = {
    ...storage,
    remove: async (key, signal) => {
      if (isHeld(key)) {
        reached.resolve()
        await released.promise
      }
      await storage.remove(key, signal)
    },
  }
  return { held, reached: reached.promise, release: released.resolve }
}

test('an older generation of version 2 is refused when the removal of its backup had looked for leases before', async () => {
  const world = new World()
  await (await LogRun.open(world, 'a')).rounds(4, HOUR)
  // All but the marker and the newest commit go after the leases were read.
  const { held, reached, release } = holdRemoval(world.storage, key => key === commitKey('a', 2))
  let deleting: Promise<unknown> | undefined
  const restored = restore(world, 2, async () => {
    deleting = deleteBackup('a', world.partsAt(held), { isDryRun: false }, never)
    await reached
  })
  await assert.rejects(restored, { code: 'BACKUP_PRUNED' })
  release()
  await deleting
})

test('a backup that was deleted and made again under the same id is read as it is now', async () => {
  const world = new World()
  const { run: before } = await world.commit('a')
  let after: string | undefined
  const read = await restore(world, 1, async () => {
    await deleteBackup('a', world.partsAt(), { isDryRun: false }, never)
    world.clock.pass(DAY)
    after = (await world.commit('a')).run
  })
  assert.notEqual(before, after)
  assert.equal(read, after)
})
