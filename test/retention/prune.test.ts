import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { listBackupIds, openBackup } from '../../src/archive/catalog.ts'
import { prunedMarkKey } from '../../src/archive/layout.ts'
import { verifyBackup } from '../../src/archive/verify.ts'
import { withLease } from '../../src/archive/writer-lease.ts'
import { hasCode } from '../../src/errors.ts'
import { runPrune } from '../../src/retention/prune.ts'
import { keepExpired } from '../../src/retention/remove-backup.ts'
import { indexAt, never } from '../archive/sample-archive.ts'
import { DAY, HOUR, World } from './world.ts'

const verify = async (world: World, id: string) => {
  const report = await verifyBackup(world.storage, id, { deep: true, onProgress: () => undefined }, never)
  return [...report.problems, ...report.warnings]
}

describe('a backup that goes', () => {
  const twoBackups = async () => {
    const world = new World()
    await world.commit('a')
    world.clock.pass(DAY)
    await world.commit('b')
    return world
  }

  test('is marked first, found by nobody from then on, and removed when its grace period is over', async () => {
    const world = await twoBackups()
    const [marked] = (await world.prune({ keepLast: 1 })).backups
    assert.deepEqual([marked?.state, marked?.removed.objects], ['given_up', 0])
    assert.deepEqual(await listBackupIds(world.storage, never), ['b'])
    await assert.rejects(openBackup(world.storage, 'a', never), error => hasCode(error, 'BACKUP_PRUNED'))
    assert.deepEqual(await world.missing(), [])
    world.clock.pass(DAY - 1)
    await world.prune({ keepLast: 1 })
    assert.equal((await world.generations('a')).length, 1)
    world.clock.pass(1)
    const [gone] = (await world.prune({ keepLast: 1 })).backups
    assert.equal(gone?.state, 'removed')
    assert.deepEqual(world.keys('a/'), [])
    assert.deepEqual(await verify(world, 'b'), [])
  })

  test('is removed at once without a grace period', async () => {
    const world = await twoBackups()
    await world.prune({ keepLast: 1, graceMs: 0 })
    assert.deepEqual(world.keys('a/'), [])
  })

  test('is planned by a dry run exactly, whatever the grace period', async () => {
    for (const graceMs of [0, HOUR]) {
      const world = await twoBackups()
      for (let time = 0; time < 2; time++) {
        const plan = await world.pruneOne({ keepLast: 1, graceMs }, true)
        assert.deepEqual(await world.pruneOne({ keepLast: 1, graceMs }), plan)
        world.clock.pass(HOUR)
      }
    }
  })

  test('can be taken back while it is only marked, and is judged anew then', async () => {
    const world = await twoBackups()
    await world.prune({ keepLast: 1 })
    await keepExpired('a', world.partsAt(), never)
    assert.deepEqual(await listBackupIds(world.storage, never), ['a', 'b'])
    assert.deepEqual(await verify(world, 'a'), [])
    await assert.rejects(keepExpired('a', world.partsAt(), never), error => hasCode(error, 'BACKUP_NOT_FOUND'))
    await assert.rejects(keepExpired('typo', world.partsAt(), never), {
      code: 'BACKUP_NOT_FOUND',
      message: /^no backup `typo` at .*; there are: /,
    })
  })

  test('stays while somebody works with it, reader or writer', async () => {
    const world = await twoBackups()
    for (const role of ['reader', 'writer', 'prune'] as const) {
      const [a] = await world.hold('a', role, async () => (await world.prune({ keepLast: 1, graceMs: 0 })).backups)
      assert.deepEqual([a?.state, a?.usedBy.length], ['kept', 1], role)
    }
    assert.deepEqual(await verify(world, 'a'), [])
  })

  test('is never the one that this very process writes, though another has a newer one', async () => {
    const world = new World()
    await world.commit('a')
    world.clock.pass(HOUR)
    await world.commit('b')
    await withLease(world.partsAt(), { backupId: 'a', role: 'writer', kind: 'backup' }, never, async lease => {
      const own = { ownRuns: new Set([lease?.run ?? '']), ownBackupId: 'a' }
      const policy = { match: ['*'], graceMs: 0, keepLast: 1 }
      const { backups } = await runPrune(policy, { ...world.partsAt(), ...own }, { isDryRun: false }, never)
      assert.deepEqual(
        backups.map(({ state, reasons }) => [state, reasons.join()]),
        [
          ['kept', 'in use'],
          ['kept', 'keep_last,the newest complete one'],
        ],
      )
    })
  })

  test('stays, marked, while a reader came after the mark, though its manifests may be gone', async () => {
    const world = await twoBackups()
    await world.prune({ keepLast: 1 })
    world.clock.pass(2 * DAY)
    const segments = world.keys('a/kafka')
    await world.hold('a', 'reader', async () => world.prune({ keepLast: 1 }))
    assert.deepEqual(world.keys('a/kafka'), segments)
  })

  test('leaves objects that are none of a backup, and names them', async () => {
    const world = await twoBackups()
    world.storage.objects.set('a/notes.txt', Buffer.from('mine'))
    const [gone] = (await world.prune({ keepLast: 1, graceMs: 0 })).backups
    assert.deepEqual(gone?.unknown, ['a/notes.txt'])
    assert.deepEqual(world.keys('a/'), ['a/notes.txt'])
  })

  test('takes the journals of restores and keys with it', async () => {
    const world = await twoBackups()
    world.storage.objects.set('a/restores/registry-1/x.json', Buffer.from('{}'))
    world.storage.objects.set('a/keys/k1.json', Buffer.from('{}'))
    world.storage.objects.set('b/keys/k1.json', Buffer.from('{}'))
    await world.prune({ keepLast: 1, graceMs: 0 })
    assert.deepEqual(world.keys('a/'), [])
    assert.ok(world.storage.objects.has('b/keys/k1.json'))
  })
})

