import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { createTopics } from '../../src/kafka/topic-admin.ts'
import { fullTest } from '../full.ts'
import { readArchivedTopic } from '../oracle/archive.ts'
import { assertSameRecords } from '../oracle/records.ts'
import { type KafkaDriver, openDriver } from '../servers/driver.ts'
import { defaultKafkaVersion } from '../servers/kafka-dist.ts'
import { type KfakeOptions, type KfakeServer, startKfake } from '../servers/kfake.ts'
import { backUp, withFolder } from './backup-job.ts'
import { backUpTwice, guardedBroker, restoreWorld } from './broker-world.ts'
import { openCluster } from './raw-produce.ts'
import { restoreByJob } from './restore-job.ts'
import { useOwnKafka } from './use-kafka.ts'

const never = new AbortController().signal
const committed = { isolation: 'read_committed' } as const

/** Three brokers of kfake, with a driver. */
async function openKfake(options: KfakeOptions = {}) {
  await using opening = new AsyncDisposableStack()
  const server = opening.use(await startKfake({ brokers: 3, ...options }))
  const driver = opening.use(await openDriver(server))
  const opened = opening.move()
  const source = { ...server, version: 'kfake' }
  return { server: source, driver: creating(driver, server), [Symbol.asyncDispose]: () => opened.disposeAsync() }
}

/** Creates topics without the Java client, which fails when an answer has no settings of the new topic, or none with their source. */
function creating(driver: KafkaDriver, server: KfakeServer): KafkaDriver {
  const createTopic: KafkaDriver['createTopic'] = async (name, options = {}) => {
    const { partitions = 1, replicationFactor: replication = -1, configs = {} } = options
    const cluster = await openCluster(server)
    await createTopics(cluster, [{ name, partitions, replication, configs }], { timeoutMs: 10_000 }, never)
    cluster.close()
  }
  return { ...driver, createTopic }
}

describe('kfake, the Kafka protocol as franz-go implements it', () => {
  const kafka = useOwnKafka(guardedBroker(defaultKafkaVersion))
  let kfake: Awaited<ReturnType<typeof openKfake>>
  before(async () => {
    kfake = await openKfake()
  })
  after(() => kfake?.[Symbol.asyncDispose]())

  test('a backup of it is restored to another one and to Kafka', () =>
    withFolder(async path => {
      const source = await backUpTwice(kfake.server, kfake.driver, path)
      await using target = await openKfake()
      await restoreWorld({ servers: target.server.bootstrapServers, path }, source, target.driver)
      await restoreWorld({ servers: kafka.server.bootstrapServers, path }, source, kafka.driver)
    }))

  test('a backup of Kafka is restored to it', () =>
    withFolder(async path => {
      const source = await backUpTwice(kafka.server, kafka.driver, path)
      await restoreWorld({ servers: kfake.server.bootstrapServers, path }, source, kfake.driver)
    }))

  test('partitions that it leaves out of a full answer, and a log start inside a batch, are read', () =>
    withFolder(async path => {
      const { server, driver } = kfake
      const partitions = 10
      await driver.createTopic('wide', { partitions, replicationFactor: 1 })
      // Several times what one answer can hold.
      const bulk = { count: 40_000, partitions, valueBytes: 1000, batchSize: 16_384 }
      await driver.seedBulk('wide', bulk)
      await driver.deleteRecords('wide', 3, 7n)
      const spec = { servers: server.bootstrapServers, path, include: ['wide'] }
      const { warnings } = await backUp({ ...spec, backup: { connections_per_broker: 1, memory_budget: '32MiB' } })
      assert.deepEqual(warnings, [])
      assertSameRecords(await driver.consume('wide', committed), await readArchivedTopic(path, 'b1', 'wide'))
      const options = { topic_mapping: { wide: 'wide-back' }, retention: 'hold' }
      await restoreByJob({ servers: server.bootstrapServers, path, restore: options })
      assertSameRecords(await driver.consume('wide', committed), await driver.consume('wide-back', committed))
    }))

  fullTest('with the request versions of Kafka 2.1, topics are read by name', () =>
    withFolder(async path => {
      await using old = await openKfake({ release: '2.1' })
      const source = await backUpTwice(old.server, old.driver, path)
      await using target = await openKfake({ release: '2.1' })
      await restoreWorld({ servers: target.server.bootstrapServers, path }, source, target.driver)
    }),
  )
})
