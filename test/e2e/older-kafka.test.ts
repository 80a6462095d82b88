import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { describeBackup } from '../../src/archive/describe.ts'
import { apiVersions } from '../../src/kafka/api/api-versions.ts'
import { requestTable } from '../../src/kafka/api/request-table.ts'
import type { Versions } from '../fakes/fake-broker.ts'
import { kafka21, kafka28 } from '../fakes/kafka-releases.ts'
import { fullDescribe, fullTest } from '../full.ts'
import { openLocation } from '../open-location.ts'
import { readArchivedTopic } from '../oracle/archive.ts'
import { assertSameRecords } from '../oracle/records.ts'
import { type KafkaDriver, openDriver, type SeedRecord } from '../servers/driver.ts'
import { type KafkaServer, startKafka } from '../servers/kafka.ts'
import {
  newestKafkaVersion,
  olderKafkaVersion,
  oldestKafkaVersion,
  oldestKraftVersion,
  zooKeeperKafkaVersion,
} from '../servers/kafka-dist.ts'
import { backUp, withFolder } from './backup-job.ts'
import { backUpTwice, guardedBroker, restoreWorld } from './broker-world.ts'
import { openCluster } from './raw-produce.ts'
import { restore } from './restore-job.ts'
import { type UsedKafka, useKafka, useOwnKafka } from './use-kafka.ts'

const never = new AbortController().signal
const committed = { isolation: 'read_committed' } as const
const versions = [newestKafkaVersion, olderKafkaVersion, oldestKraftVersion, zooKeeperKafkaVersion, oldestKafkaVersion]
/** The newest of these with ZooKeeper has message formats that others do not have; the rest are between the newest and the oldest. */
const always = [newestKafkaVersion, zooKeeperKafkaVersion, oldestKafkaVersion]

for (const version of versions) {
  const describeVersion = always.includes(version) ? describe : fullDescribe
  describeVersion(`Kafka ${version}`, () => {
    const kafka = useOwnKafka(guardedBroker(version))

    test('backs up and restores records, transactions, groups, ACLs and schema IDs', () =>
      withFolder(async path => {
        const { server, driver } = kafka
        const source = await backUpTwice(server, driver, path)
        await restoreWorld({ servers: server.bootstrapServers, path }, source, driver)
      }))

    if (version === oldestKafkaVersion) testVersions(kafka, kafka21)
    if (version === zooKeeperKafkaVersion) testVersions(kafka, kafka28)
    if (version === zooKeeperKafkaVersion) testOldFormats(kafka)
  })
}

for (const other of versions.slice(1)) {
  for (const [from, to] of [
    [other, newestKafkaVersion],
    [newestKafkaVersion, other],
  ] as const) {
    fullTest(`a backup of Kafka ${from} is restored to Kafka ${to}`, () =>
      withFolder(async path => {
        await using server = await startKafka(guardedBroker(from))
        await using driver = await openDriver(server)
        const source = await backUpTwice(server, driver, path)
        await using target = await startKafka(guardedBroker(to))
        await using targetDriver = await openDriver(target)
        await restoreWorld({ servers: target.bootstrapServers, path }, source, targetDriver)
      }),
    )
  }
}

/** Scripted brokers of the unit tests offer what the real ones do. */
function testVersions(kafka: UsedKafka<KafkaServer>, scripted: Versions): void {
  test('offers the request versions that scripted brokers of this release have', async () => {
    const cluster = await openCluster(kafka.server)
    const { ranges } = await cluster.callAny(apiVersions, { name: 'test', version: '0' }, never)
    cluster.close()
    const known = new Set<number>(Object.values(requestTable).map(({ key }) => key))
    const offered = ranges.filter(({ key }) => known.has(key)).map(({ key, min, max }) => [key, [min, max]] as const)
    assert.deepEqual(Object.fromEntries(offered), Object.fromEntries(scripted))
  })
}

/** The last Kafka that writes them. */
function testOldFormats(source: UsedKafka<KafkaServer>): void {
  const target = useKafka()
  const text = (value: string) => Buffer.from(value)
  const records: SeedRecord[] = [0, 1].flatMap(partition => [
    { partition, key: null, value: text('no key'), timestamp: 1_600_000_000_000 },
    { partition, key: text('tombstone'), value: null, timestamp: 1_500_000_000_000 },
    { partition, key: text(''), value: text(''), timestamp: 0 },
    { partition, key: text('large'), value: Buffer.alloc(100_000, 'large '), timestamp: 1_700_000_000_000 },
  ])
  /** Brokers refuse batches of idempotent producers for these formats. */
  const config = { 'enable.idempotence': 'false' }
  const formats = {
    v0: { 'message.format.version': '0.9.0' },
    v1: { 'message.format.version': '0.10.2' },
    stamped: { 'message.format.version': '0.10.2', 'message.timestamp.type': 'LogAppendTime' },
    mixed: { 'message.format.version': '0.9.0' },
  }
  const names = Object.keys(formats)

  async function seed(driver: KafkaDriver): Promise<void> {
    for (const [name, configs] of Object.entries(formats)) {
      await driver.createTopic(name, { partitions: 2, configs })
      for (const compression of ['none', 'gzip', 'snappy', 'lz4'] as const) {
        await driver.produce(name, records, { compression, config, flushEvery: 3 })
      }
    }
    for (const version of ['0.10.2', '2.8']) {
      await driver.alterTopicConfig('mixed', { 'message.format.version': version })
      await driver.produce('mixed', records, { compression: 'gzip', config })
    }
  }

  test('message formats v0 and v1 are restored as Kafka itself reads them, and what is not kept is stated', () =>
    withFolder(async path => {
      const { server, driver } = source
      await seed(driver)
      const spec = { servers: server.bootstrapServers, path, include: names }
      const first = await backUp(spec)
      await driver.produce('v1', records, { compression: 'lz4', config })
      const { manifest, warnings } = await backUp(spec)
      assert.deepEqual(
        manifest.topics.map(({ name, partitions }) => [name, partitions.map(({ converted }) => converted?.formats)]),
        [
          ['mixed', Array(2).fill(['v0', 'v1'])],
          ['stamped', Array(2).fill(['v1'])],
          ['v0', Array(2).fill(['v0'])],
          ['v1', Array(2).fill(['v1'])],
        ],
      )
      const told = (name: string, format: string) =>
        new RegExp(`^topic ${name}: 2 partitions hold records that the source has in message format ${format}\\. `, 'm')
      const { warnings: described } = await describeBackup(openLocation(path), 'b1', {}, never)
      assert.deepEqual(warnings, [], 'a statement is made once')
      const mapping = names.map((name): [string, string] => [name, `back-${name}`])
      const restored = await restore({ servers: target.server.bootstrapServers, path, mapping })
      for (const lines of [first.warnings, described, restored.warnings]) {
        assert.match(lines.join('\n'), told('v0', 'v0'))
        assert.match(lines.join('\n'), told('v1', 'v1'))
        assert.match(lines.join('\n'), told('mixed', 'v0 and v1'))
      }
      assert.match(restored.warnings.join('\n'), /topic v0: its setting message\.format\.version: 0\.9\.0 is left out/)
      for (const name of names) {
        const expected = await driver.consume(name, committed)
        const archived = await readArchivedTopic(path, 'b1', name)
        assertSameRecords(expected, archived)
        assert.deepEqual(
          archived.map(own => own.map(({ offset }) => offset)),
          expected.map(own => own.map(({ offset }) => offset)),
        )
        assertSameRecords(expected, await target.driver.consume(`back-${name}`, committed))
      }
    }))
}
