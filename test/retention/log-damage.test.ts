import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { listGenerations, readGeneration } from '../../src/archive/catalog.ts'
import { listSegments } from '../../src/archive/indexes.ts'
import { isKept, keepGeneration } from '../../src/archive/log/keep-generation.ts'
import { commitKey, keptKey } from '../../src/archive/log/keys.ts'
import { readSegment } from '../../src/archive/segment-reader.ts'
import { type VerifyReport, verifyBackup } from '../../src/archive/verify.ts'
import { withEncryption } from '../../src/encryption/encrypted-storage.ts'
import { hasCode, KafkaBackupError } from '../../src/errors.ts'
import type { Storage } from '../../src/storage/storage.ts'
import { never } from '../archive/sample-archive.ts'
import { keyOf, ownKeys } from '../encryption/samples.ts'
import { withFaults } from '../fakes/faulty-storage.ts'
import { LogRun } from './log-world.ts'
import { HOUR, World } from './world.ts'

const policy = { graceMs: 2 * HOUR }

function flip(world: World, key: string): void {
  const bytes = Buffer.from(world.storage.objects.get(key) ?? assert.fail(key))
  bytes.writeUInt8(bytes.readUInt8(bytes.length >> 1) ^ 1, bytes.length >> 1)
  world.storage.objects.set(key, bytes)
}

/** Rounds of ten minutes; a prune commits a checkpoint of its own after the thirteenth. */
async function grown(): Promise<World> {
  const world = new World()
  await (await LogRun.open(world, 'a')).rounds(13, HOUR / 6)
  await commitCheckpoint(world)
  await (await LogRun.open(world, 'a')).rounds(12, HOUR / 6)
  return world
}

async function commitCheckpoint(world: World): Promise<void> {
  world.storage.modified.set(await world.stray('a'), 0)
  await world.prune({ graceMs: 100 * HOUR })
}

/** How many bytes each generation has that can be read. */
async function readableOf(storage: Storage): Promise<Map<number, number>> {
  const found = new Map<number, number>()
  for (const generation of await listGenerations(storage, 'a', never)) {
    try {
      let bytes = 0
      for (const topic of (await readGeneration(storage, 'a', generation, never)).topics) {
        for (const partition of topic.partitions) {
          for (const segment of await listSegments(storage, topic, partition, never))
            for await (const some of readSegment(storage, segment, never)) bytes += some.length
        }
      }
      found.set(generation, bytes)
    } catch (error) {
      if (!hasCode(error, 'ARCHIVE_DAMAGED')) throw error
    }
  }
  return found
}

function verify(world: World, deep = true, generation?: number): Promise<VerifyReport> {
  const choice = generation === undefined ? {} : { generation }
  return verifyBackup(world.storage, 'a', { deep, onProgress: () => undefined, ...choice }, never)
}

describe('a damaged checkpoint', () => {
  test('that no generation names leaves the backup intact, and a prune removes it', async () => {
    const world = await grown()
    const orphan = 'a/checkpoints/000000000020.0badc0de.json.zst'
    await world.storage.create(orphan, Buffer.from('cut off'), never)
    assert.deepEqual((await verify(world)).problems, [])
    const before = await readableOf(world.storage)
    const { notes } = await world.pruneOne(policy)
    assert.deepEqual([notes, world.storage.objects.has(orphan)], [[], false])
    const after = await readableOf(world.storage)
    for (const [generation, bytes] of after) assert.equal(bytes, before.get(generation) ?? bytes)
    assert.ok(after.has(26))
  })

  test('that generations need is named with them, and a prune keeps it', async () => {
    const world = await grown()
    await commitCheckpoint(world)
    const named = world.keys('a/checkpoints/000000000013.').find(key => !/-\d+\.json/.test(key)) ?? assert.fail()
    flip(world, named)
    const around = await verify(world)
    assert.deepEqual([around.ok, around.problems.map(({ key }) => key)], [false, [named]])
    assert.deepEqual(around.unreadable_generations, [])
    // Without it, nothing takes the place of the checkpoint.
    await world.storage.remove(commitKey('a', 13), never)
    const { ok, problems, unreadable_generations } = await verify(world)
    assert.deepEqual([ok, problems.map(({ key }) => key)], [false, [named]])
    assert.deepEqual(unreadable_generations, [{ from: 14, to: 26 }])
    const { notes } = await world.pruneOne({ graceMs: 100 * HOUR })
    assert.ok(
      notes.some(note => note.includes(named)),
      notes.join(),
    )
    assert.ok(world.storage.objects.has(named))
  })

  for (const kind of ['checkpoint', 'page of a checkpoint']) {
    test(`or a page of one keeps the commits that it was made of: a prune that would remove them names the ${kind}`, async () => {
      const world = await grown()
      await commitCheckpoint(world)
      const isPage = kind !== 'checkpoint'
      const key = world.keys('a/checkpoints/000000000013.').find(one => /-\d+\.json/.test(one) === isPage)
      const damaged = key ?? assert.fail()
      const intact = world.clone()
      flip(world, damaged)
      const commits = world.keys('a/commits/')
      const { notes } = await world.pruneOne(policy)
      assert.ok(notes.join().includes(damaged), notes.join())
      assert.deepEqual(world.keys('a/commits/'), commits)
      await intact.pruneOne(policy)
      assert.ok(intact.keys('a/commits/').length < commits.length)
    })
  }
})

