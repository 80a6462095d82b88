import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { compareRestore } from '../../src/restore/compare.ts'
import { findRestore } from '../../src/restore/find-restore.ts'
import { locateFound, locateSurveyed } from '../../src/restore/locate-restore.ts'
import { planRestore } from '../../src/restore/plan.ts'
import type { RestoreOptions } from '../../src/restore/restore-options.ts'
import { never, storeBackup } from '../archive/sample-archive.ts'
import { encodeBatch, encodeMarker, encodeRun, type RecordSpec } from '../fakes/batches.ts'
import { API } from '../fakes/fake-broker.ts'
import { type FakeTopic, fakePartition, fakeTopic, startFakeCluster } from '../fakes/fake-cluster.ts'
import { openMemoryStorage } from '../fakes/memory-storage.ts'
import { framed } from '../registry/ids/sample-schemas.ts'
import { knowRestore } from './fake-progress.ts'
import { locateRestore } from './locate-restore.ts'
import { plainOptions } from './plain-options.ts'
import { rewriteOptions } from './rewrite-samples.ts'

const OURS = 4711n
const texts = (...values: string[]): RecordSpec[] =>
  values.map((value, i) => ({ value: Buffer.from(value), timestampDelta: BigInt(i) }))

/** The backup holds a, b, c at 10 to 12 and d, e at 20 and 21. */
const archived = [
  [encodeBatch({ baseOffset: 10n, records: texts('a', 'b', 'c'), codec: 'gzip' })],
  [encodeBatch({ baseOffset: 20n, records: texts('d', 'e') })],
]

async function compare(topics: FakeTopic[], changes: Partial<RestoreOptions> = {}, lists = archived, known = [0]) {
  const fake = await startFakeCluster(topics)
  try {
    const storage = openMemoryStorage()
    const options = plainOptions({ restoreId: 'r1', ...changes })
    knowRestore(fake, 'r1', OURS, planRestore(await storeBackup(storage, lists), options), known)
    const parts = { cluster: await fake.open(), storage, clock: fake.clock, onProgress: () => undefined }
    return await compareRestore(await locateRestore(options, parts, never), parts, never)
  } finally {
    await fake.close()
  }
}

const restored = (name = 'orders') =>
  fakeTopic(name, [
    [
      encodeBatch({ baseOffset: 0n, records: texts('a', 'b', 'c'), producerId: OURS, codec: 'zstd' }),
      encodeBatch({ baseOffset: 3n, records: texts('d', 'e'), producerId: OURS }),
    ],
  ])

const shortly = ({ topics }: Awaited<ReturnType<typeof compare>>) =>
  topics.flatMap(({ partitions }) =>
    partitions.flatMap(({ differences }) => differences.map(one => `${one.kind} ${one.expected ?? one.actual}`)),
  )