test('a backup whose writer had a clock that ran ahead does not outlive newer ones', async () => {
  const world = new World()
  await world.commit('ahead', { createdMs: world.clock.now() + 365 * DAY })
  world.clock.pass(DAY)
  await world.commit('newer')
  const { backups } = await world.prune({ keepLast: 1 })
  assert.deepEqual(
    backups.map(({ backupId, state }) => [backupId, state]),
    [
      ['ahead', 'given_up'],
      ['newer', 'kept'],
    ],
  )
})

test('ids that do not match, and what is no backup, are left alone', async () => {
  const world = new World()
  await world.commit('orders-1')
  world.clock.pass(HOUR)
  await world.commit('orders-2')
  await world.commit('other')
  world.storage.objects.set('offset-snapshots/x.json', Buffer.from('{}'))
  const before = [...world.keys('other/'), ...world.keys('offset-snapshots/')]
  const { backups } = await world.prune({ match: ['orders-*'], keepLast: 1, graceMs: 0 })
  assert.deepEqual(
    backups.map(({ backupId, state }) => [backupId, state]),
    [
      ['orders-1', 'removed'],
      ['orders-2', 'kept'],
    ],
  )
  assert.deepEqual([...world.keys('other/'), ...world.keys('offset-snapshots/')], before)
})

test('a backup that died before its first commit is told and left; the folder of somebody else is not even told', async () => {
  const world = new World()
  await world.stray('begun')
  world.storage.objects.set('photos/2026/a.jpg', Buffer.from('mine'))
  world.clock.pass(9 * DAY)
  const before = world.keys()
  const { backups } = await world.prune({ keepLast: 1, graceMs: 0 })
  assert.deepEqual(
    backups.map(({ backupId, state, reasons }) => [backupId, state, reasons]),
    [['begun', 'left', ['nothing was ever committed to it']]],
  )
  assert.deepEqual(world.keys(), before)
})

test('a dry run says what would happen and writes nothing', async () => {
  const world = new World()
  await world.commit('a')
  world.clock.pass(DAY)
  for (let i = 0; i < 3; i++) await world.commit('b')
  world.clock.pass(2 * DAY)
  const before = world.keys()
  const plan = await world.prune({ keepLast: 1, graceMs: HOUR }, { isDryRun: true })
  assert.deepEqual(world.keys(), before)
  const [a, b] = plan.backups
  assert.deepEqual([a?.state, b?.state, b?.generationsRemoved], ['given_up', 'kept', 2])
  const done = (await world.prune({ keepLast: 1, graceMs: HOUR })).backups[1]
  assert.deepEqual([done?.generationsRemoved, done?.removed], [b?.generationsRemoved, b?.removed])
})

