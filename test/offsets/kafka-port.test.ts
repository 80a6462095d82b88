import assert from 'node:assert/strict'
import { test } from 'node:test'
import { kafkaOffsets } from '../../src/offsets/kafka-port.ts'
import { fakeTopic, startFakeCluster } from '../fakes/fake-cluster.ts'

const never = new AbortController().signal

test('a topic that may not be seen is not taken for one that does not exist', async () => {
  const TOPIC_AUTHORIZATION_FAILED = 29
  const hidden = { ...fakeTopic('hidden', []), errorCode: TOPIC_AUTHORIZATION_FAILED }
  const fake = await startFakeCluster([fakeTopic('orders', [[], []]), hidden], 1)
  try {
    const port = kafkaOffsets(await fake.open())
    assert.deepEqual(await port.countPartitions(['orders', 'absent'], never), new Map([['orders', 2]]))
    await assert.rejects(port.countPartitions(['orders', 'hidden'], never), { code: 'KAFKA_DENIED', message: /hidden/ })
  } finally {
    await fake.close()
  }
})
