import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { listGenerations, openBackup } from '../../src/archive/catalog.ts'
import { commitGeneration } from '../../src/archive/commit.ts'
import { verifyBackup } from '../../src/archive/verify.ts'
import { writeRegistry } from '../../src/archive/write-registry.ts'
import type { BackupOptions } from '../../src/backup/backup-options.ts'
import { runBackup } from '../../src/backup/run-backup.ts'
import type { ProgressEvent } from '../../src/observe/progress.ts'
import { backupSchemas } from '../../src/registry/backup-schemas.ts'
import { planRestore } from '../../src/restore/plan.ts'
import { commitAgain } from '../../src/retention/trim-backup.ts'
import type { Storage } from '../../src/storage/storage.ts'
import { encodeMarker, encodeRun } from '../fakes/batches.ts'
import { API } from '../fakes/fake-broker.ts'
import {
  type FakeCluster,
  type FakePartition,
  type FakeTopic,
  fakePartition,
  fakeTopic,
  startFakeCluster,
} from '../fakes/fake-cluster.ts'
import { withFaults } from '../fakes/faulty-storage.ts'
import { JumpingClock } from '../fakes/jumping-clock.ts'
import { openMemoryStorage } from '../fakes/memory-storage.ts'
import { snapshotOf, versionOf } from '../fakes/registry-snapshots.ts'
import { numbersToTry } from '../full.ts'
import { plainOptions } from '../restore/plain-options.ts'
import { plainOptions as backupOptions } from './plain-options.ts'

const never = new AbortController().signal

const fixed = backupOptions({ compression: 'auto' })

interface Stage {
  fake: FakeCluster
  backUp(
    storage: Storage,
    run: string,
    options?: Partial<BackupOptions>,
    signal?: AbortSignal,
  ): ReturnType<typeof runBackup>
  events: ProgressEvent[]
}

async function withStage(topics: FakeTopic[], work: (stage: Stage) => Promise<void>): Promise<void> {
  const fake = await startFakeCluster(topics)
  const events: ProgressEvent[] = []
  try {
    const cluster = await fake.open()
    const onProgress = (event: ProgressEvent) => events.push(event)
    await work({
      fake,
      events,
      backUp: (storage, run, options = {}, signal = never) => {
        const parts = { cluster, storage, clock: new QuietClock(), newRun: () => run, toolVersion: '0', onProgress }
        return runBackup({ ...fixed, ...options }, parts, signal)
      },
    })
  } finally {
    await fake.close()
  }
}

/** The session's time: the commit interval passes only where a test asks for short ones. */
class QuietClock extends JumpingClock {
  override readonly sleep = async (ms: number, signal?: AbortSignal): Promise<void> => {
    if (ms < 60_000) return new Promise(resolve => setImmediate(resolve))
    await new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)))
  }
}

const verify = (storage: Storage) => verifyBackup(storage, 'b1', { deep: true, onProgress: () => undefined }, never)
const runs = (from: number, count: number, valueBytes = 10) =>
  Array.from({ length: count }, (_, i) => encodeRun(BigInt((from + i) * 10), 10, { valueBytes }))

function partitionOf(fake: FakeCluster): FakePartition {
  return fake.state.topics[0]?.partitions[0] ?? assert.fail('there is no partition')
}

/** More records at the end of the first partition, and its bounds moved on to `end`. */
function append(fake: FakeCluster, batches: Buffer[], end: bigint): void {
  Object.assign(partitionOf(fake), {
    batches: [...partitionOf(fake).batches, ...batches],
    highWatermark: end,
    lastStable: end,
  })
}

