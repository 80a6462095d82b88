import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { listGenerations, readGeneration } from '../../../src/archive/catalog.ts'
import { commitRepair } from '../../../src/archive/commit-repair.ts'
import { commitKey } from '../../../src/archive/log/keys.ts'
import { openGeneration } from '../../../src/archive/log/open-generation.ts'
import type { Manifest } from '../../../src/archive/manifest.ts'
import { planRepair } from '../../../src/archive/repair.ts'
import { openSelected } from '../../../src/archive/select-generation.ts'
import { verifyBackup } from '../../../src/archive/verify.ts'
import type { Storage } from '../../../src/storage/storage.ts'
import { damageEach, grownLog, LogRun, readAllGenerations } from '../../retention/log-world.ts'
import { HOUR, type World } from '../../retention/world.ts'
import { never } from '../sample-archive.ts'

const quiet = { onProgress: () => undefined }
const instead = 'an older checkpoint and the commits behind it are read instead, as long as they are there'

/** The only page of the checkpoint that a generation names. */
async function pageOf(world: World, generation: number): Promise<string> {
  const { checkpoint } = await openGeneration(world.storage, 'a', generation, never)
  const [page, ...others] = checkpoint?.pages ?? []
  assert.equal(others.length, 0)
  return page?.key ?? assert.fail()
}

/** A backup whose newest checkpoint, that of generation 13, has lost its page. */
async function damagedWorld(): Promise<{ world: World; key: string; records: Map<number, number> }> {
  const world = await grownLog(13, 4)
  const records = await readAllGenerations(world.storage, 'a')
  const key = await pageOf(world, 18)
  world.storage.objects.delete(key)
  return { world, key, records }
}

function readLists(manifest: Manifest, signal = never) {
  const partitions = manifest.topics.flatMap(topic => topic.partitions)
  return Promise.all(partitions.map(({ list }) => list?.read(signal)))
}

test('every generation whose checkpoint has a damaged page is read from an older checkpoint and the commits behind it', async () => {
  const intact = await grownLog(13, 12, 3)
  const records = await readAllGenerations(intact.storage, 'a')
  const [older, newer] = [await pageOf(intact, 20), await pageOf(intact, 29)]
  for (const { world, keys } of damageEach(intact, older, newer)) {
    assert.deepEqual(await readAllGenerations(world.storage, 'a'), records)
    const manifest = await openSelected(world.storage, 'a', { generation: 29 }, never)
    await readLists(manifest)
    const expected = keys.includes(newer) ? keys.toReversed() : []
    assert.deepEqual(
      manifest.avoided?.map(({ key }) => key),
      expected,
    )
  }
})

describe('a damaged page of the newest checkpoint', () => {
  test('is among what a reader avoided once the page was needed', async () => {
    const { world, key } = await damagedWorld()
    const manifest = await openSelected(world.storage, 'a', {}, never)
    assert.deepEqual(manifest.avoided, [])
    await readLists(manifest)
    assert.deepEqual(manifest.avoided, [{ key, problem: `it is missing; ${instead}`, isNeeded: true }])
  })

  for (const deep of [false, true]) {
    test(`is a problem for a ${deep ? 'deep' : 'quick'} verification, with every generation as readable`, async () => {
      const { world, key } = await damagedWorld()
      const { ok, problems, unreadable_generations, records } = await verify(world, deep)
      assert.deepEqual([ok, problems], [false, [{ key, problem: `it is missing; ${instead}` }]])
      assert.deepEqual([unreadable_generations, records], [[], 340])
    })
  }

  test('keeps a prune from removing anything, and needs a repair, which loses nothing', async () => {
    const { world, key, records } = await damagedWorld()
    const before = await listGenerations(world.storage, 'a', never)
    world.clock.pass(100 * HOUR)
    assert.match(JSON.stringify((await world.prune({ graceMs: 2 * HOUR })).backups), new RegExp(key))
    assert.deepEqual(await listGenerations(world.storage, 'a', never), before)
    const { backups } = await world.prune({ graceMs: 2 * HOUR, olderThanMs: 101 * HOUR })
    assert.match(JSON.stringify(backups), new RegExp(`${key} is damaged or missing, so that nothing can be cut off`))
    assert.equal(backups[0]?.trimmed.segments, 0)
    assert.deepEqual(await listGenerations(world.storage, 'a', never), before)
    const plan = await planRepair(world.storage, 'a', { ...quiet, deep: false, foundAt: '' }, never)
    assert.ok(plan.state)
    const { needed, lost, lost_commits, unreadable } = plan.report
    assert.deepEqual([needed, lost, lost_commits, unreadable], [true, [], [], []])
    const now = '2026-03-15T20:00:00Z'
    const facts = { toolVersion: '0', run: 'r', now, newName: world.newRun, confirm: async () => undefined }
    await commitRepair(world.storage, plan, facts, never)
    assert.deepEqual(await readAllGenerations(world.storage, 'a'), new Map([...records, [19, 340]]))
    assert.deepEqual((await verify(world)).problems, [])
    await (await LogRun.open(world, 'a')).rounds(1, HOUR)
    assert.equal((await verify(world)).ok, true)
  })

  test('is an error that names it and the repair, without the commit that the checkpoint was made of', async () => {
    const { world, key } = await damagedWorld()
    world.storage.objects.delete(commitKey('a', 13))
    const manifest = await readGeneration(world.storage, 'a', 18, never)
    await assert.rejects(readLists(manifest), (error: Error & { help?: string }) => {
      assert.equal(error.message, `${key} is missing`)
      return /kafka-backup repair/.test(error.help ?? '')
    })
    assert.deepEqual((await verify(world, true)).unreadable_generations.at(-1)?.to, 18)
  })

  test('costs one more opening, whether others hold its content or not', async () => {
    for (const isLost of [false, true]) {
      const { world } = await damagedWorld()
      if (isLost) world.storage.objects.delete(commitKey('a', 13))
      const manifest = await readGeneration(world.storage, 'a', 18, never)
      const reads = countReads(world.storage, commitKey('a', 13))
      for (let i = 0; i < 3; i++) await readLists(manifest).catch(() => undefined)
      assert.equal(reads.count, 1)
    }
  })

  test('is read around for one who waits for another that stops', async () => {
    const { world } = await damagedWorld()
    const manifest = await readGeneration(world.storage, 'a', 18, never)
    const stop = new AbortController()
    const read = world.storage.read.bind(world.storage)
    world.storage.read = async (key, signal) => {
      if (key === commitKey('a', 13)) stop.abort()
      signal.throwIfAborted()
      return read(key, signal)
    }
    const first = readLists(manifest, stop.signal)
    const second = readLists(manifest)
    await assert.rejects(first, { name: 'AbortError' })
    assert.deepEqual(
      (await second).map(segments => segments?.at(-1)?.end_offset),
      [170n, 170n],
    )
  })
})

function verify(world: World, deep = false) {
  return verifyBackup(world.storage, 'a', { ...quiet, deep }, never)
}

function countReads(storage: Pick<Storage, 'read'>, counted: string): { count: number } {
  const reads = { count: 0 }
  const read = storage.read.bind(storage)
  storage.read = (key, signal) => {
    if (key === counted) reads.count++
    return read(key, signal)
  }
  return reads
}
