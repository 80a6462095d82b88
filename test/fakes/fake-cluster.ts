import { convertOldMessages } from '../../src/batch/convert-old-messages.ts'
import type { BatchHeader } from '../../src/batch/header.ts'
import { walkBatches } from '../../src/batch/walk.ts'
import { Cluster, type ClusterOptions } from '../../src/kafka/cluster.ts'
import type { Reader } from '../../src/kafka/wire/reader.ts'
import { Writer } from '../../src/kafka/wire/writer.ts'
import type { Clock } from '../../src/lib/clock.ts'
import {
  ANY_VERSION,
  API,
  type BrokerRequest,
  type FakeBroker,
  type Handler,
  SHARE_API,
  startFakeBroker,
  type Versions,
} from './fake-broker.ts'
import { JumpingClock } from './jumping-clock.ts'

export interface FakePartition {
  leader: number
  epoch: number
  logStart: bigint
  highWatermark: bigint
  lastStable: bigint
  batches: Buffer[]
  /** Where the segments of its log begin, after the first; without it there is one. */
  segments?: bigint[]
  /** What is before it is in remote storage, and is returned where `isRemoteReady` says so. */
  localStart?: bigint
  isRemoteReady?: () => boolean
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
  /** What each broker speaks; all that the tests know where it is not given. */
  versions?: (brokerId: number) => Versions
  /** The brokers do not tell the sizes of logs. */
  hidesSizes?: boolean
  /** Every broker serves every partition, whichever leader Metadata names. */
  servesAnywhere?: boolean
  /** The throttle time of every answer to Fetch. */
  fetchThrottleMs?: number
  /** The brokers have the requests about share groups, which a test answers. */
  hasShareGroups?: boolean
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
  for (let id = 0; id < brokerCount; id++) {
    const versions = () => state.versions?.(id) ?? versionsOf(state)
    brokers.push(await startFakeBroker(handlersOf(state, id, brokers), 0, versions))
  }
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
  // Those in an old message format are shown to readers as they are, and have the bounds of what they wrap.
  const current = convertOldMessages(all, 0, all.length)?.bytes ?? all
  const headers = walkBatches(current, 0, current.length)
  const end = (headers.at(-1)?.lastOffset ?? -1n) + 1n
  const bounds = { logStart: headers[0]?.baseOffset ?? 0n, highWatermark: end, lastStable: end }
  return { leader: 0, epoch: 0, batches, aborted: [], ...bounds, ...changes }
}

function versionsOf({ hasShareGroups }: FakeState): Versions {
  const share = hasShareGroups ? Object.values(SHARE_API) : []
  return new Map([...ANY_VERSION, ...share.map(key => [key, [0, 99]] as const)])
}

function handlersOf(state: FakeState, brokerId: number, brokers: readonly FakeBroker[]): Record<number, Handler> {
  const handle =
    (handler: (request: BrokerRequest) => Writer): Handler =>
    async request =>
      (await state.intercept(request, brokerId)) ?? handler(request)
  // What nobody answers for ends the connection, unless a test steps in.
  const unknown: Handler = async request => (await state.intercept(request, brokerId)) ?? 'hang-up'
  const others = [...Object.values(API), ...Object.values(SHARE_API)].filter(key => key !== API.apiVersions)
  return {
    ...Object.fromEntries(others.map(key => [key, unknown])),
    [API.metadata]: handle(request => encodeMetadata(state, brokers, readTopicNames(request), request)),
    [API.listOffsets]: handle(request => encodeOffsets(state, request)),
    [API.describeConfigs]: handle(request => encodeConfigs(state, request)),
    [API.describeLogDirs]: handle(request => encodeLogDirs(state, request)),
    [API.describeGroups]: handle(request => encodeGroups(state, request)),
    [API.offsetForLeaderEpoch]: handle(request => encodeEpochEnds(state, request)),
    [API.fetch]: handle(request => encodeFetch(state, request, brokerId)),
  }
}

function readTopicNames({ body, version }: BrokerRequest): string[] | null {
  const count = version >= 9 ? body.uvarint() - 1 : body.int32()
  if (count < 0) return null
  return Array.from({ length: count }, () => {
    if (version >= 10) body.uuid()
    const name = body.string()
    body.tags()
    return name
  })
}