test('a backup that is damaged is told and left as it is', async () => {
  const world = new World()
  await world.commit('a')
  await world.commit('b')
  const key = 'a/manifests/00000001.json'
  world.storage.objects.set(key, Buffer.from('{}'))
  world.clock.pass(9 * DAY)
  const before = world.keys('a/')
  const [a] = (await world.prune({ keepLast: 1, graceMs: 0 })).backups
  assert.equal(a?.state, 'left')
  assert.match(a?.reasons.join() ?? '', /cannot be read/)
  assert.deepEqual(world.keys('a/'), before)
})

describe('generations that were followed by another', () => {
  test('go when that was long ago; the newest and all that it names stay', async () => {
    const world = new World()
    for (let i = 0; i < 4; i++) await world.commit('a')
    world.clock.pass(DAY)
    await world.commit('a')
    await world.pruneOne()
    assert.deepEqual(await world.generations('a'), [4, 5])
    world.clock.pass(DAY)
    await world.pruneOne()
    assert.deepEqual(await world.generations('a'), [5])
    assert.deepEqual(await verify(world, 'a'), [])
    assert.equal((await openBackup(world.storage, 'a', never)).topics[0]?.partitions[0]?.segments, 5)
  })

  test('stay where the newest complete one is among them', async () => {
    const world = new World()
    await world.commit('a')
    await world.commit('a')
    await world.commit('a', { complete: false })
    await world.commit('a', { complete: false })
    world.clock.pass(2 * DAY)
    await world.pruneOne()
    assert.deepEqual(await world.generations('a'), [2, 4])
    assert.deepEqual(await world.missing(), [])
  })

  test('stay while somebody reads', async () => {
    const world = new World()
    for (let i = 0; i < 3; i++) await world.commit('a')
    world.clock.pass(2 * DAY)
    const before = world.keys('a/')
    await world.hold('a', 'reader', () => world.pruneOne())
    assert.deepEqual(world.keys('a/'), before)
  })
})

describe('what nothing names', () => {
  test('goes when it is older than the grace period', async () => {
    const world = new World()
    await world.commit('a')
    const old = await world.stray('a')
    world.clock.pass(DAY)
    const young = await world.stray('a', 2000n)
    const { removed, waiting } = await world.pruneOne()
    assert.deepEqual([removed.objects, waiting.objects], [1, 1])
    assert.deepEqual([world.storage.objects.has(old), world.storage.objects.has(young)], [false, true])
    assert.deepEqual(await verify(world, 'a'), [])
  })

  test('goes only after a generation that a writer who wakes up cannot commit over', async () => {
    const world = new World()
    const first = await world.commit('a')
    await world.stray('a')
    world.clock.pass(2 * DAY)
    await world.pruneOne()
    const newest = await openBackup(world.storage, 'a', never)
    assert.equal(newest.generation, 2)
    assert.deepEqual({ ...newest, generation: 1, run: first.run, tool_version: first.tool_version }, first)
    // And not again, where there is nothing.
    await world.pruneOne()
    assert.equal((await openBackup(world.storage, 'a', never)).generation, 2)
  })

  test('stays while a writer is at work', async () => {
    const world = new World()
    await world.commit('a')
    const stray = await world.stray('a')
    world.clock.pass(2 * DAY)
    const { notes } = await world.hold('a', 'writer', () => world.pruneOne({ graceMs: 0 }))
    assert.match(notes.join(), /in use/)
    assert.ok(world.storage.objects.has(stray))
  })

  test('stays where a shard waits with it; its documents go when their generation is there', async () => {
    const world = new World()
    await world.commit('a')
    const stray = await world.stray('a')
    world.storage.objects.set('a/shards/00000001/shard-0-of-2.abcd0123-1.json', Buffer.from('{}'))
    const waiting = 'a/shards/00000002/shard-0-of-2.abcd0123-1.json'
    const { sealJson } = await import('../../src/archive/seal.ts')
    const shard = { format: 'kafka-backup-shard', format_version: 1, tool_version: '0', backup_id: 'a', generation: 2 }
    const rest = { shard: 0, shards: 2, run: 'r', complete: false, created_at: '', warnings: [], topics: [] }
    const cluster = { cluster: { id: null, brokers: 1 }, selection: { include: [], exclude: [] }, segments: {} }
    await world.storage.create(waiting, sealJson({ ...shard, ...rest, ...cluster }), never)
    world.clock.pass(2 * DAY)
    await world.pruneOne({ olderThanMs: HOUR })
    assert.deepEqual(world.keys('a/shards'), [waiting])
    assert.ok(world.storage.objects.has(stray))
    assert.deepEqual(await world.generations('a'), [1])
  })
})