describe('a damaged commit whose generation is kept', () => {
  test('is named by verify with the object that takes its place, and is not damage while nothing needs it', async () => {
    const world = await grown()
    await keepGeneration(world.storage, 'a', 4, never)
    // A roll-up covers it for the generations behind the eighth; those up to it are gone.
    for (const generation of [5, 6, 7, 8]) await world.storage.remove(commitKey('a', generation), never)
    flip(world, commitKey('a', 4))
    for (const report of [await verify(world), await verify(world, false, 4)]) {
      assert.deepEqual([report.ok, report.problems], [true, []])
      const [warning = ''] = report.warnings.filter(one => one.startsWith(`${commitKey('a', 4)}: it `))
      assert.ok(warning.includes(`still readable through ${keptKey('a', 4)}`), report.warnings.join())
    }
  })

  test('is damage where later generations follow it, and is named with what is wrong', async () => {
    const world = await grown()
    await keepGeneration(world.storage, 'a', 4, never)
    flip(world, commitKey('a', 4))
    const { ok, problems, unreadable_generations } = await verify(world)
    assert.deepEqual([ok, problems.map(({ key }) => key)], [false, [commitKey('a', 4)]])
    assert.match(problems[0]?.problem ?? '', /^it (cannot be decompressed|does not have the hash).*readable through/)
    assert.deepEqual(unreadable_generations, [{ from: 5, to: 8 }])
  })

  test('does not mislead a prune: every generation that can be read stays readable, or goes with its commit', async () => {
    for (const damaged of [4, 9, 12, 13, 16, 17]) {
      for (const graceMs of [HOUR, 1.5 * HOUR, 2 * HOUR, 3 * HOUR]) {
        const world = await grown()
        await keepGeneration(world.storage, 'a', damaged, never)
        await world.storage.create(`a/holds/${String(damaged).padStart(12, '0')}.json`, Buffer.from('{}'), never)
        flip(world, commitKey('a', damaged))
        const before = await readableOf(world.storage)
        for (let i = 0; i < 2; i++) {
          await world.prune({ graceMs })
          const after = await readableOf(world.storage)
          for (const generation of await listGenerations(world.storage, 'a', never)) {
            const what = `generation ${generation}, ${damaged} damaged, grace ${graceMs / HOUR} h`
            if (before.has(generation)) assert.equal(after.get(generation), before.get(generation), what)
          }
          assert.ok(after.has(26) && after.has(damaged), `${damaged} damaged, grace ${graceMs / HOUR} h`)
        }
      }
    }
  })
})

/** A world, and its storage as the program has it. */
async function grownIn(isEncrypted: boolean): Promise<{ world: World; storage: Storage }> {
  const world = new World()
  const storage = isEncrypted ? withEncryption(world.storage, ownKeys([keyOf(1)], false, 'a')) : world.storage
  await (await LogRun.open(world, 'a', storage)).rounds(16, HOUR / 6)
  world.storage.objects.set('a/holds/000000000003.json', Buffer.from('{}'))
  return { world, storage }
}

