import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { listGenerations } from '../../../src/archive/catalog.ts'
import { commitKey } from '../../../src/archive/log/keys.ts'
import { openGeneration } from '../../../src/archive/log/open-generation.ts'
import { SegmentLists } from '../../../src/archive/log/segment-lists.ts'
import type { Segment } from '../../../src/archive/manifest.ts'
import { planRepair } from '../../../src/archive/repair.ts'
import { type VerifyReport, verifyBackup } from '../../../src/archive/verify.ts'
import { KafkaBackupError } from '../../../src/errors.ts'
import { openMemoryStorage } from '../../fakes/memory-storage.ts'
import { LogRun, readAllGenerations } from '../../retention/log-world.ts'
import { HOUR, World } from '../../retention/world.ts'
import { never } from '../sample-archive.ts'
import { longLog } from './long-log.ts'

const GENERATIONS = 70
const quiet = () => undefined

async function rollupsOf(storage: World['storage'], backupId: string, generation: number): Promise<string[]> {
  const { rollups } = (await openGeneration(storage, backupId, generation, never)).commit
  return rollups.flatMap(({ documents }) => documents.map(({ key }) => key))
}

function nameOf({ key, blake3, start_offset, end_offset }: Segment): string {
  return `${key} ${blake3} ${start_offset} ${end_offset}`
}

function verify({ storage }: World, deep: boolean): Promise<VerifyReport> {
  return verifyBackup(storage, 'a', { deep, onProgress: quiet }, never)
}

test('a generation that names a damaged roll-up is read from the commits that it was made of, with all of its segments', async () => {
  const storage = openMemoryStorage()
  const states = await longLog(storage, GENERATIONS)
  const all = [...storage.objects.keys()].filter(key => key.startsWith('b/rollups/')).sort()
  const later = await rollupsOf(storage, 'b', GENERATIONS)
  const rollups = [all[0], all.at(-1), ...later].map(key => key ?? assert.fail())
  const intact = new Map(storage.objects)
  const read = async (generation: number) => {
    const opened = await openGeneration(storage, 'b', generation, never)
    const lists = new SegmentLists(storage, opened)
    const segments = new Map<string, string[]>()
    for (const [list, row] of [...opened.state.lists].sort(([a], [b]) => (a < b ? -1 : 1))) {
      const some = await lists.read(list, row, never)
      if (some.length > 0) segments.set(list, some.map(nameOf))
    }
    return { opened, segments }
  }
  let healed = 0
  for (const rollup of rollups) {
    for (const [key, bytes] of intact) storage.objects.set(key, bytes)
    if (healed % 2 === 0) storage.objects.delete(rollup)
    else storage.objects.set(rollup, Buffer.from('damaged'))
    for (const generation of [8, 10, 17, 18, 40, 57, 63, 64, 65, 66, GENERATIONS]) {
      const { opened, segments } = await read(generation)
      const { segments: expected, ...state } = states[generation] ?? assert.fail()
      assert.deepEqual(opened.state, state, `generation ${generation} without ${rollup}`)
      for (const [list, some] of segments)
        assert.deepEqual(some, expected.get(list)?.map(nameOf), `generation ${generation}, ${list}`)
      if (opened.lost.length > 0) healed++
    }
  }
  assert.ok(healed > rollups.length, `${healed} were read from commits`)
})

test('without one of these commits, the error names the roll-up, and generations that do not need it can be read', async () => {
  const storage = openMemoryStorage()
  await longLog(storage, 20)
  const [rollup = ''] = await rollupsOf(storage, 'b', 20)
  storage.objects.delete(rollup)
  storage.objects.delete(commitKey('b', 3))
  await assert.rejects(openGeneration(storage, 'b', 20, never), {
    code: 'ARCHIVE_DAMAGED',
    message: `${rollup} is missing`,
  })
  await openGeneration(storage, 'b', 2, never)
})

describe('a backup whose newest generation names a damaged roll-up', () => {
  async function damaged(): Promise<{ world: World; rollup: string }> {
    const world = new World()
    await (await LogRun.open(world, 'a')).rounds(30, HOUR / 6)
    const [rollup = assert.fail()] = await rollupsOf(world.storage, 'a', 30)
    world.storage.objects.delete(rollup)
    return { world, rollup }
  }

  for (const deep of [false, true]) {
    test(`is verified${deep ? ' deeply' : ''} with the roll-up as a problem, and with every generation as readable`, async () => {
      const { world, rollup } = await damaged()
      const { ok, problems, unreadable_generations } = await verify(world, deep)
      assert.equal(ok, false)
      assert.deepEqual(problems, [
        {
          key: rollup,
          problem: 'it is missing; the commits that it was made of are read instead, as long as they are there',
        },
      ])
      assert.deepEqual(unreadable_generations, [])
      assert.equal((await readAllGenerations(world.storage, 'a')).size, 30)
    })
  }

  test('is continued by the next run behind a checkpoint, and can then be pruned', async () => {
    const { world, rollup } = await damaged()
    await (await LogRun.open(world, 'a')).rounds(2, HOUR / 6)
    assert.equal((await rollupsOf(world.storage, 'a', 32)).includes(rollup), false)
    assert.equal((await verify(world, false)).ok, true)
    const records = await readAllGenerations(world.storage, 'a')
    assert.equal(records.size, 32)
    world.clock.pass(100 * HOUR)
    assert.deepEqual((await world.pruneOne({ graceMs: 2 * HOUR })).notes, [])
    for (const [generation, some] of await readAllGenerations(world.storage, 'a'))
      assert.equal(some, records.get(generation) ?? some)
  })

  test('is not pruned before that, and needs a repair, which loses nothing', async () => {
    const { world, rollup } = await damaged()
    world.clock.pass(100 * HOUR)
    const before = await listGenerations(world.storage, 'a', never)
    const { backups } = await world.prune({ graceMs: 2 * HOUR })
    assert.match(JSON.stringify(backups), new RegExp(rollup))
    assert.deepEqual(await listGenerations(world.storage, 'a', never), before)
    const { report } = await planRepair(world.storage, 'a', { deep: true, onProgress: quiet, foundAt: '' }, never)
    assert.deepEqual([report.needed, report.lost, report.lost_commits, report.unreadable], [true, [], [], []])
  })
})

