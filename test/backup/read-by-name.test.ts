import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { openBackup } from '../../src/archive/catalog.ts'
import type { Manifest } from '../../src/archive/manifest.ts'
import { verifyBackup } from '../../src/archive/verify.ts'
import type { BackupOptions } from '../../src/backup/backup-options.ts'
import { commitShards } from '../../src/backup/commit-shards.ts'
import type { BackupParts } from '../../src/backup/round.ts'
import { runBackup } from '../../src/backup/run-backup.ts'
import { runShard } from '../../src/backup/run-shard.ts'
import { isOwn } from '../../src/backup/shards.ts'
import { idOfName } from '../../src/kafka/named-topic-id.ts'
import type { ProgressEvent } from '../../src/observe/progress.ts'
import type { Storage } from '../../src/storage/storage.ts'
import { encodeMarker, encodeRun } from '../fakes/batches.ts'
import { API, type Versions } from '../fakes/fake-broker.ts'
import { type FakeCluster, type FakeTopic, fakePartition, fakeTopic, startFakeCluster } from '../fakes/fake-cluster.ts'
import { JumpingClock } from '../fakes/jumping-clock.ts'
import { kafka21, kafka28 } from '../fakes/kafka-releases.ts'
import { openMemoryStorage } from '../fakes/memory-storage.ts'
import { plainOptions } from './plain-options.ts'

const never = new AbortController().signal

const fixed = plainOptions({ compression: 'auto', connectionsPerBroker: 1 })

interface Stage {
  fake: FakeCluster
  storage: Storage
  events: ProgressEvent[]
  partsOf(): Promise<BackupParts>
  backUp(options?: Partial<BackupOptions>): Promise<Manifest>
}

async function withStage(
  { topics, versions, brokers = 1 }: { topics: FakeTopic[]; versions: Versions | undefined; brokers?: number },
  work: (stage: Stage) => Promise<void>,
): Promise<void> {
  const fake = await startFakeCluster(topics, brokers)
  if (versions) fake.state.versions = () => versions
  const events: ProgressEvent[] = []
  const storage = openMemoryStorage()
  let run = 0
  const partsOf = async () => {
    const cluster = await fake.open()
    const onProgress = (event: ProgressEvent) => events.push(event)
    const newRun = () => `run${++run}`
    return { cluster, storage, clock: new QuietClock(), newRun, toolVersion: '0', onProgress }
  }
  try {
    await work({
      fake,
      storage,
      events,
      partsOf,
      backUp: async (options = {}) => (await runBackup({ ...fixed, ...options }, await partsOf(), never)).manifest,
    })
  } finally {
    await fake.close()
  }
}

/** The commit interval does not pass. */
class QuietClock extends JumpingClock {
  override readonly sleep = async (ms: number, signal?: AbortSignal): Promise<void> => {
    if (ms < 60_000) return new Promise(resolve => setImmediate(resolve))
    await new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)))
  }
}

/** Runs of ten records each; `salt` makes others of them. */
const runs = (from: number, count: number, salt = 0, valueBytes = 10) =>
  Array.from({ length: count }, (_, i) => encodeRun(BigInt((from + i) * 10), 10, { valueBytes: valueBytes + salt }))

const orders = (logs: Buffer[][], changes: Partial<FakeTopic> = {}) =>
  fakeTopic('orders', logs, { configs: { 'cleanup.policy': 'delete', 'retention.ms': '-1' }, ...changes })

/** The topic is deleted, and another is created under its name. */
function recreate(fake: FakeCluster, logs: Buffer[][]): void {
  fake.state.topics = [orders(logs, { id: 'ee'.repeat(16) })]
}

const theTopic = ({ topics }: Manifest, state = 'current') =>
  topics.find(topic => topic.name === 'orders' && topic.state === state) ?? assert.fail(`none is ${state}`)

const versionsUsed = ({ brokers: [broker] }: FakeCluster, key: number) =>
  new Set(broker?.requests.filter(request => request.key === key).map(({ version }) => version))

async function assertSound(storage: Storage, records: number): Promise<void> {
  const report = await verifyBackup(storage, 'b1', { deep: true, onProgress: () => undefined }, never)
  assert.deepEqual(report.problems, [])
  const manifest = await openBackup(storage, 'b1', never)
  const held = manifest.topics.flatMap(({ partitions }) => partitions).reduce((sum, one) => sum + one.records, 0)
  assert.equal(held, records)
}

