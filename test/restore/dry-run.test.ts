import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { openBackup } from '../../src/archive/catalog.ts'
import { runBackup } from '../../src/backup/run-backup.ts'
import type { Reader } from '../../src/kafka/wire/reader.ts'
import { Writer } from '../../src/kafka/wire/writer.ts'
import { checkRestore } from '../../src/restore/check.ts'
import { dryRunRestore } from '../../src/restore/dry-run.ts'
import { fingerprintOf, planRestore } from '../../src/restore/plan.ts'
import { RestoreRefusal, refuseBlocked } from '../../src/restore/refusal.ts'
import type { RestoreOptions } from '../../src/restore/restore-options.ts'
import { surveyRestore } from '../../src/restore/survey-restore.ts'
import { encodeRun } from '../fakes/batches.ts'
import { API } from '../fakes/fake-broker.ts'
import { type FakeTopic, fakeTopic, startFakeCluster } from '../fakes/fake-cluster.ts'
import { JumpingClock } from '../fakes/jumping-clock.ts'
import { openMemoryStorage } from '../fakes/memory-storage.ts'
import { plainOptions, recordsOnly } from './plain-options.ts'

const never = new AbortController().signal
/** Of all records. */
const TIME = 1_700_000_000_000n
const storage = openMemoryStorage()

const fixed = plainOptions({
  topicMapping: new Map([['orders', 'orders-2']]),
  replicationFactor: 1,
  retention: 'hold',
})

/** The records of the backup are old. */
const keeping = { configs: { 'retention.ms': '-1' } }

interface Note {
  topic: string
  partition: number
  offset: bigint
  sourceOffset: number
  isDone: boolean
}

/** A target with these topics, on which an earlier run left these notes. */
async function withTarget(
  {
    topics = [],
    notes = [],
    granted,
  }: { topics?: FakeTopic[]; notes?: Note[]; granted?: { topic: string[]; group: string[] } },
  work: (target: {
    dryRun: (options?: Partial<RestoreOptions>) => ReturnType<typeof dryRunRestore>
    prepare: (options?: Partial<RestoreOptions>) => Promise<void>
    check: (options?: Partial<RestoreOptions>) => ReturnType<typeof checkRestore>
    asked: () => Set<number>
  }) => Promise<void>,
): Promise<void> {
  const fake = await startFakeCluster(topics)
  fake.state.clusterId = 'cluster-b'
  let fingerprint = ''
  if (granted) fake.state.grants = granted
  fake.state.intercept = ({ key, body }) => {
    if (key === API.findCoordinator) return encodeCoordinator()
    if (key === API.createTopics) return encodeValidated(readCreated(body))
    return key === API.offsetFetch ? encodeNotes(readGroup(body), notes, fingerprint) : undefined
  }
  try {
    const parts = { cluster: await fake.open(), storage, clock: new JumpingClock(), version: '1' }
    const choose = async (changes: Partial<RestoreOptions> = {}) => {
      const options = { ...fixed, ...changes }
      fingerprint = fingerprintOf(planRestore(await openBackup(storage, 'b1', never), options))
      return options
    }
    await work({
      dryRun: async options => dryRunRestore(recordsOnly(await choose(options)), parts, never),
      check: async options => checkRestore(recordsOnly({ ...fixed, ...options }), parts, never),
      prepare: async options => {
        const { findings } = await surveyRestore(recordsOnly(await choose(options)), parts, never)
        refuseBlocked(findings)
      },
      asked: () => new Set(fake.brokers.flatMap(({ requests }) => requests.map(({ key }) => key))),
    })
  } finally {
    await fake.close()
  }
}

function encodeCoordinator(): Writer {
  const writer = new Writer().int32(0)
  const one = () => writer.string('g').int32(0).string('h').int32(1).int16(0).string(null).noTags()
  return writer.array([0], one).noTags()
}

/** The one group of an OffsetFetch. */
function readGroup(body: Reader): string {
  body.uvarint()
  return body.string()
}

/** The names in a CreateTopics, which must not create them. */
function readCreated(body: Reader): string[] {
  const names = body.array(() => {
    const name = body.string()
    body.int32()
    body.int16()
    body.array(() => assert.fail('nobody assigns brokers'))
    body.array(() => {
      body.string()
      body.string()
      body.tags()
    })
    body.tags()
    return name
  })
  body.int32()
  assert.equal(body.boolean(), true, 'validate only')
  return names
}

function encodeValidated(names: readonly string[]): Writer {
  const writer = new Writer().int32(0)
  const encode = (name: string) =>
    writer
      .string(name)
      .uuid('0'.repeat(32))
      .int16(0)
      .string(null)
      .int32(-1)
      .int16(-1)
      .array([], () => undefined)
      .noTags()
  return writer.array(names, encode).noTags()
}