describe('a backup', () => {
  test('holds what the source holds, and a second run adds what is new', () =>
    withStage([fakeTopic('orders', [runs(0, 3), runs(0, 2)]), fakeTopic('empty', [[]])], async ({ fake, backUp }) => {
      const storage = openMemoryStorage()
      const first = await backUp(storage, 'r1')
      assert.deepEqual(first.copied.records, 50)
      assert.deepEqual([first.manifest.generation, first.manifest.complete], [1, true])
      append(fake, runs(3, 1), 40n)
      const second = await backUp(storage, 'r2')
      assert.deepEqual([second.copied.records, second.manifest.generation], [10, 2])
      const report = await verify(storage)
      assert.deepEqual([report.problems, report.records, report.warnings], [[], 60, []])
    }))

  test('goes on from a backup of schemas alone, which goes on from one of data', () =>
    withStage([fakeTopic('orders', [runs(0, 3)])], async ({ backUp }) => {
      const storage = openMemoryStorage()
      const takeSchemas = (ids: number[]) => {
        const readRegistry = async () => snapshotOf(ids.map(id => versionOf('t-value', id, id)))
        const clock = new JumpingClock()
        const onProgress = () => undefined
        const parts = { storage, clock, newRun: () => `s${ids.length}`, readRegistry, toolVersion: '0', onProgress }
        return backupSchemas('b1', parts, never)
      }
      await takeSchemas([1])
      const { manifest, copied } = await backUp(storage, 'r1')
      assert.deepEqual([manifest.generation, copied.records, manifest.topics.length], [2, 30, 1])
      assert.equal(manifest.schema_registry?.subjects[0]?.versions.length, 1)
      assert.deepEqual([(await takeSchemas([1, 2])).generation, (await backUp(storage, 'r2')).copied.records], [3, 0])
      const report = await verify(storage)
      assert.deepEqual([report.generation, report.problems, report.records], [4, [], 30])
    }))

  test('keeps the schemas that an earlier generation has', () =>
    withStage([fakeTopic('t', [[encodeRun(0n, 3)]])], async ({ backUp }) => {
      const storage = openMemoryStorage()
      const { manifest } = await backUp(storage, 'run1')
      const place = { backupId: 'b1', generation: 2, run: 'run2', previous: undefined }
      const schema_registry = await writeRegistry(storage, snapshotOf([versionOf('t-value', 1, 1)]), place, never)
      const next = { ...manifest, generation: 2, run: 'run2', schema_registry }
      await commitGeneration(storage, { manifest: next, freshSegments: new Map(), attempt: 1 }, never)
      assert.deepEqual((await backUp(storage, 'run3')).manifest.schema_registry, schema_registry)
    }))

  test('is whole over holes at the end of a run, whatever the next run begins with', () =>
    withStage([fakeTopic('orders', [runs(0, 2)])], async ({ fake, backUp }) => {
      const storage = openMemoryStorage()
      // Offsets 20 to 29 are gone, and the next batch lies beyond the end of the first run.
      append(fake, [encodeRun(35n, 5)], 30n)
      partitionOf(fake).lastStable = 40n
      let offsets = 0
      fake.state.intercept = ({ key }) => {
        if (key === API.listOffsets && offsets++ < 2) partitionOf(fake).lastStable = 30n
        else partitionOf(fake).lastStable = 40n
        return undefined
      }
      assert.equal((await backUp(storage, 'r1')).copied.records, 20)
      assert.deepEqual((await verify(storage)).problems, [])
      append(fake, [], 40n)
      assert.equal((await backUp(storage, 'r2')).copied.records, 5)
      const report = await verify(storage)
      assert.deepEqual([report.problems, report.gaps, report.records], [[], [], 25])
    }))

  test('knows rolled-back transactions whose marker comes with a later run', () => {
    const data = encodeRun(0n, 10, { producerId: 5n, transactional: true })
    const partitions = [fakePartition([data], { aborted: [{ producerId: 5n, firstOffset: 0n }] })]
    return withStage([fakeTopic('orders', [], { partitions })], async ({ fake, backUp }) => {
      const storage = openMemoryStorage()
      const first = await backUp(storage, 'r1')
      const open = { producer_id: 5n, first_offset: 0n, last_offset: null }
      assert.deepEqual(first.manifest.topics[0]?.partitions[0]?.open_aborted, [open])
      append(fake, [encodeMarker(10n, 5n, 'abort')], 11n)
      const second = await backUp(storage, 'r2')
      const [partition] = second.manifest.topics[0]?.partitions ?? []
      assert.deepEqual([partition?.open_aborted, partition?.aborted_records, partition?.records], [[], 10, 10])
      assert.deepEqual((await verify(storage)).problems, [])
    })
  })

  test('commits now and then while it copies, and each commit can be read', () =>
    withStage([fakeTopic('orders', [runs(0, 60, 20_000)])], async ({ backUp, events }) => {
      const storage = openMemoryStorage()
      const { manifest } = await backUp(storage, 'r1', { commitIntervalMs: 1, compression: 'none' })
      assert.ok(manifest.generation > 2, `${manifest.generation} generations`)
      assert.deepEqual(
        await listGenerations(storage, 'b1', never),
        Array.from({ length: manifest.generation }, (_, i) => i + 1),
      )
      const report = await verify(storage)
      assert.deepEqual([report.problems, report.records, report.complete], [[], 600, true])
      assert.equal(events.filter(event => event.type === 'committed').length, manifest.generation)
    }))

  test('with gaps ends with GAP_FOUND where the job asks for it, and is committed all the same', () =>
    withStage([fakeTopic('orders', [runs(0, 3)])], async ({ fake, backUp }) => {
      const storage = openMemoryStorage()
      await backUp(storage, 'r1')
      append(fake, runs(5, 2), 70n)
      partitionOf(fake).logStart = 50n
      await assert.rejects(backUp(storage, 'r2', { onGap: 'fail' }), {
        code: 'GAP_FOUND',
        exitCode: 4,
        message: /orders\/0 30 to 50/,
      })
      const report = await verify(storage)
      assert.deepEqual([report.problems, report.records, report.gaps.length], [[], 50, 1])
    }))

  test('whose copy of the manifest cannot be renewed goes on all the same, and says so', () =>
    withStage([fakeTopic('orders', [runs(0, 60, 20_000)])], async ({ backUp }) => {
      const memory = openMemoryStorage()
      const storage = withFaults(memory, [{ on: 'replace', nth: 1, effect: { kind: 'throw-before' } }])
      const { warnings, manifest } = await backUp(storage, 'r1', { commitIntervalMs: 1, compression: 'none' })
      assert.ok(warnings.some(line => line.startsWith('manifest.json is not the newest generation')))
      assert.ok(manifest.generation > 1)
      const report = await verify(memory)
      assert.deepEqual([report.problems, report.records, report.warnings], [[], 600, []])
      storage.verifyAllFaultsExercised()
    }))
})

