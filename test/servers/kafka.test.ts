import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { assertSameRecords } from '../oracle/records.ts'
import { type KafkaDriver, openDriver } from './driver.ts'
import { exampleRecords, expectedRecords } from './fixtures/example-records.ts'
import { startKafka } from './kafka.ts'
import { olderKafkaVersion, oldestKraftVersion } from './kafka-dist.ts'

for (const version of [olderKafkaVersion, oldestKraftVersion]) {
  test(`Kafka ${version} takes and gives records and transactions, also after a restart`, async () => {
    await using server = await startKafka({ version })
    await using driver = await openDriver(server)
    await driver.createTopic('topic', { partitions: 2 })
    const options = { transactionalId: 'id', compression: 'zstd' } as const
    await driver.transaction('topic', exampleRecords, { ...options, outcome: 'commit' })
    await driver.transaction('topic', exampleRecords, { ...options, outcome: 'abort' })
    await server.stopBroker(0)
    await server.startBroker(0)
    assertSameRecords(expectedRecords(2), await driver.consume('topic', { isolation: 'read_committed' }))
  })
}

test('three brokers go on when one is killed, and take it back', async () => {
  await using server = await startKafka({ brokers: 3 })
  await using driver = await openDriver(server)
  await driver.createTopic('topic', { partitions: 3 })
  await driver.moveLeader('topic', 0, 2)
  assert.equal((await driver.describeTopic('topic')).partitions[0]?.leader, 2)
  const record = { partition: 0, key: null, value: Buffer.from('x'), timestamp: 1 }
  await driver.produce('topic', [record])

  await server.killBroker(1)
  assert.equal(server.brokerPid(1), undefined)
  await driver.produce('topic', [record])
  assert.notEqual((await driver.describeTopic('topic')).partitions[0]?.leader, 2)

  await server.startBroker(1)
  await waitForInSync(driver, 'topic', 3)
  const expected = { key: null, value: record.value, headers: [], timestamp: 1n }
  assertSameRecords([[expected, expected], [], []], await driver.consume('topic', { isolation: 'read_committed' }))
})

test('a secure listener asks for a user, and rights decide what the user may do', async () => {
  await using server = await startKafka({
    secureListener: 'SASL_PLAINTEXT',
    properties: {
      'sasl.enabled.mechanisms': 'SCRAM-SHA-256',
      'listener.name.secure.scram-sha-256.sasl.jaas.config': `${scramModule} required;`,
      'authorizer.class.name': 'org.apache.kafka.metadata.authorizer.StandardAuthorizer',
      'super.users': 'User:ANONYMOUS',
    },
  })
  await using driver = await openDriver(server)
  await driver.createTopic('topic')
  await driver.produce('topic', [{ partition: 0, key: null, value: null }])
  await driver.createScramUser('reader', 'secret', 'SCRAM-SHA-256')
  await using reader = await openDriver(
    { ...server, bootstrapServers: server.secureBootstrapServers },
    {
      'security.protocol': 'SASL_PLAINTEXT',
      'sasl.mechanism': 'SCRAM-SHA-256',
      'sasl.jaas.config': `${scramModule} required username="reader" password="secret";`,
    },
  )
  const read = () => reader.consume('topic', { isolation: 'read_committed' })
  await assert.rejects(read, { name: 'TopicAuthorizationException' })
  await driver.createAcls([
    { principal: 'User:reader', operation: 'READ', resourceType: 'TOPIC', resourceName: 'topic' },
  ])
  assert.equal((await read())[0]?.length, 1)
})

test('a broker that cannot start says why', async () => {
  const start = startKafka({ properties: { 'num.io.threads': 'many' } })
  await assert.rejects(start, /Invalid value many for configuration num\.io\.threads/)
})

const scramModule = 'org.apache.kafka.common.security.scram.ScramLoginModule'

async function waitForInSync(driver: KafkaDriver, topic: string, copies: number): Promise<void> {
  const deadline = performance.now() + 20_000
  while (!(await driver.describeTopic(topic)).partitions.every(partition => partition.inSync.length === copies)) {
    assert.ok(performance.now() < deadline, 'the replicas are not in sync')
    await sleep(50)
  }
}
