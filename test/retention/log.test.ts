import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import { openBackup } from '../../src/archive/catalog.ts'
import { listGenerationsOf } from '../../src/archive/generations.ts'
import { verifyBackup } from '../../src/archive/verify.ts'
import { copyBackup } from '../../src/copy/copy-backup.ts'
import { hasCode } from '../../src/errors.ts'
import { deleteBackup } from '../../src/retention/delete-backup.ts'
import { never } from '../archive/sample-archive.ts'
import { plain } from '../copy/copies.ts'
import { openMemoryStorage } from '../fakes/memory-storage.ts'
import { Death, dying, momentsToTry } from './dying.ts'
import { LogRun, readAllGenerations } from './log-world.ts'
import { DAY, HOUR, World } from './world.ts'

const policy = { graceMs: 2 * HOUR }

/** Four hours of rounds, one in ten minutes, on top of a backup of version 1 if wanted. */
async function grown(before = 0): Promise<World> {
  const world = new World()
  for (let i = 0; i < before; i++) {
    await world.commit('a')
    world.clock.pass(HOUR)
  }
  await (await LogRun.open(world, 'a')).rounds(24, HOUR / 6)
  return world
}

const isWhole = async (world: World) => {
  const { problems } = await verifyBackup(world.storage, 'a', { deep: true, onProgress: () => undefined }, never)
  assert.deepEqual(problems, [])
}

