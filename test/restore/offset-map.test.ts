import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { joinRuns, meetRuns, type SentRun } from '../../src/restore/join-runs.ts'
import { readOffsetMap, unwrap } from '../../src/restore/offset-map.ts'
import { planRestore } from '../../src/restore/plan.ts'
import { never, storeBackup } from '../archive/sample-archive.ts'
import { encodeMarker, encodeRun, withCrc } from '../fakes/batches.ts'
import { type FakeTopic, fakeTopic, startFakeCluster } from '../fakes/fake-cluster.ts'
import { openMemoryStorage } from '../fakes/memory-storage.ts'
import { knowRestore } from './fake-progress.ts'
import { locateRestore } from './locate-restore.ts'
import { plainOptions } from './plain-options.ts'

const OURS = 4711n

/** `[position, offset, count]` of each, and the partition of the source where it is not 0. */
async function* runs(...all: [number, number, number, number?][]): AsyncGenerator<SentRun> {
  for (const [position, offset, count, partition = 0] of all) {
    yield { position: BigInt(position), offset: BigInt(offset), count: BigInt(count), partition }
  }
}

async function gather<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = []
  for await (const item of items) all.push(item)
  return all
}

const show = async (found: AsyncIterable<{ sourceOffset: bigint; targetOffset: bigint; count: bigint }>) =>
  (await gather(found)).map(run => [run.sourceOffset, run.targetOffset, run.count].map(Number))

describe('both sides of each record are brought together', () => {
  test('whatever the cuts on either side, adjacent ones are joined', async () => {
    const sent = runs([0, 10, 3], [3, 13, 4], [7, 20, 3])
    const placed = runs([0, 0, 5], [5, 5, 5])
    assert.deepEqual(await show(joinRuns(meetRuns(sent, placed))), [
      [10, 0, 7],
      [20, 7, 3],
    ])
  })

  test('a hole on the target begins a new run', async () => {
    const found = joinRuns(meetRuns(runs([0, 10, 6]), runs([0, 0, 3], [3, 8, 3])))
    assert.deepEqual(await show(found), [
      [10, 0, 3],
      [13, 8, 3],
    ])
  })

  test('another partition of the source begins a new run, though its offsets go on', async () => {
    const found = await gather(joinRuns(meetRuns(runs([0, 10, 3], [3, 13, 2, 1]), runs([0, 0, 5]))))
    assert.deepEqual(
      found.map(run => [run.sourcePartition, run.sourceOffset, run.targetOffset, run.count].map(Number)),
      [
        [0, 10, 0, 3],
        [1, 13, 3, 2],
      ],
    )
  })

  test('what only one side knows is left out', async () => {
    assert.deepEqual(await show(meetRuns(runs([0, 10, 9]), runs([2, 2, 2], [6, 6, 1]))), [
      [12, 2, 2],
      [16, 6, 1],
    ])
    assert.deepEqual(await show(meetRuns(runs(), runs([0, 0, 2]))), [])
    assert.deepEqual(await show(meetRuns(runs([0, 1, 2]), runs())), [])
  })

  test('sequences that begin anew go on counting', () => {
    const wrap = 2n ** 31n
    assert.equal(unwrap(0n, 0), 0n)
    assert.equal(unwrap(10n, 15), 15n)
    assert.equal(unwrap(wrap - 3n, 2), wrap + 2n)
    assert.equal(unwrap(wrap * 2n + 7n, 7), wrap * 2n + 7n)
  })
})

describe('the offset map is read from the archive and the target', () => {
  /** 0 to 2, a hole, 5 and 6, a marker at 7, 8 and 9. */
  const archived = [
    [encodeRun(0n, 3), encodeRun(5n, 2, { producerId: 3n, transactional: true })],
    [encodeMarker(7n, 3n, 'commit'), encodeRun(8n, 2)],
  ]

  async function read(topic: FakeTopic, filter = {}) {
    const fake = await startFakeCluster([topic])
    try {
      const storage = openMemoryStorage()
      const options = plainOptions({ restoreId: 'r1', topicMapping: new Map([['orders', 'copy']]) })
      knowRestore(fake, 'r1', OURS, planRestore(await storeBackup(storage, archived), options))
      const parts = { cluster: await fake.open(), storage }
      return await gather(readOffsetMap(await locateRestore(options, parts, never), parts, filter, never))
    } finally {
      await fake.close()
    }
  }

  const own = (baseOffset: bigint, count: number, sequence: number) => {
    const batch = encodeRun(baseOffset, count, { producerId: OURS })
    batch.writeInt32BE(sequence, 53)
    return withCrc(batch)
  }
  const numbers = (found: Awaited<ReturnType<typeof read>>) =>
    found.map(run => [run.sourceOffset, run.targetOffset, run.count].map(Number))

  test('one run for each stretch without a hole', async () => {
    const found = await read(fakeTopic('copy', [[own(0n, 4, 0), own(4n, 3, 4)]]))
    assert.deepEqual(numbers(found), [
      [0, 0, 3],
      [5, 3, 2],
      [8, 5, 2],
    ])
    assert.deepEqual(found[0], {
      topic: 'orders',
      partition: 0,
      targetTopic: 'copy',
      targetPartition: 0,
      targetTopicId: '636f7079202020202020202020202020',
      sourceOffset: 0n,
      targetOffset: 0n,
      count: 3n,
    })
  })

  test('past the batches of others, which a topic that was appended to holds', async () => {
    const found = await read(
      fakeTopic('copy', [[encodeRun(0n, 100), own(100n, 4, 0), encodeRun(104n, 6), own(110n, 3, 4)]]),
    )
    assert.deepEqual(numbers(found), [
      [0, 100, 3],
      [5, 103, 1],
      [6, 110, 1],
      [8, 111, 2],
    ])
  })

  test('without what the target no longer holds, and without a guess', async () => {
    assert.deepEqual(numbers(await read(fakeTopic('copy', [[own(4n, 3, 4)]]))), [
      [6, 4, 1],
      [8, 5, 2],
    ])
  })

  test('also behind an open transaction of another writer, which hides nothing that the restore has written', async () => {
    const open = encodeRun(4n, 2, { producerId: 9n, transactional: true })
    const topic = fakeTopic('copy', [[own(0n, 4, 0), open, own(6n, 3, 4)]])
    Object.assign(topic.partitions[0] ?? {}, { lastStable: 4n })
    for (const isWhole of [false, true]) {
      assert.deepEqual(numbers(await read(topic, { isWhole })), [
        [0, 0, 3],
        [5, 3, 1],
        [6, 6, 1],
        [8, 7, 2],
      ])
    }
  })

  test('of the topic and the partition that were asked for, and of no others', async () => {
    const topic = fakeTopic('copy', [[own(0n, 7, 0)]])
    assert.equal((await read(topic, { topic: 'orders', partition: 0 })).length, 3)
    await assert.rejects(read(topic, { topic: 'orders', partition: 1 }), {
      code: 'TOPIC_NOT_FOUND',
      message: /partition 1 of topic orders is not part of this restore/,
    })
    await assert.rejects(read(topic, { topic: 'copy' }), { code: 'TOPIC_NOT_FOUND', message: /topic copy is not part/ })
  })
})