describe('a target is compared with the backup', () => {
  test('and is the same where every record is there, in order', async () => {
    const report = await compare([restored()])
    assert.deepEqual(
      [report.ok, report.totals],
      [true, { topics: 1, partitions: 1, records: 5, removed: 0, differences: 0 }],
    )
  })

  test('under the name that it was mapped to, and in the partition', async () => {
    const changes = {
      topicMapping: new Map([['orders', 'copy']]),
      partitionMapping: new Map([['orders', new Map([[0, 1]])]]),
      partitionCount: new Map([['orders', 2]]),
    }
    const copy = restored('copy')
    copy.partitions.unshift(fakePartition([]))
    const report = await compare([copy], changes)
    assert.equal(report.ok, true)
    assert.deepEqual(
      report.topics[0]?.partitions.map(one => [one.sourcePartition, one.partition, one.records]),
      [[0, 1, 5]],
    )
  })

  test('within the offsets and the times that were asked for', async () => {
    const some = fakeTopic('orders', [[encodeBatch({ records: texts('b', 'c', 'd') })]])
    const range = await compare([some], { offsetRanges: new Map([['orders/0', { start: 11n, end: 21n }]]) })
    assert.deepEqual(
      shortly(range),
      ['different "1700000000001"', 'different "1700000000002"', 'different "1700000000000"'],
      'three records, whose times differ',
    )
    const [first, second] = [texts('a', 'b', 'c').slice(1), texts('d')]
    const exact = fakeTopic('orders', [
      [encodeBatch({ records: first }), encodeBatch({ baseOffset: 2n, records: second })],
    ])
    assert.equal((await compare([exact], { offsetRanges: new Map([['orders/0', { start: 11n, end: 21n }]]) })).ok, true)
    const late = fakeTopic('orders', [
      [encodeBatch({ records: [...texts('a', 'b', 'c').slice(1), ...texts('d', 'e').slice(1)] })],
    ])
    assert.equal((await compare([late], { timeWindow: { start: 1_700_000_000_001n } })).ok, true)
  })

  test('with the headers that a restore was told to add', async () => {
    const report = await compare([restored()], { offsetHeaders: true })
    assert.equal(report.ok, false)
    assert.deepEqual(report.topics[0]?.partitions[0]?.differences[0]?.fields, ['headers'])
  })

  test('with the schema ids that a restore gives the records', async () => {
    const lists = [
      [encodeBatch({ baseOffset: 10n, records: [{ value: framed(5) }, { value: framed(6) }], codec: 'zstd' })],
    ]
    const holding = (...ids: number[]) =>
      fakeTopic('orders', [[encodeBatch({ records: ids.map(id => ({ value: framed(id) })), codec: 'gzip' })]])
    const changes = { rewrite: rewriteOptions() }
    assert.equal((await compare([holding(500, 600)], changes, lists)).ok, true)
    const report = await compare([holding(5, 600)], changes, lists)
    assert.deepEqual([report.ok, report.totals.differences], [false, 1])
    assert.deepEqual(report.topics[0]?.partitions[0]?.differences[0]?.fields, ['value'])
  })

  test('and every record is missing where the topic is', async () => {
    const report = await compare([])
    assert.deepEqual(shortly(report), ['missing "a"', 'missing "b"', 'missing "c"', 'missing "d"', 'missing "e"'])
    assert.deepEqual(report.warnings, ['orders: it does not exist on the target'])
  })

  test('and a topic that is not there is a difference although the backup has no records of it', async () => {
    const report = await compare([], {}, [[]])
    assert.deepEqual([report.ok, report.totals.differences, report.topics[0]?.isMissing], [false, 1, true])
  })

  for (const isAfterRun of [true, false]) {
    test(`and an empty topic that brokers show late is none (${isAfterRun ? 'at the end of a run' : 'later'})`, async () => {
      const fake = await startFakeCluster([])
      try {
        const storage = openMemoryStorage()
        const options = plainOptions({ restoreId: 'r1' })
        const plan = planRestore(await storeBackup(storage, [[]]), options)
        knowRestore(fake, 'r1', OURS, plan)
        const parts = { cluster: await fake.open(), storage, clock: fake.clock, onProgress: () => undefined }
        const found = await findRestore(options, parts, never)
        const { intercept } = fake.state
        let asked = 0
        fake.state.intercept = (request, broker) => {
          if (request.key === API.metadata && ++asked === 2) fake.state.topics.push(fakeTopic('orders', [[]]))
          return intercept(request, broker)
        }
        const surveyed = { options, plan, restoreId: 'r1', segments: new Map() }
        const located = await (isAfterRun
          ? locateSurveyed(surveyed, parts, never)
          : locateFound(found, options, parts, never))
        const { ok, totals } = await compareRestore(located, parts, never)
        assert.deepEqual([ok, totals.differences, located.topics.size], [true, 0, 1])
      } finally {
        await fake.close()
      }
    })
  }

  test('and so is a partition that is not there', async () => {
    const twice = {
      partitionMapping: new Map([['orders', new Map([[0, 1]])]]),
      partitionCount: new Map([['orders', 2]]),
    }
    const report = await compare([fakeTopic('orders', [[]])], twice, [[]])
    assert.deepEqual([report.ok, report.totals.differences], [false, 1])
  })

  describe('in partitions that the backup does not have', () => {
    const withExtra = (...batches: Buffer[]) => {
      const topic = restored()
      topic.partitions.push(fakePartition([]), fakePartition(batches))
      return topic
    }
    const extra = encodeBatch({ baseOffset: 0n, records: texts('x', 'y'), producerId: 9n })

    test('those without a leader are warned of, and the others compared', async () => {
      const holding = (partition: number) => {
        const topic = withExtra()
        topic.partitions[1] = fakePartition([], { leader: -1 })
        topic.partitions[partition] = fakePartition([extra], { leader: partition === 1 ? -1 : 0 })
        return topic
      }
      for (const [partition, isOk] of [
        [1, true],
        [2, false],
      ] as const) {
        const { ok, warnings } = await compare([holding(partition)])
        const warning = 'orders/1: it is not in the backup, and was not compared, because it has no leader'
        assert.deepEqual([ok, warnings.filter(text => text.startsWith('orders/1'))], [isOk, [warning]])
      }
    })

    test('records are differences', async () => {
      const report = await compare([withExtra(extra)])
      assert.deepEqual([report.ok, shortly(report)], [false, ['extra "x"', 'extra "y"']])
      assert.deepEqual(
        report.topics[0]?.partitions.map(one => [one.sourcePartition, one.partition]),
        [
          [0, 0],
          [null, 2],
        ],
      )
    })

    test('nothing is missing where they are empty, or what they had was rolled back', async () => {
      assert.equal((await compare([withExtra()])).totals.partitions, 1)
      const topic = withExtra(
        encodeBatch({ baseOffset: 0n, records: texts('zz'), producerId: 9n, transactional: true }),
        encodeMarker(1n, 9n, 'abort'),
      )
      topic.partitions[2]?.aborted.push({ producerId: 9n, firstOffset: 0n })
      assert.equal((await compare([topic])).ok, true)
    })

    test('records are expected where others write to the topic, and where the job places partitions', async () => {
      assert.equal((await compare([withExtra(extra)], { existingTopics: 'append' })).ok, true)
      const placed = withExtra(extra)
      placed.partitions.reverse()
      const partitionMapping = new Map([['orders', new Map([[0, 2]])]])
      assert.equal((await compare([placed], { partitionMapping })).ok, true)
    })

    test('records are differences where keys were placed among fewer', async () => {
      const changes = { repartition: 'by_key', partitionCount: new Map([['orders', 1]]) } as const
      assert.deepEqual(shortly(await compare([withExtra(extra)], changes)), ['extra "x"', 'extra "y"'])
    })
  })

  test('without markers and what was rolled back on the target', async () => {
    const topic = restored()
    const rolledBack = { producerId: 9n, transactional: true }
    topic.partitions = [
      fakePartition(
        [
          encodeBatch({ baseOffset: 0n, records: texts('zz'), ...rolledBack }),
          ...(topic.partitions[0]?.batches ?? []).map((batch, i) => moved(batch, i === 0 ? 1n : 4n)),
          encodeMarker(6n, 9n, 'abort'),
        ],
        { aborted: [{ producerId: 9n, firstOffset: 0n }] },
      ),
    ]
    assert.equal((await compare([topic])).ok, true)
  })

  test('up to an open transaction, which is told', async () => {
    const topic = restored()
    topic.partitions[0]?.batches.push(encodeRun(5n, 1, { producerId: 9n, transactional: true }))
    if (topic.partitions[0]) topic.partitions[0].highWatermark = 6n
    const report = await compare([topic])
    assert.equal(report.ok, true)
    assert.match(report.warnings.join(), /orders\/0: a transaction is open; nothing from offset 5 on was compared/)
  })

  test('and holes of compaction are counted apart', async () => {
    const tail = [encodeBatch({ baseOffset: 3n, records: texts('d', 'e') })]
    const compacted = { ...fakeTopic('orders', []), partitions: [fakePartition(tail, { logStart: 0n })] }
    assert.equal((await compare([compacted])).ok, false, 'not compacted: they are missing')
    const report = await compare([{ ...compacted, configs: { 'cleanup.policy': 'compact' } }])
    assert.deepEqual([report.ok, report.totals.records, report.totals.removed], [true, 2, 3])
  })

  test('and what lies below the log start of a compacted topic is missing: compaction does not move the log start', async () => {
    const configs = { 'cleanup.policy': 'compact,delete' }
    const tail = [encodeBatch({ baseOffset: 3n, records: texts('d', 'e') })]
    const cut = { ...fakeTopic('orders', [], { configs }), partitions: [fakePartition(tail, { logStart: 2n })] }
    const report = await compare([cut])
    assert.deepEqual([report.ok, report.totals.records, report.totals.removed], [false, 2, 1])
    assert.deepEqual(shortly(report), ['missing "a"', 'missing "b"'])
  })

  test('and what was never written to a compacted topic that had been used before is missing, not removed', async () => {
    const configs = { 'cleanup.policy': 'compact' }
    const batch = encodeBatch({ baseOffset: 100n, records: texts('a', 'b', 'c'), producerId: OURS })
    const part = await compare([fakeTopic('orders', [[batch]], { configs })])
    assert.deepEqual([part.totals.records, part.totals.removed, shortly(part)], [3, 0, ['missing "d"', 'missing "e"']])
    const beyond = encodeBatch({ baseOffset: 2n ** 31n + 100n, records: texts('a', 'b', 'c'), producerId: OURS })
    const far = await compare([fakeTopic('orders', [[beyond]], { configs })])
    assert.deepEqual([far.totals.records, far.totals.removed, shortly(far)], [3, 0, ['missing "d"', 'missing "e"']])
    const emptied = fakePartition([], { logStart: 100n, highWatermark: 100n, lastStable: 100n })
    const none = await compare([{ ...fakeTopic('orders', [[]], { configs }), partitions: [emptied] }])
    assert.deepEqual([none.totals.removed, shortly(none).length], [0, 5])
  })
})

