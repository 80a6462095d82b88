import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { assertSameRecords } from '../oracle/records.ts'
import { openDriver, type SeedRecord } from '../servers/driver.ts'
import { startKafka } from '../servers/kafka.ts'
import { olderKafkaVersion, oldestKraftVersion } from '../servers/kafka-dist.ts'
import { backUp, withFolder } from './backup-job.ts'
import { openCluster } from './raw-produce.ts'
import { restore } from './restore-job.ts'
import { useOwnKafka } from './use-kafka.ts'

const never = new AbortController().signal

describe('a restore from the newest Kafka', () => {
  const kafka = useOwnKafka()
  const records: SeedRecord[] = [0, 1].flatMap(partition => [
    { partition, key: null, value: Buffer.from('2099'), timestamp: 4_070_908_800_000 },
    { partition, key: Buffer.from('k'), value: null, timestamp: 1_600_000_000_000 },
  ])

  for (const version of [olderKafkaVersion, oldestKraftVersion]) {
    test(`to ${version} is exact, and names the settings that it does not know`, { timeout: 120_000 }, () =>
      withFolder(async path => {
        const topic = `to-${version}`
        const configs = {
          'message.timestamp.after.max.ms': '9223372036854775807',
          'retention.ms': '-1',
          'segment.ms': '70000',
        }
        await kafka.driver.createTopic(topic, { partitions: 2, configs })
        for (const compression of ['none', 'zstd', 'lz4'] as const)
          await kafka.driver.produce(topic, records, { compression })
        await backUp({ servers: kafka.server.bootstrapServers, path, include: [topic] })
        await using server = await startKafka({ version })
        await using driver = await openDriver(server)
        const options = { retention: 'fail' as const }
        const spec = {
          servers: server.bootstrapServers,
          path,
          mapping: [[topic, topic]] as [string, string][],
          options,
        }
        const { warnings } = await restore(spec)
        assertSameRecords(
          await kafka.driver.consume(topic, { isolation: 'read_committed' }),
          await driver.consume(topic, { isolation: 'read_committed' }),
        )
        const cluster = await openCluster(server)
        const applied = (await cluster.topicConfigs([topic], never)).get(topic)
        cluster.close()
        const isKnown = applied !== undefined && 'message.timestamp.after.max.ms' in applied
        assert.deepEqual(applied, isKnown ? configs : { 'retention.ms': '-1', 'segment.ms': '70000' })
        assert.equal(/does not take its setting message\.timestamp\.after\.max\.ms/.test(warnings.join()), !isKnown)
        assert.equal((await restore(spec)).wasComplete, true)
      }),
    )
  }
})

describe('a restore to three brokers', () => {
  const kafka = useOwnKafka({ brokers: 3 })

  test('survives moved leaders and a broker that is killed and restarted', { timeout: 150_000 }, async () => {
    const configs = { 'min.insync.replicas': '2', 'retention.ms': '-1' }
    await kafka.driver.createTopic('spread', { partitions: 6, replicationFactor: 3, configs })
    await kafka.driver.seedBulk('spread', { count: 30_000, partitions: 6, valueBytes: 200, batchSize: 4000 })
    await withFolder(async path => {
      const servers = kafka.server.bootstrapServers
      await backUp({ servers, path, include: ['spread'] })
      const options = { bytesPerSecond: 300_000, batchBytes: 9000 }
      let isOver = false
      const running = restore({ servers, path, mapping: [['spread', 'back']], options }).finally(() => {
        isOver = true
      })
      running.catch(() => undefined)
      const ends = () => kafka.driver.endOffsets('back').catch(() => [])
      while (!isOver && !(await ends()).some(end => end > 0n)) await sleep(50)
      const leaders = async () => (await kafka.driver.describeTopic('back')).partitions.map(({ leader }) => leader)
      const before = await leaders()
      for (const [partition, leader] of before.entries()) {
        await kafka.driver.moveLeader('back', partition, (leader % 3) + 1)
      }
      assert.notDeepEqual(await leaders(), before)
      await kafka.server.killBroker(1)
      await kafka.server.startBroker(1)
      assert.equal(isOver, false, 'the broker dies and comes back in the middle')
      await running
      const digest = async (topic: string) =>
        (await kafka.driver.digest(topic, { isolation: 'read_committed' })).map(({ sha256 }) => sha256)
      assert.deepEqual(await digest('back'), await digest('spread'))
    })
  })
})
