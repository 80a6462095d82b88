import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { borrowKafka, type KafkaLender, openKafkaLender } from './shared-kafka.ts'

const record = { partition: 0, key: null, value: Buffer.from('x') }
let lender: KafkaLender

before(async () => {
  lender = await openKafkaLender()
})
after(() => lender?.close())

test('lends the same server again, without what the last borrower left', async () => {
  const first = await borrowKafka(lender.socket)
  await first.driver.createTopic('topic', { partitions: 2 })
  await first.driver.produce('topic', [record, record], { producerKey: 'kept' })
  await first.driver.transaction('topic', [record], { transactionalId: 'open', outcome: 'open' })
  await first.driver.transactOffsets('open', { group: 'undecided', topic: 'topic', partition: 0, offset: 1n })
  await first.driver.readGroup({ group: 'left', topics: ['topic'] })
  await first.driver.holdGroup({ group: 'held', topics: ['topic'] })
  await first.driver.setQuotas([{ entity: { user: 'alice' }, values: { producer_byte_rate: 1000 } }])
  await first.driver.createScramUser('alice', 'secret', 'SCRAM-SHA-256')
  await first.driver.close()

  const second = await borrowKafka(lender.socket)
  assert.deepEqual(second.server, first.server)
  assert.deepEqual(await second.driver.listQuotas(), [])
  await second.driver.createTopic('topic')
  await second.driver.produce('topic', [record])
  for (const group of ['left', 'held', 'undecided']) {
    const read = await second.driver.readGroup({ group, topics: ['topic'] })
    assert.deepEqual(
      read.map(({ offset }) => offset),
      [0n],
      group,
    )
  }
  await second.driver.close()
})

test('lends another server after a borrower that left in the middle of a call', async () => {
  const first = await borrowKafka(lender.socket)
  await first.driver.createTopic('topic')
  const reading = first.driver.readGroup({ group: 'g', topics: ['missing'] })
  await Promise.all([assert.rejects(reading, /ended the loan/), first.driver.close()])

  const second = await borrowKafka(lender.socket)
  assert.notEqual(second.server.clusterId, first.server.clusterId)
  await second.driver.close()
})

test('gives each of two borrowers a server of its own', async () => {
  const [first, second] = await Promise.all([borrowKafka(lender.socket), borrowKafka(lender.socket)])
  assert.notEqual(first.server.clusterId, second.server.clusterId)
  await Promise.all([first.driver.close(), second.driver.close()])
})