describe('a topic that was appended to', () => {
  const shared = (): FakeTopic => {
    const [first, second] = restored().partitions[0]?.batches ?? []
    const own = (batch: Buffer | undefined, at: bigint) => moved(batch ?? Buffer.alloc(0), at)
    return fakeTopic('orders', [
      [encodeRun(0n, 5), own(first, 5n), encodeRun(8n, 2, { producerId: 5n }), own(second, 10n)],
    ])
  }

  test('is compared by the batches of the restore alone', async () => {
    assert.equal((await compare([shared()])).ok, false)
    const report = await compare([shared()], { existingTopics: 'append' })
    assert.deepEqual([report.ok, report.totals.records], [true, 5])
  })

  test('is compared also behind an open transaction of another writer', async () => {
    const topic = shared()
    const [partition] = topic.partitions
    partition?.batches.splice(2, 1, encodeRun(8n, 2, { producerId: 5n, transactional: true }))
    Object.assign(partition ?? {}, { lastStable: 8n })
    const report = await compare([topic], { existingTopics: 'append' })
    assert.deepEqual([report.ok, report.totals.records, report.warnings], [true, 5, []])
  })

  test('is not compared where nobody knows which those are', async () => {
    const compared = compare([shared()], { existingTopics: 'append' }, archived, [])
    await assert.rejects(compared, { code: 'RESTORE_REFUSED', message: /knows nothing of the restore r1/ })
  })
})

/** The same batch at another offset, which lies outside its checksum. */
function moved(batch: Buffer, baseOffset: bigint): Buffer {
  const copy = Buffer.from(batch)
  copy.writeBigInt64BE(baseOffset, 0)
  return copy
}