describe('a backup that cannot go on', () => {
  const topic = () => fakeTopic('orders', [runs(0, 60, 20_000)])
  const often = { commitIntervalMs: 1, compression: 'none' } as const

  test('because a commit failed on the way ends with that error, and with no promise left unheard', () =>
    withStage([topic()], async ({ backUp }) => {
      const memory = openMemoryStorage()
      const error = () => new Error('the disk is gone')
      const storage = withFaults(memory, [
        { on: 'create', key: /manifests/, effect: { kind: 'throw-before', error } },
        // The lanes take a while to stop: what failed must not go unheard until then.
        { on: 'write', effect: { kind: 'delay', ms: 5 } },
      ])
      await assert.rejects(backUp(storage, 'r1', often), /the disk is gone/)
      assert.deepEqual(await listGenerations(memory, 'b1', never), [])
      assert.deepEqual([...memory.openWriters], [])
      storage.verifyAllFaultsExercised()
    }))

  test('because another process has committed stops with WRITER_CONFLICT and leaves what is there', () =>
    withStage([topic()], async ({ backUp }) => {
      const storage = openMemoryStorage()
      await backUp(storage, 'r1', { topics: { include: ['orders'], exclude: ['orders'] }, missingTopics: 'warn' })
      const before = storage.objects.get('b1/manifests/00000001.json')
      const other = withFaults(storage, [])
      const racing: Storage = { ...other, list: async function* () {} }
      await assert.rejects(backUp(racing, 'r2', often), { code: 'WRITER_CONFLICT', exitCode: 5 })
      assert.equal(storage.objects.get('b1/manifests/00000001.json'), before)
      assert.deepEqual(await listGenerations(storage, 'b1', never), [1])
      assert.deepEqual((await verify(storage)).problems, [])
    }))

  test('because the store failed once keeps what was durable before', () =>
    withStage([topic()], async ({ backUp }) => {
      const memory = openMemoryStorage()
      const storage = withFaults(memory, [{ on: 'write', nth: 5, effect: { kind: 'throw-before' } }])
      await assert.rejects(backUp(storage, 'r1', { compression: 'none' }), { code: 'BACKUP_PARTIAL', exitCode: 4 })
      const partial = await verify(memory)
      assert.deepEqual([partial.problems, partial.complete], [[], false])
      assert.ok(partial.records > 0 && partial.records < 600)
      const rest = await backUp(memory, 'r2', { compression: 'none' })
      assert.equal(rest.copied.records + partial.records, 600)
      assert.deepEqual((await verify(memory)).problems, [])
      storage.verifyAllFaultsExercised()
    }))

  test('after all that it has was committed on the way is partly done, too', () => {
    const partitions = [fakePartition(runs(0, 20, 20_000)), fakePartition(runs(0, 1))]
    return withStage([fakeTopic('orders', [], { partitions })], async ({ fake, backUp }) => {
      const storage = openMemoryStorage()
      // The second partition stalls for longer than the first one takes to be committed.
      fake.state.fetchError = (_topic, partition) => (partition === 1 ? 6 : 0)
      const error = { code: 'BACKUP_PARTIAL', exitCode: 4, message: /orders\/1.* kept as generation \d+/ }
      await assert.rejects(backUp(storage, 'r1', often), error)
      const partial = await verify(storage)
      assert.deepEqual([partial.problems, partial.records, partial.complete], [[], 200, false])
    })
  })

  test('because a commit failed once keeps what was durable, though its indexes are there already', () =>
    withStage([topic()], async ({ backUp }) => {
      const memory = openMemoryStorage()
      const storage = withFaults(memory, [{ on: 'create', key: /manifests/, nth: 1, effect: { kind: 'throw-before' } }])
      await assert.rejects(backUp(storage, 'r1', often), { code: 'BACKUP_PARTIAL' })
      const partial = await verify(memory)
      assert.deepEqual(partial.problems, [])
      assert.ok(partial.records > 0)
      storage.verifyAllFaultsExercised()
    }))

  for (const kind of ['throw-before', 'throw-after'] as const) {
    test(`at any call to the store leaves what the next run completes, without a record lost or repeated (${kind})`, () =>
      withStage([fakeTopic('orders', [runs(0, 12, 20_000), runs(0, 12, 20_000)])], async ({ backUp }) => {
        const calm = withFaults(openMemoryStorage(), [])
        await backUp(calm, 'r0', often)
        for (const nth of numbersToTry(calm.calls.length, kind === 'throw-before' ? 0 : 1)) {
          const memory = openMemoryStorage()
          await backUp(withFaults(memory, [{ nth, effect: { kind } }]), 'r1', often).catch(() => undefined)
          await backUp(memory, 'r2', often)
          const report = await verify(memory)
          const state = [report.problems, report.gaps, report.records, report.complete]
          assert.deepEqual(state, [[], [], 240, true], `call ${nth}`)
        }
      }))
  }

  test('because it was stopped commits what it has and ends with the reason', () =>
    withStage([topic()], async ({ fake, backUp }) => {
      const storage = openMemoryStorage()
      const controller = new AbortController()
      const reason = new Error('Ctrl-C')
      fake.state.intercept = ({ key, nth }) => {
        if (key === API.fetch && nth === 1) controller.abort(reason)
        return undefined
      }
      await assert.rejects(backUp(storage, 'r1', {}, controller.signal), error => error === reason)
      const partial = await verify(storage)
      assert.deepEqual([partial.problems, partial.complete], [[], false])
      assert.ok(partial.records > 0 && partial.records < 600, `${partial.records}`)
      const rest = await backUp(storage, 'r2')
      assert.equal(rest.copied.records + partial.records, 600)
    }))

  test('with a partition without a leader copies the others, keeps what it holds of that one, and says so', () =>
    withStage(
      [fakeTopic('orders', [runs(0, 2), runs(0, 3)]), fakeTopic('more', [runs(0, 1)])],
      async ({ fake, backUp }) => {
        const storage = openMemoryStorage()
        await backUp(storage, 'r1')
        const [first, second] = fake.state.topics[0]?.partitions ?? []
        assert.ok(first && second)
        append(fake, runs(2, 2), 40n)
        second.leader = -1
        await assert.rejects(backUp(storage, 'r2'), {
          code: 'BACKUP_PARTIAL',
          exitCode: 4,
          message: /partitions without a leader are not copied: orders\/1; .* kept as generation 2/,
        })
        const partial = await verify(storage)
        assert.deepEqual([partial.problems, partial.records, partial.complete], [[], 80, false])
        second.leader = 0
        await backUp(storage, 'r3')
        assert.deepEqual([(await verify(storage)).problems, (await verify(storage)).complete], [[], true])
      },
    ))

  test('lists how many partitions a topic has, though the last one had no leader at the first backup', () =>
    withStage([fakeTopic('orders', [runs(0, 2), runs(0, 3)])], async ({ fake, backUp }) => {
      const storage = openMemoryStorage()
      const second = fake.state.topics[0]?.partitions[1]
      assert.ok(second)
      second.leader = -1
      await assert.rejects(backUp(storage, 'r1'), { code: 'BACKUP_PARTIAL', message: /orders\/1/ })
      const partial = await openBackup(storage, 'b1', never)
      assert.deepEqual([partial.complete, partial.topics[0]?.partitions.length], [false, 1])
      assert.equal(partial.topics[0]?.partition_count, 2)
      const plan = planRestore(partial, plainOptions())
      assert.equal(plan.topics[0]?.partitions, 2)
      assert.match(plan.warnings.join('\n'), /orders: the backup holds 1 of 2 partitions/)
      second.leader = 0
      const { manifest } = await backUp(storage, 'r2')
      assert.deepEqual([manifest.topics[0]?.partitions.length, manifest.topics[0]?.partition_count], [2, undefined])
    }))

  /** Rolled back to 10 and grown to 40 again, in the same leader epoch. */
  function rollBack(fake: FakeCluster): void {
    const other = [1, 2, 3].map(i => encodeRun(BigInt(i * 10), 10, { valueBytes: 11 }))
    Object.assign(partitionOf(fake), { batches: [...runs(0, 1), ...other], highWatermark: 40n, lastStable: 40n })
  }

  test('because the source was rolled back in the same leader epoch stores nothing of the other history', () =>
    withStage([fakeTopic('orders', [runs(0, 2)])], async ({ fake, backUp }) => {
      const storage = openMemoryStorage()
      await backUp(storage, 'r1')
      rollBack(fake)
      const expected = { code: 'SOURCE_TRUNCATED', message: /orders\/0 has another history .*before offset 20/ }
      await assert.rejects(backUp(storage, 'r2'), expected)
      const report = await verify(storage)
      assert.deepEqual([report.problems, report.generation, report.records], [[], 1, 20])
    }))

  test('because the source was rolled back in the same leader epoch starts over where the job allows it', () =>
    withStage([fakeTopic('orders', [runs(0, 2)])], async ({ fake, backUp }) => {
      const storage = openMemoryStorage()
      await backUp(storage, 'r1')
      rollBack(fake)
      const { manifest } = await backUp(storage, 'r2', { onTruncation: 'new_incarnation' })
      assert.deepEqual(
        manifest.topics.map(({ incarnation, state, partitions }) => [incarnation, state, partitions[0]?.records]),
        [
          [undefined, 'replaced', 20],
          [2, 'current', 40],
        ],
      )
      assert.deepEqual((await verify(storage)).problems, [])
      append(fake, runs(4, 1), 50n)
      assert.equal((await backUp(storage, 'r3', { onTruncation: 'new_incarnation' })).copied.records, 10)
    }))

  /** Compaction has removed the batches from 20 to 40, and the next one comes when the end of the run is fixed. */
  async function backUpWithHole({ fake, backUp }: Stage, storage: Storage): Promise<FakePartition> {
    const log = partitionOf(fake)
    log.batches = [...runs(0, 2), ...runs(4, 1)]
    fake.state.intercept = ({ key }) => {
      const end = key === API.listOffsets ? 40n : 50n
      Object.assign(log, { highWatermark: end, lastStable: end })
      return undefined
    }
    const { manifest } = await backUp(storage, 'r1')
    const [held] = manifest.topics[0]?.partitions ?? []
    assert.deepEqual([held?.end_offset, held?.read_to, held?.gaps], [20n, 40n, []])
    fake.state.intercept = () => undefined
    return log
  }

  test('does not call a hole at the end of a log a gap when the log start passes it', () =>
    withStage([fakeTopic('orders', [runs(0, 2)])], async stage => {
      const storage = openMemoryStorage()
      const log = await backUpWithHole(stage, storage)
      log.batches = [...runs(4, 2)]
      Object.assign(log, { logStart: 40n, highWatermark: 60n, lastStable: 60n })
      const second = await stage.backUp(storage, 'r2')
      assert.deepEqual([second.newGaps, second.copied.records], [[], 20])
      const [now] = second.manifest.topics[0]?.partitions ?? []
      assert.deepEqual([now?.end_offset, now?.read_to, now?.gaps, now?.records], [60n, undefined, [], 40])
      assert.deepEqual((await verify(storage)).problems, [])
    }))

  test('compares what is stored before a hole, too, and stores nothing of another history behind it', () =>
    withStage([fakeTopic('orders', [runs(0, 2)])], async stage => {
      const storage = openMemoryStorage()
      const log = await backUpWithHole(stage, storage)
      const other = [1, 2, 3, 4, 5].map(i => encodeRun(BigInt(i * 10), 10, { valueBytes: 11 }))
      Object.assign(log, { batches: [...runs(0, 1), ...other], highWatermark: 60n, lastStable: 60n })
      await assert.rejects(stage.backUp(storage, 'r2'), { code: 'SOURCE_TRUNCATED', message: /before offset 20/ })
      assert.equal((await verify(storage)).records, 20)
    }))

  test('goes on behind a hole where the source still has what is stored before it', () =>
    withStage([fakeTopic('orders', [runs(0, 2)])], async stage => {
      const storage = openMemoryStorage()
      const log = await backUpWithHole(stage, storage)
      Object.assign(log, { batches: [...runs(0, 2), ...runs(4, 2)], highWatermark: 60n, lastStable: 60n })
      assert.equal((await stage.backUp(storage, 'r2')).copied.records, 20)
      assert.deepEqual([(await verify(storage)).problems, (await verify(storage)).records], [[], 40])
    }))

  test('does call it a gap when the log start passes more than the hole', () =>
    withStage([fakeTopic('orders', [runs(0, 2)])], async stage => {
      const storage = openMemoryStorage()
      const log = await backUpWithHole(stage, storage)
      log.batches = [...runs(5, 1)]
      Object.assign(log, { logStart: 50n, highWatermark: 60n, lastStable: 60n })
      const { newGaps } = await stage.backUp(storage, 'r2')
      assert.deepEqual(newGaps, [{ topic: 'orders', partition: 0, from: 20n, to: 50n, reason: 'retention' }])
      assert.deepEqual((await verify(storage)).problems, [])
    }))

  test('before the first byte writes nothing', () =>
    withStage([topic()], async ({ backUp }) => {
      const storage = openMemoryStorage()
      const topics = { include: ['nothing'], exclude: [] }
      await assert.rejects(backUp(storage, 'r1', { topics }), { code: 'TOPIC_NOT_FOUND' })
      assert.equal(storage.objects.size, 0)
    }))
})

