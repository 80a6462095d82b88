import assert from 'node:assert/strict'
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { parseJob } from '../../src/config/load-job.ts'
import type { CatQuery } from '../../src/inspect/cat.ts'
import { parsePathCondition } from '../../src/inspect/json-path.ts'
import { dryRunJob, runBackupJob } from '../../src/jobs/backup.ts'
import { compareJob } from '../../src/jobs/compare.ts'
import { catAt } from '../../src/jobs/inspect.ts'
import { dryRunRestoreJob, finishRestoreJob, restoreShardJob, runRestoreJob } from '../../src/jobs/restore.ts'
import { formatJson } from '../../src/lib/json.ts'
import type { BackupRestoreReport } from '../../src/restore/restore-backup.ts'
import { openStorage } from '../../src/storage/open-storage.ts'
import { isFull } from '../full.ts'
import { collect } from '../inspect/collect.ts'
import { withFolder } from './backup-job.ts'
import { callCli } from './call-cli.ts'
import { root, run, runCli } from './run-cli.ts'
import {
  buildWorld,
  openRegistry,
  stockRegistry,
  type WatchedRegistry,
  type World,
  type WorldTopic,
  writesIn,
} from './schema-world.ts'
import { useKafka } from './use-kafka.ts'

const never = new AbortController().signal
const everyRecord = {
  extent: { offsets: {}, times: {}, withAborted: false },
  headers: [],
  keyAs: 'auto',
  valueAs: 'auto',
} as const
const quiet = { onProgress: () => undefined }
/** 15 topics have every kind of schema in every codec. */
const [topicCount, messagesPerTopic] = isFull ? [20, 2000] : [15, 60]

