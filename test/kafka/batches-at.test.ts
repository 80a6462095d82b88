import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { readBatchesAt } from '../../src/kafka/batches-at.ts'
import { encodeRun } from '../fakes/batches.ts'
import { API } from '../fakes/fake-broker.ts'
import { type FakeTopic, fakePartition, fakeTopic, startFakeCluster } from '../fakes/fake-cluster.ts'

const never = new AbortController().signal

async function read(topic: FakeTopic, offsets: readonly bigint[], brokers = 1, fail?: (topic: FakeTopic) => number) {
  const fake = await startFakeCluster([topic], brokers)
  let requests = 0
  fake.state.intercept = ({ key }) => {
    if (key === API.fetch) requests++
    return undefined
  }
  if (fail) fake.state.fetchError = fail
  try {
    const { name, id: topicId } = topic
    const positions = offsets.map((offset, partition) => ({ topic: name, topicId, partition, offset }))
    const found = await readBatchesAt(await fake.open(), positions, never)
    const shown = [...found].map(([key, { header, sequence }]) => [key, header.baseOffset, sequence] as const)
    return { requests, found: shown.toSorted(([a], [b]) => a.localeCompare(b, 'en', { numeric: true })) }
  } finally {
    await fake.close()
  }
}

const two = () => [encodeRun(0n, 3, { producerId: 7n }), encodeRun(3n, 4, { producerId: 7n })]

describe('the batches at offsets of many partitions', () => {
  test('are read with one request to a leader', async () => {
    const topic = fakeTopic('orders', [two(), two(), two()])
    const { requests, found } = await read(topic, [2n, 3n, 6n])
    assert.deepEqual(found, [
      ['orders/0', 0n, 0],
      ['orders/1', 3n, 0],
      ['orders/2', 3n, 0],
    ])
    assert.equal(requests, 1)
  })

  test('are read from their leaders, and again after a failure that may pass', async () => {
    const topic = fakeTopic('orders', [two(), two()])
    Object.assign(topic.partitions[1] ?? {}, { leader: 1 })
    const NOT_LEADER = 6
    let failures = 2
    const { found } = await read(topic, [0n, 0n], 2, () => (failures-- > 0 ? NOT_LEADER : 0))
    assert.deepEqual(
      found.map(([key]) => key),
      ['orders/0', 'orders/1'],
    )
  })

  test('are read although one of them fills an answer', async () => {
    const large = () => [encodeRun(0n, 1, { valueBytes: 9 << 20, producerId: 7n })]
    const { found } = await read(fakeTopic('orders', [two(), large(), large(), two()]), [0n, 0n, 0n, 0n])
    assert.equal(found.length, 4)
  })

  test('are the next ones where compaction has removed them, and none where the log does not reach', async () => {
    const topic = fakeTopic('orders', [[encodeRun(0n, 1), encodeRun(5n, 2)], two(), []])
    topic.partitions[1] = fakePartition(two(), { logStart: 3n })
    const { found } = await read(topic, [2n, 1n, 4n])
    assert.deepEqual(found, [['orders/0', 5n, -1]])
  })
})
