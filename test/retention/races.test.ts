import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openBackup } from '../../src/archive/catalog.ts'
import { verifyBackup } from '../../src/archive/verify.ts'
import { withLease } from '../../src/archive/writer-lease.ts'
import { hasCode } from '../../src/errors.ts'
import { holdGeneration } from '../../src/retention/hold-generation.ts'
import { ReferenceReader } from '../../src/retention/reference-reader.ts'
import type { Storage } from '../../src/storage/storage.ts'
import { never } from '../archive/sample-archive.ts'
import { createRandom } from '../fakes/faulty-storage.ts'
import { numbersToTry } from '../full.ts'
import { DAY, World } from './world.ts'

/** Every call waits for some turns of the loop, so that what runs at the same time meets in another order each time. */
function shuffled(storage: Storage, random: () => number): Storage {
  const turns = async () => {
    for (let left = Math.floor(random() * 8); left > 0; left--) await new Promise(resolve => setImmediate(resolve))
  }
  const after =
    <A extends unknown[], R>(call: (...args: A) => Promise<R>) =>
    async (...args: A): Promise<R> => {
      await turns()
      return call(...args)
    }
  return {
    ...storage,
    create: after(storage.create),
    replace: after(storage.replace),
    read: after(storage.read),
    readRange: after(storage.readRange),
    stat: after(storage.stat),
    remove: after(storage.remove),
    list: async function* (...args) {
      await turns()
      yield* storage.list(...args)
    },
  }
}

/** Each with its own seed. */
const races = numbersToTry(200)
const policy = { olderThanMs: 2.5 * DAY, graceMs: 0, keepLast: 1 }

/** A reader of a restore: its lease, a manifest, and in its own time all that this one names. */
async function readAll(
  world: World,
  storage: Storage,
  id: string,
  rest: () => Promise<void>,
): Promise<'read' | 'refused'> {
  return withLease(world.partsAt(storage), { backupId: id, role: 'reader', kind: 'restore' }, never, async () => {
    let named: Set<string>
    try {
      named = await new ReferenceReader(storage).read(await openBackup(storage, id, never), never)
    } catch (error) {
      // It is given up, or its manifests are gone; that is told before anything is read.
      if (hasCode(error, 'BACKUP_PRUNED', 'BACKUP_NOT_FOUND', 'STORAGE_NOT_FOUND')) return 'refused'
      throw error
    }
    await rest()
    for (const key of named) await storage.read(key, never)
    return 'read'
  })
}

type Others = (world: World, storage: Storage, rest: () => Promise<void>) => (() => Promise<unknown>)[]

async function race(round: number, others: Others): Promise<World> {
  const random = createRandom(round)
  const world = new World()
  await world.commit('old', { partitions: 1 })
  for (let day = 0; day < 4; day++) {
    await world.commit('a', { partitions: 1 })
    world.clock.pass(DAY)
  }
  await world.stray('a')
  const storage = shuffled(world.storage, random)
  const rest = async () => {
    for (let left = Math.floor(random() * 200); left > 0; left--) await new Promise(resolve => setImmediate(resolve))
  }
  const late = async (work: () => Promise<unknown>) => {
    await rest()
    return work()
  }
  let isOver = false
  const works = [() => world.prune(policy, { storage }), ...others(world, storage, rest)]
  const all = Promise.all(works.map(late)).finally(() => {
    isOver = true
  })
  all.catch(() => undefined)
  // Who waits for a prune sleeps two seconds at a time.
  while (!isOver) {
    await new Promise(resolve => setImmediate(resolve))
    world.clock.pass(5)
  }
  await all
  assert.deepEqual(await world.missing(), [], `round ${round}`)
  return world
}

test('a prune and a restore at the same time: nothing that is read is ever missing', async () => {
  const seen = { read: 0, refused: 0 }
  for (const round of races) {
    await race(round, (world, storage, rest) =>
      ['a', 'old'].map(id => async () => {
        seen[await readAll(world, storage, id, rest)]++
      }),
    )
  }
  // Both ends of the race are among the rounds.
  assert.ok(seen.read > races.length && seen.refused > 0, JSON.stringify(seen))
})

test('a prune and two writers at the same time: every generation is whole, and no writer loses to a prune', async () => {
  let conflicts = 0
  for (const round of races) {
    const world = await race(round, (world, storage) => [
      () =>
        withLease(world.partsAt(storage), { backupId: 'a', role: 'writer', kind: 'backup' }, never, () =>
          world.commit('a', { partitions: 1 }, storage).catch(error => {
            if (!hasCode(error, 'WRITER_CONFLICT')) throw error
            conflicts++
          }),
        ),
      () =>
        withLease(world.partsAt(storage), { backupId: 'new', role: 'writer', kind: 'backup' }, never, () =>
          world.commit('new', { partitions: 1 }, storage),
        ),
    ])
    for (const id of ['a', 'new']) {
      const report = await verifyBackup(world.storage, id, { deep: true, onProgress: () => undefined }, never)
      assert.deepEqual(report.problems, [], `round ${round}`)
    }
  }
  assert.equal(conflicts, 0)
})

test('two prunes at the same time harm nothing', async () => {
  for (const round of numbersToTry(60)) await race(round, (world, storage) => [() => world.prune(policy, { storage })])
})

test('a hold and a prune at the same time: what is held stays intact, or the hold fails', async () => {
  const seen: Record<string, number> = {}
  for (const round of races) {
    const held: [string, number][] = []
    const world = await race(round, (world, storage) =>
      [
        { id: 'a', generation: 2 },
        { id: 'old', generation: 1 },
      ].map(({ id, generation }) => async () => {
        const result = await holdGeneration(id, { generation, reason: '' }, world.partsAt(storage), never).then(
          () => 'held',
          error => error.code,
        )
        if (result === 'held') held.push([id, generation])
        seen[`${id} ${result}`] = (seen[`${id} ${result}`] ?? 0) + 1
      }),
    )
    // A later prune honors it as well.
    await world.prune(policy)
    for (const [id, generation] of held) {
      const options = { deep: true, generation, onProgress: () => undefined }
      const { ok, problems } = await verifyBackup(world.storage, id, options, never)
      assert.deepEqual([ok, problems], [true, []], `round ${round}`)
    }
  }
  const known = /^(a|old) (held|WRITER_CONFLICT|GENERATION_NOT_FOUND|BACKUP_NOT_FOUND|BACKUP_PRUNED)$/
  assert.deepEqual(
    Object.keys(seen).filter(key => !known.test(key)),
    [],
    JSON.stringify(seen),
  )
  for (const id of ['a', 'old']) {
    assert.ok((seen[`${id} held`] ?? 0) > 0 && (seen[`${id} WRITER_CONFLICT`] ?? 0) > 0, JSON.stringify(seen))
  }
})
