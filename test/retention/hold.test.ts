import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { readGeneration } from '../../src/archive/catalog.ts'
import { listGenerationsOf } from '../../src/archive/generations.ts'
import { holdKey, listHolds, readHold } from '../../src/archive/holds.ts'
import { manifestKey } from '../../src/archive/layout.ts'
import { keptKey } from '../../src/archive/log/keys.ts'
import { verifyBackup } from '../../src/archive/verify.ts'
import { KafkaBackupError } from '../../src/errors.ts'
import { deleteBackup } from '../../src/retention/delete-backup.ts'
import { holdGeneration, releaseGeneration } from '../../src/retention/hold-generation.ts'
import type { Storage } from '../../src/storage/storage.ts'
import { storeGenerations } from '../archive/generation-samples.ts'
import { never } from '../archive/sample-archive.ts'
import { openMemoryStorage } from '../fakes/memory-storage.ts'
import { LogRun } from './log-world.ts'
import { DAY, HOUR, World } from './world.ts'

const policy = { graceMs: 0 }

async function fourDays(): Promise<World> {
  const world = new World()
  for (let day = 0; day < 4; day++) {
    await world.commit('a', { partitions: 1 })
    world.clock.pass(DAY)
  }
  return world
}

/** Of version 2, with 40 hours of which a prune has kept the fourth. */
async function keptLog(): Promise<World> {
  const world = new World()
  await (await LogRun.open(world, 'a')).rounds(20, HOUR)
  await hold(world, 4)
  await world.pruneOne(policy)
  await (await LogRun.open(world, 'a')).rounds(20, HOUR)
  return world
}

function hold(world: World, generation: number, reason = '', storage: Storage = world.storage) {
  return holdGeneration('a', { generation, reason }, world.partsAt(storage), never)
}

