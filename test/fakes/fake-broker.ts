import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { Reader } from '../../src/kafka/wire/reader.ts'
import { Writer } from '../../src/kafka/wire/writer.ts'

export interface BrokerRequest {
  key: number
  version: number
  clientId: string
  correlationId: number
  /** At the first field behind the header. */
  body: Reader
  /** How many requests of this kind came before, from 0. */
  nth: number
}

/** The content behind the answer's header; or nothing for ever; or the end of the connection. */
export type BrokerAnswer = Buffer | Writer | 'silence' | 'hang-up'

export type Handler = (request: BrokerRequest) => BrokerAnswer | Promise<BrokerAnswer>

export interface FakeBroker {
  readonly host: string
  readonly port: number
  readonly address: string
  /** By API key, in the order of their arrival. */
  readonly requests: BrokerRequest[]
  readonly openConnections: number
  readonly acceptedConnections: number
  /** Ends all connections, and listens on. */
  dropConnections(): void
  close(): Promise<void>
}

export const API = {
  produce: 0,
  fetch: 1,
  listOffsets: 2,
  metadata: 3,
  offsetCommit: 8,
  offsetFetch: 9,
  findCoordinator: 10,
  describeGroups: 15,
  listGroups: 16,
  saslHandshake: 17,
  apiVersions: 18,
  createTopics: 19,
  deleteTopics: 20,
  initProducerId: 22,
  describeConfigs: 32,
  describeLogDirs: 35,
  saslAuthenticate: 36,
  deleteGroups: 42,
  incrementalAlterConfigs: 44,
  offsetDelete: 47,
  describeCluster: 60,
  consumerGroupDescribe: 69,
}

/** Speaks the protocol on loopback and answers by script, a handler for each API key. */
export async function startFakeBroker(handlers: Record<number, Handler>, port = 0): Promise<FakeBroker> {
  const requests: BrokerRequest[] = []
  const sockets = new Set<Socket>()
  let accepted = 0
  const server = createServer(socket => {
    accepted++
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket)).on('error', () => undefined)
    readFrames(socket, async frame => {
      const request = decodeRequest(frame, requests)
      requests.push(request)
      const handler = handlers[request.key] ?? (request.key === API.apiVersions ? answerVersions : undefined)
      const answer = handler ? await handler(request) : 'hang-up'
      if (answer === 'hang-up') socket.destroy()
      else if (answer !== 'silence') socket.write(encodeFrame(request, answer))
    })
  })
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address() as AddressInfo
  const dropConnections = () => {
    for (const socket of sockets) socket.destroy()
  }
  return {
    host: '127.0.0.1',
    port: address.port,
    address: `127.0.0.1:${address.port}`,
    requests,
    get openConnections() {
      return sockets.size
    },
    get acceptedConnections() {
      return accepted
    },
    dropConnections,
    close: async () => {
      const closed = once(server, 'close')
      server.close()
      dropConnections()
      await closed
    },
  }
}

export function answerVersions(): Writer {
  const writer = new Writer().int16(0)
  return writer
    .array(Object.values(API), key => writer.int16(key).int16(0).int16(99).noTags())
    .int32(0)
    .noTags()
}

/** Calls back with each frame's content, one after the other. */
export function readFrames(socket: Socket, onFrame: (frame: Buffer) => Promise<void> | void): void {
  let pending = Buffer.alloc(0)
  let working = Promise.resolve()
  socket.on('data', data => {
    pending = Buffer.concat([pending, data])
    while (pending.length >= 4 && pending.length >= 4 + pending.readInt32BE(0)) {
      const end = 4 + pending.readInt32BE(0)
      const frame = Buffer.from(pending.subarray(4, end))
      pending = pending.subarray(end)
      working = working.then(() => onFrame(frame))
    }
  })
}

function decodeRequest(frame: Buffer, earlier: readonly BrokerRequest[]): BrokerRequest {
  const body = new Reader(frame)
  const key = body.int16()
  const version = body.int16()
  const correlationId = body.int32()
  const length = body.int16()
  const clientId = frame.toString('utf8', body.position, body.position + length)
  body.position += length
  if (!isLegacy(key)) body.tags()
  return { key, version, clientId, correlationId, body, nth: earlier.filter(other => other.key === key).length }
}

function encodeFrame({ key, correlationId }: BrokerRequest, answer: Buffer | Writer): Buffer {
  const content = Buffer.isBuffer(answer) ? answer : answer.finish()
  const head = new Writer().int32(0).int32(correlationId)
  const hasTags = key !== API.apiVersions && !isLegacy(key)
  const frame = Buffer.concat([(hasTags ? head.noTags() : head).finish(), content])
  frame.writeInt32BE(frame.length - 4, 0)
  return frame
}

/** Requests whose encoding is not flexible. */
function isLegacy(key: number): boolean {
  return key === API.saslHandshake || key === API.offsetDelete
}