describe('a prune of a backup of version 2', () => {
  test('removes generations whose grace period is over, and packs that no other names', async () => {
    for (const before of [0, 3]) {
      const world = await grown(before)
      const packs = world.keys('a/packs/').length
      const all = await readAllGenerations(world.storage, 'a')
      // The first prune finds a cut or makes one.
      for (let i = 0; i < 3; i++) {
        await world.prune(policy)
        await (await LogRun.open(world, 'a')).rounds(12, HOUR / 6)
      }
      const outcome = await world.pruneOne(policy)
      assert.deepEqual([outcome.state, outcome.notes, outcome.unknown], ['kept', [], []])
      const left = await readAllGenerations(world.storage, 'a')
      assert.ok(![...left.keys()].some(generation => generation <= 24 + before), `${[...left.keys()]}`)
      assert.ok(left.size < 24, `${left.size} generations are left`)
      assert.ok(world.keys('a/packs/').length < 2 * packs)
      assert.equal(Math.max(...left.values()), Math.max(...all.values()) + 3 * 12 * 20)
      assert.ok(world.keys('a/manifests/').length === 1, 'the marker stays')
      await isWhole(world)
    }
  })

  test('that dies at any call leaves only generations that can be read, and the next one completes it', async () => {
    const rules = { ...policy, generations: { keepHourly: 3 } }
    const start = await grown(1)
    await start.prune(rules)
    start.clock.pass(3 * HOUR)
    const calm = start.clone()
    const { storage, calls } = dying(calm.storage, Number.POSITIVE_INFINITY, 'kill-before')
    await calm.prune(rules, { storage })
    assert.ok(calm.keys('a/kept/').length > 0, 'it keeps generations before the cut')
    for (const [nth, kind] of momentsToTry(calls.length)) {
      const world = start.clone()
      await world.prune(rules, { storage: dying(world.storage, nth, kind).storage }).catch(error => {
        if (!(error instanceof Death)) throw error
      })
      await readAllGenerations(world.storage, 'a')
      world.clock.pass(3 * HOUR)
      await world.prune(rules)
      const left = await readAllGenerations(world.storage, 'a')
      // Those of three hours, the newest, and at most as many as one more prune makes.
      assert.ok(left.size > 2 && left.size < 9, `${kind} ${nth}: ${[...left.keys()]}`)
      await isWhole(world)
    }
  })

  test('fences a writer that was paused before its commit: it gets WRITER_CONFLICT', async () => {
    const world = await grown()
    const asleep = await LogRun.open(world, 'a')
    world.clock.pass(DAY)
    await world.prune({ graceMs: 0 })
    await assert.rejects(asleep.round(), error => hasCode(error, 'WRITER_CONFLICT'))
    await readAllGenerations(world.storage, 'a')
  })

  test('changes nothing as a dry run, and says what it would remove', async () => {
    const world = await grown()
    await world.prune(policy)
    world.clock.pass(3 * HOUR)
    const before = world.keys()
    const planned = await world.pruneOne(policy, true)
    assert.deepEqual(world.keys(), before)
    const { removed, generationsRemoved } = await world.pruneOne(policy)
    assert.ok(removed.objects > 0)
    assert.deepEqual([planned.removed, planned.generationsRemoved], [removed, generationsRemoved])
  })

  test('cuts off what was stored long ago, by the time at which it was stored and not at which it was merged', async () => {
    const world = await grown()
    const planned = await world.pruneOne({ ...policy, olderThanMs: 2.1 * HOUR }, true)
    const { trimmed, notes } = await world.pruneOne({ ...policy, olderThanMs: 2.1 * HOUR })
    assert.deepEqual(planned.trimmed, trimmed)
    assert.deepEqual(notes, [])
    assert.ok(trimmed.records > 0 && trimmed.records <= 20 * 12, `${trimmed.records} records`)
    const { topics, generation } = await openBackup(world.storage, 'a', never)
    assert.equal(generation, 25)
    for (const { start_offset, end_offset, records } of topics.flatMap(topic => topic.partitions)) {
      assert.deepEqual([end_offset, start_offset > 0n && start_offset <= 120n], [240n, true])
      assert.equal(BigInt(records), end_offset - start_offset)
    }
    await isWhole(world)
    await (await LogRun.open(world, 'a')).rounds(3, HOUR / 6)
    await isWhole(world)
  })

  test('keeps held generations and those of retention.generations, and removes those in between', async () => {
    const world = await grown()
    await world.storage.create('a/holds/000000000001.json', Buffer.from('{}'), never)
    await world.storage.create('a/holds/000000000010.json', Buffer.from('{}'), never)
    const rules = { ...policy, generations: { keepLast: 2, keepHourly: 3 } }
    const all = await readAllGenerations(world.storage, 'a')
    const held = new Set([1, 10])
    for (let i = 0; i < 3; i++) {
      world.clock.pass(3 * HOUR)
      const planned = await world.pruneOne(rules, true)
      const { generationsKept, notes, generationsRemoved, removed } = await world.pruneOne(rules)
      assert.deepEqual([notes, planned.generationsRemoved, planned.removed], [[], generationsRemoved, removed])
      const left = await readAllGenerations(world.storage, 'a')
      for (const generation of [...held, ...generationsKept.map(one => one.generation)]) {
        assert.equal(left.get(generation), all.get(generation) ?? left.get(generation), `generation ${generation}`)
        assert.ok(left.has(generation), `generation ${generation}`)
      }
      await isWhole(world)
      await (await LogRun.open(world, 'a')).rounds(12, HOUR / 6)
    }
    world.clock.pass(3 * HOUR)
    for (let i = 0; i < 2; i++) {
      world.clock.pass(3 * HOUR)
      await world.pruneOne(rules)
    }
    const { generationsKept } = await world.pruneOne(rules)
    const stay = new Set([...held, ...generationsKept.map(one => one.generation)])
    const left = [...(await readAllGenerations(world.storage, 'a')).keys()]
    assert.deepEqual(
      left.filter(one => stay.has(one)),
      [...stay].sort((one, other) => one - other),
    )
    assert.ok(left.length <= stay.size + 3, `${left} are left, ${[...stay]} are kept`)
    // What is kept no longer goes, with all that only it names.
    for (const generation of held)
      await world.storage.remove(`a/holds/${String(generation).padStart(12, '0')}.json`, never)
    await world.pruneOne({ ...policy, generations: { keepLast: 1 } })
    const after = await readAllGenerations(world.storage, 'a')
    assert.ok(!after.has(1) && !after.has(10))
    assert.deepEqual(world.keys('a/kept/').length <= 1, true)
    await isWhole(world)
  })

  test('is not stopped by a lost commit that a roll-up covers', async () => {
    const world = await grown()
    await world.storage.remove('a/commits/000000000/000000000012.json.zst', never)
    const stray = await world.stray('a')
    world.storage.modified.set(stray, 0)
    const { notes } = await world.pruneOne({ graceMs: 100 * HOUR })
    assert.deepEqual([notes, world.storage.objects.has(stray)], [[], false])
  })

  test('leaves held generations in the list, however many newer ones there are', async () => {
    const world = await grown()
    await world.storage.create('a/holds/000000000003.json', Buffer.from('{}'), never)
    for (let i = 0; i < 3; i++) {
      world.clock.pass(3 * HOUR)
      await world.prune(policy)
    }
    await (await LogRun.open(world, 'a')).rounds(5, HOUR / 6)
    assert.ok(!world.keys('a/commits/').some(key => key.endsWith('/000000000003.json.zst')), 'its commit has gone')
    const { generations } = await listGenerationsOf(world.storage, 'a', { limit: 2 }, never)
    assert.deepEqual([generations.length, generations.at(-1)?.generation], [3, 3])
    assert.ok(generations.at(-1)?.hold)
  })

  test('that died while it kept a generation is completed by a program whose zstd writes other bytes', async () => {
    const start = await grown()
    await start.storage.create('a/holds/000000000003.json', Buffer.from('{}'), never)
    start.clock.pass(3 * HOUR)
    await start.prune({ graceMs: 100 * HOUR })
    const calm = dying(start.clone().storage, Number.POSITIVE_INFINITY, 'kill-before')
    await start.clone().prune(policy, { storage: calm.storage })
    const written = [...calm.calls.entries()].filter(
      ([, { operation, key }]) => operation === 'create' && key.includes('/checkpoints/000000000002.'),
    )
    assert.ok(written.length > 1)
    for (const [nth] of written) {
      const world = start.clone()
      await assert.rejects(world.prune(policy, { storage: dying(world.storage, nth + 1, 'kill-after').storage }), Death)
      for (const key of world.keys('a/checkpoints/000000000002.')) {
        const plain = zstdDecompressSync(world.storage.objects.get(key) ?? assert.fail())
        world.storage.objects.set(key, zstdCompressSync(plain, { params: { [constants.ZSTD_c_checksumFlag]: 1 } }))
      }
      world.clock.pass(HOUR)
      assert.deepEqual((await world.pruneOne(policy)).notes, [])
      assert.ok((await readAllGenerations(world.storage, 'a')).has(3))
      await isWhole(world)
    }
  })

  test('removes the whole backup when the rules no longer keep it, and delete does so at once', async () => {
    const world = await grown()
    world.clock.pass(DAY)
    await world.commit('b')
    const { backups } = await world.prune({ keepLast: 1, graceMs: 0 })
    assert.deepEqual([backups[0]?.generationsRemoved, world.keys('a/')], [24, []])
    const other = await grown(2)
    await deleteBackup('a', other.partsAt(), { isDryRun: false }, never)
    assert.deepEqual(other.keys('a/'), [])
  })

  test('of a copy keeps what each copied generation names, also of those that follow no other', async () => {
    const world = new World()
    const run = await LogRun.open(world, 'a')
    const target = openMemoryStorage({ now: world.clock.now })
    const copied: number[] = []
    const rules = { graceMs: HOUR, generations: { keepLast: 100 } }
    for (const rounds of [1, 1, 1, 7, 1, 2]) {
      await run.rounds(rounds, HOUR / 6)
      const sides = { source: world.storage, target }
      copied.push(...(await copyBackup(sides, 'a', plain, never)).generations)
      world.clock.pass(DAY)
      const before = await readAllGenerations(target, 'a')
      const { backups } = await world.prune(rules, { storage: target })
      assert.equal(backups[0]?.state, 'kept')
      assert.deepEqual(await readAllGenerations(target, 'a'), before)
    }
    assert.deepEqual(copied, [1, 2, 3, 10, 11, 13])
    // A generation of the prune's own would be one that the source does not have.
    const { backups } = await world.prune({ graceMs: HOUR }, { storage: target })
    assert.ok((backups[0]?.removed.objects ?? 0) > 10, 'it removes what the others named')
    assert.deepEqual([...(await readAllGenerations(target, 'a')).keys()], [13])
    await run.rounds(1, HOUR / 6)
    assert.deepEqual((await copyBackup({ source: world.storage, target }, 'a', plain, never)).generations, [14])
  })
})