describe('schemas are restored with records', () => {
  const kafka = useKafka()
  let world: World
  let backups: string

  before(async () => {
    backups = await mkdtemp(join(tmpdir(), 'kafka-backup-schemas-'))
    world = await buildWorld(topicCount, messagesPerTopic)
    for (const { name, compression, partitions, messages } of world.topics) {
      await kafka.driver.createTopic(name, { partitions, configs: { 'retention.ms': '-1' } })
      await kafka.driver.produce(
        name,
        messages.map(({ record }) => record),
        { compression, lingerMs: 20 },
      )
    }
    await backup(backups)
  })
  after(async () => {
    await world?.registry.close()
    await rm(backups, { recursive: true, force: true })
  })

  const registryPart = (url: string, options: Record<string, unknown>) => ({
    enterprise: { schema_registry: { enabled: true, url, ...options } },
  })

  const backup = async (path: string) => {
    const document = {
      mode: 'backup',
      backup_id: 'b1',
      source: {
        bootstrap_servers: kafka.server.bootstrapServers,
        topics: { include: world.topics.map(({ name }) => name) },
      },
      storage: { backend: 'filesystem', path },
      ...registryPart(world.registry.url, { backup: { include_soft_deleted: true } }),
    }
    const job = parseJob(JSON.stringify(document), { source: 'test job', env: {}, mode: 'backup' })
    assert.equal((await dryRunJob(job, never)).schemas?.subjects, world.subjects.length)
    return runBackupJob(job, quiet, never)
  }

  /** A copy of the backup, which a restore leaves its journals in. */
  const withBackup = (work: (path: string) => Promise<void>) =>
    withFolder(async path => {
      await cp(backups, path, { recursive: true })
      await work(path)
    })

  const restoreText = (
    path: string,
    url: string,
    prefix: string,
    restore: Record<string, unknown> = {},
    records: Record<string, unknown> = {},
  ) =>
    JSON.stringify({
      mode: 'restore',
      backup_id: 'b1',
      target: { bootstrap_servers: kafka.server.bootstrapServers },
      storage: { backend: 'filesystem', path },
      restore: {
        topic_mapping: Object.fromEntries(world.topics.map(({ name }) => [name, `${prefix}${name}`])),
        ...records,
      },
      ...registryPart(url, { restore: { topic_contexts: { 'eu-*': '.eu' }, ...restore } }),
    })

  const restoreJob = (...args: Parameters<typeof restoreText>) =>
    parseJob(restoreText(...args), { source: 'test job', env: {}, mode: 'restore' })

  /** Every message of the target, decoded by a stock deserializer through the target's registry, is the original. */
  async function assertDecodes({ name, context, messages, partitions }: WorldTopic, prefix: string, url: string) {
    const stock = stockRegistry(url, context)
    const found = await kafka.driver.consume(`${prefix}${name}`, { isolation: 'read_committed' })
    assert.equal(found.length, partitions)
    for (const [partition, records] of found.entries()) {
      const expected = messages.filter(({ record }) => record.partition === partition)
      assert.equal(records.length, expected.length, name)
      for (const [at, { key, value, headers, timestamp }] of records.entries()) {
        const original = expected[at]
        assert(original && key)
        assert.deepEqual({ ...(await stock.decode(key)) }, original.key)
        const decoded = value === null ? undefined : plain(await stock.decode(value))
        assert.deepEqual(decoded, original.value === undefined ? undefined : plain(original.value), `${name} ${at}`)
        assert.equal(timestamp, BigInt(original.record.timestamp ?? 0))
        assert.deepEqual(headers, original.record.headers ?? [])
      }
    }
  }

  async function assertAllDecode(prefix: string, url: string): Promise<void> {
    for (const topic of world.topics) await assertDecodes(topic, prefix, url)
  }

  test('into a registry with other IDs, and a standard deserializer reads every message', async () => {
    await using target = await openRegistry({ firstId: 1001 })
    await withBackup(async path => {
      const { url } = target.server
      const job = restoreJob(path, url, 'other-')
      const dryRun = await dryRunRestoreJob(job, never)
      assert.deepEqual(
        dryRun.findings.filter(({ severity }) => severity === 'error'),
        [],
      )
      assert.equal(dryRun.schemas?.counts.conflict, 0)
      assert.deepEqual(writesIn(target.requests), [])
      const report = await runRestoreJob(job, quiet, never)
      assertChanged(report)
      await assertAllDecode('other-', url)
      assert.equal((await compareJob(job, quiet, never)).ok, true)
      target.requests.length = 0
      const again = await runRestoreJob(job, quiet, never)
      assert.equal(again.wasComplete, true)
      assert.deepEqual(writesIn(target.requests), [])
    })
  })

  test('and `search` finds messages by text and by fields of their decoded values', async () => {
    await withBackup(async path => {
      const storage = openStorage({ backend: 'filesystem', path })
      for (const { name, context, messages } of world.topics) {
        const text = messages.flatMap(({ value }) => stringsIn(value))[0]
        assert(text !== undefined, name)
        const expected = messages.filter(({ value }) => stringsIn(value).some(one => one.includes(text)))
        const query: CatQuery = { ...everyRecord, topic: name, context, text }
        const shown = await catAt(storage, 'b1', { query }, never, collect)
        assert.equal(shown.length, expected.length, `${name}: ${text}`)
        for (const { value } of shown) assert.ok(formatJson(value.value).includes(text), name)
      }
      const fortyFirst = 'order 41 order 41 order 41 '
      for (const { name, context, messages } of world.topics) {
        const paths = [parsePathCondition(`text=${fortyFirst}`)]
        const shown = await catAt(
          storage,
          'b1',
          { query: { ...everyRecord, topic: name, context, paths } },
          never,
          collect,
        )
        assert.deepEqual(
          shown.map(({ value }) => value.value),
          [messages[41]?.value],
          name,
        )
      }
      const place = ['--path', path, '--backup-id', 'b1', '--topic', world.topics[0]?.name ?? '']
      const [from, without] = [messagesPerTopic - 10, messagesPerTopic - 9]
      const where = ['--where', `deep.below.below.below.below.below>=${from}`, '--where', `left.base.n!=${without}`]
      const found = await callCli(['search', ...place, ...where, '--print', '%k\\n'])
      const expected = world.topics[0]?.messages
        .map(({ value }, at) => ({ at, n: (value as { left?: { base: { n: number } } } | undefined)?.left?.base.n }))
        .filter(({ n }) => n !== undefined && n >= from && n !== without)
        .map(({ at }) => `{"id":${at}}`)
      assert.equal(found.code, 0, found.stderr)
      assert.deepEqual(found.stdout.trimEnd().split('\n').sort(), expected?.sort())
      const none = await callCli(['search', ...place, '--where', 'left.base.n<0', '--require-match', '--count'])
      assert.equal(none.code, 6, none.stderr)
    })
  })

  test('as far as restore.filter selects them, by two shards, into a registry with other IDs', async () => {
    await using target = await openRegistry({ firstId: 5001 })
    await withBackup(async path => {
      const text = 'order 7 order 7 order 7 '
      const { url } = target.server
      const job = restoreJob(path, url, 'picked-', {}, { filter: { where: [`text!=${text}`] } })
      const shard = (index: number) =>
        restoreShardJob(job, { shard: { index, count: 2 }, prepares: true }, quiet, never)
      const reports = await Promise.all([1, 0].map(shard))
      const report = await finishRestoreJob(job, quiet, never)
      let count = 0
      for (const topic of world.topics) {
        const messages = topic.messages.filter(
          ({ value }) => value !== undefined && (value as { text: string }).text !== text,
        )
        await assertDecodes({ ...topic, messages }, 'picked-', url)
        count += messages.length
      }
      assert.equal(report.totals.found, count)
      assert.equal(
        reports.reduce((sum, { filter }) => sum + (filter?.selected ?? 0), 0),
        count,
      )
      assert.equal((await compareJob(job, quiet, never)).ok, true)
    })
  })

  test('and `cat` decodes every message with the schemas of the backup alone', async () => {
    await withBackup(async path => {
      const storage = openStorage({ backend: 'filesystem', path })
      for (const { name, context, messages } of world.topics) {
        const query: CatQuery = { ...everyRecord, topic: name, context }
        const shown = await catAt(storage, 'b1', { query }, never, collect)
        const expected = [0, 1].flatMap(at => messages.filter(({ record }) => record.partition === at))
        assert.equal(shown.length, expected.length)
        for (const [at, { key, value, record }] of shown.entries()) {
          const original = expected[at]
          assert.deepEqual([key.value, key.schema?.type], [original?.key, 'AVRO'])
          assert.deepEqual(value.value, original?.value ?? null, `${name} ${at}: ${value.reason}`)
          assert.equal(record.timestamp, BigInt(original?.record.timestamp ?? 0))
        }
      }
      const [avro] = world.topics
      const place = ['cat', '--path', path, '--backup-id', 'b1', '--topic', avro?.name ?? '']
      const found = await callCli([...place, '--key', '{"id":41}', '--print', '%p %k %s\\n'])
      const value = JSON.stringify(avro?.messages[41]?.value)
      assert.deepEqual([found.code, found.stdout], [0, `1 {"id":41} ${value}\n`], found.stderr)
    })
  })

  test('by four shards, into a registry with other IDs, and a standard deserializer reads every message', async () => {
    await using target = await openRegistry({ firstId: 3001 })
    await withBackup(async path => {
      const { url } = target.server
      const job = restoreJob(path, url, 'shards-')
      const shard = (index: number, prepares = true) =>
        restoreShardJob(job, { shard: { index, count: 4 }, prepares }, quiet, never)
      await assert.rejects(shard(1, false), { code: 'RESTORE_REFUSED', message: /the target has no record of it/ })
      const reports = await Promise.all([3, 2, 1, 0].map(index => shard(index)))
      target.requests.length = 0
      const report = await finishRestoreJob(job, quiet, never)
      assert.deepEqual([report.isDone, report.totals.records], [true, 0])
      assert.deepEqual(writesIn(target.requests), [])
      const written = reports.reduce((sum, { totals }) => sum + totals.records, 0)
      assert.equal(report.totals.found, written)
      assert.ok(reports.every(({ totals }) => (totals.schemaIds?.value.rewritten ?? 0) > 0))
      await assertAllDecode('shards-', url)
      assert.equal((await compareJob(job, quiet, never)).ok, true)
    })
  })

  test('under their source IDs with force_ids, and records stay unchanged', async () => {
    await using target = await openRegistry({ firstId: 1001 })
    await withBackup(async path => {
      const report = await runRestoreJob(
        restoreJob(path, target.server.url, 'same-', { force_ids: true }),
        quiet,
        never,
      )
      assert.deepEqual(
        report.schemas?.ids.filter(({ source, target }) => source !== target),
        [],
      )
      assert.equal(report.totals.conversions.schema_ids, undefined)
      await assertAllDecode('same-', target.server.url)
    })
  })

  for (const forced of isFull ? [false, true] : [false]) {
    const how = forced ? 'under their own IDs' : 'under other IDs'
    test(`also if the process is killed repeatedly, ${how}`, async () => {
      await using target = await openRegistry({ firstId: 1001 })
      await withBackup(async path => {
        const { url } = target.server
        const prefix = forced ? 'killed-same-' : 'killed-'
        const config = join(path, 'restore.yaml')
        await writeFile(config, restoreText(path, url, prefix, { force_ids: forced }))
        for (const writes of isFull ? [1, 2, 20, 30] : [1, 30]) {
          const ran = await runUntil(config, target, writes)
          assert.equal(ran.code, null, `killed at write ${writes}: ${ran.stderr}`)
        }
        const killed = await runCli(['restore', '--config', config, '-v'], {
          signal: 'SIGKILL',
          when: /to restore/,
        })
        assert.equal(killed.code, null, killed.stderr)
        // As it is installed: with threads that are files of their own.
        const installed = [join(root, 'dist/kafka-backup.cjs'), 'restore', '--config', config, '--format', 'json']
        const last = await run(process.execPath, installed)
        assert.equal(last.code, 0, last.stderr)
        assert.deepEqual(JSON.parse(last.stdout).schemas.unmapped_ids, [])
        const again = await runRestoreJob(restoreJob(path, url, prefix, { force_ids: forced }), quiet, never)
        assert.equal(again.wasComplete, true)
        assert.equal((await compareJob(restoreJob(path, url, prefix, { force_ids: forced }), quiet, never)).ok, true)
        for (const topic of world.topics.slice(2, 5)) await assertDecodes(topic, prefix, url)
        assert.deepEqual(await settingsOf(url), await settingsOf(world.registry.url))
      })
    })
  }

  /** Runs the command, and kills it when the registry gets so many writes. */
  async function runUntil(config: string, target: WatchedRegistry, writes: number) {
    const kill = new AbortController()
    const before = target.requests.length
    target.onRequest = () => {
      if (writesIn(target.requests.slice(before)).length < writes) return
      kill.abort()
      // What had left the process already takes no effect, however busy the machine is.
      if (writesIn(target.requests.slice(before)).length > writes) throw new Error('it was killed')
    }
    const ran = await runCli(['restore', '--config', config], { killOn: kill.signal })
    target.onRequest = () => undefined
    return ran
  }

  /** Levels and modes of all subjects and of the whole, where they are set. */
  async function settingsOf(url: string): Promise<Record<string, unknown>> {
    const found: Record<string, unknown> = {}
    for (const path of ['', ...world.subjects.map(subject => `/${encodeURIComponent(subject)}`)]) {
      for (const resource of ['config', 'mode'])
        found[`${resource}${path}`] = await (await fetch(`${url}/${resource}${path}`)).json()
    }
    return found
  }
})

function assertChanged({ schemas, totals }: BackupRestoreReport): void {
  assert(schemas && schemas.ids.length >= 50)
  assert.deepEqual(
    schemas.ids.filter(({ source, target }) => source === target),
    [],
  )
  assert.deepEqual(schemas.unmappedIds, [])
  assert.equal(totals.schemaIds?.value.unknown, 0)
}

/** Without the classes of decoders; a 64-bit integer of Protobuf is one of this size. */
function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value), (_, one) => one)
}

/** The texts of a decoded value that JSON writes as they are. */
function stringsIn(value: unknown): string[] {
  if (typeof value === 'string') return /^[\w -]{3,}$/.test(value) ? [value] : []
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(stringsIn) : []
}