export function encodeMetadata(
  state: Pick<FakeState, 'clusterId' | 'topics' | 'grants'>,
  brokers: readonly { host: string; port: number }[],
  names: string[] | null,
  { version, answer }: Pick<BrokerRequest, 'version' | 'answer'> = { version: 12, answer: () => new Writer() },
): Writer {
  const unknown = { id: '0'.repeat(32), errorCode: 3, internal: false, configs: {}, partitions: [] }
  const find = (name: string) => state.topics.find(topic => topic.name === name) ?? { name, ...unknown }
  const topics = names === null ? state.topics : names.map(find)
  const writer = answer().int32(0)
  writer.array([...brokers.entries()], ([id, { host, port }]) =>
    writer.int32(id).string(host).int32(port).string(null).noTags(),
  )
  writer.string(state.clusterId).int32(0)
  writer.array(topics, topic => {
    writer.int16(topic.errorCode).string(topic.name)
    if (version >= 10) writer.uuid(topic.id)
    writer.boolean(topic.internal)
    writer.array([...topic.partitions.entries()], ([partition, { leader, epoch }]) => {
      writer
        .int16(leader < 0 ? 5 : 0)
        .int32(partition)
        .int32(leader)
      if (version >= 7) writer.int32(epoch)
      const lists = version >= 5 ? [[leader], [leader], []] : [[leader], [leader]]
      for (const nodes of lists) writer.array(nodes, node => writer.int32(node))
      writer.noTags()
    })
    if (version >= 8) writer.int32(bitsOf(state.grants?.topic))
    writer.noTags()
  })
  if (version >= 8 && version <= 10) writer.int32(-2147483648)
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

function encodeOffsets(state: FakeState, { body, version, answer }: BrokerRequest): Writer {
  body.int32()
  const committed = body.int8() === 1
  const asked = body.array(() => {
    const name = body.string()
    const partitions = body.array(() => {
      const partition = body.int32()
      if (version >= 4) body.int32()
      const timestamp = body.int64()
      body.tags()
      return { partition, timestamp }
    })
    body.tags()
    return { name, partitions }
  })
  const writer = answer().int32(0)
  writer.array(asked, ({ name, partitions }) => {
    writer.string(name).array(partitions, ({ partition, timestamp }) => {
      const log = state.topics.find(topic => topic.name === name)?.partitions[partition]
      const latest = committed ? log?.lastStable : log?.highWatermark
      const local = timestamp === -4n ? (log?.localStart ?? log?.logStart) : undefined
      const offset = timestamp === -2n ? log?.logStart : (local ?? latest)
      writer
        .int32(partition)
        .int16(log ? 0 : 3)
        .int64(-1n)
        .int64(offset ?? -1n)
      if (version >= 4) writer.int32(0)
      writer.noTags()
    })
    writer.noTags()
  })
  return writer.noTags()
}

/** A log has one epoch. */
function encodeEpochEnds(state: FakeState, { body, version, answer }: BrokerRequest): Writer {
  if (version >= 3) body.int32()
  const writer = answer()
  if (version >= 2) writer.int32(0)
  const asked = body.array(() => {
    const name = body.string()
    const partitions = body.array(() => {
      const partition = body.int32()
      if (version >= 2) body.int32()
      const epoch = body.int32()
      body.tags()
      return { partition, epoch }
    })
    body.tags()
    return { name, partitions }
  })
  writer.array(asked, ({ name, partitions }) => {
    writer.string(name).array(partitions, ({ partition, epoch }) => {
      const log = state.topics.find(topic => topic.name === name)?.partitions[partition]
      const isKnown = log?.epoch === epoch
      writer.int16(log ? 0 : 3).int32(partition)
      if (version >= 1) writer.int32(isKnown ? epoch : -1)
      writer.int64(isKnown ? logEndOf(log) : -1n).noTags()
    })
    writer.noTags()
  })
  return writer.noTags()
}

/** Also behind the high watermark, as a leader of Kafka 4.1.1 answers whose followers are stopped. */
function logEndOf({ highWatermark, batches }: FakePartition): bigint {
  const last = batches.at(-1)
  const end = last ? last.readBigInt64BE(0) + BigInt(last.readInt32BE(23)) + 1n : 0n
  return end > highWatermark ? end : highWatermark
}

function encodeConfigs(state: FakeState, { body, version, answer }: BrokerRequest): Writer {
  const names = body.array(() => {
    body.int8()
    const name = body.string()
    body.array(() => body.string())
    body.tags()
    return name
  })
  const writer = answer().int32(0)
  writer.array(names, name => {
    const configs = Object.entries(state.topics.find(topic => topic.name === name)?.configs ?? {})
    writer.int16(0).string(null).int8(2).string(name)
    writer.array(configs, ([key, value]) => {
      writer.string(key).string(value).boolean(false).int8(1).boolean(false)
      writer.array([], () => undefined)
      if (version >= 3) writer.int8(2).string(null)
      writer.noTags()
    })
    writer.noTags()
  })
  return writer.noTags()
}

/** One folder, with the bytes of the batches; none where the brokers do not tell. */
function encodeLogDirs(state: FakeState, { body, answer }: BrokerRequest): Writer {
  const asked = body.array(() => {
    const name = body.string()
    const partitions = body.array(() => body.int32())
    body.tags()
    return { name, partitions }
  })
  const writer = answer().int32(0)
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
function encodeGroups({ grants }: FakeState, { body, version, answer }: BrokerRequest): Writer {
  const groups = body.array(() => body.string())
  const writer = answer()
  if (version >= 1) writer.int32(0)
  writer.array(groups, group => {
    writer
      .int16(0)
      .string(group)
      .string('Dead')
      .string('')
      .string('')
      .array([], () => undefined)
    if (version >= 3) writer.int32(bitsOf(grants?.group))
    writer.noTags()
  })
  return writer.noTags()
}

interface AskedPartition {
  partition: number
  offset: bigint
  isCommitted: boolean
}

function encodeFetch(state: FakeState, { body, version, answer }: BrokerRequest, brokerId: number): Writer {
  body.position += 12
  let room = body.int32()
  const isCommitted = body.int8() === 1
  if (version >= 7) body.position += 8
  const asked = body.array(() => readAskedTopic(body, version))
  if (version >= 7) body.array(() => undefined)
  const hasRack = version >= 11 && body.string() !== ''
  let isEmpty = true
  const writer = answer().int32(state.fetchThrottleMs ?? 0)
  if (version >= 7) writer.int16(0).int32(0)
  writer.array(asked, ({ id, name, partitions }) => {
    const topic = state.topics.find(each => (version >= 13 ? each.id === id : each.name === name))
    if (version >= 13) writer.uuid(id)
    else writer.string(name)
    writer.array(partitions, one => {
      const found = readLog(state, topic, { ...one, isCommitted }, brokerId, hasRack)
      const bytes = takeBytes(found.batches, Math.min(room, one.maxBytes), isEmpty)
      isEmpty &&= bytes.length === 0
      room = Math.max(0, room - bytes.length)
      const { highWatermark = -1n, lastStable = -1n, logStart = -1n, aborted = [] } = found.log ?? {}
      const errorCode = found.errorCode === 100 && version < 13 ? 3 : found.errorCode
      writer.int32(one.partition).int16(errorCode).int64(highWatermark).int64(lastStable)
      if (version >= 5) writer.int64(logStart)
      const listed = aborted.filter(each => !hasEnded(found.log, each, one.offset))
      writer.array(listed, each => writer.int64(each.producerId).int64(each.firstOffset).noTags())
      if (version >= 11) writer.int32(found.pointsTo)
      writer.bytes(bytes).noTags()
    })
    writer.noTags()
  })
  return writer.noTags()
}

/** A broker lists a transaction that was rolled back until its marker. */
function hasEnded(log: FakePartition | undefined, of: FakePartition['aborted'][number], offset: bigint): boolean {
  const all = Buffer.concat(log?.batches ?? [])
  const isMarker = ({ attributes, producerId, baseOffset }: BatchHeader) =>
    (attributes & 32) !== 0 && producerId === of.producerId && baseOffset >= of.firstOffset
  const marker = walkBatches(all, 0, all.length).find(isMarker)
  return marker !== undefined && marker.baseOffset < offset
}

function readAskedTopic(body: Reader, version: number) {
  const id = version >= 13 ? body.uuid() : ''
  const name = version >= 13 ? '' : body.string()
  const partitions = body.array(() => {
    const partition = body.int32()
    if (version >= 9) body.int32()
    const offset = body.int64()
    if (version >= 12) body.int32()
    if (version >= 5) body.int64()
    const maxBytes = body.int32()
    body.tags()
    return { partition, offset, maxBytes }
  })
  body.tags()
  return { id, name, partitions }
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
  const isReplica = state.servesAnywhere || log.leader === brokerId || log.nearest === brokerId
  const own = !isReplica ? 6 : offset < log.logStart || offset > log.highWatermark ? 1 : 0
  const errorCode = scripted || own
  const usual = hasRack && errorCode === 0 && log.leader === brokerId ? (log.nearest ?? -1) : -1
  const pointsTo = log.pointsOn?.(brokerId, hasRack) ?? usual
  const isRemote = offset < (log.localStart ?? 0n) && !(log.isRemoteReady?.() ?? true)
  const batches =
    errorCode || pointsTo >= 0 || isRemote
      ? []
      : segmentOf(log, offset).filter(batch =>
          isVisible(batch, offset, isCommitted ? log.lastStable : log.highWatermark),
        )
  return { errorCode, log, batches, pointsTo }
}

/** A broker answers from one segment of its log, the first that has anything at or behind the offset. */
function segmentOf({ batches, segments = [] }: FakePartition, offset: bigint): Buffer[] {
  const first = batches.find(batch => isVisible(batch, offset, 2n ** 63n))?.readBigInt64BE(0) ?? 0n
  const end = segments.find(start => start > first) ?? 2n ** 63n
  return batches.filter(batch => batch.readBigInt64BE(0) < end)
}

function isVisible(batch: Buffer, offset: bigint, end: bigint): boolean {
  const base = batch.readBigInt64BE(0)
  const last = batch.readInt8(16) === 2 ? base + BigInt(batch.readInt32BE(23)) : base
  return last >= offset && base < end
}

/** The first that has anything gets one whole batch at least; the last one may be cut off. */
function takeBytes(batches: readonly Buffer[], room: number, isFirst: boolean): Buffer {
  const first = batches[0]
  if (!first) return Buffer.alloc(0)
  return Buffer.concat(batches).subarray(0, isFirst ? Math.max(room, first.length) : room)
}
