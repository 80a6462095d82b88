import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import type { AddressInfo, Socket } from 'node:net'
import { test } from 'node:test'
import { createServer, type TLSSocket } from 'node:tls'
import { openSecurity } from '../../src/kafka/security/security.ts'
import { ResponseBuffer } from '../../src/kafka/wire/buffer-pool.ts'
import { Connection } from '../../src/kafka/wire/connection.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { readFrames } from '../fakes/fake-broker.ts'
import { brokerNames, makeIdentity } from '../servers/certificates.ts'
import { withFolder } from './backup-job.ts'

const never = new AbortController().signal
const turn = () => new Promise(resolve => setImmediate(resolve))

test('receives a response of any size, in any pieces, completely over TLS', () =>
  withTlsServer(answerBySize, async connect => {
    const connection = await connect()
    const target = new ResponseBuffer((1 << 20) + 4)
    const home = target.bytes
    const sizes = [4, 16_380, 16_384, 60_000, 65_531, 65_532, 65_533, 1 << 20, (1 << 20) + 1, 5 << 20]
    for (const size of [...sizes, ...sizes.toReversed()]) {
      const answer = await connection.send(Buffer.from(String(size)), never, target)
      assert.ok(answer.equals(contentOf(size)), `${size} bytes`)
      assert.equal(answer.buffer === home.buffer, size + 4 <= home.length, 'no memory but the one given is used')
    }
    connection.close()
  }))

test('sends a request in pieces, some larger than a TLS record, as one frame', () =>
  withTlsServer(
    socket =>
      readFrames(socket, content => void socket.write(Buffer.concat([Buffer.from([0, 0, 0, 32]), sha256(content)]))),
    async connect => {
      const connection = await connect()
      const pieces = [7, 1 << 20, 1, 3 << 20, 16_384, 0, 9].map(contentOf)
      for (let i = 0; i < 3; i++) assert.deepEqual(await connection.send(pieces, never), sha256(Buffer.concat(pieces)))
      connection.close()
    },
  ))

test('sends no byte of a request to a server with another name in its certificate', () =>
  withTlsServer(
    socket => socket.on('data', () => assert.fail('a request arrived')),
    async connect => {
      await assert.rejects(connect('127.0.0.2'), {
        code: 'KAFKA_TLS',
        message: /127\.0\.0\.2:\d+ is not for this host/,
      })
    },
  ))

const ends: Record<string, (socket: TLSSocket, line: Socket) => unknown> = {
  'in order': socket => socket.end(),
  'all of a sudden': socket => socket.destroy(),
  'by cutting the line': (_, line) => line.destroy(),
  'by resetting the line': (_, line) => line.resetAndDestroy(),
}
for (const [how, endIt] of Object.entries(ends)) {
  test(`notices immediately that the server ends a connection ${how}, idle or waiting for a response`, () => {
    const open: (() => unknown)[] = []
    return withTlsServer(
      (socket, line) => {
        socket.on('error', () => undefined)
        readFrames(socket, content => {
          if (content.toString() === 'first') socket.write(Buffer.from([0, 0, 0, 4, 1, 2, 3, 4]))
          else endIt(socket, line)
        })
        open.push(() => endIt(socket, line))
      },
      async connect => {
        const [idle, fresh, used] = [await connect(), await connect(), await connect()]
        await used.send(Buffer.from('first'), never)
        await assert.rejects(fresh.send(Buffer.from('?'), never), {
          code: 'KAFKA_DISCONNECTED',
          message: /closed the connection right after the TLS handshake/,
        })
        await assert.rejects(used.send(Buffer.from('?'), never), {
          code: 'KAFKA_DISCONNECTED',
          message: /127\.0\.0\.1:\d+ closed the connection$/,
        })
        open[0]?.()
        const started = performance.now()
        while (idle.isOpen && performance.now() - started < 60_000) await turn()
        assert.equal(idle.isOpen, false)
      },
    )
  })
}

function sha256(content: Buffer): Buffer {
  return createHash('sha256').update(content).digest()
}

function answerBySize(socket: TLSSocket): void {
  readFrames(socket, async content => {
    const body = contentOf(Number(content.toString()))
    const frame = Buffer.concat([Buffer.alloc(4), body])
    frame.writeInt32BE(body.length)
    // The first bytes one by one, the rest in pieces that no TLS record fits.
    for (let at = 0; at < frame.length; ) {
      const end = at < 6 ? at + 1 : at + 50_001
      socket.write(frame.subarray(at, end))
      at = end
      await turn()
    }
  })
}

function contentOf(size: number): Buffer {
  return Buffer.alloc(size, `${size} `)
}

async function withTlsServer(
  onSocket: (socket: TLSSocket, line: Socket) => void,
  work: (connect: (host?: string) => Promise<Connection>) => Promise<void>,
): Promise<void> {
  await withFolder(async folder => {
    const ca = await makeIdentity(folder, 'ca')
    const { cert, key } = await makeIdentity(folder, 'server', { signedBy: ca, names: brokerNames })
    const lines = new Map<number | undefined, Socket>()
    const server = createServer({ cert: await readFile(cert), key: await readFile(key) }, socket =>
      onSocket(socket, lines.get(socket.remotePort) ?? assert.fail()),
    )
    server.on('connection', line => lines.set(line.remotePort, line))
    server.on('tlsClientError', () => undefined)
    server.listen(0, '0.0.0.0')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const parts = { clock: systemClock, timeoutMs: 5000 }
    const security = openSecurity({ protocol: 'SSL', tls: { caCert: ca.cert } }, parts)
    try {
      await work(async (host = '127.0.0.1') =>
        Connection.open({ endpoint: { host, port }, tls: await security.tls(), ...parts }, never),
      )
    } finally {
      server.close()
    }
  })
}
