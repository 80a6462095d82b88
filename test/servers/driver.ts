import { join } from 'node:path'
import { classArchiveFlags } from './class-archive.ts'
import { type DriverProcess, openDriverProcess } from './driver-process.ts'
import {
  type ConsumedRecord,
  decodeConsumed,
  decodePlaces,
  encodeSeed,
  type RecordPlace,
  type SeedRecord,
} from './driver-records.ts'
import { driverJar } from './java-jar.ts'
import { startKafka } from './kafka.ts'
import { defaultKafkaVersion, kafkaLibs } from './kafka-dist.ts'

export type { ConsumedRecord, RecordPlace, SeedRecord } from './driver-records.ts'

export type Compression = 'none' | 'gzip' | 'snappy' | 'lz4' | 'zstd'
export type Isolation = 'read_committed' | 'read_uncommitted'

export interface ProduceOptions {
  compression?: Compression
  batchSize?: number
  lingerMs?: number
  /** Sends what is buffered after every so many records, which ends the batches there. */
  flushEvery?: number
  /** Other settings of the producer. */
  config?: Record<string, string>
  /** Calls with the same key share a producer, with the options of the first; otherwise each call has its own. */
  producerKey?: string
}

export interface TransactionOptions extends Omit<ProduceOptions, 'producerKey'> {
  transactionalId: string
  /** `open` leaves the transaction hanging; another call with the same id goes on with it. */
  outcome: 'commit' | 'abort' | 'open'
}

export interface BulkOptions extends Omit<ProduceOptions, 'producerKey' | 'flushEvery'> {
  count: number
  /** Record `i` goes to partition `i % partitions`. */
  partitions: number
  valueBytes: number
  seed?: number
  /** Keys come from so many different ones; without it every record has its own. */
  keySpace?: number
  /** Of the first record, each next one is a millisecond later. */
  startTimestamp?: number
}

export interface GroupMember {
  group: string
  topics: string[]
  /** `consumer` is that of KIP-848. */
  protocol?: 'classic' | 'consumer'
  isolation?: Isolation
  /** Where the group has no position: `none` fails. */
  reset?: 'earliest' | 'latest' | 'none'
}

export interface GroupRead {
  topic: string
  partition: number
  offset: bigint
  value: string | null
}

export interface PartitionDigest {
  count: number
  /** Offsets of the first and last record; -1 where there is none. */
  first: bigint
  last: bigint
  /** `hashChain` of the records. */
  sha256: string
}

export interface TopicDescription {
  topicId: string
  partitions: { leader: number; replicas: number[]; inSync: number[] }[]
}

/** Names as Kafka's own tools take them: `READ`, `TOPIC`, `PREFIXED`. */
/** Limits of an entity, such as `{ user: 'alice', 'client-id': null }`; null is the default. */
export interface DriverQuota {
  entity: Record<string, string | null>
  values: Record<string, number>
}

export interface Acl {
  principal: string
  operation: string
  permission?: 'ALLOW' | 'DENY'
  resourceType: string
  resourceName: string
  patternType?: 'LITERAL' | 'PREFIXED'
  host?: string
}

export interface DriverTarget {
  bootstrapServers: string[]
}

