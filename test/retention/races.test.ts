import assert from 'node:assert/strict'
import { test } from 'node:test'
import { verifyBackup } from '../../src/archive/verify.ts'
import { withLease } from '../../src/archive/writer-lease.ts'
import { hasCode } from '../../src/errors.ts'
import { confirmChosen, readChosen, relyOnChosen } from '../../src/restore/find-restore.ts'
import { holdGeneration } from '../../src/retention/hold-generation.ts'
import { ReferenceReader } from '../../src/retention/reference-reader.ts'
import type { Storage } from '../../src/storage/storage.ts'
import { never } from '../archive/sample-archive.ts'
import { numbersToTry } from '../full.ts'
import { plainOptions } from '../restore/plain-options.ts'
import { raceAgainst } from './racing.ts'
import { DAY, type World } from './world.ts'

/** Each with its own seed. */
const races = numbersToTry(200)
const policy = { olderThanMs: 2.5 * DAY, graceMs: 0, keepLast: 1 }

/** A reader of a restore: its lease, a manifest, and in its own time all that this one names. It may have read the manifest before. */
async function readAll(
  world: World,
  storage: Storage,
  { id, isEarly }: { id: string; isEarly: boolean },
  rest: () => Promise<void>,
): Promise<'read' | 'refused'> {
  const options = plainOptions({ backupId: id })
  const early = isEarly ? readChosen(storage, options, never) : Promise.reject(new Error('not read'))
  early.catch(() => undefined)
  if (isEarly) await rest()
  return withLease(world.partsAt(storage), { backupId: id, role: 'reader', kind: 'restore' }, never, async () => {
    let named: Set<string>
    try {
      const read = await confirmChosen(storage, options, early, never)
      const chosen = await relyOnChosen(read, storage, options, never)
      if ('problem' in chosen) throw chosen.problem
      named = await new ReferenceReader(storage).read(chosen.manifest, never)
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

async function race(round: number, others: Parameters<typeof raceAgainst>[2]): Promise<World> {
  const begin = async (world: World) => {
    await world.commit('old', { partitions: 1 })
    for (let day = 0; day < 4; day++) {
      await world.commit('a', { partitions: 1 })
      world.clock.pass(DAY)
    }
    await world.stray('a')
  }
  const world = await raceAgainst(round, { begin, policy }, others)
  assert.deepEqual(await world.missing(), [], `round ${round}`)
  return world
}

test('a prune and a restore at the same time: nothing that is read is ever missing', async () => {
  const seen = { read: 0, refused: 0 }
  for (const round of races) {
    await race(round, (world, storage, rest) =>
      [false, true].flatMap(isEarly =>
        ['a', 'old'].map(id => async () => {
          seen[await readAll(world, storage, { id, isEarly }, rest)]++
        }),
      ),
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
