import assert from 'node:assert/strict'
import { test } from 'node:test'
import { kafkaOffsets } from '../../src/offsets/kafka-port.ts'
import { fakeTopic, startFakeCluster } from '../fakes/fake-cluster.ts'

const never = new AbortController().signal

test('a topic that may not be seen is not taken for one that does not exist', async () => {
  const TOPIC_AUTHORIZATION_FAILED = 29
  const orders = fakeTopic('orders', [[], []])
  const hidden = { ...fakeTopic('hidden', []), errorCode: TOPIC_AUTHORIZATION_FAILED }
  const fake = await startFakeCluster([orders, hidden], 1)
  try {
    const port = kafkaOffsets(await fake.open())
    assert.deepEqual(
      await port.describeTopics(['orders', 'absent'], never),
      new Map([['orders', { partitions: 2, id: orders.id }]]),
    )
    await assert.rejects(port.describeTopics(['orders', 'hidden'], never), { code: 'KAFKA_DENIED', message: /hidden/ })
  } finally {
    await fake.close()
  }
})
