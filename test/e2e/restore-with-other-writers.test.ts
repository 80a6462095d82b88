import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { hasCode, type KafkaBackupError } from '../../src/errors.ts'
import { openKafkaProxy, type RequestFate } from '../fakes/kafka-proxy.ts'
import { cli, type Running, startProcess } from '../faults/command.ts'
import { assertSameRecords } from '../oracle/records.ts'
import { backUp, withFolder } from './backup-job.ts'
import { restore, restoreJobText } from './restore-job.ts'
import { useOwnKafka } from './use-kafka.ts'

const YEAR_2023 = 1_690_000_000_000
const RECORDS = 20_000
const PRODUCE = 0

const isConflict = (error: unknown) => hasCode(error, 'RESTORE_CONFLICT') && error.exitCode === 5

/** Brokers look for producers to forget every ten minutes, this one all the time: it knows no producer of old records. */
const forgetful = { 'producer.id.expiration.check.interval.ms': '50' }
const guarded = {
  'authorizer.class.name': 'org.apache.kafka.metadata.authorizer.StandardAuthorizer',
  'allow.everyone.if.no.acl.found': 'true',
}

describe('a restore', () => {
  const kafka = useOwnKafka({ behindProxy: true, properties: { ...forgetful, ...guarded } })

  async function seed(topic: string, startTimestamp: number): Promise<void> {
    await kafka.driver.createTopic(topic, { partitions: 4, configs: { 'retention.ms': '-1' } })
    await kafka.driver.seedBulk(topic, {
      count: RECORDS,
      partitions: 4,
      valueBytes: 200,
      startTimestamp,
      batchSize: 4000,
    })
  }

  test('ends with a conflict if another producer writes to its topic', async () => {
    await seed('shared', Date.now())
    await withFolder(async path => {
      const servers = kafka.server.bootstrapServers
      await backUp({ servers, path, include: ['shared'] })
      const mapping: [string, string][] = [['shared', 'shared-back']]
      const running = restore({ servers, path, mapping, options: { bytesPerSecond: 1_000_000, batchBytes: 20_000 } })
      running.catch(() => undefined)
      await waitForRecords('shared-back')
      await kafka.driver.produce(
        'shared-back',
        [0, 1, 2, 3].map(partition => ({ partition, key: null, value: Buffer.from('foreign') })),
      )
      await assert.rejects(running, isConflict)
      await assert.rejects(restore({ servers, path, mapping }), isConflict, 'and the next run sees it, too')
    })
  })

  async function waitForRecords(topic: string, others = 0n): Promise<void> {
    for (let attempt = 0; attempt < 200; attempt++) {
      const ends = await kafka.driver.endOffsets(topic).catch(() => [])
      if (ends.some(end => end > others)) return
      await sleep(20)
    }
    throw new Error(`nothing was written to ${topic}`)
  }

  test('continues next to other producers with append, each record once', async () => {
    await seed('joined', YEAR_2023)
    await withFolder(async path => {
      const servers = kafka.server.bootstrapServers
      await backUp({ servers, path, include: ['joined'] })
      await kafka.driver.createTopic('joined-back', { partitions: 4, configs: { 'retention.ms': '-1' } })
      const foreign = [0, 1, 2, 3].map(partition => ({ partition, key: null, value: Buffer.from('foreign') }))
      await kafka.driver.produce('joined-back', foreign)
      const options = { bytesPerSecond: 2_000_000, batchBytes: 20_000, existingTopics: 'append' as const }
      const mapping: [string, string][] = [['joined', 'joined-back']]
      const stop = new AbortController()
      const running = restore({ servers, path, mapping, options }, stop.signal)
      for (let i = 0; i < 3; i++) await kafka.driver.produce('joined-back', foreign)
      await waitForRecords('joined-back', 4n)
      stop.abort(new Error('enough'))
      await assert.rejects(running, /enough/)
      await kafka.driver.produce('joined-back', foreign)
      const changed = restore({ servers, path, mapping, options: { ...options, offsetHeaders: true } })
      await assert.rejects(changed, { code: 'RESTORE_REFUSED', message: /restore \w+ of this backup is not complete/ })
      await restore({ servers, path, mapping, options })
      const expected = await kafka.driver.consume('joined', { isolation: 'read_committed' })
      const found = await kafka.driver.consume('joined-back', { isolation: 'read_committed' })
      const own = found.map(records => records.filter(({ value }) => String(value) !== 'foreign'))
      assert.deepEqual(
        own.map(records => records.map(({ value }) => value)),
        expected.map(records => records.map(({ value }) => value)),
      )
    })
  })

  test('that was stopped resumes with its generation, although the backup has a newer one', async () => {
    await seed('newer', Date.now())
    await withFolder(async path => {
      const job = { servers: kafka.server.bootstrapServers, path, include: ['newer'] }
      await backUp(job)
      const before = await kafka.driver.consume('newer', { isolation: 'read_committed' })
      const stop = new AbortController()
      const spec = { servers: job.servers, path, mapping: [['newer', 'newer-back']] as [string, string][] }
      const running = restore({ ...spec, options: { bytesPerSecond: 500_000, batchBytes: 9000 } }, stop.signal)
      running.catch(() => undefined)
      await waitForRecords('newer-back')
      stop.abort(new Error('enough'))
      await assert.rejects(running, /enough/)
      await kafka.driver.produce('newer', [{ partition: 0, key: null, value: Buffer.from('later') }])
      await backUp(job)
      const { generation, warnings } = await restore(spec)
      assert.equal(generation, 1)
      assert.match(warnings.join(), /continues with generation 1.*newer/)
      const found = await kafka.driver.consume('newer-back', { isolation: 'read_committed' })
      assertSameRecords(before, found)
      const options = { timeWindow: { start: 5n }, restoreId: (await restore(spec)).restoreId }
      await assert.rejects(restore({ ...spec, options }), /has begun with other topics/)
    })
  })

  test('that is complete writes nothing, however its topics have changed since', async () => {
    const configs = { 'retention.ms': '-1', 'cleanup.policy': 'compact,delete', 'min.cleanable.dirty.ratio': '0.01' }
    await kafka.driver.createTopic('used', { partitions: 1, configs })
    await kafka.driver.seedBulk('used', { count: 500, partitions: 1, valueBytes: 20, startTimestamp: YEAR_2023 })
    await withFolder(async path => {
      const servers = kafka.server.bootstrapServers
      await backUp({ servers, path, include: ['used'] })
      const spec = { servers, path, mapping: [['used', 'used-back']] as [string, string][] }
      assert.equal((await restore(spec)).wasComplete, false)
      await kafka.driver.produce('used-back', [{ partition: 0, key: Buffer.from('key-1'), value: null }])
      await kafka.driver.deleteRecords('used-back', 0, 200n)
      const bounds = async () => [
        await kafka.driver.startOffsets('used-back'),
        await kafka.driver.endOffsets('used-back'),
      ]
      const before = await bounds()
      for (const existingTopics of ['fail', 'append'] as const) {
        const again = await restore({ ...spec, options: { existingTopics } })
        assert.deepEqual([again.wasComplete, again.topics[0]?.records], [true, 0])
      }
      assert.deepEqual(await bounds(), before)
    })
  })

  test('without permission to write to a topic names it, and writes nothing', async () => {
    await kafka.driver.createTopic('denied', { partitions: 1 })
    await kafka.driver.produce('denied', [{ partition: 0, key: null, value: Buffer.from('x') }])
    await kafka.driver.createTopic('denied-back', { partitions: 1 })
    const deny = { principal: 'User:ANONYMOUS', permission: 'DENY', resourceType: 'TOPIC' } as const
    await kafka.driver.createAcls([
      { ...deny, resourceName: 'denied-back', operation: 'WRITE' },
      ...['READ', 'DESCRIBE_CONFIGS', 'ALTER_CONFIGS'].map(operation => ({
        ...deny,
        permission: 'ALLOW' as const,
        resourceName: 'denied-back',
        operation,
      })),
    ])
    await withFolder(async path => {
      const servers = kafka.server.bootstrapServers
      await backUp({ servers, path, include: ['denied'] })
      const isDenied = ({ exitCode, message }: KafkaBackupError) => exitCode === 1 && message.includes('denied-back')
      await assert.rejects(restore({ servers, path, mapping: [['denied', 'denied-back']] }), isDenied)
      assert.deepEqual(await kafka.driver.endOffsets('denied-back'), [0n])
    })
  })

  /** The first run dies while its fifth batch is on its way; before the third of the next one it arrives. */
  test('ends with a conflict when a batch of a dead run arrives at a broker that has forgotten it', async () => {
    await kafka.driver.createTopic('late', { partitions: 1, configs: { 'retention.ms': '-1' } })
    const bulk = { count: 4000, partitions: 1, valueBytes: 200, batchSize: 4000, startTimestamp: YEAR_2023 }
    await kafka.driver.seedBulk('late', bulk)
    const [ports] = kafka.server.proxiedPorts
    assert.ok(ports)
    await using proxy = await openKafkaProxy({ targetPort: ports.port, port: ports.advertisedPort })
    await withFolder(async path => {
      await backUp({ servers: kafka.server.bootstrapServers, path, include: ['late'] })
      const config = join(path, 'job.yaml')
      const options = { topic_mapping: { late: 'late-back' }, batch_bytes: '16KiB' }
      await writeFile(config, restoreJobText({ servers: [`127.0.0.1:${proxy.port}`], path, restore: options }))
      const start = () => startProcess(process.execPath, [cli, 'restore', '--config', config])
      let dying: Running | undefined
      proxy.decide = onProduce(5, () => {
        dying?.send('SIGKILL')
        return 'hold'
      })
      dying = start()
      await dying.ended
      assert.ok(proxy.isHolding)
      proxy.decide = onProduce(3, async (): Promise<RequestFate> => {
        await sleep(300)
        await proxy.release()
        await sleep(300)
        return 'pass'
      })
      const { code, stderr } = await start().ended
      assert.equal(code, 5, stderr)
      assert.match(stderr, /late-back\/0: .*\(RESTORE_CONFLICT\)/s)
      assert.equal((await start().ended).code, 5, 'and the next run sees it, too')
    })
  })
})

function onProduce(nth: number, act: () => RequestFate | Promise<RequestFate>) {
  let left = nth
  return ({ apiKey }: { apiKey: number }) => (apiKey === PRODUCE && --left === 0 ? act() : 'pass')
}
