import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { Agent, createServer as createPlainServer } from 'node:http'
import { createServer } from 'node:https'
import { type AddressInfo, createServer as createSocketServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { systemClock } from '../../src/lib/clock.ts'
import { sendHttp } from '../../src/lib/http.ts'
import { openAgents } from '../../src/storage/bucket/agents.ts'
import { startHttpProxy } from '../fakes/http-proxy.ts'
import { brokerNames, makeIdentity } from '../servers/certificates.ts'

const never = new AbortController().signal

test('an answer through the tunnel of a proxy may take longer than a connection', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'http-test-'))
  const identity = await makeIdentity(folder, 'store', { names: brokerNames })
  const [key, cert] = [await readFile(identity.key), await readFile(identity.cert)]
  const server = createServer({ key, cert }, (_, answer) => setTimeout(() => answer.end('late'), 600))
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const proxy = await startHttpProxy('user', 'secret')
  const agents = await openAgents({ proxy: proxy.url, caCert: identity.cert })
  const origin = `https://127.0.0.1:${(server.address() as AddressInfo).port}`
  const timeouts = { connectMs: 200, idleMs: 10_000 }
  const request = { method: 'GET', path: '/', headers: {}, agent: agents.httpsAgent, timeouts, maxBytes: 100 }
  try {
    const { body } = await sendHttp({ ...request, origin }, systemClock, never)
    assert.deepEqual([body.toString(), proxy.requests.length], ['late', 1])
    const upper = await sendHttp({ ...request, origin: origin.replace('https', 'HTTPS') }, systemClock, never)
    assert.equal(upper.status, 200)
  } finally {
    agents.httpsAgent.destroy()
    server.close()
    server.closeAllConnections()
    await proxy.close()
    await rm(folder, { recursive: true })
  }
})

for (const [name, headers] of Object.entries({
  'an announced length': { 'content-length': String(2 ** 40) },
  'a body without a length': {},
})) {
  test(`${name} above the limit is an error, without memory for it`, async () => {
    const server = createPlainServer((_, answer) => {
      answer.writeHead(200, headers)
      answer.write('x'.repeat(101))
    })
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const agent = new Agent()
    const request = { origin, method: 'GET', path: '/', headers: {}, agent, timeouts: { connectMs: 5000 } }
    try {
      const sending = sendHttp({ ...request, maxBytes: 100 }, systemClock, never)
      await assert.rejects(sending, { message: 'the answer is longer than 100 bytes' })
    } finally {
      agent.destroy()
      server.close()
      server.closeAllConnections()
    }
  })
}

test('an answer that switches to another protocol is an error, not a wait without end', async () => {
  const server = createSocketServer(socket => {
    socket.once('data', () => socket.write('HTTP/1.1 101 Switching\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n'))
    socket.on('error', () => undefined)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const agent = new Agent({ keepAlive: true })
  const request = {
    origin,
    method: 'GET',
    path: '/',
    headers: {},
    agent,
    timeouts: { connectMs: 5000, idleMs: 60_000 },
  }
  const stop = new AbortController()
  const timer = setTimeout(() => stop.abort(new Error('still waiting')), 5000)
  try {
    await assert.rejects(sendHttp({ ...request, maxBytes: 100 }, systemClock, stop.signal), { code: 'ECONNRESET' })
  } finally {
    clearTimeout(timer)
    agent.destroy()
    server.close()
  }
})