test('no prune removes the commits that older generations are read from, whatever roll-up is damaged', async () => {
  const intact = new World()
  await (await LogRun.open(intact, 'a')).rounds(70, HOUR / 6)
  const records = await readAllGenerations(intact.storage, 'a')
  const [first = assert.fail(), across = assert.fail()] = ['000008', '000064'].map(to =>
    intact.keys('a/rollups/').find(key => key.includes(`/000000000001-000000${to}.`)),
  )
  for (const rollup of [first, across]) {
    for (const graceMs of [3 * HOUR, 9 * HOUR]) {
      const world = intact.clone()
      world.storage.objects.delete(rollup)
      await world.prune({ graceMs })
      for (const [generation, some] of await readAllGenerations(world.storage, 'a'))
        assert.equal(
          some,
          records.get(generation) ?? some,
          `${generation} without ${rollup}, grace ${graceMs / HOUR} h`,
        )
    }
  }
})

test('nor where the first generation that stays names other roll-ups than later ones, because the store has failed in between', async () => {
  const world = new World()
  const { storage } = world
  let failures = 0
  const create: typeof storage.create = async (key, ...rest) => {
    if (!key.includes('/000000000001-000000000064.') || failures++ > 0) return storage.create(key, ...rest)
    throw new KafkaBackupError('STORAGE_UNAVAILABLE', 'the store does not answer')
  }
  const run = await LogRun.open(world, 'a', { ...storage, create })
  await assert.rejects(run.rounds(64, HOUR / 6), { code: 'STORAGE_UNAVAILABLE' })
  await run.rounds(6, HOUR / 6)
  const records = await readAllGenerations(storage, 'a')
  const [first = assert.fail(), ...others] = await rollupsOf(storage, 'a', 65)
  assert.deepEqual([others.length, (await rollupsOf(storage, 'a', 70)).length], [7, 1])
  storage.objects.delete(first)
  const { notes } = await world.pruneOne({ graceMs: HOUR / 2 })
  assert.match(notes.join(), new RegExp(first))
  assert.deepEqual(await readAllGenerations(storage, 'a'), records)
})

test('nor where only a generation in the middle names the roll-up, because two levels in a row failed', async () => {
  const world = new World()
  const { storage } = world
  const failing = new Set(['/000000000449-000000000512.', '/000000000001-000000000512.'])
  const create: typeof storage.create = async (key, ...rest) => {
    const found = [...failing].find(range => key.includes(range))
    if (found === undefined) return storage.create(key, ...rest)
    failing.delete(found)
    throw new KafkaBackupError('STORAGE_UNAVAILABLE', 'the store does not answer')
  }
  const run = await LogRun.open(world, 'a', { ...storage, create })
  await assert.rejects(run.rounds(512, HOUR / 60), { code: 'STORAGE_UNAVAILABLE' })
  await assert.rejects(run.rounds(1, HOUR / 60), { code: 'STORAGE_UNAVAILABLE' })
  await run.rounds(27, HOUR / 60)
  const rollup = (await rollupsOf(storage, 'a', 514)).at(-1) ?? assert.fail()
  assert.match(rollup, /000000000449-000000000512/)
  for (const other of [513, 515, 540]) assert.equal((await rollupsOf(storage, 'a', other)).includes(rollup), false)
  const intact = world.clone()
  storage.objects.delete(rollup)
  const policy = { graceMs: 22.5 * (HOUR / 60) }
  const { notes } = await world.pruneOne(policy)
  for (const generation of [512, 513, 514, 540]) await openGeneration(storage, 'a', generation, never)
  assert.match(notes.join(), new RegExp(rollup))
  await intact.pruneOne(policy)
  assert.equal((await listGenerations(intact.storage, 'a', never))[0], 513)
})

test('a run that cannot roll up names the step, the damaged roll-up, and that a checkpoint takes its place', async () => {
  const world = new World()
  const run = await LogRun.open(world, 'a')
  await run.rounds(30, HOUR / 60)
  const [, rollup = assert.fail()] = await rollupsOf(world.storage, 'a', 30)
  world.storage.objects.delete(rollup)
  await assert.rejects(run.rounds(40, HOUR / 60), {
    code: 'ARCHIVE_DAMAGED',
    message: `the newest commits of the backup could not be rolled up: ${rollup} is missing; a checkpoint takes its place, so that later generations do not need it`,
  })
  await run.rounds(1, HOUR / 60)
  const newest = Math.max(...(await listGenerations(world.storage, 'a', never)))
  assert.deepEqual(await rollupsOf(world.storage, 'a', newest), [])
})
