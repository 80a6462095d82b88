import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { Agent, createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import { copyBody } from '../../src/lib/copy-body.ts'

const object = randomBytes(3_000_000)

async function serve(answer: (response: ServerResponse, path: string) => void): Promise<
  {
    get(path: string): Promise<IncomingMessage>
  } & Disposable
> {
  const server = createServer((incoming, response) => answer(response, incoming.url ?? ''))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const agent = new Agent({ keepAlive: true, maxSockets: 2 })
  return {
    get: async path => {
      const sent = request({ host: '127.0.0.1', port, path, agent })
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

test('copies bodies of any size, many of them over two connections', async () => {
  using server = await serve((response, path) => {
    const bytes = object.subarray(0, Number(path.slice(1)))
    response.writeHead(200, { 'content-length': bytes.length }).end(bytes)
  })
  const sizes = Array.from({ length: 60 }, (_, i) => (i % 3 === 0 ? i : i % 3 === 1 ? 70_000 + i : 3_000_000 - i))
  await Promise.all(
    sizes.map(async size => {
      const target = Buffer.alloc(size)
      assert.equal(await copyBody(await server.get(`/${size}`), target), size)
      assert.ok(target.equals(object.subarray(0, size)), `${size} bytes`)
    }),
  )
})

test('frees what a body was received in', async () => {
  using server = await serve(response => response.writeHead(200, { 'content-length': object.length }).end(object))
  const response = await server.get('/')
  const seen: Buffer[] = []
  response.socket.on('data', chunk => seen.push(chunk))
  const copying = copyBody(response, Buffer.alloc(object.length))
  response.on('data', chunk => seen.push(chunk))
  await copying
  assert.ok(seen.length > 20)
  assert.deepEqual(new Set(seen.map(({ length }) => length)), new Set([0]))
})

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
