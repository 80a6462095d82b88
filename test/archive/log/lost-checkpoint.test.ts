import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { listGenerations } from '../../../src/archive/catalog.ts'
import { commitRepair } from '../../../src/archive/commit-repair.ts'
import { describeBackup } from '../../../src/archive/describe.ts'
import { listGenerationsOf } from '../../../src/archive/generations.ts'
import { commitKey } from '../../../src/archive/log/keys.ts'
import { openGeneration } from '../../../src/archive/log/open-generation.ts'
import { readCommit } from '../../../src/archive/log/read-commit.ts'
import { planRepair } from '../../../src/archive/repair.ts'
import { openSelected } from '../../../src/archive/select-generation.ts'
import { verifyBackup } from '../../../src/archive/verify.ts'
import { checkpointOf, damageEach, grownLog, LogRun, readAllGenerations } from '../../retention/log-world.ts'
import { HOUR, type World } from '../../retention/world.ts'
import { never } from '../sample-archive.ts'

const quiet = () => undefined
const instead = 'an older checkpoint and the commits behind it are read instead, as long as they are there'

function verify(world: World, deep = false) {
  return verifyBackup(world.storage, 'a', { deep, onProgress: quiet }, never)
}

function repairOf(world: World) {
  return planRepair(world.storage, 'a', { deep: false, onProgress: quiet, foundAt: '' }, never)
}

test('every generation that names a damaged checkpoint is read from an older one and the commits behind it', async () => {
  const intact = await grownLog(13, 12, 3)
  const records = await readAllGenerations(intact.storage, 'a')
  const [older, newer] = [await checkpointOf(intact, 20), await checkpointOf(intact, 29)]
  for (const { world, keys } of damageEach(intact, older, newer)) {
    assert.deepEqual(await readAllGenerations(world.storage, 'a'), records)
    const { lost } = await openGeneration(world.storage, 'a', 29, never)
    const expected = keys.includes(newer) ? keys.toReversed() : []
    assert.deepEqual(
      lost.map(({ details }) => details.key),
      expected,
    )
  }
})

describe('a backup whose newest checkpoint is damaged', () => {
  test('is described, listed and opened with a warning that names the checkpoint', async () => {
    const world = await grownLog(13, 4)
    const key = await checkpointOf(world, 18)
    world.storage.objects.delete(key)
    const warning = `${key}: it is missing; ${instead}`
    assert.deepEqual((await describeBackup(world.storage, 'a', {}, never)).warnings, [warning])
    const { generations, warnings } = await listGenerationsOf(world.storage, 'a', { limit: 4 }, never)
    assert.deepEqual([generations.length, generations.some(one => 'error' in one), warnings], [4, false, [warning]])
    const { avoided } = await openSelected(world.storage, 'a', { generation: 16 }, never)
    assert.deepEqual(avoided, [{ key, problem: `it is missing; ${instead}`, isNeeded: true }])
    assert.deepEqual((await openSelected(world.storage, 'a', { generation: 13 }, never)).avoided, [])
  })

  for (const deep of [false, true]) {
    test(`is verified${deep ? ' deeply' : ''} with the checkpoint as a problem, and with every generation as readable`, async () => {
      const world = await grownLog(13, 4)
      const key = await checkpointOf(world, 18)
      world.storage.objects.delete(key)
      const { ok, problems, unreadable_generations, partitions } = await verify(world, deep)
      assert.deepEqual([ok, problems], [false, [{ key, problem: `it is missing; ${instead}` }]])
      assert.deepEqual([unreadable_generations, partitions], [[], 2])
    })
  }

  test('is not pruned, and needs a repair, which loses nothing', async () => {
    const world = await grownLog(13, 4)
    const key = await checkpointOf(world, 18)
    world.storage.objects.delete(key)
    const before = await listGenerations(world.storage, 'a', never)
    world.clock.pass(100 * HOUR)
    assert.match(JSON.stringify((await world.prune({ graceMs: 2 * HOUR })).backups), new RegExp(key))
    assert.deepEqual(await listGenerations(world.storage, 'a', never), before)
    const { report } = await repairOf(world)
    assert.deepEqual([report.needed, report.lost, report.lost_commits, report.unreadable], [true, [], [], []])
  })

  test('is continued by the next run behind a new checkpoint, and can then be pruned', async () => {
    const world = await grownLog(13, 4)
    world.storage.objects.delete(await checkpointOf(world, 18))
    await (await LogRun.open(world, 'a')).rounds(2, HOUR / 6)
    assert.equal((await verify(world)).ok, true)
    const records = await readAllGenerations(world.storage, 'a')
    assert.equal(records.size, 20)
    world.clock.pass(100 * HOUR)
    assert.deepEqual((await world.pruneOne({ graceMs: 2 * HOUR })).notes, [])
    for (const [generation, some] of await readAllGenerations(world.storage, 'a'))
      assert.equal(some, records.get(generation) ?? some)
  })
})

describe('a damaged checkpoint is an error that names it and the repair', () => {
  async function assertRefused(world: World, generation: number): Promise<void> {
    const key = await checkpointOf(world, generation)
    world.storage.objects.delete(key)
    await assert.rejects(openGeneration(world.storage, 'a', generation, never), (error: Error & { help?: string }) => {
      assert.equal(error.message, `${key} is missing`)
      return /kafka-backup repair/.test(error.help ?? '')
    })
    assert.deepEqual((await verify(world)).unreadable_generations.at(-1)?.to, generation)
  }

  for (const generation of [13, 14]) {
    test(`without the commit ${generation === 13 ? 'that it was made of' : 'behind it'}`, async () => {
      const world = await grownLog(13, 4)
      world.storage.objects.delete(commitKey('a', generation))
      await assertRefused(world, 18)
    })
  }

  test('after a repair, whose state no commit has', async () => {
    const world = await grownLog(13)
    world.storage.objects.delete(commitKey('a', 11))
    const plan = await repairOf(world)
    assert.ok(plan.state)
    const now = '2026-03-15T20:00:00Z'
    const facts = { toolVersion: '0', run: 'r', now, newName: world.newRun, confirm: async () => undefined }
    await commitRepair(world.storage, plan, facts, never)
    await assertRefused(world, 14)
  })
})

test('verify reads every document of the newest generation once, whether it is damaged or not', async () => {
  const world = await grownLog(30)
  const { commit } = await readCommit(world.storage, 'a', 30, never)
  const [first = assert.fail(), ...others] = commit.rollups.flatMap(one => one.documents.map(({ key }) => key))
  const reads = new Map<string, number>()
  const read: typeof world.storage.read = (key, signal) => {
    reads.set(key, (reads.get(key) ?? 0) + 1)
    return world.storage.read(key, signal)
  }
  const storage = { ...world.storage, read }
  await verifyBackup(storage, 'a', { deep: false, onProgress: quiet }, never)
  for (const key of [first, ...others]) assert.equal(reads.get(key), 1, key)
  world.storage.objects.delete(first)
  reads.clear()
  const { problems } = await verifyBackup(storage, 'a', { deep: false, onProgress: quiet }, never)
  assert.deepEqual(
    problems.map(({ key }) => key),
    [first],
  )
  assert.equal(reads.get(first), 1)
})
