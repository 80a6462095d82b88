import { randomUUID } from 'node:crypto'
import type { StoredGroup } from '../../src/archive/groups-section.ts'
import type { RegistrySnapshot } from '../../src/archive/registry-model.ts'
import { runBackup } from '../../src/backup/run-backup.ts'
import type { Reader } from '../../src/kafka/wire/reader.ts'
import { Writer } from '../../src/kafka/wire/writer.ts'
import type { OnProgress } from '../../src/observe/progress.ts'
import type { CarryOptions } from '../../src/offsets/carry-plan.ts'
import { finishRestore } from '../../src/restore/finish-restore.ts'
import { type PreparedRestore, prepareRestore } from '../../src/restore/prepare-restore.ts'
import { restoreGroup } from '../../src/restore/progress.ts'
import { type BackupRestoreReport, type RestoreParts, restoreBackup } from '../../src/restore/restore-backup.ts'
import type { RestoreOptions } from '../../src/restore/restore-options.ts'
import { type RestoreShardReport, restoreShard, type ShardRun } from '../../src/restore/restore-shard.ts'
import type { RestoreRequest } from '../../src/restore/survey-restore.ts'
import type { Storage } from '../../src/storage/storage.ts'
import { API, type BrokerAnswer, type BrokerRequest } from '../fakes/fake-broker.ts'
import { type FakeCluster, type FakeTopic, fakePartition, fakeTopic, startFakeCluster } from '../fakes/fake-cluster.ts'
import { JumpingClock } from '../fakes/jumping-clock.ts'
import { openMemoryStorage } from '../fakes/memory-storage.ts'
import { type FakeGroups, type FakeNotes, groupHandlers } from './fake-notes.ts'
import { plainOptions, recordsOnly } from './plain-options.ts'

const never = new AbortController().signal

/** A broker that takes a whole restore: it makes topics, stores batches and keeps notes and settings. */
export interface FakeTarget {
  fake: FakeCluster
  /** The notes of the restore `r1`. */
  notes: FakeNotes
  /** Those of all restores, by group. */
  groups: FakeGroups
  /** What runs have warned of while they ran. */
  warned: string[]
  /** Called with every event of a run. */
  onEvent: OnProgress
  /** Settings that it does not take, or `name=value` for one value of them. */
  refused: Set<string>
  /** Its `offset.metadata.max.bytes`. */
  maxMetadataBytes: number
  /** Whether it lets nobody change a topic. */
  isGuarded: boolean
  /** The groups that runs restore; none by default. */
  carry: CarryOptions
  /** Called before each request is answered; what it returns is the answer. It may hold the request up. */
  before: (request: BrokerRequest) => BrokerAnswer | Promise<undefined> | undefined
  restore(changes?: Partial<RestoreOptions>, others?: Partial<RestoreParts>): Promise<BackupRestoreReport>
  /** For so many shards, as this version of the program. */
  prepare(count: number, changes?: Partial<RestoreOptions>, version?: string): Promise<PreparedRestore>
  /** `1/4` is the second of four. */
  shard(
    which: string,
    changes?: Partial<RestoreOptions>,
    run?: Partial<ShardRun>,
    signal?: AbortSignal,
  ): Promise<RestoreShardReport>
  finish(changes?: Partial<RestoreOptions>, version?: string): Promise<BackupRestoreReport>
  /** Names of the topics that it has created: one that was deleted and is created again has another ID. */
  created: Set<string>
  /** Producer IDs that were given, which name the runs. */
  producers: number
  topic(name: string): FakeTopic | undefined
  /** Base sequence and count of records of each batch of a log. */
  log(topic: string, partition?: number): [number, number][]
  /** Appends a batch of somebody else. */
  append(topic: string, batch: Buffer, partition?: number): void
}

