import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { openAgents } from '../../src/storage/bucket/agents.ts'
import { exchange } from '../../src/storage/gcs/exchange.ts'
import { startHttpProxy } from '../fakes/http-proxy.ts'
import { brokerNames, makeIdentity } from '../servers/certificates.ts'

test('an answer through the tunnel of a proxy may take longer than a connection may', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'gcs-exchange-'))
  const identity = await makeIdentity(folder, 'store', { names: brokerNames })
  const [key, cert] = [await readFile(identity.key), await readFile(identity.cert)]
  const server = createServer({ key, cert }, (_, answer) => setTimeout(() => answer.end('late'), 600))
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const proxy = await startHttpProxy('user', 'secret')
  const agents = await openAgents({ proxy: proxy.url, caCert: identity.cert })
  const origin = `https://127.0.0.1:${(server.address() as AddressInfo).port}`
  const line = { origin, agents, connectTimeoutMs: 200, idleTimeoutMs: 10_000 }
  try {
    const never = new AbortController().signal
    const { body } = await exchange({ method: 'GET', path: '/', headers: {} }, line, never)
    assert.deepEqual([body.toString(), proxy.requests.length], ['late', 1])
    const shouted = { ...line, origin: origin.replace('https', 'HTTPS') }
    const again = await exchange({ method: 'GET', path: '/', headers: {} }, shouted, never)
    assert.equal(again.status, 200)
  } finally {
    agents.httpsAgent.destroy()
    server.close()
    server.closeAllConnections()
    await proxy.close()
    await rm(folder, { recursive: true })
  }
})
