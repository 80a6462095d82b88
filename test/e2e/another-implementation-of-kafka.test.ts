import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { openBackup } from '../../src/archive/catalog.ts'
import { readGroups } from '../../src/archive/groups.ts'
import { alterShareOffsets } from '../../src/kafka/share-offsets.ts'
import { createTopics } from '../../src/kafka/topic-admin.ts'
import { fullTest } from '../full.ts'
import { openLocation } from '../open-location.ts'
import { readArchivedTopic } from '../oracle/archive.ts'
import { assertSameRecords } from '../oracle/records.ts'
import { type KafkaDriver, openDriver, type SeedRecord } from '../servers/driver.ts'
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

function values(count: number): SeedRecord[] {
  return Array.from({ length: count }, (_, i) => ({ partition: 0, key: null, value: Buffer.from(`v${i}`) }))
}

/** Name, type and positions of the groups in a backup. */
async function storedGroups(path: string, backupId = 'b1') {
  const storage = openLocation(path)
  const { consumer_groups: section } = await openBackup(storage, backupId, never)
  if (section?.state !== 'taken') throw new Error('the backup has no groups')
  const { groups } = await readGroups(storage, section, never)
  return groups
    .map(({ group, type, positions }) => [group, type, positions.map(({ offset }) => offset)] as const)
    .sort(([one], [other]) => (one < other ? -1 : 1))
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

  test('offsets of a group of KIP-848 and of a share group are backed up and restored', () =>
    withFolder(async path => {
      const { server, driver } = kfake
      await driver.createTopic('grouped', { partitions: 1, replicationFactor: 1 })
      await driver.produce('grouped', values(8))
      const member = {
        group: 'new-protocol',
        topics: ['grouped'],
        protocol: 'consumer' as const,
        reset: 'earliest' as const,
      }
      await driver.readGroup({ ...member, take: 3 })
      const cluster = await openCluster(server)
      await alterShareOffsets(cluster, 'shared', [{ topic: 'grouped', partition: 0, offset: 2n }], never)
      cluster.close()
      const groups = { include: ['new-protocol', 'shared'] }
      const taken = await backUp({
        ...{ servers: server.bootstrapServers, path, include: ['grouped'], backup: { consumer_groups: groups } },
      })
      assert.deepEqual(taken.warnings, [])
      assert.deepEqual(await storedGroups(path), [
        ['new-protocol', 'consumer', [3n]],
        ['shared', 'share', [2n]],
      ])
      const mapping = { 'new-protocol': 'new-protocol-2', shared: 'shared-2' }
      const restore = { topic_mapping: { grouped: 'grouped-2' }, retention: 'hold' }
      await restoreByJob({
        ...{ servers: server.bootstrapServers, path },
        restore: { ...restore, consumer_groups: { ...groups, mapping } },
      })
      const resumed = { ...member, group: 'new-protocol-2', topics: ['grouped-2'], reset: 'none' as const }
      assert.deepEqual(
        (await driver.readGroup(resumed)).map(({ offset }) => offset),
        [3n, 4n, 5n, 6n, 7n],
      )
      await backUp({ servers: server.bootstrapServers, path, include: ['grouped-2'], backupId: 'again' })
      const again = (await storedGroups(path, 'again')).find(([name]) => name === 'shared-2')
      assert.deepEqual(again, ['shared-2', 'share', [2n]])
    }))

  test('partitions that it leaves out of a full answer, and a log start inside a batch, are read', () =>
    withFolder(async path => {
      const { server, driver } = kfake
      const partitions = 10
      await driver.createTopic('wide', { partitions, replicationFactor: 1 })
      // Several times what one answer can hold.
      const bulk = { count: 8000, partitions, valueBytes: 5000, batchSize: 16_384 }
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
