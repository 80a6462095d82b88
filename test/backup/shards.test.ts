import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { listGenerations, newestState, openBackup } from '../../src/archive/catalog.ts'
import { noChange } from '../../src/archive/log/change.ts'
import { LogWriter } from '../../src/archive/log/log-writer.ts'
import type { Manifest } from '../../src/archive/manifest.ts'
import { verifyBackup } from '../../src/archive/verify.ts'
import type { BackupOptions } from '../../src/backup/backup-options.ts'
import { commitShards } from '../../src/backup/commit-shards.ts'
import { runBackup } from '../../src/backup/run-backup.ts'
import { runShard } from '../../src/backup/run-shard.ts'
import { isOwn } from '../../src/backup/shards.ts'
import { KafkaBackupError } from '../../src/errors.ts'
import type { Storage } from '../../src/storage/storage.ts'
import { indexAt } from '../archive/sample-archive.ts'
import { encodeRun } from '../fakes/batches.ts'
import { API } from '../fakes/fake-broker.ts'
import { type FakeCluster, type FakeTopic, fakePartition, fakeTopic, startFakeCluster } from '../fakes/fake-cluster.ts'
import { withFaults } from '../fakes/faulty-storage.ts'
import { JumpingClock } from '../fakes/jumping-clock.ts'
import { type MemoryStorage, openMemoryStorage } from '../fakes/memory-storage.ts'
import { numbersToTry } from '../full.ts'
import { plainOptions } from './plain-options.ts'

const never = new AbortController().signal

const options = plainOptions()

class StillClock extends JumpingClock {
  override readonly sleep = async (ms: number, signal?: AbortSignal): Promise<void> => {
    if (ms >= 60_000) await new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)))
    await new Promise(resolve => setImmediate(resolve))
  }
}

interface Stage {
  fake: FakeCluster
  shard(
    storage: Storage,
    index: number,
    count: number,
    signal?: AbortSignal,
    changes?: Partial<BackupOptions>,
  ): ReturnType<typeof runShard>
  commit(storage: Storage, changes?: Partial<BackupOptions>): ReturnType<typeof commitShards>
  whole(storage: Storage): ReturnType<typeof runBackup>
}

async function withStage(topics: FakeTopic[], work: (stage: Stage) => Promise<void>): Promise<void> {
  const fake = await startFakeCluster(topics)
  let runs = 0
  try {
    const fixed = { cluster: await fake.open(), clock: new StillClock(), toolVersion: '0', onProgress: () => undefined }
    const parts = (storage: Storage) => ({ ...fixed, storage, newRun: () => `run${++runs}` })
    await work({
      fake,
      shard: (storage, index, count, signal = never, changes = {}) =>
        runShard({ ...options, ...changes }, { index, count }, parts(storage), signal),
      commit: (storage, changes = {}) => commitShards({ ...options, ...changes }, parts(storage), never),
      whole: storage => runBackup(options, parts(storage), never),
    })
  } finally {
    await fake.close()
  }
}

const runs = (from: number, count: number) =>
  Array.from({ length: count }, (_, i) => encodeRun(BigInt((from + i) * 10), 10))

const sixPartitions = () => [
  fakeTopic('orders', [runs(0, 1), runs(0, 2), runs(0, 3), runs(0, 4), runs(0, 5), []]),
  fakeTopic('one', [runs(0, 6)]),
]

/** The bytes of every partition, by its name. */
async function logsOf(storage: MemoryStorage): Promise<Record<string, string>> {
  const { topics } = await openBackup(storage, 'b1', never)
  const logs: Record<string, string> = {}
  for (const { name, partitions } of topics) {
    for (const { partition, indexes, list } of partitions) {
      const listed = (await Promise.all(indexes.map(ref => indexAt(storage, ref)))).flatMap(i => i.segments)
      const segments = (await list?.read(never)) ?? listed
      const bytes = segments.map(segment => storage.objects.get(segment.key) ?? assert.fail(segment.key))
      logs[`${name}/${partition}`] = Buffer.concat(bytes).toString('hex')
    }
  }
  return logs
}