/** A backup `b1` of these topics, made through the engine, and an empty target. */
export async function withFakeTarget(
  topics: FakeTopic[],
  work: (target: FakeTarget) => Promise<void>,
  storage: Storage = openMemoryStorage(),
  registry?: RegistrySnapshot,
  brokers = 1,
): Promise<void> {
  await backUpTopics(storage, topics, registry)
  const fake = await startFakeCluster([], brokers)
  fake.state.clusterId = 'cluster-b'
  const notes: FakeNotes = new Map()
  const target: FakeTarget = {
    fake,
    notes,
    groups: new Map([[restoreGroup('r1'), notes]]),
    warned: [],
    onEvent: () => undefined,
    refused: new Set(),
    maxMetadataBytes: 4096,
    isGuarded: false,
    carry: recordsOnly(plainOptions()).groups,
    before: () => undefined,
    topic: name => fake.state.topics.find(topic => topic.name === name),
    log: (name, partition = 0) =>
      (target.topic(name)?.partitions[partition]?.batches ?? []).map(
        batch => [batch.readInt32BE(53), batch.readInt32BE(57)] satisfies [number, number],
      ),
    append: (name, batch, partition = 0) => void store(target, name, partition, batch),
    restore: (changes, others) =>
      begin(changes, (request, parts) => restoreBackup(request, { ...parts, ...others }, never)),
    prepare: (count, changes, version = '1') =>
      begin(changes, (request, parts) => prepareRestore(request, { count, version }, { ...parts, version }, never)),
    shard: (which, changes, run, signal = never) =>
      begin(changes, (request, parts) => {
        const [index = 0, count = 1] = which.split('/').map(Number)
        const { version } = { version: '1', ...run }
        return restoreShard(request, { shard: { index, count }, ...run, version }, { ...parts, version }, signal)
      }),
    finish: (changes, version = '1') =>
      begin(changes, (request, parts) => finishRestore(request, { ...parts, version }, never)),
    created: new Set(),
    producers: 0,
  }
  const begin = async <T>(
    changes: Partial<RestoreOptions> = {},
    act: (request: RestoreRequest, parts: RestoreParts) => Promise<T>,
  ): Promise<T> => {
    const cluster = await fake.open()
    const onProgress: OnProgress = event => {
      if (event.type === 'warning') target.warned.push(event.message)
      target.onEvent(event)
    }
    const parts = { cluster, storage, clock: fake.clock, requestTimeoutMs: 1000, onProgress, version: '1' }
    const options = plainOptions({ restoreId: 'r1', replicationFactor: 1, retention: 'apply', ...changes })
    return act({ ...recordsOnly(options), groups: target.carry }, parts).finally(() => cluster.close())
  }
  const answered = async (request: BrokerRequest): Promise<BrokerAnswer | undefined> =>
    (await target.before(request)) ?? answer(target, request)
  fake.state.intercept = request => answered(request) as Promise<BrokerAnswer>
  try {
    await work(target)
  } finally {
    await fake.close()
    await storage.close()
  }
}

/** One more generation of the backup `b1`, with this registry where there is one. */
export async function backUpTopics(
  storage: Storage,
  topics: FakeTopic[],
  registry?: RegistrySnapshot,
  groups?: StoredGroup[],
): Promise<void> {
  const source = await startFakeCluster(topics)
  const options = {
    backupId: 'b1',
    // By name: versions before this one took topics of schema registries by a pattern.
    topics: { include: ['*', ...topics.filter(({ internal }) => !internal).map(({ name }) => name)], exclude: [] },
    compression: 'none' as const,
    segmentBytes: 1 << 20,
    continuous: false,
    commitIntervalMs: 3_600_000,
    memoryBudgetBytes: 32 << 20,
    connectionsPerBroker: 1,
    missingTopics: 'fail' as const,
    onGap: 'warn' as const,
    onTruncation: 'fail' as const,
  }
  let runs = 0
  const newRun = () => `r${process.hrtime.bigint()}${runs++}`
  const parts = { cluster: await source.open(), storage, clock: new JumpingClock(), newRun, toolVersion: '0' }
  const readRegistry = registry && { readRegistry: async () => registry }
  const readGroups = groups && { readGroups: async () => ({ groups, left_out: [], warnings: [] }) }
  await runBackup(options, { ...parts, ...readRegistry, ...readGroups, onProgress: () => undefined }, never)
  await source.close()
}

function answer(target: FakeTarget, { key, body }: BrokerRequest): Writer | undefined {
  const handlers: Record<number, (target: FakeTarget, body: Reader) => Writer> = {
    [API.initProducerId]: giveProducer,
    [API.createTopics]: create,
    [API.incrementalAlterConfigs]: alter,
    [API.produce]: produce,
  }
  return handlers[key]?.(target, body) ?? groupHandlers[key]?.(target.groups, body, target.maxMetadataBytes)
}