describe('a cluster without topic IDs', () => {
  test('is backed up by name, and continued, under an ID that is made from the name', () =>
    withStage(
      { topics: [orders([runs(0, 30), runs(0, 3), []])], versions: kafka21 },
      async ({ fake, storage, backUp }) => {
        const first = theTopic(await backUp())
        assert.deepEqual([first.id, first.id_source, first.read_by], [idOfName('orders'), 'name', 'name'])
        assert.deepEqual(versionsUsed(fake, API.fetch), new Set([10]))
        assert.deepEqual(versionsUsed(fake, API.metadata), new Set([7]))
        await assertSound(storage, 330)
        fake.state.topics = [orders([runs(0, 40), runs(0, 3), runs(0, 1)])]
        const next = await backUp()
        assert.equal(next.topics.length, 1)
        assert.equal(theTopic(next).id, first.id)
        await assertSound(storage, 440)
      },
    ))

  test('has every answer begin with the batch that was stored last', () =>
    withStage({ topics: [orders([runs(0, 30, 0, 20_000)])], versions: kafka21 }, async ({ fake, storage, backUp }) => {
      await backUp()
      const offsets = fake.brokers[0]?.requests.filter(({ key }) => key === API.fetch).map(fetchOffset) ?? []
      assert.ok(offsets.length > 3, 'it takes several answers')
      assert.ok(
        offsets.slice(1).every(offset => offset % 10n === 9n),
        offsets.join(),
      )
      await assertSound(storage, 300)
    }))

  /** Brokers answer from one segment at a time, so that an answer may end with the batch that was stored last. */
  const segmented = (batches: Buffer[], segments: bigint[]) =>
    orders([batches], { partitions: [fakePartition(batches, { segments })] })

  test('is copied across the segments of its log', () =>
    withStage(
      { topics: [segmented(runs(0, 8), [10n, 20n, 50n])], versions: kafka21 },
      async ({ fake, storage, events, backUp }) => {
        await backUp()
        assert.deepEqual(
          events.filter(({ type }) => type === 'gap'),
          [],
        )
        await assertSound(storage, 80)
        fake.state.topics = [segmented(runs(0, 12), [10n, 20n, 50n, 80n, 110n])]
        await backUp()
        await assertSound(storage, 120)
      },
    ))

  test('is refused where another topic has its name when the next segment is read', () =>
    withStage({ topics: [segmented(runs(0, 6), [30n])], versions: kafka21 }, async ({ fake, backUp }) => {
      fake.state.intercept = request => {
        if (request.key === API.fetch && fetchOffset(request) === 30n) {
          fake.state.topics = [segmented(runs(0, 6, 1), [30n])]
        }
        return undefined
      }
      await assert.rejects(backUp(), { code: 'SOURCE_TRUNCATED' })
    }))

  test('has batches as large as an answer copied, too', () =>
    withStage({ topics: [orders([runs(0, 6, 0, 150_000)])], versions: kafka21 }, async ({ storage, backUp }) => {
      await backUp()
      await assertSound(storage, 60)
    }))

  test('has transactions that were rolled back told apart, also where an answer begins with their marker', async () => {
    const log = [
      encodeRun(0n, 10, { producerId: 7n, transactional: true, valueBytes: 20_000 }),
      encodeMarker(10n, 7n, 'abort'),
      encodeRun(11n, 10, { producerId: 7n, transactional: true, valueBytes: 20_000 }),
      encodeMarker(21n, 7n, 'commit'),
      encodeRun(22n, 10, { valueBytes: 90_000 }),
    ]
    const partition = { ...fakePartition(log), aborted: [{ producerId: 7n, firstOffset: 0n }] }
    for (const versions of [kafka21, undefined]) {
      await withStage({ topics: [orders([], { partitions: [partition] })], versions }, async ({ backUp }) => {
        const [held] = theTopic(await backUp()).partitions
        assert.equal(held?.aborted_records, 10, versions ? 'by name' : 'by ID')
      })
    }
  })
})