describe('a generation that is held', () => {
  test('stays when those around it are removed, and goes when it is released', async () => {
    const world = await fourDays()
    const report = await hold(world, 2, 'audit')
    assert.deepEqual([report.generation, report.held, report.changed, report.hold?.reason], [2, true, true, 'audit'])
    assert.deepEqual(world.keys('a/leases/'), [])
    const plan = await world.pruneOne(policy, true)
    assert.deepEqual(await world.pruneOne(policy), plan)
    assert.deepEqual(await world.generations('a'), [2, 4])
    const { ok, problems } = await verifyBackup(
      world.storage,
      'a',
      { deep: true, generation: 2, onProgress: () => {} },
      never,
    )
    assert.deepEqual([ok, problems], [true, []])
    assert.deepEqual(await releaseGeneration(world.storage, 'a', 2, never), { ...report, held: false })
    await world.pruneOne(policy)
    assert.deepEqual(await world.generations('a'), [4])
    assert.deepEqual(await world.missing(), [])
  })

  test('keeps all data if its own object is lost, until it is released', async () => {
    const world = await fourDays()
    await hold(world, 2)
    world.storage.objects.delete(manifestKey('a', 2))
    const before = world.keys('a/')
    for (const isDryRun of [true, false]) {
      const { notes } = await world.pruneOne(policy, isDryRun)
      assert.match(
        notes.join('\n'),
        /^left as it is: a\/holds\/000000000002.json holds generation 2, .* --generation 2 --release`$/,
      )
    }
    assert.deepEqual(world.keys('a/'), before)
    await releaseGeneration(world.storage, 'a', 2, never)
    await world.pruneOne(policy)
    // The last one is the prune's: what nothing names is removed behind a commit.
    assert.deepEqual([await world.generations('a'), await world.missing()], [[4, 5], []])
  })

  test('keeps all data of a log if its object in kept/ is lost', async () => {
    const world = await keptLog()
    assert.ok(world.storage.objects.delete(keptKey('a', 4)))
    const before = world.keys('a/')
    assert.match((await world.pruneOne(policy)).notes.join('\n'), /^left as it is: .* holds generation 4, /)
    assert.deepEqual(world.keys('a/'), before)
  })

  for (const [what, lost, olderThanMs, grown] of [
    ['a backup', manifestKey('a', 2), 2.5 * DAY, fourDays],
    ['a log', keptKey('a', 4), 25 * HOUR, keptLog],
  ] as const) {
    test(`keeps ${what} from being cut if its own object is lost, and the report counts nothing as cut off`, async () => {
      const world = await grown()
      if (what === 'a backup') await hold(world, 2)
      assert.ok((await world.clone().pruneOne({ ...policy, olderThanMs })).trimmed.segments > 0)
      assert.ok(world.storage.objects.delete(lost))
      const before = world.keys('a/')
      for (const isDryRun of [true, false]) {
        const { notes, trimmed } = await world.pruneOne({ ...policy, olderThanMs }, isDryRun)
        assert.match(notes.join('\n'), /^left as it is: .* holds generation \d, /)
        assert.deepEqual(trimmed, { partitions: 0, segments: 0, records: 0, bytes: 0 })
      }
      assert.deepEqual(world.keys('a/'), before)
    })
  }

  test('keeps segments that older_than cuts off the newest generation', async () => {
    const world = await fourDays()
    await hold(world, 2)
    await world.pruneOne({ graceMs: 0, olderThanMs: 2.5 * DAY })
    assert.deepEqual(await world.generations('a'), [2, 5])
    assert.equal((await readGeneration(world.storage, 'a', 2, never)).topics[0]?.partitions[0]?.start_offset, 0n)
    assert.equal((await readGeneration(world.storage, 'a', 5, never)).topics[0]?.partitions[0]?.start_offset, 20n)
    assert.deepEqual(await world.missing(), [])
  })

  test('keeps a backup that the rules expire, with the reason', async () => {
    const world = await fourDays()
    await hold(world, 2)
    await world.commit('b')
    const [a] = (await world.prune({ keepLast: 1, graceMs: 0 })).backups
    assert.deepEqual([a?.backupId, a?.state, a?.reasons], ['a', 'kept', ['generation 2 is held']])
    assert.deepEqual(await world.generations('a'), [2, 4])
  })

  test('keeps a backup that an older program has marked as expired', async () => {
    const world = await fourDays()
    await world.commit('b')
    await world.prune({ keepLast: 1 })
    await world.storage.create(holdKey('a', 2), Buffer.from('{}'), never)
    world.clock.pass(2 * DAY)
    const [a] = (await world.prune({ keepLast: 1 })).backups
    assert.deepEqual([a?.state, a?.notes], ['left', ['not removed: generation 2 is held']])
    assert.deepEqual(await world.generations('a'), [1, 2, 3, 4])
  })

  test('makes delete refuse, with its number', async () => {
    const world = await fourDays()
    await hold(world, 2)
    const before = world.keys('a/')
    for (const isDryRun of [true, false]) {
      await assert.rejects(deleteBackup('a', world.partsAt(), { isDryRun }, never), {
        code: 'BACKUP_HELD',
        message: 'backup `a` at memory is not removed: generation 2 is held',
      })
    }
    assert.deepEqual(world.keys('a/'), before)
    await releaseGeneration(world.storage, 'a', 2, never)
    await deleteBackup('a', world.partsAt(), { isDryRun: false }, never)
    assert.deepEqual(world.keys('a/'), [])
  })

  test('is held once, and says since when; to release what is not held is an error that names what is', async () => {
    const world = await fourDays()
    const first = await hold(world, 2, 'first')
    world.clock.pass(DAY)
    assert.deepEqual(await hold(world, 2, 'second'), { ...first, changed: false })
    const { location } = world.storage
    await assert.rejects(releaseGeneration(world.storage, 'a', 3, never), {
      code: 'GENERATION_NOT_FOUND',
      message: `generation 3 of backup \`a\` at ${location} is not held`,
      help: 'Nothing was released: generation 2 is held.',
    })
    await assert.rejects(releaseGeneration(world.storage, 'a', 99, never), {
      code: 'GENERATION_NOT_FOUND',
      message: `there is no generation 99 of backup \`a\` at ${location}, and no hold on it`,
    })
    await assert.rejects(releaseGeneration(world.storage, 'nothing', 1, never), { code: 'BACKUP_NOT_FOUND' })
    assert.deepEqual([...(await listHolds(world.storage, 'a', never))], [2])
  })
})

test('a hold fails while a prune or a delete is at work, and for a generation that is not there', async () => {
  const world = await fourDays()
  await world.hold('a', 'prune', () => assert.rejects(hold(world, 2), { code: 'WRITER_CONFLICT' }))
  await assert.rejects(hold(world, 9), { code: 'GENERATION_NOT_FOUND' })
  await assert.rejects(hold(world, 2, 'x'.repeat(501)), { code: 'USAGE' })
  assert.deepEqual(world.keys('a/holds/'), [])
})

