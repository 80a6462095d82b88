import { walkBatches } from '../../src/batch/walk.ts'
import { Cluster, type ClusterOptions } from '../../src/kafka/cluster.ts'
import { Writer } from '../../src/kafka/wire/writer.ts'
import type { Clock } from '../../src/lib/clock.ts'
import { API, type BrokerRequest, type FakeBroker, type Handler, startFakeBroker } from './fake-broker.ts'
import { JumpingClock } from './jumping-clock.ts'

export interface FakePartition {
  leader: number
  epoch: number
  logStart: bigint
  highWatermark: bigint
  lastStable: bigint
  batches: Buffer[]
  /** A follower that the leader points clients with a rack to. */
  nearest?: number
  /** Points every client to a replica, as no broker does: asked or not, and also where this one is no leader. */
  pointsOn?: (brokerId: number, hasRack: boolean) => number
  aborted: { producerId: bigint; firstOffset: bigint }[]
}

export interface FakeTopic {
  name: string
  id: string
  errorCode: number
  internal: boolean
  configs: Record<string, string>
  partitions: FakePartition[]
}

/** What a test may change while it runs; the brokers answer from it. */
export interface FakeState {
  clusterId: string
  topics: FakeTopic[]
  /** Operations that one may do to all topics and to all groups; the brokers do not tell where it is not given. */
  grants?: { topic: string[]; group: string[] }
  /** The brokers do not tell the sizes of logs. */
  hidesSizes?: boolean
  /** Called for each partition of each Fetch: an error code, or 0 to answer from the log. */
  fetchError: (topic: FakeTopic, partition: number, brokerId: number) => number
  /** Called first for each request; what it returns is the answer. It may also only hold the request up for a while. */
  intercept: (request: BrokerRequest, brokerId: number) => ReturnType<Handler> | Promise<undefined> | undefined
}

export interface FakeCluster {
  state: FakeState
  brokers: FakeBroker[]
  clock: Clock & JumpingClock
  /** A cluster opened on the brokers, which `close` closes, too. */
  open(options?: Partial<ClusterOptions>): Promise<Cluster>
  close(): Promise<void>
}

/** Brokers 0, 1, … with logs in memory: enough of Kafka to run a backup against. */
export async function startFakeCluster(topics: FakeTopic[], brokerCount = 1): Promise<FakeCluster> {
  const state: FakeState = {
    clusterId: 'cluster-a',
    topics,
    fetchError: () => 0,
    intercept: () => undefined,
  }
  const brokers: FakeBroker[] = []
  for (let id = 0; id < brokerCount; id++) brokers.push(await startFakeBroker(handlersOf(state, id, brokers)))
  const clock = new JumpingClock()
  const opened: Cluster[] = []
  const bootstrapServers = brokers.map(broker => broker.address)
  const fixed = { bootstrapServers, clientId: 'test', softwareVersion: '0', requestTimeoutMs: 1000, clock }
  return {
    state,
    brokers,
    clock,
    open: async (options = {}) => {
      const cluster = await Cluster.open({ ...fixed, ...options }, new AbortController().signal)
      opened.push(cluster)
      return cluster
    },
    close: async () => {
      for (const cluster of opened) cluster.close()
      await Promise.all(brokers.map(broker => broker.close()))
    },
  }
}

/** A topic whose partitions hold these batches; the bounds follow from them. */
export function fakeTopic(name: string, logs: Buffer[][], changes: Partial<FakeTopic> = {}): FakeTopic {
  const id = Buffer.from(name.padEnd(16).slice(0, 16)).toString('hex')
  const partitions = logs.map(batches => fakePartition(batches))
  return { name, id, errorCode: 0, internal: false, configs: {}, partitions, ...changes }
}

export function fakePartition(batches: Buffer[], changes: Partial<FakePartition> = {}): FakePartition {
  const all = Buffer.concat(batches)
  const headers = walkBatches(all, 0, all.length)
  const end = (headers.at(-1)?.lastOffset ?? -1n) + 1n
  const bounds = { logStart: headers[0]?.baseOffset ?? 0n, highWatermark: end, lastStable: end }
  return { leader: 0, epoch: 0, batches, aborted: [], ...bounds, ...changes }
}