/** The official Java client. Admin calls return when clients can see their effect. */
export interface KafkaDriver {
  createTopic(
    name: string,
    options?: { partitions?: number; replicationFactor?: number; configs?: Record<string, string> },
  ): Promise<void>
  deleteTopic(name: string): Promise<void>
  describeTopic(name: string): Promise<TopicDescription>
  /** null removes a setting. */
  alterTopicConfig(name: string, configs: Record<string, string | null>): Promise<void>
  createPartitions(name: string, total: number): Promise<void>
  deleteRecords(topic: string, partition: number, beforeOffset: bigint): Promise<void>
  startOffsets(topic: string): Promise<bigint[]>
  /** High watermarks, or last stable offsets with `read_committed`. */
  endOffsets(topic: string, isolation?: Isolation): Promise<bigint[]>
  /** To a node that already holds a replica. */
  moveLeader(topic: string, partition: number, nodeId: number): Promise<void>
  createAcls(acls: Acl[]): Promise<void>
  createScramUser(user: string, password: string, mechanism: 'SCRAM-SHA-256' | 'SCRAM-SHA-512'): Promise<void>
  setQuotas(quotas: DriverQuota[]): Promise<void>
  /** As the official client words them, one text a rule, and one an entity with its limits. */
  listAcls(): Promise<string[]>
  listQuotas(): Promise<string[]>
  produce(topic: string, records: readonly SeedRecord[], options?: ProduceOptions): Promise<RecordPlace[]>
  transaction(topic: string, records: readonly SeedRecord[], options: TransactionOptions): Promise<RecordPlace[]>
  /** Adds the position of a group to a transaction, which stays open. */
  transactOffsets(
    transactionalId: string,
    position: { group: string; topic: string; partition: number; offset: bigint },
  ): Promise<void>
  finishTransaction(transactionalId: string, outcome: 'commit' | 'abort'): Promise<void>
  seedBulk(topic: string, options: BulkOptions): Promise<{ records: number; bytes: number }>
  /** All records by partition, up to the end at the time of the call; with `read_committed` the last stable offset. */
  consume(topic: string, options: { isolation: Isolation }): Promise<ConsumedRecord[][]>
  digest(topic: string, options: { isolation: Isolation }): Promise<PartitionDigest[]>
  /**
   * Joins the group, reads on from its positions, at most `take` records of each partition or all that there is, commits
   * with `metadata` and leaves.
   */
  readGroup(member: GroupMember & { take?: number; metadata?: string }): Promise<GroupRead[]>
  /**
   * Joins a share group, reads a topic of one partition until it has so many records, accepts those at these offsets, releases
   * the others and leaves.
   */
  readShare(member: { group: string; topic: string; count: number; accept: number[] }): Promise<GroupRead[]>
  /** A member that stays until the group is released. */
  holdGroup(member: GroupMember): Promise<void>
  releaseGroup(group: string): Promise<void>
  close(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/**
 * The driver has the clients of `defaultKafkaVersion`, which speak to every version in the tests. `config` holds settings of every client
 * that it opens, such as those for security.
 */
export async function openDriver(target: DriverTarget, config: Record<string, string> = {}): Promise<KafkaDriver> {
  return startDriver(target, config, await driverFlags())
}

/** The flags of the JVM: the class path, and the archive of the driver's classes, see `brokerArchiveFlags`. */
export async function driverFlags(): Promise<string[]> {
  const { key, classPath } = await planClassPath()
  const archive = await classArchiveFlags(key, async flags => {
    await using server = await startKafka()
    await using driver = await startDriver(server, {}, [...flags, ...classPath])
    await exercise(driver)
  })
  return [...archive, ...classPath]
}

/** Uses a broker as tests do, with a driver that needs no archive. */
export async function exerciseBroker(target: DriverTarget): Promise<void> {
  const { classPath } = await planClassPath()
  await using driver = await startDriver(target, {}, classPath)
  await exercise(driver)
}

async function planClassPath(): Promise<{ key: string; classPath: string[] }> {
  const libs = await kafkaLibs(defaultKafkaVersion)
  const { jar, key } = await driverJar(libs, defaultKafkaVersion)
  return { key, classPath: ['-cp', `${join(libs, '*')}:${jar}`] }
}

async function startDriver(
  target: { bootstrapServers: string[] },
  config: Record<string, string>,
  jvmFlags: string[],
): Promise<KafkaDriver> {
  return driveOver(await openDriverProcess(jvmFlags, driverSettings(target, config)))
}

/** The arguments of the Java process. */
export function driverSettings(target: { bootstrapServers: string[] }, config: Record<string, string> = {}): string[] {
  const settings = { 'bootstrap.servers': target.bootstrapServers.join(), ...config }
  return Object.entries(settings).map(([name, value]) => `${name}=${value}`)
}

export function driveOver({ call, close }: DriverProcess): KafkaDriver {
  const ask = async (op: string, request: Record<string, unknown>) => (await call(op, request)).result
  const act = async (op: string, request: Record<string, unknown>) => void (await call(op, request))
  const send = async (op: string, request: Record<string, unknown>, records: readonly SeedRecord[]) =>
    decodePlaces((await call(op, request, records.flatMap(encodeSeed))).payloads)
  const offsets = async (request: Record<string, unknown>) =>
    ((await ask('listOffsets', request)) as string[]).map(BigInt)
  return {
    createTopic: (topic, options = {}) => act('createTopic', { topic, ...options }),
    deleteTopic: topic => act('deleteTopic', { topic }),
    describeTopic: async topic => (await ask('describeTopic', { topic })) as TopicDescription,
    alterTopicConfig: (topic, configs) => act('alterTopicConfig', { topic, configs }),
    createPartitions: (topic, total) => act('createPartitions', { topic, total }),
    deleteRecords: (topic, partition, before) =>
      act('deleteRecords', { topic, partition, beforeOffset: before.toString() }),
    startOffsets: topic => offsets({ topic, at: 'start' }),
    endOffsets: (topic, isolation = 'read_uncommitted') => offsets({ topic, at: 'end', isolation }),
    moveLeader: (topic, partition, nodeId) => act('moveLeader', { topic, partition, nodeId }),
    createAcls: acls => act('createAcls', { acls }),
    createScramUser: (user, password, mechanism) => act('createScramUser', { user, password, mechanism }),
    setQuotas: quotas => act('setQuotas', { quotas }),
    listAcls: async () => (await ask('listAcls', {})) as string[],
    listQuotas: async () => (await ask('listQuotas', {})) as string[],
    produce: (topic, records, options = {}) => send('produce', { topic, ...options }, records),
    transaction: (topic, records, options) => send('transaction', { topic, ...options }, records),
    transactOffsets: (transactionalId, position) =>
      act('transactOffsets', { transactionalId, ...position, offset: position.offset.toString() }),
    finishTransaction: (transactionalId, outcome) => act('finishTransaction', { transactionalId, outcome }),
    seedBulk: async (topic, options) =>
      (await ask('seedBulk', { topic, startTimestamp: 1_700_000_000_000, ...options })) as {
        records: number
        bytes: number
      },
    consume: async (topic, options) => {
      const { result, payloads } = await call('consume', { topic, ...options })
      return groupByPartition(payloads, (result as { partitions: number }).partitions)
    },
    digest: async (topic, options) => ((await ask('digest', { topic, ...options })) as JsonDigest[]).map(parseDigest),
    readGroup: async member =>
      parseReads(await ask('readGroup', { ...memberDefaults, take: -1, metadata: '', ...member })),
    readShare: async member => parseReads(await ask('readShare', member)),
    holdGroup: member => act('holdGroup', { ...memberDefaults, ...member }),
    releaseGroup: group => act('releaseGroup', { group }),
    close,
    [Symbol.asyncDispose]: close,
  }
}

/** Loads the classes that tests use. */
async function exercise(driver: KafkaDriver): Promise<void> {
  const record = { partition: 0, key: null, value: Buffer.from('x') }
  // Kafka 2.1 has no defaults for these.
  await driver.createTopic('topic', { partitions: 1, replicationFactor: 1 })
  await driver.produce('topic', [record], { compression: 'zstd' })
  await driver.transaction('topic', [record], { transactionalId: 'id', outcome: 'commit' })
  await driver.consume('topic', { isolation: 'read_committed' })
  await driver.digest('topic', { isolation: 'read_committed' })
  for (const compression of ['lz4', 'none'] as const) {
    await driver.seedBulk('topic', { count: 100, partitions: 1, valueBytes: 100, compression })
  }
  await driver.readGroup({ group: 'group', topics: ['topic'] })
  await driver.createPartitions('topic', 2)
  await driver.deleteRecords('topic', 0, 1n)
  await driver.endOffsets('topic')
  await driver.deleteTopic('topic')
}

const memberDefaults = { isolation: 'read_committed', reset: 'earliest' }
type JsonRead = [topic: string, partition: number, offset: string, value: string | null]

function parseReads(rows: unknown): GroupRead[] {
  return (rows as JsonRead[]).map(([topic, partition, offset, value]) => {
    return { topic, partition, offset: BigInt(offset), value }
  })
}

type JsonDigest = Record<'first' | 'last' | 'sha256', string> & { count: number }

function parseDigest({ count, first, last, sha256 }: JsonDigest): PartitionDigest {
  return { count, first: BigInt(first), last: BigInt(last), sha256 }
}

function groupByPartition(payloads: readonly Buffer[], partitions: number): ConsumedRecord[][] {
  const grouped: ConsumedRecord[][] = Array.from({ length: partitions }, () => [])
  for (const payload of payloads) {
    for (const record of decodeConsumed(payload)) grouped[record.partition]?.push(record)
  }
  return grouped
}