const verify = (storage: Storage) => verifyBackup(storage, 'b1', { deep: true, onProgress: () => undefined }, never)

/** The incarnations of a name, each with how many records it holds. */
function statesOf({ topics }: Pick<Manifest, 'topics'>, wanted: string): (readonly [string, number])[] {
  return topics
    .filter(({ name }) => name === wanted)
    .map(({ state, partitions }) => [state, partitions.reduce((sum, { records }) => sum + records, 0)] as const)
}

function grow(fake: FakeCluster, batches: Buffer[]): void {
  const partition = fake.state.topics[0]?.partitions[0] ?? assert.fail()
  Object.assign(partition, fakePartition([...partition.batches, ...batches]))
}

describe('shards', () => {
  test('of a backup of version 2 form one generation of it, with the same records as one run', () =>
    withStage(sixPartitions(), async ({ fake, shard, commit, whole }) => {
      const [storage, other] = [openMemoryStorage(), openMemoryStorage()]
      await whole(storage)
      const base = await newestState(storage, 'b1', never)
      let names = 0
      const own = { backupId: 'b1', newRun: () => `log${names++}`, nowMs: Date.now }
      const facts = { tool_version: '0', run: 'v2', complete: true, created_at: '', started_at: '' }
      await (await LogWriter.open(storage, base, own, never)).commit(facts, noChange, async () => undefined, never)
      grow(fake, runs(1, 3))
      for (const index of [2, 0, 1]) await shard(storage, index, 3)
      const { manifest } = await commit(storage)
      assert.deepEqual([manifest.format_version, manifest.generation, manifest.complete], [2, 3, true])
      await whole(other)
      assert.deepEqual(await logsOf(storage), await logsOf(other))
      const { problems } = await verify(storage)
      assert.deepEqual(problems, [])
    }))

  test('share the partitions: each has exactly one owner, and neighbours have different ones', () => {
    for (const count of [1, 2, 3, 4, 7]) {
      for (const id of ['0'.repeat(32), 'f'.repeat(32), '8d3c1b7e5a2f4c6b9e0d1a2b3c4d5e6f']) {
        const owners = Array.from({ length: 50 }, (_, partition) =>
          Array.from({ length: count }, (_, index) => index).filter(index => isOwn(id, partition, { index, count })),
        )
        assert.ok(owners.every(each => each.length === 1))
        if (count > 1) assert.ok(owners.every((each, i) => i === 0 || each[0] !== owners[i - 1]?.[0]))
      }
    }
  })

  test('of four processes, committed, give the same bytes as one process', () =>
    withStage(sixPartitions(), async ({ shard, commit, whole }) => {
      const [one, four] = [openMemoryStorage(), openMemoryStorage()]
      await whole(one)
      const reports = []
      for (const index of [2, 0, 3, 1]) reports.push(await shard(four, index, 4))
      assert.deepEqual(await listGenerations(four, 'b1', never), [], 'nothing counts before the commit')
      const { manifest, copied } = await commit(four)
      assert.deepEqual([manifest.generation, manifest.complete, copied.records], [1, true, 210])
      assert.equal(
        reports.reduce((sum, report) => sum + report.copied.records, 0),
        210,
      )
      assert.deepEqual(await logsOf(four), await logsOf(one))
      assert.deepEqual((await verify(four)).problems, [])
    }))

  test('go on from the last generation, whoever made it, and a single run goes on from theirs', () =>
    withStage(sixPartitions(), async ({ fake, shard, commit, whole }) => {
      const storage = openMemoryStorage()
      await whole(storage)
      grow(fake, runs(1, 2))
      for (const index of [0, 1]) await shard(storage, index, 2)
      const second = await commit(storage)
      assert.deepEqual([second.manifest.generation, second.copied.records], [2, 20])
      grow(fake, runs(3, 1))
      assert.deepEqual([(await whole(storage)).copied.records, (await verify(storage)).records], [10, 240])
      assert.deepEqual((await verify(storage)).problems, [])
    }))

  test('a commit without all of them says which are missing, and changes nothing', () =>
    withStage(sixPartitions(), async ({ shard, commit }) => {
      const storage = openMemoryStorage()
      await assert.rejects(commit(storage), { code: 'SHARDS_INCOMPLETE', message: /no shard has written anything/ })
      for (const index of [0, 3]) await shard(storage, index, 4)
      await assert.rejects(commit(storage), {
        code: 'SHARDS_INCOMPLETE',
        exitCode: 4,
        message: 'shards are missing for generation 1 of backup `b1`: 1, 2 of 4',
      })
      assert.deepEqual(await listGenerations(storage, 'b1', never), [])
    }))

  test('a commit that is run again after it was cut off says which generation it may have made', () =>
    withStage(sixPartitions(), async ({ shard, commit }) => {
      const storage = openMemoryStorage()
      for (const index of [0, 1]) await shard(storage, index, 2)
      const { manifest } = await commit(storage)
      await assert.rejects(commit(storage), {
        code: 'SHARDS_INCOMPLETE',
        help: new RegExp(`generation 1, which was committed at ${manifest.created_at}\\. .* nothing is left to do`),
      })
      assert.equal((await listGenerations(storage, 'b1', never)).length, 1)
    }))

  test('one that was interrupted is not committed half; run again it goes on from what it had', () => {
    const large = Array.from({ length: 60 }, (_, i) => encodeRun(BigInt(i * 10), 10, { valueBytes: 20_000 }))
    return withStage([fakeTopic('orders', [large])], async ({ fake, shard, commit }) => {
      const storage = openMemoryStorage()
      const controller = new AbortController()
      const reason = new Error('Ctrl-C')
      fake.state.intercept = ({ key, nth }) => {
        if (key === API.fetch && nth === 1) controller.abort(reason)
        return undefined
      }
      await assert.rejects(shard(storage, 0, 1, controller.signal), error => error === reason)
      await assert.rejects(commit(storage), { code: 'SHARDS_INCOMPLETE', message: /: 0 \(begun, not finished\) of 1$/ })
      const rest = await shard(storage, 0, 1)
      assert.ok(rest.copied.records > 0 && rest.copied.records < 600, `${rest.copied.records}`)
      assert.equal((await commit(storage)).copied.records, 600)
      const report = await verify(storage)
      assert.deepEqual([report.problems, report.records, report.complete], [[], 600, true])
    })
  })

  test('one that ran twice counts once, with what it got furthest', () =>
    withStage(sixPartitions(), async ({ fake, shard, commit }) => {
      const storage = openMemoryStorage()
      for (const index of [0, 1]) await shard(storage, index, 2)
      grow(fake, runs(1, 1))
      const again = await Promise.all([0, 1].map(index => shard(storage, index, 2)))
      assert.equal(
        again.reduce((sum, { copied }) => sum + copied.records, 0),
        10,
        'only what is new is copied',
      )
      await commit(storage)
      const report = await verify(storage)
      assert.deepEqual([report.problems, report.records], [[], 220])
    }))

  test('of two whole sets neither is chosen in silence', () =>
    withStage(sixPartitions(), async ({ shard, commit }) => {
      const storage = openMemoryStorage()
      await shard(storage, 0, 1)
      for (const index of [0, 1]) await shard(storage, index, 2)
      await assert.rejects(commit(storage), {
        code: 'SHARDS_INCOMPLETE',
        message: /sets of shards of 1 and of 2 .*remove .*b1\/shards\/00000001\//,
      })
      for (const key of [...storage.objects.keys()]) if (/shard-\d-of-1\./.test(key)) storage.objects.delete(key)
      assert.equal((await commit(storage)).copied.records, 210)
    }))

  test('of different selections, or of different clusters, are not put together', () =>
    withStage(sixPartitions(), async ({ fake, shard, commit }) => {
      const topics = { include: ['one'], exclude: [] }
      const mixed = openMemoryStorage()
      await shard(mixed, 0, 2, never, { topics })
      await shard(mixed, 1, 2)
      await assert.rejects(commit(mixed), { code: 'CONFIG_INVALID', message: /shard 0 .*source\.topics/ })
      await assert.rejects(commit(mixed, { topics }), { code: 'CONFIG_INVALID', message: /shard 1 .*source\.topics/ })
      await shard(mixed, 0, 2)
      assert.equal((await commit(mixed)).copied.records, 210)
      const foreign = openMemoryStorage()
      await shard(foreign, 0, 2)
      fake.state.clusterId = 'cluster-b'
      await shard(foreign, 1, 2)
      fake.state.clusterId = 'cluster-a'
      await assert.rejects(commit(foreign), { code: 'CONFIG_INVALID', message: /shard 1 .*cluster-b.*cluster-a/ })
      assert.deepEqual(await listGenerations(foreign, 'b1', never), [])
    }))

  test('a commit with gaps ends with GAP_FOUND where the job asks for it, and has committed all the same', () =>
    withStage(sixPartitions(), async ({ fake, shard, commit }) => {
      const storage = openMemoryStorage()
      await shard(storage, 0, 1)
      fake.state.topics = fake.state.topics.filter(({ name }) => name !== 'one')
      await assert.rejects(commit(storage, { onGap: 'fail' }), {
        code: 'GAP_FOUND',
        exitCode: 4,
        message: /one\/0 60 to unknown/,
      })
      assert.deepEqual(await listGenerations(storage, 'b1', never), [1])
      assert.deepEqual((await verify(storage)).problems, [])
    }))

  test('read of each run only what it wrote last, and a run only what its own shard wrote', () => {
    const large = Array.from({ length: 60 }, (_, i) => encodeRun(BigInt(i * 10), 10, { valueBytes: 20_000 }))
    return withStage([fakeTopic('orders', [large, runs(0, 1)])], async ({ shard, commit }) => {
      const memory = openMemoryStorage()
      const often = { commitIntervalMs: 1 }
      for (const index of [0, 1]) await shard(memory, index, 2, never, often)
      const written = [...memory.objects.keys()].filter(key => key.includes('/shards/'))
      assert.ok(written.length > 3, `${written.length} documents`)
      const storage = withFaults(memory, [])
      const readShards = () => storage.calls.filter(call => call.operation === 'read' && call.key.includes('/shards/'))
      await shard(storage, 0, 2)
      assert.equal(readShards().length, 1)
      await commit(storage)
      assert.equal(readShards().length, 1 + 3)
      assert.deepEqual([(await verify(memory)).problems, (await verify(memory)).records], [[], 610])
    })
  })

  test('a topic that only later shards saw is whole in the manifest, incomplete, and finished by the next run', () =>
    withStage(sixPartitions(), async ({ fake, shard, commit, whole }) => {
      const storage = openMemoryStorage()
      await shard(storage, 0, 2)
      fake.state.topics.push(fakeTopic('late', [runs(0, 1), runs(0, 1)]))
      await shard(storage, 1, 2)
      const { manifest, warnings } = await commit(storage)
      assert.equal(manifest.complete, false)
      assert.match(warnings.join(), /late\/[01] appeared while the shards were running/)
      assert.equal(manifest.topics.find(({ name }) => name === 'late')?.partitions.length, 2)
      assert.deepEqual((await verify(storage)).problems, [])
      assert.equal((await whole(storage)).copied.records, 10)
      const report = await verify(storage)
      assert.deepEqual([report.problems, report.records, report.complete], [[], 230, true])
    }))

  test('a topic that no shard saw waits for the next run', () =>
    withStage(sixPartitions(), async ({ fake, shard, commit }) => {
      const storage = openMemoryStorage()
      for (const index of [0, 1]) await shard(storage, index, 2)
      fake.state.topics.push(fakeTopic('late', [runs(0, 1)]))
      const { manifest } = await commit(storage)
      assert.deepEqual([manifest.complete, manifest.topics.map(({ name }) => name).includes('late')], [true, false])
    }))

  test('a topic that was deleted after its shards had copied it is kept', () =>
    withStage(sixPartitions(), async ({ fake, shard, commit }) => {
      const storage = openMemoryStorage()
      for (const index of [0, 1]) await shard(storage, index, 2)
      fake.state.topics = fake.state.topics.filter(({ name }) => name !== 'orders')
      const { manifest, newGaps } = await commit(storage)
      const orders = manifest.topics.find(({ name }) => name === 'orders')
      assert.deepEqual([orders?.state, newGaps.length], ['absent', 6])
      const report = await verify(storage)
      assert.deepEqual([report.problems, report.records], [[], 210])
    }))

  test('one that runs again after a topic was deleted still has what it had copied of it', () =>
    withStage(sixPartitions(), async ({ fake, shard, commit }) => {
      const storage = openMemoryStorage()
      for (const index of [0, 1]) await shard(storage, index, 2)
      fake.state.topics = fake.state.topics.filter(({ name }) => name !== 'one')
      for (const partition of fake.state.topics[0]?.partitions ?? []) {
        const count = Number(partition.highWatermark) / 10
        Object.assign(partition, fakePartition([...partition.batches, ...runs(count, 50)]))
      }
      for (const index of [0, 1]) await shard(storage, index, 2)
      const { manifest } = await commit(storage)
      const one = manifest.topics.find(({ name }) => name === 'one')
      assert.deepEqual([one?.state, one?.partitions[0]?.records, one?.partitions[0]?.gaps.length], ['absent', 60, 1])
      const report = await verify(storage)
      assert.deepEqual([report.problems, report.records], [[], 210 + 6 * 500])
    }))

  test('a topic that was re-created between two runs of one shard is there twice, whoever saw which', () =>
    withStage(sixPartitions(), async ({ fake, shard, commit, whole }) => {
      const storage = openMemoryStorage()
      for (const index of [0, 1]) await shard(storage, index, 2)
      fake.state.topics[0] = fakeTopic('orders', [runs(0, 90), runs(0, 90)], { id: 'e'.repeat(32) })
      await shard(storage, 0, 2)
      const { manifest } = await commit(storage)
      const orders = manifest.topics.filter(({ name }) => name === 'orders')
      assert.deepEqual(
        orders.map(({ state, partitions }) => [state, partitions.reduce((sum, { records }) => sum + records, 0)]),
        [
          ['replaced', 150],
          ['current', 900],
        ],
      )
      assert.deepEqual((await verify(storage)).problems, [])
      assert.equal((await whole(storage)).copied.records, 900)
      assert.deepEqual([(await verify(storage)).problems, (await verify(storage)).records], [[], 150 + 60 + 1800])
    }))

  test('a topic that was re-created after its shards had copied it stays the newest of its name', () =>
    withStage(sixPartitions(), async ({ fake, shard, commit, whole }) => {
      const storage = openMemoryStorage()
      for (const index of [0, 1]) await shard(storage, index, 2)
      fake.state.topics[0] = fakeTopic('orders', [runs(0, 1)], { id: 'e'.repeat(32) })
      const { manifest } = await commit(storage)
      assert.deepEqual(statesOf(manifest, 'orders'), [['absent', 150]])
      await whole(storage)
      assert.deepEqual(statesOf(await openBackup(storage, 'b1', never), 'orders'), [
        ['replaced', 150],
        ['current', 10],
      ])
    }))

  test('a topic that was truncated after its shards had copied it stays the newest of its name', () =>
    withStage([fakeTopic('orders', [runs(0, 3)])], async ({ fake, shard, commit }) => {
      const storage = openMemoryStorage()
      await shard(storage, 0, 1)
      fake.state.topics[0] = fakeTopic('orders', [runs(0, 1)])
      const { manifest } = await commit(storage, { onTruncation: 'new_incarnation' })
      assert.deepEqual(statesOf(manifest, 'orders'), [['absent', 30]])
    }))

  test('a topic that was re-created between two runs of one shard, and then deleted, does not keep the rest from being committed', () =>
    withStage(sixPartitions(), async ({ fake, shard, commit }) => {
      const storage = openMemoryStorage()
      for (const index of [0, 1]) await shard(storage, index, 2)
      fake.state.topics[0] = fakeTopic('orders', [runs(0, 90), runs(0, 90)], { id: 'e'.repeat(32) })
      for (const index of [0, 1]) await shard(storage, index, 2)
      fake.state.topics = fake.state.topics.filter(({ name }) => name !== 'orders')
      const { manifest } = await commit(storage)
      assert.deepEqual(statesOf(manifest, 'orders'), [
        ['replaced', 150],
        ['absent', 1800],
      ])
      assert.deepEqual((await verify(storage)).problems, [])
    }))

  test('a topic that was deleted before one of its shards began says how many partitions it had', () =>
    withStage(
      [fakeTopic('orders', [runs(0, 1), runs(0, 1), runs(0, 1), runs(0, 1)]), fakeTopic('one', [runs(0, 6)])],
      async ({ fake, shard, commit }) => {
        const storage = openMemoryStorage()
        await shard(storage, 0, 2)
        fake.state.topics = fake.state.topics.filter(({ name }) => name !== 'orders')
        await shard(storage, 1, 2)
        const { manifest } = await commit(storage)
        const orders = manifest.topics.find(({ name }) => name === 'orders')
        assert.deepEqual([orders?.partitions.length, orders?.partition_count], [2, 4])
      },
    ))

  test('a commit whose manifest was created, and then found in the way by a request that was repeated, has all segments', () =>
    withStage(sixPartitions(), async ({ shard, commit }) => {
      const memory = openMemoryStorage()
      for (const index of [0, 1]) await shard(memory, index, 2)
      const error = () => new KafkaBackupError('STORAGE_EXISTS', 'it is there')
      const storage = withFaults(memory, [
        { on: 'create', key: /manifests\/00000001/, effect: { kind: 'throw-after', error } },
      ])
      await commit(storage)
      storage.verifyAllFaultsExercised()
      const report = await verify(memory)
      assert.deepEqual([report.problems, report.records], [[], 210])
    }))

  test('a document that was changed is damage, not a different backup', () =>
    withStage(sixPartitions(), async ({ shard, commit }) => {
      const storage = openMemoryStorage()
      const { key } = await shard(storage, 0, 1)
      const body = storage.objects.get(key) ?? assert.fail()
      body[body.indexOf('"records": ') + 11] = 0x39
      await assert.rejects(commit(storage), { code: 'ARCHIVE_DAMAGED', exitCode: 3, message: new RegExp(key) })
    }))

  for (const kind of ['throw-before', 'throw-after'] as const) {
    test(`whichever call to the store fails, the same commands again give the same backup (${kind})`, () =>
      withStage(sixPartitions(), async ({ shard, commit }) => {
        const all = async (storage: Storage) => {
          for (const index of [0, 1]) await shard(storage, index, 2)
          await commit(storage)
        }
        const calm = withFaults(openMemoryStorage(), [])
        await all(calm)
        for (const nth of numbersToTry(calm.calls.length, kind === 'throw-before' ? 0 : 1)) {
          const memory = openMemoryStorage()
          await all(withFaults(memory, [{ nth, effect: { kind } }])).catch(() => all(memory))
          const report = await verify(memory)
          const state = [report.problems, report.gaps, report.records, report.complete]
          assert.deepEqual(state, [[], [], 210, true], `call ${nth}`)
        }
      }))
  }

  test('of two commits at once one wins', () =>
    withStage(sixPartitions(), async ({ shard, commit }) => {
      const storage = openMemoryStorage()
      await shard(storage, 0, 1)
      const results = await Promise.allSettled([commit(storage), commit(storage)])
      const failed = results.flatMap(result => (result.status === 'rejected' ? [result.reason.code] : []))
      assert.deepEqual(failed, ['WRITER_CONFLICT'])
      assert.deepEqual((await verify(storage)).problems, [])
    }))
})