describe('a topic that is created again while it is read by name', () => {
  for (const [release, versions] of [
    ['2.1', kafka21],
    ['2.8', kafka28],
  ] as const) {
    test(`is not mixed with the one before it, with the versions of Kafka ${release}`, () =>
      withStage({ topics: [orders([runs(0, 30, 0, 20_000)])], versions }, async ({ fake, storage, backUp }) => {
        let fetches = 0
        fake.state.intercept = ({ key }) => {
          if (key === API.fetch && ++fetches === 3) recreate(fake, [runs(0, 60, 1, 20_000)])
          return undefined
        }
        await assert.rejects(backUp(), { code: 'SOURCE_TRUNCATED', message: /orders/ })
        await assert.rejects(openBackup(storage, 'b1', never), { code: 'BACKUP_NOT_FOUND' })
      }))

    test(`is not mixed across partitions, with the versions of Kafka ${release}`, () =>
      withStage({ topics: [orders([runs(0, 3), []])], versions }, async ({ fake, storage, backUp }) => {
        await backUp()
        // The first partition has nothing new, and the second one is new: neither answer shows that they do not belong together.
        fake.state.topics = [orders([runs(0, 3), runs(0, 2)])]
        fake.state.intercept = ({ key }) => {
          if (key === API.fetch) recreate(fake, [runs(0, 3, 1), runs(0, 2, 1)])
          return undefined
        }
        await assert.rejects(backUp(), {
          code: 'SOURCE_TRUNCATED',
          message: /orders was created again, or lost records/,
        })
        await assertSound(storage, 30)
      }))
  }
})

describe('a topic without an ID that was created again between two runs', () => {
  test('is refused where its log has grown beyond what is stored, and starts a new incarnation where the job says so', () =>
    withStage({ topics: [orders([runs(0, 3)])], versions: kafka21 }, async ({ fake, storage, backUp }) => {
      await backUp()
      recreate(fake, [runs(0, 5, 1)])
      await assert.rejects(backUp(), { code: 'SOURCE_TRUNCATED', message: /orders\/0 has another history/ })
      const manifest = await backUp({ onTruncation: 'new_incarnation' })
      assert.deepEqual([theTopic(manifest).incarnation, theTopic(manifest).id], [2, idOfName('orders')])
      assert.equal(theTopic(manifest, 'replaced').partitions[0]?.records, 30)
      await assertSound(storage, 80)
    }))

  test('is refused where its log ends where the stored one does', () =>
    withStage({ topics: [orders([runs(0, 3), []])], versions: kafka21 }, async ({ fake, storage, backUp }) => {
      await backUp()
      recreate(fake, [runs(0, 3, 1), []])
      await assert.rejects(backUp(), {
        code: 'SOURCE_TRUNCATED',
        message: /orders\/0 has another batch before offset 30 than this backup/,
      })
      const manifest = await backUp({ onTruncation: 'new_incarnation' })
      assert.equal(theTopic(manifest).incarnation, 2)
      assert.equal(theTopic(manifest, 'replaced').partitions[0]?.records, 30)
      await assertSound(storage, 60)
    }))

  test('is refused where its log was too short for the first answer, and is longer when its bounds are asked for', () =>
    withStage({ topics: [orders([runs(0, 3)])], versions: kafka21 }, async ({ fake, storage, backUp }) => {
      await backUp()
      fake.state.topics = [orders([runs(0, 5)])]
      let isAgain = false
      fake.state.intercept = ({ key }) => {
        if (key === API.fetch && !isAgain) recreate(fake, [runs(0, 1, 1)])
        if (key === API.fetch) isAgain = true
        if (key === API.listOffsets && isAgain) recreate(fake, [runs(0, 6, 1)])
        return undefined
      }
      await assert.rejects(backUp(), { code: 'SOURCE_TRUNCATED', message: /orders\/0 has another history/ })
      await assertSound(storage, 30)
    }))

  test('is refused where it has fewer partitions than are stored', () =>
    withStage({ topics: [orders([[], runs(0, 3)])], versions: kafka21 }, async ({ fake, backUp }) => {
      await backUp()
      recreate(fake, [runs(0, 3, 1)])
      await assert.rejects(backUp(), {
        code: 'SOURCE_TRUNCATED',
        message: /orders\/1 is in this backup, but not at the source/,
      })
    }))
})