for (const isEncrypted of [false, true]) {
  const kind = isEncrypted ? 'an encrypted' : 'a plain'
  test(`a prune of ${kind} backup replaces a damaged object that keeps a generation before its commit goes`, async () => {
    for (const part of [
      /\/kept\//,
      /\/checkpoints\/000000000002\.\w+\.json/,
      /\/checkpoints\/000000000002\.\w+-\d+\.json/,
    ]) {
      const { world, storage } = await grownIn(isEncrypted)
      const before = await readableOf(storage)
      await keepGeneration(storage, 'a', 3, never)
      const key = world.keys('a/').find(one => part.test(one)) ?? assert.fail(`${part}`)
      flip(world, key)
      for (let i = 0; i < 2; i++) {
        world.clock.pass(3 * HOUR)
        const { backups } = await world.prune(policy, { storage })
        assert.deepEqual(backups[0]?.notes, [], key)
      }
      assert.ok(!world.storage.objects.has(commitKey('a', 3)), 'its commit has gone')
      assert.equal((await readableOf(storage)).get(3), before.get(3), key)
    }
  })

  test(`a damaged commit of ${kind} backup is read from what retention keeps in its place`, async () => {
    const { world, storage } = await grownIn(isEncrypted)
    const before = await readableOf(storage)
    await keepGeneration(storage, 'a', 3, never)
    flip(world, commitKey('a', 3))
    assert.equal((await readableOf(storage)).get(3), before.get(3))
  })
}

test('a prune that may not replace a damaged object leaves that backup with what to do, and prunes the others', async () => {
  const world = new World()
  for (const id of ['a', 'b']) {
    await (await LogRun.open(world, id)).rounds(16, HOUR / 6)
    world.storage.objects.set(`${id}/holds/000000000003.json`, Buffer.from('{}'))
  }
  await keepGeneration(world.storage, 'a', 3, never)
  flip(world, keptKey('a', 3))
  for (const code of ['STORAGE_DENIED', 'STORAGE_RETAINED'] as const) {
    const error = () => new KafkaBackupError(code, 'the store says no')
    const fault = { on: 'replace', key: /\/kept\//, effect: { kind: 'throw-before', error } } as const
    const storage = withFaults(world.storage, [fault])
    world.clock.pass(3 * HOUR)
    await world.prune(policy, { storage: world.storage, isDryRun: true })
    const { backups } = await world.prune(policy, { storage })
    const notes = new Map(backups.map(one => [one.backupId, one.notes]))
    assert.match(notes.get('a')?.join() ?? '', /a\/kept\/000000000003\.json\.zst is damaged.*allow .* replace it/)
    assert.deepEqual(notes.get('b'), [])
    storage.verifyAllFaultsExercised()
  }
  assert.ok(world.storage.objects.has(commitKey('a', 3)), 'the commit stays until the other one can be read')
  assert.ok(!world.storage.objects.has(commitKey('b', 3)), 'the other backup is pruned')
})

describe('an intact object of something else in the place of a kept commit', () => {
  const exchanges: Record<string, (world: World) => Promise<Buffer>> = {
    'of another generation': async ({ storage }) => {
      await keepGeneration(storage, 'a', 5, never)
      return storage.read(keptKey('a', 5), never)
    },
    'of another backup': async world => {
      await (await LogRun.open(world, 'b')).rounds(4, HOUR / 6)
      await keepGeneration(world.storage, 'b', 3, never)
      return world.storage.read(keptKey('b', 3), never)
    },
    'of an earlier log of the same name': async ({ storage }) => {
      const earlier = new World()
      await (await LogRun.open(earlier, 'a')).rounds(2, HOUR)
      await (await LogRun.open(earlier, 'a')).rounds(2, HOUR)
      await keepGeneration(earlier.storage, 'a', 3, never)
      // All that it names is there, too.
      for (const [key, bytes] of earlier.storage.objects) if (!storage.objects.has(key)) storage.objects.set(key, bytes)
      return earlier.storage.read(keptKey('a', 3), never)
    },
    'that is a commit which needs others': ({ storage }) => storage.read(commitKey('a', 3), never),
  }
  for (const [name, exchange] of Object.entries(exchanges)) {
    test(`${name} does not count as kept, and a prune replaces it`, async () => {
      const { world, storage } = await grownIn(false)
      const before = await readableOf(storage)
      await keepGeneration(storage, 'a', 3, never)
      assert.equal(await isKept(storage, 'a', 3, never), true)
      world.storage.objects.set(keptKey('a', 3), await exchange(world))
      assert.equal(await isKept(storage, 'a', 3, never), false)
      world.clock.pass(3 * HOUR)
      for (let i = 0; i < 2; i++) await world.prune(policy)
      assert.ok(!world.storage.objects.has(commitKey('a', 3)), 'its commit has gone')
      assert.equal((await readableOf(storage)).get(3), before.get(3))
    })
  }
})
