import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import http, { type IncomingMessage, type ServerResponse } from 'node:http'
import https from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import { copyBody } from '../../src/lib/copy-body.ts'
import { brokerNames, makeIdentity } from '../servers/certificates.ts'

const object = randomBytes(3_000_000)

const folder = await mkdtemp(join(tmpdir(), 'copy-body-'))
const identity = await makeIdentity(folder, 'store', { names: brokerNames })
const [key, cert] = [await readFile(identity.key), await readFile(identity.cert)]
await rm(folder, { recursive: true })

type Answer = (response: ServerResponse, path: string) => void
type Server = { get(path: string): Promise<IncomingMessage> } & Disposable

async function serve(answer: Answer, scheme = 'http'): Promise<Server> {
  const onRequest = (incoming: IncomingMessage, response: ServerResponse) => answer(response, incoming.url ?? '')
  const server = scheme === 'http' ? http.createServer(onRequest) : https.createServer({ key, cert }, onRequest)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const { Agent, request } = scheme === 'http' ? http : https
  const agent = new Agent({ keepAlive: true, maxSockets: 2 })
  return {
    get: async path => {
      const sent = request({ host: '127.0.0.1', port, path, agent, ca: cert })
      sent.end()
      const [response] = (await once(sent, 'response')) as [IncomingMessage]
      return response
    },
    [Symbol.dispose]: () => {
      agent.destroy()
      server.close()
    },
  }
}

for (const scheme of ['http', 'https']) {
  test(`copies bodies of any size, many of them over two connections of ${scheme}`, async () => {
    using server = await serve((response, path) => {
      const bytes = object.subarray(0, Number(path.slice(1)))
      response.writeHead(200, { 'content-length': bytes.length }).end(bytes)
    }, scheme)
    const sizes = Array.from({ length: 60 }, (_, i) => (i % 3 === 0 ? i : i % 3 === 1 ? 70_000 + i : 3_000_000 - i))
    await Promise.all(
      sizes.map(async size => {
        const target = Buffer.alloc(size)
        assert.equal(await copyBody(await server.get(`/${size}`), target), size)
        assert.ok(target.equals(object.subarray(0, size)), `${size} bytes`)
      }),
    )
  })

  test(`frees what a body was received in over ${scheme}`, async () => {
    using server = await serve(
      response => response.writeHead(200, { 'content-length': object.length }).end(object),
      scheme,
    )
    const response = await server.get('/')
    const seen: Buffer[] = []
    response.socket.on('data', chunk => seen.push(chunk))
    const copying = copyBody(response, Buffer.alloc(object.length))
    response.on('data', chunk => seen.push(chunk))
    await copying
    assert.ok(seen.length > 20)
    assert.deepEqual(new Set(seen.map(({ length }) => length)), new Set([0]))
  })
}

test('copies chunks that share their memory, which stays', async () => {
  const memory = Buffer.from(object.subarray(0, 200_000))
  const chunks = Array.from({ length: 20 }, (_, i) => memory.subarray(i * 10_000, (i + 1) * 10_000))
  const target = Buffer.alloc(memory.length)
  assert.equal(await copyBody(Readable.from(chunks), target), memory.length)
  assert.ok(target.equals(memory))
})

test('rejects a body that ends before its stated length, and keeps no listener on the connection', async () => {
  using server = await serve(response => {
    response.writeHead(200, { 'content-length': object.length }).write(object.subarray(0, 100_000))
    setImmediate(() => response.destroy())
  })
  const response = await server.get('/')
  const { socket } = response
  const listeners = socket.listenerCount('data')
  await assert.rejects(copyBody(response, Buffer.alloc(object.length)), { code: 'ECONNRESET' })
  assert.equal(socket.listenerCount('data'), listeners)
})

test('returns how many bytes came where a body is shorter or longer than the memory', async () => {
  const chunks = () => Readable.from([Buffer.from('one'), Buffer.from('two')])
  assert.equal(await copyBody(chunks(), Buffer.alloc(10)), 6)
  const small = Buffer.alloc(4)
  assert.equal(await copyBody(chunks(), small), 4)
  assert.equal(String(small), 'onet')
})
