import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { listBackupIds, listGenerations, openBackup } from '../../../src/archive/catalog.ts'
import { openSelected } from '../../../src/archive/select-generation.ts'
import { hasCode } from '../../../src/errors.ts'
import { deleteBackup } from '../../../src/retention/delete-backup.ts'
import { LogRun, markedWorld, readAllGenerations } from '../../retention/log-world.ts'
import { DAY, HOUR, type World } from '../../retention/world.ts'
import { never } from '../sample-archive.ts'

/** A writer that died between the marker of version 2 and its first commit. */
async function diedEarly(generations: number): Promise<World> {
  const world = await markedWorld(generations)
  await world.storage.create('a/packs/0a0b0c0d-1.pack', Buffer.alloc(9), never)
  world.clock.pass(3 * DAY)
  return world
}

describe('a backup whose first commit of version 2 is missing', () => {
  test('is not there where nothing else was committed, for readers and for prune', async () => {
    const world = await diedEarly(0)
    await world.commit('b')
    assert.deepEqual(await listBackupIds(world.storage, never), ['b'])
    for (const choice of [{}, { generation: 1 }, { asOfMs: 1n }]) {
      await assert.rejects(openSelected(world.storage, 'a', choice, never), error => {
        assert.ok(hasCode(error, 'BACKUP_NOT_FOUND'), String(error))
        assert.match(error.message, /there are: b$/)
        return true
      })
    }
    const before = world.keys('a/')
    const { backups } = await world.prune({ keepLast: 1, graceMs: 0 })
    const { state, reasons, notes } = backups.find(({ backupId }) => backupId === 'a') ?? assert.fail()
    assert.deepEqual([state, reasons, notes], ['left', ['nothing was ever committed to it'], []])
    assert.deepEqual(world.keys('a/'), before)
    await deleteBackup('a', world.partsAt(), { isDryRun: false }, never)
    assert.deepEqual(world.keys('a/'), [])
  })

  test('is begun by the next run as if nothing had happened', async () => {
    const world = await diedEarly(0)
    await (await LogRun.open(world, 'a')).rounds(2, HOUR)
    assert.deepEqual(await listBackupIds(world.storage, never), ['a'])
    assert.deepEqual([...(await readAllGenerations(world.storage, 'a')).keys()], [1, 2])
  })

  test('has its generations of version 1, and a prune leaves it to the next run', async () => {
    const world = await diedEarly(3)
    assert.deepEqual(await listBackupIds(world.storage, never), ['a'])
    assert.deepEqual(await listGenerations(world.storage, 'a', never), [1, 2, 3])
    assert.equal((await openBackup(world.storage, 'a', never)).generation, 3)
    const before = world.keys('a/')
    const outcome = await world.pruneOne({ graceMs: 0 })
    assert.deepEqual(
      [outcome.state, outcome.notes],
      ['kept', ['nothing of it is removed: a run has begun with format version 2, and has not committed yet']],
    )
    assert.deepEqual(world.keys('a/'), before)
    await (await LogRun.open(world, 'a')).rounds(2, HOUR)
    assert.deepEqual([...(await readAllGenerations(world.storage, 'a')).keys()], [1, 2, 3, 4, 5])
  })
})