function handlersOf(state: FakeState, brokerId: number, brokers: readonly FakeBroker[]): Record<number, Handler> {
  const handle =
    (handler: (request: BrokerRequest) => Writer): Handler =>
    async request =>
      (await state.intercept(request, brokerId)) ?? handler(request)
  // What nobody answers for ends the connection, unless a test steps in.
  const unknown: Handler = async request => (await state.intercept(request, brokerId)) ?? 'hang-up'
  const others = Object.values(API).filter(key => key !== API.apiVersions)
  return {
    ...Object.fromEntries(others.map(key => [key, unknown])),
    [API.metadata]: handle(request => encodeMetadata(state, brokers, readTopicNames(request))),
    [API.listOffsets]: handle(request => encodeOffsets(state, request)),
    [API.describeConfigs]: handle(request => encodeConfigs(state, request)),
    [API.describeLogDirs]: handle(request => encodeLogDirs(state, request)),
    [API.describeGroups]: handle(request => encodeGroups(state, request)),
    [API.fetch]: handle(request => encodeFetch(state, request, brokerId)),
  }
}

function readTopicNames({ body }: BrokerRequest): string[] | null {
  const count = body.uvarint() - 1
  if (count < 0) return null
  return Array.from({ length: count }, () => {
    body.uuid()
    const name = body.string()
    body.tags()
    return name
  })
}

export function encodeMetadata(
  state: Pick<FakeState, 'clusterId' | 'topics' | 'grants'>,
  brokers: readonly { host: string; port: number }[],
  names: string[] | null,
): Writer {
  const unknown = { id: '0'.repeat(32), errorCode: 3, internal: false, configs: {}, partitions: [] }
  const find = (name: string) => state.topics.find(topic => topic.name === name) ?? { name, ...unknown }
  const topics = names === null ? state.topics : names.map(find)
  const writer = new Writer().int32(0)
  writer.array([...brokers.entries()], ([id, { host, port }]) =>
    writer.int32(id).string(host).int32(port).string(null).noTags(),
  )
  writer.string(state.clusterId).int32(0)
  writer.array(topics, topic => {
    writer.int16(topic.errorCode).string(topic.name).uuid(topic.id).boolean(topic.internal)
    writer.array([...topic.partitions.entries()], ([partition, { leader, epoch }]) => {
      writer
        .int16(leader < 0 ? 5 : 0)
        .int32(partition)
        .int32(leader)
        .int32(epoch)
      for (const nodes of [[leader], [leader], []]) writer.array(nodes, node => writer.int32(node))
      writer.noTags()
    })
    writer.int32(bitsOf(state.grants?.topic)).noTags()
  })
  return writer.noTags()
}

const operationBits: Record<string, number> = {
  Read: 3,
  Write: 4,
  Create: 5,
  Describe: 8,
  DescribeConfigs: 10,
  AlterConfigs: 11,
}

function bitsOf(operations: readonly string[] | undefined): number {
  return operations?.reduce((bits, name) => bits | (1 << (operationBits[name] ?? 0)), 0) ?? -2147483648
}

function encodeOffsets(state: FakeState, { body }: BrokerRequest): Writer {
  body.int32()
  const committed = body.int8() === 1
  const asked = body.array(() => {
    const name = body.string()
    const partitions = body.array(() => {
      const partition = body.int32()
      body.int32()
      const timestamp = body.int64()
      body.tags()
      return { partition, timestamp }
    })
    body.tags()
    return { name, partitions }
  })
  const writer = new Writer().int32(0)
  writer.array(asked, ({ name, partitions }) => {
    writer.string(name).array(partitions, ({ partition, timestamp }) => {
      const log = state.topics.find(topic => topic.name === name)?.partitions[partition]
      const latest = committed ? log?.lastStable : log?.highWatermark
      const offset = timestamp === -2n ? log?.logStart : latest
      writer
        .int32(partition)
        .int16(log ? 0 : 3)
        .int64(-1n)
        .int64(offset ?? -1n)
        .int32(0)
        .noTags()
    })
    writer.noTags()
  })
  return writer.noTags()
}

function encodeConfigs(state: FakeState, { body }: BrokerRequest): Writer {
  const names = body.array(() => {
    body.int8()
    const name = body.string()
    body.array(() => body.string())
    body.tags()
    return name
  })
  const writer = new Writer().int32(0)
  writer.array(names, name => {
    const configs = Object.entries(state.topics.find(topic => topic.name === name)?.configs ?? {})
    writer.int16(0).string(null).int8(2).string(name)
    writer.array(configs, ([key, value]) => {
      writer.string(key).string(value).boolean(false).int8(1).boolean(false)
      writer
        .array([], () => undefined)
        .int8(2)
        .string(null)
        .noTags()
    })
    writer.noTags()
  })
  return writer.noTags()
}

