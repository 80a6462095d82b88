import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { requestTable } from '../../src/kafka/api/request-table.ts'
import { Reader } from '../../src/kafka/wire/reader.ts'
import { Writer } from '../../src/kafka/wire/writer.ts'

export interface BrokerRequest {
  key: number
  version: number
  clientId: string
  correlationId: number
  /** At the first field behind the header. */
  body: Reader
  /** An empty answer in the encoding of the request's version. */
  answer(): Writer
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
  offsetForLeaderEpoch: 23,
  describeAcls: 29,
  createAcls: 30,
  describeConfigs: 32,
  alterConfigs: 33,
  describeLogDirs: 35,
  saslAuthenticate: 36,
  deleteGroups: 42,
  incrementalAlterConfigs: 44,
  offsetDelete: 47,
  describeCluster: 60,
  consumerGroupDescribe: 69,
}

/** Requests about share groups, which only some brokers have. */
export const SHARE_API = { shareGroupDescribe: 77, describeShareGroupOffsets: 90, alterShareGroupOffsets: 91 }

/** What a broker says that it speaks, by API key: the oldest and the newest version. */
export type Versions = ReadonlyMap<number, readonly [oldest: number, newest: number]>

/** All that the tests know, in any version. */
export const ANY_VERSION: Versions = new Map(Object.values(API).map(key => [key, [0, 99]]))

/**
 * Speaks the protocol on loopback and answers by script, a handler for each API key. `versions` is asked at each connection;
 * a request in another version ends it, as with a real broker.
 */
export async function startFakeBroker(
  handlers: Record<number, Handler>,
  port = 0,
  versions: () => Versions = () => ANY_VERSION,
): Promise<FakeBroker> {
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
      const answer = await answerRequest(request, handlers, versions())
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

async function answerRequest(
  request: BrokerRequest,
  handlers: Record<number, Handler>,
  versions: Versions,
): Promise<BrokerAnswer> {
  const { key, version } = request
  const [oldest, newest] = versions.get(key) ?? [0, -1]
  const isSpoken = version >= oldest && version <= newest
  if (key === API.apiVersions && handlers[key] === undefined) {
    // In version 0, which has no tags, and without a list, as brokers before 2.4 do.
    return isSpoken ? answerVersions(request, versions) : new Writer({ isFlexible: false }).int16(35).int32(0)
  }
  const handler = isSpoken ? handlers[key] : undefined
  return handler ? await handler(request) : 'hang-up'
}

export function answerVersions({ version, answer }: Pick<BrokerRequest, 'version' | 'answer'>, all: Versions): Writer {
  const writer = answer().int16(0)
  writer.array([...all], ([key, [oldest, newest]]) => writer.int16(key).int16(oldest).int16(newest).noTags())
  if (version >= 1) writer.int32(0)
  return writer.noTags()
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
  const [key, version] = [frame.readInt16BE(0), frame.readInt16BE(2)]
  const isFlexible = version >= (flexibleFrom.get(key) ?? 0)
  const body = new Reader(frame, { isFlexible })
  body.position = 4
  const correlationId = body.int32()
  const length = body.int16()
  const clientId = frame.toString('utf8', body.position, body.position + length)
  body.position += length
  body.tags()
  const nth = earlier.filter(other => other.key === key).length
  return { key, version, clientId, correlationId, body, answer: () => new Writer({ isFlexible }), nth }
}

function encodeFrame({ key, correlationId, answer: open }: BrokerRequest, answer: Buffer | Writer): Buffer {
  const content = Buffer.isBuffer(answer) ? answer : answer.finish()
  const head = open().int32(0).int32(correlationId)
  const frame = Buffer.concat([(key === API.apiVersions ? head : head.noTags()).finish(), content])
  frame.writeInt32BE(frame.length - 4, 0)
  return frame
}

/** From which version on a request has the flexible encoding, by API key. */
const flexibleFrom = new Map<number, number>(Object.values(requestTable).map(row => [row.key, row.flexibleFrom]))
