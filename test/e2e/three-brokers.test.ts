import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { openLocation, verifyBackup } from '../../src/index.ts'
import { readArchivedTopic } from '../oracle/archive.ts'
import { hashChain } from '../oracle/records.ts'
import { backUp, withFolder } from './backup-job.ts'
import { useKafka } from './use-kafka.ts'

const never = new AbortController().signal

describe('three brokers', () => {
  const kafka = useKafka({ brokers: 3 })

  before(async () => {
    await kafka.driver.createTopic('spread', { partitions: 9, replicationFactor: 3 })
    await kafka.driver.seedBulk('spread', { count: 90_000, partitions: 9, valueBytes: 1000 })
  })

  async function assertExact(path: string): Promise<void> {
    const digests = await kafka.driver.digest('spread', { isolation: 'read_committed' })
    const archived = await readArchivedTopic(path, 'b1', 'spread')
    assert.deepEqual(
      archived.map(hashChain),
      digests.map(digest => digest.sha256),
    )
    const verified = await verifyBackup(openLocation(path), 'b1', { deep: true, onProgress: () => undefined }, never)
    assert.deepEqual(verified.problems, [])
  }

  const spec = (path: string) => ({
    servers: kafka.server.bootstrapServers,
    path,
    include: ['spread'],
    backup: { memory_budget: '32MiB', compression: 'none' },
  })

  test('are read at their leaders, each over its own connections', () =>
    withFolder(async path => {
      await backUp(spec(path))
      await assertExact(path)
    }))

  test('with a rack are read at the replica there alone, whoever leads', () =>
    withFolder(async path => {
      const fetches = new Map<string, number>()
      const onRequest = (name: string, broker: string) => {
        if (name === 'Fetch') fetches.set(broker, (fetches.get(broker) ?? 0) + 1)
      }
      await backUp({ ...spec(path), source: { client_rack: 'rack-2' } }, { onRequest })
      await assertExact(path)
      const [first = '', near = '', third = ''] = kafka.server.bootstrapServers
      const [a = 0, b = 0, c = 0] = [first, near, third].map(broker => fetches.get(broker))
      assert.ok(b > a + c, `the brokers were asked ${a}, ${b} and ${c} times`)
      assert.ok(a <= 2 && c <= 2, 'the leaders were asked once a connection, only to point elsewhere')
    }))

  test('leaders that move in the middle are followed', () =>
    withFolder(async path => {
      let moved: Promise<void> | undefined
      const onProgress = (event: { type: string }) => {
        if (event.type === 'copied') moved ??= moveAll()
      }
      const moveAll = async () => {
        for (let partition = 0; partition < 9; partition++) {
          const { leader, replicas } = (await kafka.driver.describeTopic('spread')).partitions[partition] ?? {}
          const other = replicas?.find(id => id !== leader)
          if (other !== undefined) await kafka.driver.moveLeader('spread', partition, other)
        }
      }
      await backUp(spec(path), { onProgress })
      assert.ok(moved)
      await moved
      await assertExact(path)
    }))

  test('a broker that is killed in the middle costs nothing', () =>
    withFolder(async path => {
      let killed: Promise<void> | undefined
      const retries: string[] = []
      await backUp(spec(path), {
        onProgress: event => {
          if (event.type === 'copied') killed ??= kafka.server.killBroker(1)
          if (event.type === 'retry') retries.push(event.what)
        },
      })
      assert.ok(killed)
      await killed
      assert.ok(retries.length > 0, 'the loss of the broker was met')
      await assertExact(path)
      await kafka.server.startBroker(1)
    }))
})