describe('a log without a topic ID that starts before where it started when it held nothing', () => {
  const configs = { 'cleanup.policy': 'delete', 'retention.ms': '1000' }
  const emptied = () =>
    orders([], {
      configs,
      partitions: [fakePartition([], { logStart: 50n, highWatermark: 50n, lastStable: 50n })],
    })

  test('is refused, whether something is stored before that or not', async () => {
    for (const first of [emptied(), orders([runs(0, 3)], { configs })]) {
      await withStage({ topics: [first], versions: kafka21 }, async ({ fake, backUp }) => {
        await backUp()
        fake.state.topics = [emptied()]
        await backUp()
        recreate(fake, [runs(0, 8, 1)])
        await assert.rejects(backUp(), {
          code: 'SOURCE_TRUNCATED',
          message: /orders\/0 starts at 0, but it started at 50 before/,
        })
        const manifest = await backUp({ onTruncation: 'new_incarnation' })
        assert.equal(theTopic(manifest).partitions[0]?.records, 80)
      })
    }
  })

  test('is a new topic where the cluster gives it an ID', () =>
    withStage({ topics: [emptied()], versions: kafka21 }, async ({ fake, backUp }) => {
      await backUp()
      delete fake.state.versions
      recreate(fake, [runs(0, 8, 1)])
      const manifest = await backUp()
      assert.deepEqual([theTopic(manifest).id, theTopic(manifest).partitions[0]?.records], ['ee'.repeat(16), 80])
    }))
})

test('a compacted topic without an ID is continued where compaction has left nothing at the end of a log', () =>
  withStage({ topics: [], versions: kafka21 }, async ({ fake, storage, backUp }) => {
    const configs = { 'cleanup.policy': 'compact', 'delete.retention.ms': '86400000' }
    fake.state.topics = [orders([runs(0, 3), runs(0, 2)], { configs })]
    await backUp()
    const shortened = fakePartition(runs(0, 2), { highWatermark: 30n, lastStable: 30n })
    fake.state.topics = [orders([], { configs, partitions: [shortened, fakePartition(runs(0, 2))] })]
    await backUp()
    fake.state.topics = [orders([], { configs, partitions: [shortened, fakePartition(runs(0, 3))] })]
    await backUp()
    await assertSound(storage, 60)
  }))

test('shards that have read two topics of one name are not committed, also if another shard had nothing to read', () =>
  withStage({ topics: [], versions: kafka21 }, async ({ fake, storage, partsOf }) => {
    const count = 3
    const partitionOf = (index: number) => [0, 1, 2].findIndex(one => isOwn(idOfName('orders'), one, { index, count }))
    const logsOf = (first: Buffer[], second: Buffer[]) => {
      const logs: Buffer[][] = [[], [], []]
      logs[partitionOf(0)] = first
      logs[partitionOf(1)] = second
      return logs
    }
    fake.state.topics = [orders(logsOf(runs(0, 3), runs(0, 2)))]
    await runShard(fixed, { index: 0, count }, await partsOf(), never)
    recreate(fake, logsOf(runs(0, 5, 1), runs(0, 2, 1)))
    await runShard(fixed, { index: 1, count }, await partsOf(), never)
    await runShard(fixed, { index: 2, count }, await partsOf(), never)
    await assert.rejects(commitShards(fixed, await partsOf(), never), { code: 'SOURCE_TRUNCATED' })
    await assert.rejects(openBackup(storage, 'b1', never), { code: 'BACKUP_NOT_FOUND' })
  }))

