import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { BackupReport } from '../../src/backup/run-backup.ts'
import type { Hooks } from '../../src/jobs/parts.ts'
import type { Storage } from '../../src/storage/storage.ts'
import { createRandom } from '../fakes/faulty-storage.ts'
import { openTcpProxy, type TcpProxy } from '../fakes/tcp-proxy.ts'
import { readArchivedTopic } from '../oracle/archive.ts'
import { hashChain } from '../oracle/records.ts'
import { runKafkaTool } from '../servers/kafka-tools.ts'
import { backUp, withFolder } from './backup-job.ts'
import { useOwnKafka } from './use-kafka.ts'

const MiB = 2 ** 20

describe('a network that is', () => {
  const kafka = useOwnKafka({
    behindProxy: true,
    properties: { 'connections.max.idle.ms': '1000', 'quota.window.num': '2' },
  })
  let proxy: TcpProxy
  let chains: string[]
  let bytes: number

  before(async () => {
    const [ports] = kafka.server.proxiedPorts
    assert.ok(ports)
    proxy = await openTcpProxy({ targetPort: ports.port, port: ports.advertisedPort })
    await kafka.driver.createTopic('far', { partitions: 8 })
    bytes = (await kafka.driver.seedBulk('far', { count: 48_000, partitions: 8, valueBytes: 1000 })).bytes
    chains = (await kafka.driver.digest('far', { isolation: 'read_committed' })).map(({ sha256 }) => sha256)
  })
  after(() => proxy?.close())
  beforeEach(() => {
    proxy.rules = { ...proxy.rules, latencyMs: 0, bytesPerSecond: Infinity, silent: false, dropAfterBytes: Infinity }
  })

  const spec = (path: string, timeout = '30s') => ({
    servers: [`127.0.0.1:${proxy.port}`],
    path,
    include: ['far'],
    source: { request_timeout: timeout },
    backup: { memory_budget: '32MiB', compression: 'none' },
  })

  /** Backs up through the proxy and compares with what the official client read beside it. */
  async function assertExact(timeout: string, hooks: Partial<Hooks> = {}): Promise<BackupReport> {
    return withFolder(async path => {
      const report = await backUp(spec(path, timeout), hooks)
      assert.deepEqual((await readArchivedTopic(path, 'b1', 'far')).map(hashChain), chains)
      return report
    })
  }

  test('far away (20 ms each way) costs few round trips: the number of requests depends on the bytes', async () => {
    proxy.rules.latencyMs = 20
    const requests: string[] = []
    await assertExact('30s', { onRequest: name => requests.push(name) })
    const fetches = requests.filter(name => name === 'Fetch').length
    // Two lanes with answers of up to 8 MiB less their envelope, and a last one each that is not full.
    assert.ok(fetches <= Math.ceil(bytes / (7 * MiB)) + 4, `${fetches} fetches for ${bytes} bytes`)
    assert.ok(requests.length - fetches < 25, `${requests.length - fetches} other requests: ${requests.join(' ')}`)
  })

  test('slow, but within the timeout, does not fail the run', async () => {
    proxy.rules.bytesPerSecond = 12 * MiB
    const retries: string[] = []
    const started = performance.now()
    await assertExact('5s', { onProgress: event => event.type === 'retry' && retries.push(event.what) })
    assert.deepEqual(retries, [])
    assert.ok(performance.now() - started > 1500, 'the limit was felt')
  })

  test('so slow that a response takes longer than the timeout does not fail while bytes arrive', async () => {
    proxy.rules.bytesPerSecond = 6 * MiB
    const retries: string[] = []
    // An answer of up to 8 MiB takes more than a second.
    await assertExact('1s', { onProgress: event => event.type === 'retry' && retries.push(event.what) })
    assert.deepEqual(retries, [])
  })

  test('silent from the start ends the run within the timeout and names the broker', async () => {
    proxy.rules.silent = true
    const started = performance.now()
    const message = new RegExp(`127\\.0\\.0\\.1:${proxy.port} did not answer within 1000 ms`)
    await withFolder(path => assert.rejects(backUp(spec(path, '1s')), { code: 'KAFKA_TIMEOUT', message }))
    assert.ok(performance.now() - started < 60_000)
  })

  test('silent for a while is survived', async () => {
    const retries: string[] = []
    let fallen = false
    const onProgress: Hooks['onProgress'] = event => {
      if (event.type === 'retry') retries.push(event.what)
      if (event.type !== 'copied' || fallen) return
      fallen = true
      proxy.rules.silent = true
      setTimeout(() => {
        proxy.rules.silent = false
      }, 1500)
    }
    proxy.rules.bytesPerSecond = 30 * MiB
    await assertExact('1s', { onProgress })
    // What had begun to arrive gets a second chance; by then the broker may have closed a line that nobody reads.
    assert.match(retries.join(), new RegExp(`127\\.0\\.0\\.1:${proxy.port} (did not answer|closed the connection)`))
  })

  test('cut repeatedly resumes from what is stored', async () => {
    const random = createRandom(7)
    const before = proxy.connections
    const cut = () => {
      proxy.rules.dropAfterBytes = Math.floor((4 + 12 * random()) * MiB)
    }
    cut()
    const { copied } = await assertExact('30s', { onProgress: event => event.type === 'retry' && cut() })
    assert.ok(proxy.connections - before > 6, `${proxy.connections - before} connections`)
    assert.equal(copied.records, 48_000)
  })

  test('closed by the broker while the store was slow is reconnected', async () => {
    const retries: string[] = []
    let slow = 0
    const decorateStorage = (storage: Storage): Storage => ({
      ...bind(storage),
      openWriter: async (key, signal) => {
        if (slow++ < 2) await sleep(2500)
        return storage.openWriter(key, signal)
      },
    })
    const onProgress: Hooks['onProgress'] = event => event.type === 'retry' && retries.push(event.what)
    await assertExact('30s', { decorateStorage, onProgress })
    assert.ok(retries.length > 0, 'the broker closed connections')
    assert.deepEqual(
      retries.filter(what => !what.endsWith('closed the connection')),
      [],
    )
  })

  test('throttled by a broker quota causes no timeout', async () => {
    await setQuota(10 * MiB)
    try {
      const retries: string[] = []
      const started = performance.now()
      await assertExact('5s', { onProgress: event => event.type === 'retry' && retries.push(event.what) })
      // The broker of this test closes what is idle for a second, and who is throttled is idle.
      assert.ok(
        retries.every(what => what.endsWith('closed the connection')),
        retries.join(),
      )
      assert.ok(performance.now() - started > 2000, 'the quota was felt')
    } finally {
      await setQuota(undefined)
    }
  })

  async function setQuota(bytesPerSecond: number | undefined): Promise<void> {
    const change = bytesPerSecond
      ? ['--add-config', `consumer_byte_rate=${bytesPerSecond}`]
      : ['--delete-config', 'consumer_byte_rate']
    const entity = ['--entity-type', 'clients', '--entity-name', 'kafka-backup']
    const server = ['--bootstrap-server', kafka.server.bootstrapServers.join()]
    const args = [...server, '--alter', ...change, ...entity]
    const { exitCode, stdout, stderr } = await runKafkaTool(kafka.server, 'kafka.admin.ConfigCommand', args)
    assert.equal(exitCode, 0, stdout + stderr)
  }
})

/** The methods of a storage, whatever class it is of. */
function bind(storage: Storage): Storage {
  return {
    location: storage.location,
    writerBytes: storage.writerBytes,
    create: (...args) => storage.create(...args),
    replace: (...args) => storage.replace(...args),
    openWriter: (...args) => storage.openWriter(...args),
    read: (...args) => storage.read(...args),
    readRange: (...args) => storage.readRange(...args),
    stat: (...args) => storage.stat(...args),
    list: (...args) => storage.list(...args),
    listFolders: (...args) => storage.listFolders(...args),
    remove: (...args) => storage.remove(...args),
    close: () => storage.close(),
  }
}
