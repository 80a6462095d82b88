import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { hasCode } from '../../src/errors.ts'
import { createRandom } from '../fakes/faulty-storage.ts'
import { openTcpProxy } from '../fakes/tcp-proxy.ts'
import { assertSameRecords } from '../oracle/records.ts'
import { backUp, withFolder } from './backup-job.ts'
import { type RestoreSpec, restore } from './restore-job.ts'
import { useKafka } from './use-kafka.ts'

const dying = new URL('../faults/dying-restore.ts', import.meta.url).pathname
const YEAR_2023 = 1_690_000_000_000
const RECORDS = 20_000
const KILLS = 10

type ChildSpec = Pick<RestoreSpec, 'servers' | 'path' | 'mapping'> & { bytesPerSecond: number; batchBytes: number }

/** Ends by SIGKILL after so long, unless it is done before; what it printed then. */
async function runChild(
  spec: ChildSpec,
  killAfterMs: number,
): Promise<{ wasComplete: boolean; records: number } | undefined> {
  const child = spawn(process.execPath, [dying, JSON.stringify(spec)], { stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  let trouble = ''
  let timer: NodeJS.Timeout | undefined
  child.stdout.on('data', data => {
    output += data
    timer ??= setTimeout(() => child.kill('SIGKILL'), killAfterMs)
  })
  child.stderr.on('data', data => {
    trouble += data
  })
  const [code, killedBy] = await once(child, 'close')
  clearTimeout(timer)
  if (killedBy === 'SIGKILL') return undefined
  assert.equal(code, 0, trouble)
  return JSON.parse(output.split('\n').at(-2) ?? '{}')
}

describe('a restore', () => {
  const kafka = useKafka({ behindProxy: true, properties: { 'log.segment.delete.delay.ms': '100' } })

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

  async function assertSame(topic: string, target: string): Promise<void> {
    const digest = async (name: string) =>
      (await kafka.driver.digest(name, { isolation: 'read_committed' })).map(({ count, sha256 }) => ({ count, sha256 }))
    assert.deepEqual(await digest(target), await digest(topic))
  }

  for (const [age, startTimestamp] of [
    ['old', YEAR_2023],
    ['present', Date.now()],
  ] as const) {
    test(`that is killed again and again puts each of its ${age} records there once`, { timeout: 120_000 }, async t => {
      const random = createRandom(7)
      await seed(`killed-${age}`, startTimestamp)
      await withFolder(async path => {
        const servers = kafka.server.bootstrapServers
        await backUp({ servers, path, include: [`killed-${age}`] })
        const target = `killed-${age}-back`
        const fixed = { servers, path, mapping: [[`killed-${age}`, target]] as [string, string][] }
        for (let kill = 0; kill < KILLS; kill++) {
          // Batches of another size each time, so that what is there does not end where the next ones begin.
          const speed = { bytesPerSecond: 400_000, batchBytes: 2000 + Math.floor(random() * 20_000) }
          assert.equal(await runChild({ ...fixed, ...speed }, 200 + random() * 1000), undefined, 'it was killed')
        }
        t.diagnostic(`killed at offsets ${await kafka.driver.endOffsets(target)}`)
        const rest = await runChild({ ...fixed, bytesPerSecond: 50_000_000, batchBytes: 50_000 }, 60_000)
        assert.ok(rest && !rest.wasComplete && rest.records < RECORDS, 'the last run goes on with the others')
        await assertSame(`killed-${age}`, target)
        const again = await runChild({ ...fixed, bytesPerSecond: 50_000_000, batchBytes: 50_000 }, 60_000)
        assert.deepEqual(again, { wasComplete: true, records: 0 })
      })
    })
  }

  test('ends with a conflict when somebody else writes to its topic', async () => {
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
      const isConflict = (error: unknown) => hasCode(error, 'RESTORE_CONFLICT') && error.exitCode === 5
      await assert.rejects(running, isConflict)
      await assert.rejects(restore({ servers, path, mapping }), isConflict, 'and the next run sees it, too')
    })
  })

  async function waitForRecords(topic: string): Promise<void> {
    for (let attempt = 0; attempt < 200; attempt++) {
      const ends = await kafka.driver.endOffsets(topic).catch(() => [])
      if (ends.some(end => end > 0n)) return
      await sleep(20)
    }
    throw new Error(`nothing was written to ${topic}`)
  }

  test('goes on beside other producers where it may, each record once', async () => {
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
      stop.abort(new Error('enough'))
      await assert.rejects(running, /enough/)
      await kafka.driver.produce('joined-back', foreign)
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

  test('that was stopped goes on with its generation, though the backup has a newer one', async () => {
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
      assert.match(warnings.join(), /goes on with generation 1.*newer/)
      const found = await kafka.driver.consume('newer-back', { isolation: 'read_committed' })
      assertSameRecords(before, found)
      const options = { timeWindow: { start: 5n }, restoreId: (await restore(spec)).restoreId }
      await assert.rejects(restore({ ...spec, options }), /has begun with other topics/)
    })
  })

  test('loses and repeats nothing where answers get lost on the way', { timeout: 120_000 }, async t => {
    await seed('dropped', YEAR_2023)
    const [ports] = kafka.server.proxiedPorts
    assert.ok(ports)
    await using proxy = await openTcpProxy({ targetPort: ports.port, port: ports.advertisedPort })
    await withFolder(async path => {
      await backUp({ servers: kafka.server.bootstrapServers, path, include: ['dropped'] })
      const mapping: [string, string][] = [['dropped', 'dropped-back']]
      const options = { batchBytes: 5000, bytesPerSecond: 500_000 }
      let isOver = false
      const running = restore({ servers: [`127.0.0.1:${proxy.port}`], path, mapping, options }).finally(() => {
        isOver = true
      })
      running.catch(() => undefined)
      await waitForRecords('dropped-back')
      while (!isOver) {
        // Whatever is answered in this moment is not heard: almost always that a batch was stored.
        proxy.rules.dropAfterBytes = 0
        await sleep(15)
        proxy.rules.dropAfterBytes = Number.POSITIVE_INFINITY
        await sleep(250)
      }
      await running
      t.diagnostic(`${proxy.connections} connections`)
      assert.ok(proxy.connections > 10)
      await assertSame('dropped', 'dropped-back')
    })
  })

  test('outlives a broker that is killed and comes back', { timeout: 120_000 }, async () => {
    await seed('bounced', YEAR_2023)
    await withFolder(async path => {
      const servers = kafka.server.bootstrapServers
      await backUp({ servers, path, include: ['bounced'] })
      const mapping: [string, string][] = [['bounced', 'bounced-back']]
      const running = restore({ servers, path, mapping, options: { bytesPerSecond: 1_000_000, batchBytes: 20_000 } })
      running.catch(() => undefined)
      await waitForRecords('bounced-back')
      await kafka.server.killBroker(0)
      await kafka.server.startBroker(0)
      await running
      await assertSame('bounced', 'bounced-back')
    })
  })
})