describe('a log without a topic ID that starts behind what is stored', () => {
  const later = (from: number, configs: Record<string, string>) =>
    orders([runs(from, 3)], { configs: { 'cleanup.policy': 'delete', ...configs } })

  test('is refused where retention does not explain it', () =>
    withStage({ topics: [orders([runs(0, 3)])], versions: kafka21 }, async ({ fake, backUp }) => {
      await backUp()
      for (const from of [3, 5]) {
        fake.state.topics = [later(from, { 'retention.ms': '-1', 'retention.bytes': '-1' })]
        const message = new RegExp(
          `orders/0 starts at ${from}0, but this backup ends at 30, and its retention does not`,
        )
        await assert.rejects(backUp(), { code: 'SOURCE_TRUNCATED', message })
      }
    }))

  test('is continued behind a gap where retention explains it', () =>
    withStage({ topics: [orders([runs(0, 3)])], versions: kafka21 }, async ({ fake, storage, backUp }) => {
      await backUp()
      fake.state.topics = [later(5, { 'retention.ms': '1000' })]
      const [held] = theTopic(await backUp()).partitions
      assert.deepEqual(
        held?.gaps.map(({ from, to, reason }) => [from, to, reason]),
        [[30n, 50n, 'retention']],
      )
      await assertSound(storage, 60)
    }))

  test('is continued where another partition still has what is stored of it', () =>
    withStage({ topics: [orders([runs(0, 3), runs(0, 3)])], versions: kafka21 }, async ({ fake, storage, backUp }) => {
      await backUp()
      fake.state.topics = [orders([runs(5, 3), runs(0, 3)])]
      await backUp()
      await assertSound(storage, 90)
    }))
})

describe('a cluster whose topics get IDs by an upgrade', () => {
  test('is continued where the topic still has what is stored, and its ID decides from then on', () =>
    withStage({ topics: [orders([runs(0, 3)])], versions: kafka21 }, async ({ fake, storage, backUp }) => {
      await backUp()
      delete fake.state.versions
      fake.state.topics = [orders([runs(0, 4)])]
      const { id } = fake.state.topics[0] ?? assert.fail()
      const upgraded = theTopic(await backUp())
      assert.deepEqual([upgraded.id, upgraded.kafka_id], [idOfName('orders'), id])
      await assertSound(storage, 40)
      fake.state.topics = [orders([runs(0, 5)])]
      const manifest = await backUp()
      assert.equal(manifest.topics.length, 1)
      await assertSound(storage, 50)
      recreate(fake, [runs(0, 9, 1)])
      const again = await backUp()
      assert.deepEqual([theTopic(again).id, theTopic(again).kafka_id], ['ee'.repeat(16), undefined])
      assert.equal(theTopic(again, 'replaced').id, idOfName('orders'))
      await assertSound(storage, 140)
    }))

  test('starts a new incarnation of a topic that has another log, or nothing of what is stored', async () => {
    for (const logs of [[runs(0, 5, 1)], [runs(7, 2)]]) {
      await withStage({ topics: [orders([runs(0, 3)])], versions: kafka21 }, async ({ fake, backUp }) => {
        await backUp()
        delete fake.state.versions
        recreate(fake, logs)
        const manifest = await backUp()
        assert.equal(theTopic(manifest).id, 'ee'.repeat(16))
        assert.equal(theTopic(manifest, 'replaced').partitions[0]?.records, 30)
        assert.ok(manifest.warnings.some(message => /orders: the cluster gives it an ID now, and/.test(message)))
      })
    }
  })

  test('is continued by name where a broker that is still old answers', () =>
    withStage({ topics: [orders([runs(0, 3)])], versions: undefined }, async ({ fake, storage, backUp }) => {
      const { id } = theTopic(await backUp())
      fake.state.versions = () => kafka21
      fake.state.topics = [orders([runs(0, 4)])]
      const manifest = await backUp()
      assert.deepEqual([manifest.topics.length, theTopic(manifest).id], [1, id])
      await assertSound(storage, 40)
    }))
})

test('each broker is asked in the versions that it speaks', async () => {
  const partitions = [fakePartition(runs(0, 3)), fakePartition(runs(0, 3), { leader: 1 })]
  const topics = [orders([], { partitions })]
  await withStage({ topics, versions: kafka28, brokers: 2 }, async ({ fake, storage, backUp }) => {
    fake.state.versions = brokerId => (brokerId === 0 ? kafka28 : new Map([...kafka28, [API.fetch, [4, 17]]]))
    await backUp()
    const [byName, byId] = fake.brokers.map(broker => broker.requests.filter(({ key }) => key === API.fetch))
    assert.ok(byName?.every(({ version }) => version === 12))
    assert.ok(byId?.every(({ version }) => version === 13))
    await assertSound(storage, 60)
  })
})

/** Of the first partition of the first topic, in version 10. */
function fetchOffset({ body }: { body: { buffer: Buffer } }): bigint {
  const at = body.buffer.indexOf('orders') + 'orders'.length
  return body.buffer.readBigInt64BE(at + 4 + 4 + 4)
}