function encodeNotes(group: string, notes: readonly Note[], fingerprint: string): Writer {
  const writer = new Writer().int32(0)
  const text = ({ sourceOffset, isDone }: Note) =>
    JSON.stringify({
      v: 1,
      s: 0,
      o: `${sourceOffset}`,
      p: '7',
      e: 0,
      q: 0,
      g: 1,
      h: fingerprint,
      r: '1',
      d: isDone ? 2 : 0,
    })
  const encode = (note: Note) =>
    writer
      .string(note.topic)
      .array([note], () =>
        writer.int32(note.partition).int64(note.offset).int32(-1).string(text(note)).int16(0).noTags(),
      )
      .noTags()
  return writer.array([0], () => writer.string(group).array(notes, encode).int16(0).noTags()).noTags()
}

describe('the dry run of a restore', () => {
  before(async () => {
    const orders = fakeTopic('orders', [[encodeRun(0n, 10), encodeRun(10n, 10)], [encodeRun(0n, 5)]], {
      configs: { 'cleanup.policy': 'compact', 'retention.ms': '1000', 'delete.retention.ms': '86400000' },
    })
    const source = await startFakeCluster([orders, fakeTopic('audit', [[encodeRun(0n, 4)]])])
    const options = {
      backupId: 'b1',
      topics: { include: ['*'], exclude: [] },
      compression: 'none' as const,
      segmentBytes: 1 << 20,
      continuous: false,
      commitIntervalMs: 3_600_000,
      memoryBudgetBytes: 4 << 20,
      connectionsPerBroker: 1,
      missingTopics: 'fail' as const,
      onGap: 'warn' as const,
      onTruncation: 'fail' as const,
    }
    const cluster = await source.open()
    const parts = { cluster, storage, clock: new JumpingClock(), newRun: () => 'r1', toolVersion: '0' }
    await runBackup(options, { ...parts, onProgress: () => undefined }, never)
    await source.close()
  })
  after(() => storage.close())

  test('counts the records of a window where there is little to read, and otherwise says at most how many', () =>
    withTarget({}, async ({ dryRun }) => {
      const only = { topics: { include: ['orders'], exclude: [] }, timeWindow: { end: TIME } }
      const counted = await dryRun(only)
      assert.deepEqual(
        [counted.totals.records, counted.totals.precision, counted.totals.isEstimate],
        [0, 'exact', true],
      )
      const path = 'b1/kafka/orders/0/'
      const [key = ''] = [...storage.objects.keys()].filter(one => one.startsWith(path) && one.includes('.log'))
      const segment = storage.objects.get(key) ?? assert.fail()
      storage.objects.set(key, Buffer.alloc(segment.length))
      const damaged = await dryRun(only)
      storage.objects.set(key, segment)
      assert.deepEqual([damaged.totals.records, damaged.totals.precision], [25, 'at_most'])
      assert.deepEqual(
        damaged.findings.map(({ severity, subject, code }) => [severity, subject, code]),
        [['error', 'topic orders-2', 'ARCHIVE_DAMAGED']],
        'what the count has found damaged is not left for the restore',
      )
    }))

  test('is made of the manifest and the target, and asks only what changes nothing', () =>
    withTarget({}, async ({ dryRun, asked }) => {
      const before = [...(await listed())]
      const { topics, totals, consumerGroups, estimate, ...rest } = await dryRun({ restoreId: 'again' })
      assert.deepEqual([estimate?.seconds, estimate?.bytes], [null, totals.bytes], 'nothing was measured')
      assert.deepEqual(consumerGroups.groups, [])
      assert.deepEqual(rest, {
        restoreId: 'again',
        backupId: 'b1',
        generation: 1,
        generationCreatedAt: '2026-01-02T11:04:05.000Z',
        location: storage.location,
        targetCluster: 'cluster-b',
        state: 'new',
        findings: [],
        warnings: [],
      })
      assert.deepEqual(
        topics.map(({ source, target, partitions, exists, records }) => [source, target, partitions, exists, records]),
        [
          ['audit', 'audit', 1, false, 4],
          ['orders', 'orders-2', 2, false, 25],
        ],
      )
      assert.deepEqual([totals.topics, totals.partitions, totals.records, totals.isEstimate], [2, 3, 29, false])
      const { apiVersions, metadata, listOffsets, describeConfigs, findCoordinator, offsetFetch, createTopics } = API
      const asking = [apiVersions, metadata, listOffsets, describeConfigs, findCoordinator, offsetFetch]
      const harmless = new Set([...asking, API.describeGroups, createTopics])
      assert.deepEqual([...asked().difference(harmless)], [])
      assert.deepEqual([...(await listed())], before)
    }))

  test('tells which settings wait, and that the retention stays off where the job holds it', () =>
    withTarget({}, async ({ dryRun }) => {
      const heldOf = async (retention: 'hold' | 'apply') => {
        const { topics } = await dryRun({ retention, topics: { include: ['orders'], exclude: [] } })
        return topics[0]?.heldBack.filter(({ name }) => ['cleanup.policy', 'retention.ms'].includes(name))
      }
      const policy = { name: 'cleanup.policy', whileFilling: 'delete', afterwards: 'compact' }
      const retention = { name: 'retention.ms', whileFilling: '-1' }
      assert.deepEqual(await heldOf('hold'), [policy, retention])
      assert.deepEqual(await heldOf('apply'), [policy, { ...retention, afterwards: '1000' }])
    }))

  test('has all errors among its findings, which the restore itself is refused for', () =>
    withTarget({ topics: [fakeTopic('audit', [[encodeRun(0n, 1)]], keeping)] }, async ({ dryRun, prepare, asked }) => {
      const { findings, topics } = await dryRun({ createTopics: false })
      assert.deepEqual(
        findings.map(({ severity, subject }) => [severity, subject]),
        [
          ['error', 'topic audit'],
          ['error', 'topic orders-2'],
        ],
      )
      assert.deepEqual(
        topics.map(({ exists }) => exists),
        [true, false],
      )
      await assert.rejects(prepare({ createTopics: false }), error => {
        assert.ok(error instanceof RestoreRefusal)
        assert.deepEqual(error.findings, findings)
        assert.match(error.message, /^topic audit: it already contains records .*; topic orders-2: it does not exist/)
        return true
      })
      assert.equal(asked().has(API.createTopics), false)
    }))

  test('of one that an earlier run began counts what is left', () => {
    const begun = { topic: 'orders-2', partition: 0, offset: 10n, sourceOffset: 10, isDone: false }
    const configs = { ...keeping.configs, 'cleanup.policy': 'compact' }
    const topics = [fakeTopic('orders-2', [[encodeRun(0n, 10)], []], { configs })]
    return withTarget({ topics, notes: [begun] }, async ({ dryRun }) => {
      const { state, totals, findings } = await dryRun({ topics: { include: ['orders'], exclude: [] } })
      assert.deepEqual([state, totals.records, totals.isEstimate, findings], ['begun', 15, true, []])
    })
  })

  test('of one that is complete has nothing to write and finds nothing wrong', () => {
    const done = { topic: 'audit', partition: 0, offset: 4n, sourceOffset: 4, isDone: true }
    const topics = [
      fakeTopic('audit', [[encodeRun(0n, 4)]], { configs: { 'message.timestamp.type': 'LogAppendTime' } }),
    ]
    return withTarget({ topics, notes: [done] }, async ({ dryRun, prepare }) => {
      const only = { topics: { include: ['audit'], exclude: [] } }
      const { state, totals, findings } = await dryRun(only)
      assert.deepEqual([state, totals.records, findings], ['complete', 0, []])
      await prepare(only)
    })
  })

  describe('finds what is wrong with the backup', () => {
    const orders = { topics: { include: ['orders'], exclude: [] } }
    const keysOf = async (part: string) => {
      const keys: string[] = []
      for await (const { key } of storage.list('', never))
        if (key.includes(part) && key.endsWith('.log')) keys.push(key)
      return keys
    }

    /** Changes an object for as long as the work takes. */
    async function damaging(key: string, bytes: Buffer | undefined, work: () => Promise<void>): Promise<void> {
      const whole = await storage.read(key, never)
      await storage.remove(key, never)
      if (bytes) await storage.create(key, bytes, never)
      try {
        await work()
      } finally {
        await storage.remove(key, never)
        await storage.create(key, whole, never)
      }
    }

    test('objects that are missing or short, by name and with the exit code of damage', () =>
      withTarget({}, async ({ dryRun, prepare, asked }) => {
        const [first = '', second = ''] = await keysOf('/orders/')
        await damaging(first, undefined, () =>
          damaging(second, Buffer.alloc(7), async () => {
            const { findings } = await dryRun(orders)
            assert.deepEqual(
              findings.map(({ subject, code }) => [subject, code]),
              [first, second].map(key => [`object ${key}`, 'ARCHIVE_DAMAGED']),
            )
            assert.match(findings.map(({ problem }) => problem).join(), /missing,it has 7 bytes instead of \d+/)
            const details = { key: first, problem: 'the object is missing' }
            assert.deepEqual(findings[0]?.details, details)
            await assert.rejects(prepare(orders), { code: 'ARCHIVE_DAMAGED', exitCode: 3, details })
            assert.deepEqual((await dryRun({ topics: { include: ['audit'], exclude: [] } })).findings, [])
            const elsewhere = { ...orders, partitions: new Map([['orders', [1]]]) }
            assert.equal((await dryRun(elsewhere)).findings.length, 1, 'only what would be read')
          }),
        )
        assert.equal(asked().has(API.produce), false)
      }))

    test('an index that is gone, beside what is wrong with the target', () =>
      withTarget({ topics: [fakeTopic('audit', [[encodeRun(0n, 1)]], keeping)] }, async ({ dryRun }) => {
        const manifest = await openBackup(storage, 'b1', never)
        const [index] = manifest.topics.find(({ name }) => name === 'orders')?.partitions[0]?.indexes ?? []
        await damaging(index?.key ?? '', undefined, async () => {
          const { findings } = await dryRun()
          assert.deepEqual(
            findings.map(({ subject }) => subject),
            [`object ${index?.key}`, 'topic audit'],
          )
        })
      }))
  })

  describe('asks what the user may do', () => {
    /** As ACLs on topics and on the group of the notes would have it. */
    const granting = (topic: string[], group: string[]) => ({ topic, group })
    const all = ['Describe', 'Read', 'Write', 'DescribeConfigs', 'AlterConfigs']

    test('and names each permission that is missing, with what to grant', () =>
      withTarget({ granted: granting(['Describe', 'Read'], ['Describe']) }, async ({ dryRun }) => {
        const { findings } = await dryRun({ topics: { include: ['audit'], exclude: [] }, restoreId: 'again' })
        assert.deepEqual(
          findings.map(({ subject, problem, remedy, code }) => [subject, problem, remedy, code]),
          [
            [
              'topic audit',
              'the user of this job may not Write, DescribeConfigs, AlterConfigs',
              'grant Write, DescribeConfigs, AlterConfigs on topic audit',
              'KAFKA_DENIED',
            ],
            [
              'group __kafka-backup.restore.again',
              'the user of this job may not Read',
              'grant Read on group __kafka-backup.restore.again',
              'KAFKA_DENIED',
            ],
          ],
        )
      }))

    test('and goes without AlterConfigs for topics that are there', () => {
      const granted = granting(all.slice(0, 4), ['Read'])
      return withTarget({ topics: [fakeTopic('audit', [[]], keeping)], granted }, async ({ dryRun }) => {
        assert.deepEqual((await dryRun({ topics: { include: ['audit'], exclude: [] } })).findings, [])
      })
    })

    test('and `check` lists every permission and every finding, and changes nothing', () =>
      withTarget({ granted: granting(all.slice(0, 4), ['Read']) }, async ({ check, asked }) => {
        const { ok, checks, warnings } = await check({ restoreId: 'again', replicationFactor: 3 })
        assert.equal(ok, false)
        const group = 'group __kafka-backup.restore.again Read ok'
        assert.deepEqual(
          checks.map(({ subject, action, allowed }) => `${subject} ${action} ${allowed ? 'ok' : 'missing'}`),
          [
            'broker 0 connect ok',
            'backup b1 read ok',
            ...['audit', 'orders-2'].flatMap(topic =>
              all.map(action => `topic ${topic} ${action} ${action === 'AlterConfigs' ? 'missing' : 'ok'}`),
            ),
            group,
            'topic audit Create ok',
            'topic orders-2 Create ok',
            'topic audit fits missing',
            'topic orders-2 fits missing',
          ],
        )
        assert.match(checks.at(-1)?.detail ?? '', /^3 copies need as many brokers; the target has 1: set restore/)
        assert.deepEqual(warnings, [])
        const changing = [API.produce, API.offsetCommit, API.initProducerId, API.incrementalAlterConfigs]
        assert.deepEqual(
          changing.filter(key => asked().has(key)),
          [],
        )
      }))

    test('and `check` tells of a backup that is not there like of anything else', () =>
      withTarget({}, async ({ check }) => {
        const { ok, checks } = await check({ backupId: 'b2' })
        const [, backup] = checks
        assert.deepEqual([ok, checks.length, backup?.subject, backup?.allowed], [false, 2, 'backup b2', false])
        assert.match(backup?.detail ?? '', /b2.*kafka-backup list/s)
      }))
  })
})

async function listed(): Promise<string[]> {
  const keys: string[] = []
  for await (const object of storage.list('', never)) keys.push(JSON.stringify(object))
  return keys
}