/** One folder, with the bytes of the batches; none where the brokers do not tell. */
function encodeLogDirs(state: FakeState, { body }: BrokerRequest): Writer {
  const asked = body.array(() => {
    const name = body.string()
    const partitions = body.array(() => body.int32())
    body.tags()
    return { name, partitions }
  })
  const writer = new Writer().int32(0)
  writer.array(state.hidesSizes ? [] : ['/data'], dir => {
    writer.int16(0).string(dir)
    writer.array(asked, ({ name, partitions }) => {
      const logs = state.topics.find(topic => topic.name === name)?.partitions ?? []
      writer.string(name).array(partitions, partition => {
        const size = logs[partition]?.batches.reduce((sum, { length }) => sum + length, 0) ?? 0
        writer.int32(partition).int64(BigInt(size)).int64(0n).boolean(false).noTags()
      })
      writer.noTags()
    })
    writer.noTags()
  })
  return writer.noTags()
}

/** Groups that do not exist. */
function encodeGroups({ grants }: FakeState, { body }: BrokerRequest): Writer {
  const groups = body.array(() => body.string())
  const writer = new Writer().int32(0)
  writer.array(groups, group =>
    writer
      .int16(0)
      .string(group)
      .string('Dead')
      .string('')
      .string('')
      .array([], () => undefined)
      .int32(bitsOf(grants?.group))
      .noTags(),
  )
  return writer.noTags()
}

interface AskedPartition {
  partition: number
  offset: bigint
  isCommitted: boolean
}

function encodeFetch(state: FakeState, { body }: BrokerRequest, brokerId: number): Writer {
  body.position += 12
  let room = body.int32()
  const isCommitted = body.int8() === 1
  body.position += 8
  const asked = body.array(() => {
    const id = body.uuid()
    const partitions = body.array(() => {
      const partition = body.int32()
      body.int32()
      const offset = body.int64()
      body.position += 16
      body.tags()
      return { partition, offset }
    })
    body.tags()
    return { id, partitions }
  })
  body.array(() => undefined)
  const hasRack = body.string() !== ''
  let isEmpty = true
  const writer = new Writer().int32(0).int16(0).int32(0)
  writer.array(asked, ({ id, partitions }) => {
    const topic = state.topics.find(each => each.id === id)
    writer.uuid(id).array(partitions, one => {
      const answer = readLog(state, topic, { ...one, isCommitted }, brokerId, hasRack)
      const bytes = takeBytes(answer.batches, room, isEmpty)
      isEmpty &&= bytes.length === 0
      room = Math.max(0, room - bytes.length)
      const { highWatermark = -1n, lastStable = -1n, logStart = -1n, aborted = [] } = answer.log ?? {}
      writer.int32(one.partition).int16(answer.errorCode).int64(highWatermark).int64(lastStable).int64(logStart)
      writer.array(aborted, each => writer.int64(each.producerId).int64(each.firstOffset).noTags())
      writer
        .int32(answer.pointsTo)
        .uvarint(bytes.length + 1)
        .raw(bytes)
        .noTags()
    })
    writer.noTags()
  })
  return writer.noTags()
}

function readLog(
  state: FakeState,
  topic: FakeTopic | undefined,
  { partition, offset, isCommitted }: AskedPartition,
  brokerId: number,
  hasRack: boolean,
) {
  const log = topic?.partitions[partition]
  if (!topic || !log) return { errorCode: 100, log, batches: [], pointsTo: -1 }
  const scripted = state.fetchError(topic, partition, brokerId)
  const isReplica = log.leader === brokerId || log.nearest === brokerId
  const own = !isReplica ? 6 : offset < log.logStart || offset > log.highWatermark ? 1 : 0
  const errorCode = scripted || own
  const usual = hasRack && errorCode === 0 && log.leader === brokerId ? (log.nearest ?? -1) : -1
  const pointsTo = log.pointsOn?.(brokerId, hasRack) ?? usual
  const batches =
    errorCode || pointsTo >= 0
      ? []
      : log.batches.filter(batch => isVisible(batch, offset, isCommitted ? log.lastStable : log.highWatermark))
  return { errorCode, log, batches, pointsTo }
}

function isVisible(batch: Buffer, offset: bigint, end: bigint): boolean {
  const base = batch.readBigInt64BE(0)
  return base + BigInt(batch.readInt32BE(23)) >= offset && base < end
}

/** The first that has anything gets one whole batch at least; the last one may be cut off. */
function takeBytes(batches: readonly Buffer[], room: number, isFirst: boolean): Buffer {
  const first = batches[0]
  if (!first) return Buffer.alloc(0)
  return Buffer.concat(batches).subarray(0, isFirst ? Math.max(room, first.length) : room)
}
