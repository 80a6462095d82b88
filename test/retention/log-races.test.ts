import assert from 'node:assert/strict'
import { test } from 'node:test'
import { listSegments } from '../../src/archive/indexes.ts'
import { verifyBackup } from '../../src/archive/verify.ts'
import { withLease } from '../../src/archive/writer-lease.ts'
import { hasCode } from '../../src/errors.ts'
import { confirmChosen, readChosen, relyOnChosen } from '../../src/restore/find-restore.ts'
import type { Storage } from '../../src/storage/storage.ts'
import { never } from '../archive/sample-archive.ts'
import { numbersToTry } from '../full.ts'
import { plainOptions } from '../restore/plain-options.ts'
import { LogRun } from './log-world.ts'
import { raceAgainst } from './racing.ts'
import { DAY, HOUR, type World } from './world.ts'

/** Each with its own seed. */
const races = numbersToTry(80)
const policy = { olderThanMs: 1.2 * DAY, graceMs: 0, generations: { keepDaily: 2 } }

/** Two days of version 2, a pack that nothing names, and one commit of the last minutes. */
async function begin(world: World): Promise<void> {
  await (await LogRun.open(world, 'a')).rounds(16, 3 * HOUR)
  await world.storage.create('a/packs/0a0b0c0d-1.pack', Buffer.alloc(9), never)
  world.clock.pass(HOUR)
}

async function assertWhole(world: World, what: string): Promise<void> {
  const { problems } = await verifyBackup(world.storage, 'a', { deep: true, onProgress: () => undefined }, never)
  assert.deepEqual(problems, [], what)
}

/** A reader of a restore: its lease, a generation, and in its own time all that this one names. It has read the generation before. */
async function readAll(world: World, storage: Storage, rest: () => Promise<void>): Promise<void> {
  const options = plainOptions({ backupId: 'a' })
  const early = readChosen(storage, options, never)
  early.catch(() => undefined)
  await rest()
  return withLease(world.partsAt(storage), { backupId: 'a', role: 'reader', kind: 'restore' }, never, async () => {
    const read = await confirmChosen(storage, options, early, never)
    const chosen = await relyOnChosen(read, storage, options, never)
    if ('problem' in chosen) throw chosen.problem
    for (const topic of chosen.manifest.topics) {
      for (const partition of topic.partitions) {
        await rest()
        for (const { key } of await listSegments(storage, topic, partition, never)) await storage.read(key, never)
      }
    }
  })
}

test('a prune and a restore of version 2 at the same time: nothing that is read is ever missing', async () => {
  for (const round of races) {
    const world = await raceAgainst(round, { begin, policy }, (one, storage, rest) => [
      () => readAll(one, storage, rest),
    ])
    await assertWhole(world, `round ${round}`)
  }
})

test('a prune and two writers of version 2 at the same time: every generation is whole, and no writer loses to a prune', async () => {
  const seen = { committed: 0, conflicts: 0 }
  for (const round of races) {
    const write = (one: World, storage: Storage) => async () => {
      const claim = { backupId: 'a', role: 'writer', kind: 'backup' } as const
      await withLease(one.partsAt(storage), claim, never, async () => {
        await (await LogRun.open(one, 'a', storage)).round()
        seen.committed++
      }).catch(error => {
        // The other writer is at work.
        if (!hasCode(error, 'WRITER_CONFLICT') || /committed generation/.test(error.message)) throw error
        seen.conflicts++
      })
    }
    const world = await raceAgainst(round, { begin, policy }, (one, storage) => [
      write(one, storage),
      write(one, storage),
    ])
    await assertWhole(world, `round ${round}`)
  }
  assert.ok(seen.committed > races.length, JSON.stringify(seen))
})

test('two prunes of version 2 at the same time harm nothing', async () => {
  for (const round of races) {
    const world = await raceAgainst(round, { begin, policy }, (one, storage) => [() => one.prune(policy, { storage })])
    await assertWhole(world, `round ${round}`)
    world.clock.pass(HOUR)
    await world.prune({ graceMs: 0 })
    await assertWhole(world, `round ${round}, pruned again`)
  }
})