describe('older_than in a backup that stays', () => {
  const grown = async () => {
    const world = new World()
    for (let day = 0; day < 5; day++) {
      await world.commit('a')
      world.clock.pass(DAY)
    }
    return world
  }

  test('cuts off leading segments that were stored longer ago, and removes them after the grace period', async () => {
    const world = await grown()
    const before = await openBackup(world.storage, 'a', never)
    const { trimmed } = await world.pruneOne({ olderThanMs: 2.5 * DAY })
    assert.deepEqual([trimmed.partitions, trimmed.segments, trimmed.records], [2, 6, 60])
    const after = await openBackup(world.storage, 'a', never)
    assert.deepEqual([after.generation, after.created_at, after.complete], [6, before.created_at, true])
    const [partition] = after.topics[0]?.partitions ?? []
    assert.deepEqual(
      [partition?.start_offset, partition?.end_offset, partition?.records, partition?.segments],
      [30n, 50n, 20, 2],
    )
    assert.deepEqual(await verify(world, 'a'), [])
    assert.equal(world.keys('a/kafka/orders/0').filter(key => key.endsWith('.log')).length, 5)
    world.clock.pass(DAY)
    await world.commit('a')
    await world.pruneOne({ olderThanMs: 100 * DAY })
    assert.equal(world.keys('a/kafka/orders/0').filter(key => key.endsWith('.log')).length, 3)
    assert.deepEqual(await verify(world, 'a'), [])
    assert.deepEqual(await world.missing(), [])
  })

  test('leaves nothing behind with no grace period', async () => {
    const world = await grown()
    await world.pruneOne({ olderThanMs: 2.5 * DAY, graceMs: 0 })
    assert.deepEqual(await world.generations('a'), [6])
    assert.equal(world.keys('a/kafka/orders/0').filter(key => key.endsWith('.log')).length, 2)
    assert.deepEqual(await verify(world, 'a'), [])
    // The next run goes on from there.
    const next = await world.commit('a')
    assert.equal(next.topics[0]?.partitions[0]?.end_offset, 60n)
    assert.deepEqual(await verify(world, 'a'), [])
  })

  test('leaves backups whole that a rule keeps, and the newest where it has grown no more', async () => {
    const world = new World()
    for (const id of ['jan', 'feb', 'mar']) {
      await world.commit(id)
      world.clock.pass(31 * DAY)
    }
    const { backups } = await world.prune({ keepMonthly: 12, olderThanMs: 30 * DAY, graceMs: 0 })
    assert.deepEqual(
      backups.map(({ state, trimmed }) => [state, trimmed.segments]),
      [
        ['kept', 0],
        ['kept', 0],
        ['kept', 0],
      ],
    )
    for (const id of ['jan', 'feb', 'mar']) {
      assert.equal((await openBackup(world.storage, id, never)).topics[0]?.partitions[0]?.records, 10)
    }
  })

  test('leaves what one run has stored whole, though its beginning is older than its end', async () => {
    const world = new World()
    await world.commit('a', { startedMs: world.clock.now() - DAY, segments: 2 })
    const [oldest] = world.keys('a/kafka/orders/0')
    world.storage.modified.set(oldest ?? assert.fail(), world.clock.now() - DAY)
    world.clock.pass(29.5 * DAY)
    assert.equal((await world.pruneOne({ olderThanMs: 30 * DAY, graceMs: 0 })).trimmed.segments, 0)
  })

  test('is planned by a dry run exactly, whatever the grace period', async () => {
    for (const graceMs of [0, HOUR, 2 * DAY, 10 * DAY]) {
      const world = await grown()
      await world.stray('a')
      world.clock.pass(HOUR)
      const plan = await world.pruneOne({ olderThanMs: 2.5 * DAY, graceMs }, true)
      assert.deepEqual(await world.pruneOne({ olderThanMs: 2.5 * DAY, graceMs }), plan)
    }
  })

  test('keeps a partition whose segments are all gone, empty', async () => {
    const world = await grown()
    world.clock.pass(30 * DAY)
    await world.commit('a', { segments: 0 })
    await world.pruneOne({ olderThanMs: DAY, graceMs: 0 })
    const [partition] = (await openBackup(world.storage, 'a', never)).topics[0]?.partitions ?? []
    assert.deepEqual(
      [partition?.start_offset, partition?.end_offset, partition?.segments, partition?.indexes],
      [50n, 50n, 0, []],
    )
    assert.equal(partition?.first_timestamp, null)
    assert.deepEqual(await verify(world, 'a'), [])
  })

  test('leaves compacted topics whole, and says so', async () => {
    const world = new World()
    await world.commit('a', { configs: { 'cleanup.policy': 'compact' } })
    world.clock.pass(30 * DAY)
    await world.commit('a', { segments: 0, configs: { 'cleanup.policy': 'compact' } })
    const { trimmed, notes } = await world.pruneOne({ olderThanMs: DAY })
    assert.deepEqual([trimmed.segments, notes], [0, ['compacted, and so not cut: orders']])
  })

  test('leaves a topic whole that is compacted by the default of its brokers', async () => {
    const world = new World()
    await world.commit('a', { cleanupPolicy: 'compact' })
    world.clock.pass(30 * DAY)
    await world.commit('a', { segments: 0, cleanupPolicy: 'compact' })
    const { trimmed, notes } = await world.pruneOne({ olderThanMs: DAY })
    assert.deepEqual([trimmed.segments, notes], [0, ['compacted, and so not cut: orders']])
  })

  test('leaves a topic whole where the backup does not say whether it is compacted', async () => {
    const world = new World()
    await world.commit('a', { cleanupPolicy: null })
    world.clock.pass(30 * DAY)
    await world.commit('a', { segments: 0, cleanupPolicy: null })
    const { trimmed, notes } = await world.pruneOne({ olderThanMs: DAY })
    assert.equal(trimmed.segments, 0)
    assert.match(notes.join(), /not cut, since the backup does not say whether they are compacted .*: orders/)
  })

  test('cuts nothing where the newest generation is not complete', async () => {
    const world = await grown()
    await world.commit('a', { complete: false })
    const { trimmed, notes } = await world.pruneOne({ olderThanMs: 2.5 * DAY })
    assert.equal(trimmed.segments, 0)
    assert.match(notes.join(), /not complete/)
  })

  test('writes only the page of the index anew that the cut goes through', async () => {
    const world = new World()
    await world.commit('a', { partitions: 1, segments: 30 })
    world.clock.pass(10 * DAY)
    await world.commit('a', { partitions: 1, segments: 3 })
    const [before] = (await openBackup(world.storage, 'a', never)).topics[0]?.partitions ?? []
    assert.equal(before?.indexes.length, 2)
    const first = (await indexAt(world.storage, before?.indexes[0] ?? assert.fail())).segments
    for (const { key } of first.slice(20)) world.storage.modified.set(key, world.clock.now())
    await world.pruneOne({ olderThanMs: DAY, graceMs: 0 })
    const [after] = (await openBackup(world.storage, 'a', never)).topics[0]?.partitions ?? []
    assert.deepEqual(
      after?.indexes.map(({ segments }) => segments),
      [10, 3],
    )
    assert.deepEqual(after?.indexes[1], before?.indexes[1])
    assert.deepEqual(await verify(world, 'a'), [])
  })
})

test('what the store protects is counted, and keeps its manifest and all that it names', async () => {
  const world = new World()
  await world.commit('a')
  world.clock.pass(DAY)
  await world.commit('b')
  const { KafkaBackupError } = await import('../../src/errors.ts')
  const locked = (pattern: RegExp) => ({
    ...world.storage,
    remove: async (key: string, signal: AbortSignal) => {
      if (pattern.test(key)) throw new KafkaBackupError('STORAGE_RETAINED', `${key} is locked`)
      return world.storage.remove(key, signal)
    },
  })
  const policy = { keepLast: 1, graceMs: 0 }
  const [first] = (await world.prune(policy, { storage: locked(/^a\/manifests\/0/) })).backups
  assert.deepEqual([first?.state, first?.retained.objects], ['given_up', 1])
  assert.deepEqual(await world.missing(), [])
  const [second] = (await world.prune(policy, { storage: locked(/^a\/kafka\/orders\/0\/.*log/) })).backups
  assert.deepEqual([second?.state, second?.retained.objects], ['removed', 1])
  assert.ok(world.storage.objects.has(prunedMarkKey('a')))
  await world.prune(policy)
  assert.deepEqual(world.keys('a/'), [])
})
