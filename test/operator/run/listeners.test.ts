import assert from 'node:assert/strict'
import { copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { get } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { text } from '../../../src/observe/http-server.ts'
import { Health } from '../../../src/operator/run/health.ts'
import { openListeners } from '../../../src/operator/run/listeners.ts'
import { SimulatedTime } from '../../fakes/simulated-time.ts'
import { makeIdentity } from '../../servers/certificates.ts'
import { findFreePorts } from '../../servers/ports.ts'

const parts = { guard: async () => undefined, clock: new SimulatedTime().clock(), onFailure: () => undefined }
const exposition = { contentType: 'text/plain; version=0.0.4', format: async () => 'kafka_backup_operator_leader 1\n' }
const any = { host: '127.0.0.1', port: 0 }

async function read(address: string | undefined, path: string) {
  const response = await fetch(`http://${address}${path}`)
  const type = response.headers.get('content-type') ?? ''
  const text = await response.text()
  return { status: response.status, type, body: type.includes('json') ? JSON.parse(text) : text }
}

test('probes respond with JSON, 200 or 503, and metrics have a separate port and path', async () => {
  const time = new SimulatedTime()
  const health = new Health(time.clock())
  const [probes, metrics] = await openListeners(
    { health: any, metrics: { ...any, path: '/m' } },
    health,
    exposition,
    parts,
  )
  try {
    assert.deepEqual(await read(probes?.address, '/readyz'), {
      status: 503,
      type: 'application/json',
      body: { status: 'starting' },
    })
    assert.deepEqual(await read(probes?.address, '/healthz'), {
      status: 200,
      type: 'application/json',
      body: { status: 'ok' },
    })
    health.watches({ namespaces: ['shop'], troubles: () => [], optionalTroubles: () => [], ended: () => [] })
    health.turned('the loop', 1000)
    await time.pass(2000)
    assert.equal((await read(probes?.address, '/readyz')).status, 200)
    const { status, body } = await read(probes?.address, '/healthz')
    assert.deepEqual([status, body], [503, { status: 'stuck', stuck: ['the loop has made no progress for 2 s'] }])
    health.left('the loop')
    health.watches({
      namespaces: ['shop'],
      troubles: () => [],
      optionalTroubles: () => [],
      ended: () => ['jobs.batch'],
    })
    assert.deepEqual((await read(probes?.address, '/healthz')).body.stuck, ['the watch of jobs.batch has ended'])
    assert.deepEqual(await read(metrics?.address, '/m'), {
      status: 200,
      type: 'text/plain; version=0.0.4',
      body: 'kafka_backup_operator_leader 1\n',
    })
    assert.equal((await read(metrics?.address, '/metrics')).status, 404)
    assert.equal((await read(probes?.address, '/m')).status, 404)
  } finally {
    await Promise.all([probes?.close(), metrics?.close()])
  }
})

test('metrics are served with TLS to those who pass the guard, and with a renewed certificate', async t => {
  const folder = await mkdtemp(join(tmpdir(), 'metrics-tls-'))
  t.after(() => rm(folder, { recursive: true }))
  const names = 'DNS:localhost,IP:127.0.0.1'
  const [first, second] = await Promise.all(['a', 'b'].map(name => makeIdentity(join(folder, name), name, { names })))
  assert.ok(first && second)
  const [cert, key] = [join(folder, 'tls.crt'), join(folder, 'tls.key')]
  await Promise.all([copyFile(first.cert, cert), copyFile(first.key, key)])
  const time = new SimulatedTime()
  const guard = async (authorization?: string) => (authorization === 'Bearer t' ? undefined : text(401, 'no'))
  const health = new Health(time.clock())
  const metrics = { ...any, path: '/metrics', tls: { cert, key }, needsToken: true }
  const failures: unknown[] = []
  const secured = { guard, clock: time.clock(), onFailure: (error: unknown) => void failures.push(error) }
  const listeners = await openListeners({ health: any, metrics }, health, exposition, secured)
  try {
    const port = Number(listeners[1]?.address.split(':')[1])
    const ask = async (ca: string, authorization: string) => readSecured(port, await readFile(ca), authorization)
    assert.equal(await ask(first.cert, 'Bearer t'), 200)
    assert.equal(await ask(first.cert, 'Bearer x'), 401)
    await Promise.all([copyFile(second.cert, cert), copyFile(second.key, key)])
    await time.pass(31_000)
    await assert.doesNotReject(async () => {
      while ((await ask(second.cert, 'Bearer t').catch(() => 0)) !== 200) await time.pass(31_000)
    })
    await assert.rejects(ask(first.cert, 'Bearer t'), /self-signed|unable to verify/)
    assert.deepEqual(failures, [])
    assert.equal((await read(listeners[0]?.address, '/healthz')).status, 200, 'probes stay on plain HTTP')
  } finally {
    await Promise.all(listeners.map(listener => listener.close()))
  }
})

test('a certificate that cannot be read or used is reported with its option, and nothing is left open', async t => {
  const folder = await mkdtemp(join(tmpdir(), 'metrics-tls-'))
  t.after(() => rm(folder, { recursive: true }))
  const [cert, key] = [join(folder, 'tls.crt'), join(folder, 'tls.key')]
  const health = new Health(new SimulatedTime().clock())
  const metrics = { ...any, path: '/metrics', tls: { cert, key } }
  const start = () => openListeners({ health: any, metrics }, health, exposition, parts)
  await assert.rejects(start(), /--metrics-tls-cert, --metrics-tls-key: .*tls\.crt/)
  await Promise.all([writeFile(cert, 'x'), writeFile(key, 'x')])
  await assert.rejects(start(), /--metrics-address: the certificate or its key cannot be used/)
})

function readSecured(port: number, ca: Buffer, authorization: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const options = { host: 'localhost', port, path: '/metrics', ca, headers: { authorization }, agent: false }
    get(options, response => resolve(response.resume().statusCode ?? 0)).once('error', reject)
  })
}

