import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { verifyBackup } from '../../src/archive/verify.ts'
import { type BackupReport, runBackup } from '../../src/backup/run-backup.ts'
import { backupOptions } from '../../src/jobs/backup.ts'
import { openStoragePlace } from '../../src/jobs/parts.ts'
import { Cluster } from '../../src/kafka/cluster.ts'
import type { OnProgress } from '../../src/observe/progress.ts'
import { fastClock } from '../fakes/fast-clock.ts'
import { fullDescribe } from '../full.ts'
import { openLocation } from '../open-location.ts'
import { readArchivedTopic } from '../oracle/archive.ts'
import { hashChain } from '../oracle/records.ts'
import { backUp, type JobSpec, makeJob, withFolder } from './backup-job.ts'
import { describeGroups } from './groups-of-three-brokers.ts'
import { useOwnKafka } from './use-kafka.ts'

const never = new AbortController().signal
const quietly = { deep: true, onProgress: () => undefined }

describe('three brokers', () => {
  const kafka = useOwnKafka({ brokers: 3 })

  before(async () => {
    await kafka.driver.createTopic('spread', { partitions: 9, replicationFactor: 3 })
    // Large records, of which there are few to compare: what matters is the time that their bytes take.
    await kafka.driver.seedBulk('spread', { count: 5400, partitions: 9, valueBytes: 10_000 })
  })

  /** By topic: nothing is written to one after it was filled. */
  const chains = new Map<string, Promise<string[]>>()

  async function readChains(topic: string): Promise<string[]> {
    return (await kafka.driver.digest(topic, { isolation: 'read_committed' })).map(({ sha256 }) => sha256)
  }

  async function assertExact(path: string, topic = 'spread'): Promise<void> {
    const expected = chains.get(topic) ?? readChains(topic)
    chains.set(topic, expected)
    const archived = await readArchivedTopic(path, 'b1', topic)
    assert.deepEqual(archived.map(hashChain), await expected)
    const verified = await verifyBackup(openLocation(path), 'b1', quietly, never)
    assert.deepEqual(verified.problems, [])
  }

  const spec = (path: string, topic = 'spread') => ({
    servers: kafka.server.bootstrapServers,
    path,
    include: [topic],
    // What a run has in memory is less than a broker leads, so none is read to its end when the first records are reported.
    backup: { memory_budget: '32MiB', compression: 'none' },
  })

  test('are read at their leaders, each over separate connections', () =>
    withFolder(async path => {
      await backUp(spec(path))
      await assertExact(path)
    }))

  test('with a rack are read only at the replica there', () =>
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

  test('with moving leaders are followed', () =>
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

  describeGroups(kafka)

  test('survive a broker that is killed during the run', () =>
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
    }))

  fullDescribe('when all replicas of a partition are down', () => {
    before(async () => {
      await kafka.server.startBroker(1)
      const configs = { 'min.insync.replicas': '1' }
      await kafka.driver.createTopic('alone', { partitions: 3, replicationFactor: 1, configs })
      await kafka.driver.seedBulk('alone', { count: 90_000, partitions: 3, valueBytes: 1000 })
    })

    /** The partition that has not got far when the first bytes have come, and its broker. */
    async function lastLeader(): Promise<{ broker: number; partition: number }> {
      const { partitions } = await kafka.driver.describeTopic('alone')
      return { broker: (partitions[2]?.leader ?? 1) - 1, partition: 2 }
    }

    test('are waited for, and the run completes when they are back', () =>
      withFolder(async path => {
        const { broker } = await lastLeader()
        let bounced: Promise<void> | undefined
        const bounce = async () => {
          await kafka.server.killBroker(broker)
          await kafka.server.startBroker(broker)
        }
        const retries: string[] = []
        await backUp(spec(path, 'alone'), {
          onProgress: event => {
            if (event.type === 'copied') bounced ??= bounce()
            if (event.type === 'retry') retries.push(event.what)
          },
        })
        await bounced
        assert.ok(retries.length > 0, 'the loss of the broker was met')
        await assertExact(path, 'alone')
      }))

    test('beyond the limit fail the run, which names the partition and keeps what it has', () =>
      withFolder(async path => {
        const { broker, partition } = await lastLeader()
        let killed: Promise<void> | undefined
        const onProgress: OnProgress = event => {
          if (event.type === 'copied') killed ??= kafka.server.killBroker(broker)
        }
        const message = new RegExp(`partition alone/${partition} has no leader.*kept as generation`)
        await assert.rejects(backUpFast(spec(path, 'alone'), onProgress), { code: 'BACKUP_PARTIAL', message })
        await killed
        const verified = await verifyBackup(openLocation(path), 'b1', quietly, never)
        assert.deepEqual([verified.problems, verified.complete], [[], false])
        await kafka.server.startBroker(broker)
        await backUp(spec(path, 'alone'))
        await assertExact(path, 'alone')
      }))
  })
})

/** The limit is two minutes; here they pass in twelve seconds. */
async function backUpFast(spec: JobSpec, onProgress: OnProgress): Promise<BackupReport> {
  const job = makeJob(spec)
  const clock = fastClock(10)
  const cluster = await Cluster.open({ ...job.source, softwareVersion: '0', clock }, never)
  try {
    const parts = { cluster, storage: openStoragePlace(job), clock, newRun: () => 'run1', toolVersion: '0', onProgress }
    return await runBackup(backupOptions(job), parts, never)
  } finally {
    cluster.close()
  }
}
