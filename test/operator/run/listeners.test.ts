import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Health } from '../../../src/operator/run/health.ts'
import { openListeners } from '../../../src/operator/run/listeners.ts'
import { SimulatedTime } from '../../fakes/simulated-time.ts'
import { findFreePorts } from '../../servers/ports.ts'

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
  const [probes, metrics] = await openListeners({ health: any, metrics: { ...any, path: '/m' } }, health, exposition)
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
    health.watches({ namespaces: ['shop'], troubles: () => [], ended: () => [] })
    health.turned('the loop', 1000)
    await time.pass(2000)
    assert.equal((await read(probes?.address, '/readyz')).status, 200)
    const { status, body } = await read(probes?.address, '/healthz')
    assert.deepEqual([status, body], [503, { status: 'stuck', stuck: ['the loop has made no progress for 2 s'] }])
    health.left('the loop')
    health.watches({ namespaces: ['shop'], troubles: () => [], ended: () => ['jobs.batch'] })
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

test('metrics can be disabled, or share the port of the probes', async () => {
  const health = new Health(new SimulatedTime().clock())
  const alone = await openListeners({ health: any, metrics: undefined }, health, exposition)
  assert.equal(alone.length, 1)
  assert.equal((await read(alone[0]?.address, '/metrics')).status, 404)
  await alone[0]?.close()
  const [port = 0] = await findFreePorts(1)
  const shared = { host: '127.0.0.1', port }
  const both = await openListeners({ health: shared, metrics: { ...shared, path: '/metrics' } }, health, exposition)
  assert.equal(both.length, 1)
  assert.equal((await read(both[0]?.address, '/metrics')).status, 200)
  assert.equal((await read(both[0]?.address, '/healthz')).status, 200)
  await both[0]?.close()
})

test('reports an address in use with its option, and closes everything', async () => {
  const health = new Health(new SimulatedTime().clock())
  const [first] = await openListeners({ health: any, metrics: undefined }, health, exposition)
  const taken = Number(first?.address.split(':')[1])
  const [port = 0] = await findFreePorts(1)
  const metrics = { host: '127.0.0.1', port: taken, path: '/metrics' }
  await assert.rejects(
    openListeners({ health: { ...any, port }, metrics }, health, exposition),
    /--metrics-address: cannot/,
  )
  const again = await openListeners({ health: { ...any, port }, metrics: undefined }, health, exposition)
  await Promise.all([first?.close(), again[0]?.close()])
})
