import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { getEventListeners, once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net'
import { describe, test } from 'node:test'
import { ResponseBuffer } from '../../../src/kafka/wire/buffer-pool.ts'
import { Connection } from '../../../src/kafka/wire/connection.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { ManualClock } from '../../cli/manual-clock.ts'
import { readFrames } from '../../fakes/fake-broker.ts'
import { frame, withLoopback } from './loopback.ts'

const never = new AbortController().signal
const turn = () => new Promise(resolve => setImmediate(resolve))

/** Answers each frame with the frames that the function gives, in as many packets. */
const answering = (answer: (content: string, socket: Socket) => readonly Buffer[]) => (socket: Socket) =>
  readFrames(socket, async content => {
    for (const piece of answer(content.toString(), socket)) {
      socket.write(piece)
      await turn()
    }
  })

describe('a connection brings the answer', () => {
  test('cut into two packets at every byte', async () => {
    const whole = frame('an answer of a few bytes')
    let cut = 0
    await withLoopback(
      answering(() => [whole.subarray(0, cut), whole.subarray(cut)]),
      async server => {
        const connection = await server.connect()
        for (cut = 0; cut <= whole.length; cut++) {
          assert.equal(
            (await connection.send(Buffer.from('?'), never)).toString(),
            'an answer of a few bytes',
            `cut at ${cut}`,
          )
        }
      },
    )
  })

  test('byte by byte', async () => {
    const whole = frame('slow')
    await withLoopback(
      answering(() => Array.from(whole, byte => Buffer.from([byte]))),
      async server => {
        assert.equal((await (await server.connect()).send(Buffer.from('?'), never)).toString(), 'slow')
      },
    )
  })

  test('that takes longer than the timeout, as long as it continues to arrive', async () => {
    const content = Buffer.alloc(1 << 20, 'x')
    const whole = frame(content)
    const target = new ResponseBuffer(whole.length)
    target.bytes.fill(0)
    const clock = new ManualClock()
    const inPieces = (socket: Socket) =>
      readFrames(socket, async () => {
        for (let at = 0; at < whole.length; at += 100_000) {
          const piece = whole.subarray(at, at + 100_000)
          socket.write(piece)
          while (target.bytes[at + piece.length - 1] !== piece.at(-1)) await turn()
          clock.pass(30)
        }
      })
    await withLoopback(inPieces, async server => {
      const answer = await (await server.connect({ timeoutMs: 100, clock })).send(Buffer.from('?'), never, target)
      assert.ok(answer.equals(content))
    })
  })

  test('not when it only trickles', async () => {
    const clock = new ManualClock()
    const trickle = (socket: Socket) =>
      readFrames(socket, async () => {
        for (const byte of frame(Buffer.alloc(1000))) {
          if (socket.destroyed) return
          socket.write(Buffer.from([byte]))
          await turn()
          clock.pass(10)
        }
      })
    await withLoopback(trickle, async server => {
      const connection = await server.connect({ timeoutMs: 100, clock })
      await assert.rejects(connection.send(Buffer.from('?'), never), { code: 'KAFKA_TIMEOUT' })
    })
  })

  test('of any size into the memory given, and larger than it', async () => {
    const sizes = [4, 60_000, 65_531, 65_532, 65_533, 100_000, 1 << 20, (1 << 20) + 1, 5 << 20]
    const contentOf = (size: number) => Buffer.alloc(size, `${size} `)
    await withLoopback(
      answering(content => [frame(contentOf(Number(content)))]),
      async server => {
        const connection = await server.connect()
        const target = new ResponseBuffer((1 << 20) + 4)
        const home = target.bytes
        for (const size of [...sizes, ...sizes.toReversed()]) {
          const answer = await connection.send(Buffer.from(String(size)), never, target)
          assert.ok(answer.equals(contentOf(size)), `${size} bytes`)
          assert.equal(
            answer.buffer === home.buffer,
            size + 4 <= home.length,
            `${size} bytes lie in the memory given if they fit`,
          )
        }
        target.reset()
        assert.equal(target.bytes, home, 'memory for an exception is let go')
        for (const size of sizes) {
          assert.ok((await connection.send(Buffer.from(String(size)), never)).equals(contentOf(size)))
        }
      },
    )
  })

  test('to each of many requests made at once, one after the other', async () => {
    let atOnce = 0
    await withLoopback(
      answering(content => {
        atOnce++
        return [frame(`answer to ${content}`)]
      }),
      async server => {
        const connection = await server.connect()
        const calls = Array.from({ length: 20 }, (_, i) => connection.send(Buffer.from(String(i)), never))
        const answers = await Promise.all(calls)
        assert.deepEqual(
          answers.map(String),
          Array.from({ length: 20 }, (_, i) => `answer to ${i}`),
        )
        assert.equal(atOnce, 20)
      },
    )
  })

  test('to a request in pieces, however large, which arrives as one frame', async () => {
    const pieces = [Buffer.from('head'), Buffer.alloc(3 << 20, 'body'), Buffer.alloc(0), Buffer.from('tail')]
    await withLoopback(
      answering(content => [frame(createHash('sha256').update(content).digest())]),
      async server => {
        const answer = await (await server.connect()).send(pieces, never)
        assert.deepEqual(answer, createHash('sha256').update(Buffer.concat(pieces)).digest())
      },
    )
  })

  test('and leaves no timer behind, and one listener for all requests, which goes when it is closed', async () => {
    let timers = 0
    const clock = {
      ...systemClock,
      after: (ms: number, ring: () => void) => {
        const cancel = systemClock.after(ms, ring)
        timers++
        return () => {
          timers--
          cancel()
        }
      },
    }
    await withLoopback(
      answering(() => [frame('done')]),
      async server => {
        const { signal } = new AbortController()
        const connection = await server.connect({ signal, clock })
        for (let i = 0; i < 5; i++) await connection.send(Buffer.from('?'), signal)
        assert.equal(getEventListeners(signal, 'abort').length, 1)
        assert.equal(timers, 0)
        const other = new AbortController()
        await connection.send(Buffer.from('?'), other.signal)
        assert.equal(getEventListeners(signal, 'abort').length, 0)
        assert.equal(getEventListeners(other.signal, 'abort').length, 1)
        connection.close()
        assert.equal(getEventListeners(other.signal, 'abort').length, 0)
      },
    )
  })
})

test('a signal that is aborted between two requests leaves the connection open for others', async () => {
  await withLoopback(
    answering(() => [frame('done')]),
    async server => {
      const connection = await server.connect()
      const stop = new AbortController()
      await connection.send(Buffer.from('?'), stop.signal)
      stop.abort()
      assert.ok(connection.isOpen)
      await assert.rejects(connection.send(Buffer.from('?'), stop.signal), { name: 'AbortError' })
      assert.equal(`${await connection.send(Buffer.from('?'), new AbortController().signal)}`, 'done')
    },
  )
})

describe('a connection fails', () => {
  test('with KAFKA_TIMEOUT when nobody answers, and is of no more use', async () => {
    await withLoopback(
      socket => socket.resume(),
      async server => {
        const clock = new ManualClock()
        const connection = await server.connect({ timeoutMs: 30, clock })
        const call = assert.rejects(connection.send(Buffer.from('?'), never), {
          code: 'KAFKA_TIMEOUT',
          message: /within 30 ms/,
          help: /is that of a Kafka listener/,
        })
        await turn()
        clock.pass(29)
        assert.equal(connection.isOpen, true)
        clock.pass(1)
        await call
        assert.equal(connection.isOpen, false)
        await assert.rejects(connection.send(Buffer.from('?'), never), { code: 'KAFKA_TIMEOUT' })
      },
    )
  })

  test('with KAFKA_TIMEOUT when the answer stops in the middle; the time a broker may wait is added', async () => {
    const target = new ResponseBuffer(64)
    target.bytes.fill(0)
    await withLoopback(
      answering(() => [frame('an answer').subarray(0, 7)]),
      async server => {
        const clock = new ManualClock()
        const connection = await server.connect({ timeoutMs: 20, clock })
        const call = connection.send(Buffer.from('?'), never, target, 15)
        const refused = assert.rejects(call, { code: 'KAFKA_TIMEOUT', message: /within 35 ms/ })
        while (target.bytes[6] !== ' '.charCodeAt(0)) await turn()
        clock.pass(34)
        assert.equal(connection.isOpen, true)
        clock.pass(1)
        await refused
      },
    )
  })

  test('with KAFKA_DISCONNECTED when the broker closes before, in or after the length', async () => {
    for (const bytes of [0, 2, 4, 9]) {
      await withLoopback(
        answering((_, socket) => {
          socket.end(frame('an answer').subarray(0, bytes))
          return []
        }),
        async server => {
          const connection = await server.connect()
          const first = connection.send(Buffer.from('?'), never)
          const second = connection.send(Buffer.from('?'), never)
          await assert.rejects(first, { code: 'KAFKA_DISCONNECTED' }, `after ${bytes} bytes`)
          await assert.rejects(second, { code: 'KAFKA_DISCONNECTED' })
          assert.equal(connection.isOpen, false)
        },
      )
    }
  })

  test('with KAFKA_DISCONNECTED when the broker resets it', async () => {
    await withLoopback(
      answering((_, socket) => {
        socket.resetAndDestroy()
        return []
      }),
      async server => {
        const connection = await server.connect()
        await assert.rejects(connection.send(Buffer.from('?'), never), { code: 'KAFKA_DISCONNECTED' })
      },
    )
  })

  test('quietly when the broker closes it while nothing is asked', async () => {
    await withLoopback(
      socket => socket.end(),
      async server => {
        const connection = await server.connect()
        for (let i = 0; connection.isOpen && i < 1000; i++) await turn()
        assert.equal(connection.isOpen, false)
        await assert.rejects(connection.send(Buffer.from('?'), never), { code: 'KAFKA_DISCONNECTED' })
      },
    )
  })

  test('with KAFKA_UNREACHABLE where no one listens', async () => {
    const server = createTcpServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    server.close()
    await once(server, 'close')
    const opening = Connection.open(
      { endpoint: { host: '127.0.0.1', port }, timeoutMs: 5000, clock: systemClock },
      never,
    )
    await assert.rejects(opening, { code: 'KAFKA_UNREACHABLE', message: new RegExp(`127.0.0.1:${port} refused`) })
  })

  test('with KAFKA_PROTOCOL when a web server answers', async () => {
    const server = createServer((_, response) => response.end('hello')).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    try {
      const connection = await Connection.open(
        { endpoint: { host: '127.0.0.1', port }, timeoutMs: 5000, clock: systemClock },
        never,
      )
      await assert.rejects(connection.send(Buffer.from('?'), never), { code: 'KAFKA_PROTOCOL' })
    } finally {
      server.closeAllConnections()
      server.close()
    }
  })

  test('with KAFKA_PROTOCOL at a length that no frame has', async () => {
    for (const length of [-1, 0, 3, (1 << 30) + 1, 2147483647]) {
      const bytes = Buffer.alloc(8)
      bytes.writeInt32BE(length)
      await withLoopback(
        answering(() => [bytes]),
        async server => {
          const connection = await server.connect()
          await assert.rejects(connection.send(Buffer.from('?'), never), { code: 'KAFKA_PROTOCOL' }, `length ${length}`)
        },
      )
    }
  })

  test('with KAFKA_PROTOCOL at a length above the limit for its answer, before there is memory for it', async () => {
    const claim = (bytes: number) => {
      const length = Buffer.alloc(8)
      length.writeInt32BE(bytes)
      return length
    }
    const refused = async (answers: readonly Buffer[], target?: ResponseBuffer) => {
      let asked = 0
      await withLoopback(
        answering(() => [answers[asked++] ?? Buffer.alloc(0)]),
        async server => {
          const connection = await server.connect()
          for (let at = 1; at < answers.length; at++) await connection.send(Buffer.from('?'), never)
          const before = process.memoryUsage().arrayBuffers
          await assert.rejects(connection.send(Buffer.from('?'), never, target), { code: 'KAFKA_PROTOCOL' })
          assert.ok(process.memoryUsage().arrayBuffers - before < 1 << 20)
        },
      )
    }
    await refused([claim((1 << 20) + 1)])
    await refused([frame('first'), claim((256 << 20) + 1)])
    await refused([frame('first'), claim((1 << 30) + 1)], new ResponseBuffer(1 << 10))
  })

  test('with KAFKA_TLS when a TLS listener answers with an alert, and says so', async () => {
    await withLoopback(
      answering(() => [Buffer.from([21, 3, 3, 0, 2, 2, 70])]),
      async server => {
        const connection = await server.connect()
        await assert.rejects(connection.send(Buffer.from('?'), never), {
          code: 'KAFKA_TLS',
          message: /expects TLS/,
        })
      },
    )
  })

  test('with KAFKA_PROTOCOL when the answer is longer than it says', async () => {
    await withLoopback(
      answering(() => [Buffer.concat([frame('good'), Buffer.from('and more')])]),
      async server => {
        const connection = await server.connect()
        await assert.rejects(connection.send(Buffer.from('?'), never), {
          code: 'KAFKA_PROTOCOL',
          message: /more than its answer/,
        })
      },
    )
  })

  test('with KAFKA_PROTOCOL when bytes come that nobody asked for', async () => {
    await withLoopback(
      socket => socket.write(frame('surprise')),
      async server => {
        const connection = await server.connect()
        for (let i = 0; connection.isOpen && i < 1000; i++) await turn()
        await assert.rejects(connection.send(Buffer.from('?'), never), {
          code: 'KAFKA_PROTOCOL',
          message: /no request asked for/,
        })
      },
    )
  })
})

describe('an abort', () => {
  const reason = new Error('the user stopped it')

  test('ends a wait for an answer with its reason and closes the connection', async () => {
    await withLoopback(
      socket => socket.resume(),
      async server => {
        const connection = await server.connect()
        const controller = new AbortController()
        const call = connection.send(Buffer.from('?'), controller.signal)
        await turn()
        controller.abort(reason)
        await assert.rejects(call, error => error === reason)
        assert.equal(connection.isOpen, false)
      },
    )
  })

  test('leaves the pieces of the request to their owner: nothing is sent of what it writes there afterwards', async () => {
    const { promise: ended, resolve: end } = Promise.withResolvers<void>()
    await withLoopback(
      socket => socket.pause().on('close', () => end()),
      async server => {
        const connection = await server.connect()
        const controller = new AbortController()
        const piece = Buffer.alloc(32 << 20, 'a')
        const call = connection.send([piece], controller.signal)
        await turn()
        controller.abort(reason)
        await assert.rejects(call, error => error === reason)
        piece.fill('b')
        let received = 0
        for (const socket of server.sockets) {
          const onData = (data: Buffer) => {
            received += data.length
            assert.equal(data.indexOf('b'), -1)
          }
          socket.on('data', onData).resume()
        }
        await ended
        assert.ok(received > 4 && received < piece.length, `${received} bytes were on their way`)
      },
    )
  })

  test('from before the call lets nothing leave, and spares the connection', async () => {
    let asked = 0
    await withLoopback(
      answering(() => {
        asked++
        return [frame('fine')]
      }),
      async server => {
        const connection = await server.connect()
        await assert.rejects(connection.send(Buffer.from('?'), AbortSignal.abort(reason)), error => error === reason)
        assert.equal((await connection.send(Buffer.from('?'), never)).toString(), 'fine')
        assert.equal(asked, 1)
        await assert.rejects(server.connect({ signal: AbortSignal.abort(reason) }), error => error === reason)
        assert.equal(server.sockets.size, 1)
      },
    )
  })

  test('ends the opening of a connection', async () => {
    const server = createTcpServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const controller = new AbortController()
    try {
      // In the same turn: the connection is still on its way.
      const opening = Connection.open(
        { endpoint: { host: '127.0.0.1', port }, timeoutMs: 60_000, clock: systemClock },
        controller.signal,
      )
      controller.abort(reason)
      await assert.rejects(opening, error => error === reason)
    } finally {
      server.close()
    }
  })

  test('of one request leaves the ones behind it with an error that is worth another try', async () => {
    await withLoopback(
      socket => socket.resume(),
      async server => {
        const connection = await server.connect()
        const controller = new AbortController()
        const first = connection.send(Buffer.from('1'), controller.signal)
        const second = connection.send(Buffer.from('2'), never)
        await turn()
        controller.abort(reason)
        await assert.rejects(first, error => error === reason)
        await assert.rejects(second, { code: 'KAFKA_DISCONNECTED', retryable: true })
      },
    )
  })
})

test('closing ends what is under way, once and for all', async () => {
  await withLoopback(
    socket => socket.resume(),
    async server => {
      const connection = await server.connect()
      const call = connection.send(Buffer.from('?'), never)
      await turn()
      connection.close()
      connection.close()
      await assert.rejects(call, { code: 'KAFKA_DISCONNECTED', message: /is closed/ })
    },
  )
})