test('a hold fails where no lease can be written, since a prune would not see it', async () => {
  const world = await fourDays()
  const storage: Storage = {
    ...world.storage,
    create: async (key, ...rest) => {
      if (key.includes('/leases/')) throw new KafkaBackupError('STORAGE_DENIED', 'denied')
      return world.storage.create(key, ...rest)
    },
  }
  await assert.rejects(hold(world, 2, '', storage), {
    code: 'STORAGE_DENIED',
    message: 'no hold can be written at memory',
  })
  assert.deepEqual(world.keys('a/holds/'), [])
})

test('a continuous backup that holds the lease of the writer does not keep a hold waiting', async () => {
  const world = await fourDays()
  const { held } = await world.hold('a', 'writer', () => hold(world, 2))
  assert.equal(held, true)
})

describe('a hold that someone else wrote', () => {
  const hostile: Record<string, string> = {
    'is empty': '',
    'is not JSON': '{',
    'is of another backup': JSON.stringify({
      ...{ format: 'kafka-backup-hold', format_version: 1, backup_id: 'z', generation: 2 },
      ...{ created_at: 'x', host: 'h', tool_version: '1', reason: '' },
    }),
    'has unknown fields': JSON.stringify({ format: 'kafka-backup-hold', format_version: 1, released: true }),
    'is newer than this program': JSON.stringify({ format: 'kafka-backup-hold', format_version: 99 }),
    'is nested too deep': `${'['.repeat(5000)}${']'.repeat(5000)}`,
  }
  for (const [name, text] of Object.entries(hostile)) {
    test(`and that ${name} holds as well, and can be listed and released`, async () => {
      const world = await fourDays()
      await world.storage.create(holdKey('a', 2), Buffer.from(text), never)
      await world.pruneOne(policy)
      assert.deepEqual(await world.generations('a'), [2, 4])
      const { generations } = await listGenerationsOf(world.storage, 'a', { limit: 9 }, never)
      assert.deepEqual(
        generations.map(({ generation, hold }) => [generation, hold?.created_at, hold?.reason.slice(0, 23)]),
        [
          [4, undefined, undefined],
          [2, null, 'the hold cannot be read'],
        ],
      )
      assert.equal((await releaseGeneration(world.storage, 'a', 2, never)).changed, true)
      assert.deepEqual([...(await listHolds(world.storage, 'a', never))], [])
    })
  }

  test('under another name holds nothing', async () => {
    const world = await fourDays()
    for (const name of [
      '2.json',
      '000000000002.json.bak',
      'x/000000000002.json',
      '000000000000.json',
      '00000000000２.json',
    ])
      await world.storage.create(`a/holds/${name}`, Buffer.from('{}'), never)
    assert.deepEqual([...(await listHolds(world.storage, 'a', never))], [])
    await world.pruneOne(policy)
    assert.deepEqual(await world.generations('a'), [4])
  })

  test('shows a reason on one line, and not more of it than fits', async () => {
    const world = await fourDays()
    await hold(world, 2)
    const text = (await world.storage.read(holdKey('a', 2), never)).toString()
    const forged = text.replace('"reason": ""', `"reason": ${JSON.stringify(`a\nb${'x'.repeat(9000)}`)}`)
    await world.storage.replace(holdKey('a', 2), Buffer.from(forged), never)
    const facts = await readHold(world.storage, 'a', 2, never)
    assert.ok(facts?.reason.startsWith('a bxxx') && facts.reason.length <= 501, facts?.reason)
  })
})

test('a generation of version 2 can be held, is listed, and keeps its backup from being deleted', async () => {
  const world = new World()
  const storage = openMemoryStorage({ now: world.clock.now })
  await storeGenerations(
    storage,
    [1, 2, 3].map(minute => ({ created_at: `2026-01-02T03:0${minute}:00.000Z` })),
    2,
  )
  const parts = world.partsAt(storage)
  const asOfMs = BigInt(Date.parse('2026-01-02T03:02:30Z'))
  assert.equal((await holdGeneration('b1', { asOfMs, reason: 'x' }, parts, never)).generation, 2)
  const { generations } = await listGenerationsOf(storage, 'b1', { limit: 9 }, never)
  assert.deepEqual(
    generations.map(({ hold }) => hold?.reason),
    [undefined, 'x', undefined],
  )
  await assert.rejects(deleteBackup('b1', parts, { isDryRun: false }, never), { code: 'BACKUP_HELD' })
  await releaseGeneration(storage, 'b1', 2, never)
  const { outcome } = await deleteBackup('b1', parts, { isDryRun: false }, never)
  assert.deepEqual([outcome.state, outcome.unknown, [...storage.objects.keys()]], ['removed', [], []])
})