function giveProducer(target: FakeTarget): Writer {
  const id = 4711n + BigInt(target.producers++)
  return new Writer().int32(0).int16(0).int64(id).int16(0).noTags()
}

function readSettings(body: Reader, hasOperation: boolean): [string, string | null][] {
  return body.array(() => {
    const name = body.string()
    if (hasOperation) body.int8()
    const value = body.nullableString()
    body.tags()
    return [name, value] satisfies [string, string | null]
  })
}

function create(target: FakeTarget, body: Reader): Writer {
  const asked = body.array(() => {
    const name = body.string()
    const partitions = body.int32()
    body.int16()
    body.array(() => undefined)
    const configs = Object.fromEntries(readSettings(body, false).map(([key, value]) => [key, value ?? '']))
    body.tags()
    return { name, partitions, configs }
  })
  body.int32()
  const isTrial = body.boolean()
  const writer = new Writer().int32(0)
  const one = ({ name, partitions, configs }: (typeof asked)[number]) => {
    const errorCode = Object.entries(configs).some(one => isRefused(target, one)) ? 40 : target.topic(name) ? 36 : 0
    const logs = Array.from({ length: partitions }, () => [])
    if (errorCode === 0 && !isTrial) {
      const again = target.created.has(name) ? { id: randomUUID().replaceAll('-', '') } : {}
      target.created.add(name)
      target.fake.state.topics.push(fakeTopic(name, logs, { configs, ...again }))
    }
    writer.string(name).uuid('0'.repeat(32)).int16(errorCode).string(null).int32(-1).int16(-1)
    writer.array([], () => undefined).noTags()
  }
  return writer.array(asked, one).noTags()
}

function isRefused({ refused }: FakeTarget, [name, value]: [string, string | null]): boolean {
  return refused.has(name) || refused.has(`${name}=${value}`)
}

function alter(target: FakeTarget, body: Reader): Writer {
  const asked = body.array(() => {
    body.int8()
    const topic = { name: body.string(), changes: readSettings(body, true) }
    body.tags()
    return topic
  })
  const isTrial = body.boolean()
  const writer = new Writer().int32(0)
  const one = ({ name, changes }: (typeof asked)[number]) => {
    const hasRefused = changes.some(change => isRefused(target, change))
    const configs = target.topic(name)?.configs ?? {}
    for (const [key, value] of hasRefused || isTrial || target.isGuarded ? [] : changes) {
      if (value === null) delete configs[key]
      else configs[key] = value
    }
    writer
      .int16(target.isGuarded ? 29 : hasRefused ? 40 : 0)
      .string(null)
      .int8(2)
      .string(name)
      .noTags()
  }
  return writer.array(asked, one).noTags()
}

function produce(target: FakeTarget, body: Reader): Writer {
  body.nullableString()
  body.int16()
  body.int32()
  const asked = body.array(() => {
    const name = body.string()
    const partitions = body.array(() => {
      const partition = body.int32()
      const { start, end } = body.bytesRange()
      body.tags()
      return { partition, base: store(target, name, partition, body.buffer.subarray(start, end)) }
    })
    body.tags()
    return { name, partitions }
  })
  const writer = new Writer()
  const one = ({ partition, base }: { partition: number; base: bigint }) => {
    writer.int32(partition).int16(0).int64(base).int64(-1n).int64(0n)
    writer
      .array([], () => undefined)
      .string(null)
      .noTags()
  }
  return writer
    .array(asked, each => writer.string(each.name).array(each.partitions, one).noTags())
    .int32(0)
    .noTags()
}

/** Where the batch begins. */
function store(target: FakeTarget, name: string, partition: number, batch: Buffer): bigint {
  const partitions = target.topic(name)?.partitions ?? []
  const log = partitions[partition]
  const base = log?.highWatermark ?? 0n
  const copy = Buffer.from(batch)
  copy.writeBigInt64BE(base, 0)
  partitions[partition] = fakePartition([...(log?.batches ?? []), copy])
  return base
}