test('every generation has the lineage of the first, by every kind of run, and another backup has another', async () => {
  const topic = fakeTopic('orders', [[encodeRun(0n, 3)]])
  await withStage([topic], async ({ backUp }) => {
    const [storage, elsewhere] = [openMemoryStorage(), openMemoryStorage()]
    const { manifest: first } = await backUp(storage, 'run1')
    assert.match(first.lineage ?? '', /^[0-9a-f]{32}$/)
    const log = topic.partitions[0] ?? assert.fail()
    log.batches.push(encodeRun(3n, 3))
    log.highWatermark = 6n
    log.lastStable = 6n
    assert.equal((await backUp(storage, 'run2')).manifest.lineage, first.lineage)
    const readRegistry = async () => snapshotOf([versionOf('orders-value', 1, 1)])
    const parts = { storage, clock: new QuietClock(), newRun: () => 'run3', toolVersion: '0', onProgress: () => {} }
    await backupSchemas('b1', { ...parts, readRegistry }, never)
    const third = await openBackup(storage, 'b1', never)
    assert.deepEqual([third.generation, third.lineage], [3, first.lineage])
    const fourth = await commitAgain(storage, third, { run: 'run4', toolVersion: '0' }, never)
    assert.deepEqual([fourth.generation, fourth.lineage], [4, first.lineage])
    assert.notEqual((await backUp(elsewhere, 'run5')).manifest.lineage, first.lineage)
  })
})