test('metrics can be disabled, or share the port of the probes', async () => {
  const health = new Health(new SimulatedTime().clock())
  const alone = await openListeners({ health: any, metrics: undefined }, health, exposition, parts)
  assert.equal(alone.length, 1)
  assert.equal((await read(alone[0]?.address, '/metrics')).status, 404)
  await alone[0]?.close()
  const [port = 0] = await findFreePorts(1)
  const shared = { host: '127.0.0.1', port }
  const both = await openListeners(
    { health: shared, metrics: { ...shared, path: '/metrics' } },
    health,
    exposition,
    parts,
  )
  assert.equal(both.length, 1)
  assert.equal((await read(both[0]?.address, '/metrics')).status, 200)
  assert.equal((await read(both[0]?.address, '/healthz')).status, 200)
  await both[0]?.close()
})

test('metrics with TLS or a token never share the port of the probes, which have neither', async () => {
  const health = new Health(new SimulatedTime().clock())
  const [port = 0] = await findFreePorts(1)
  const shared = { host: '127.0.0.1', port }
  for (const secured of [{ tls: { cert: 'c', key: 'k' } }, { needsToken: true }]) {
    const options = { health: shared, metrics: { ...shared, path: '/metrics', ...secured } }
    const opened = openListeners(options, health, exposition, parts)
    const closed = opened.then(listeners => Promise.all(listeners.map(listener => listener.close())))
    await assert.rejects(closed, { code: 'USAGE', message: /--metrics-address: choose another address than --health/ })
  }
})

test('reports an address in use with its option, and closes everything', async () => {
  const health = new Health(new SimulatedTime().clock())
  const [first] = await openListeners({ health: any, metrics: undefined }, health, exposition, parts)
  const taken = Number(first?.address.split(':')[1])
  const [port = 0] = await findFreePorts(1)
  const metrics = { host: '127.0.0.1', port: taken, path: '/metrics' }
  await assert.rejects(
    openListeners({ health: { ...any, port }, metrics }, health, exposition, parts),
    /--metrics-address: cannot/,
  )
  const again = await openListeners({ health: { ...any, port }, metrics: undefined }, health, exposition, parts)
  await Promise.all([first?.close(), again[0]?.close()])
})
