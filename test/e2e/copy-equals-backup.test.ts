import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { listGenerations } from '../../src/archive/catalog.ts'
import { verifyBackup } from '../../src/archive/verify.ts'
import { parseJob } from '../../src/config/load-job.ts'
import { copyBackup } from '../../src/index.ts'
import { runBackupJob } from '../../src/jobs/backup.ts'
import { openExistingStorage } from '../../src/jobs/parts.ts'
import { runRestoreJob } from '../../src/jobs/restore.ts'
import { storeGenerations } from '../copy/sample-history.ts'
import { isFull } from '../full.ts'
import { openLocation } from '../open-location.ts'
import { readArchivedTopic } from '../oracle/archive.ts'
import { assertSameRecords, hashChain } from '../oracle/records.ts'
import { type S3Server, startS3 } from '../servers/versitygw.ts'
import { backUp, withFolder } from './backup-job.ts'
import { callCli } from './call-cli.ts'
import { anyTime, seedZoo } from './record-zoo.ts'
import { root, run, runCli } from './run-cli.ts'
import { openRegistry, register, send } from './schema-world.ts'
import { useKafka } from './use-kafka.ts'

const never = new AbortController().signal
const quiet = { onProgress: () => undefined }
const topics = ['zoo', 'bulk']

/** Every object below the folder, with its bytes. */
async function objectsIn(path: string): Promise<Map<string, Buffer>> {
  const entries = await readdir(path, { recursive: true, withFileTypes: true })
  const files = entries.filter(entry => entry.isFile()).map(entry => join(entry.parentPath, entry.name))
  return new Map(
    await Promise.all(files.sort().map(async file => [file.slice(path.length), await readFile(file)] as const)),
  )
}

async function assertDeep(location: string): Promise<void> {
  const { problems, ok } = await verifyBackup(openLocation(location), 'b1', { deep: true, ...quiet }, never)
  assert.deepEqual([ok, problems], [true, []])
}

describe('a copy of a backup of Kafka', () => {
  const kafka = useKafka()
  let server: S3Server
  const earlier = { ...process.env }

  before(async () => {
    server = await startS3()
    await server.makeBucket('backups')
    process.env.AWS_ACCESS_KEY_ID = server.credentials.accessKeyId
    process.env.AWS_SECRET_ACCESS_KEY = server.credentials.secretAccessKey
    await kafka.driver.createTopic('zoo', { partitions: 2, configs: anyTime })
    await seedZoo(kafka.driver, 'zoo', 'zstd')
    await kafka.driver.createTopic('bulk', { partitions: 3 })
    await kafka.driver.seedBulk('bulk', { count: 5000, partitions: 3, valueBytes: 1000 })
    await kafka.driver.readGroup({ group: 'readers', topics: ['bulk'], take: 7 })
  })
  after(async () => {
    process.env = earlier
    await server?.stop()
  })

  const registryPart = (url: string) => ({ enterprise: { schema_registry: { enabled: true, url } } })

  async function backUpAll(path: string, url: string, more: object = {}): Promise<number> {
    const document = {
      mode: 'backup',
      backup_id: 'b1',
      source: { bootstrap_servers: kafka.server.bootstrapServers, topics: { include: topics } },
      storage: { backend: 'filesystem', path },
      ...registryPart(url),
      ...more,
    }
    const job = parseJob(JSON.stringify(document), { source: 'test job', env: {}, mode: 'backup' })
    return (await runBackupJob(job, quiet, never)).manifest.generation
  }

  test('from a folder to a bucket and back has the same bytes, and is restored exactly', async () => {
    await using registry = await openRegistry()
    await using other = await openRegistry({ firstId: 501 })
    const schema = JSON.stringify({ type: 'record', name: 'Customer', fields: [{ name: 'id', type: 'string' }] })
    await register(registry.server.url, { subject: 'customers', type: 'AVRO', schema })
    await withFolder(async folder => {
      const [here, back] = [join(folder, 'here'), join(folder, 'back')]
      await backUpAll(here, registry.server.url)
      await kafka.driver.seedBulk('bulk', { count: 3000, partitions: 3, valueBytes: 500 })
      assert.equal(await backUpAll(here, registry.server.url), 2)
      const bucket = `s3://backups/team?endpoint=${server.endpoint}`
      const there = await run(process.execPath, [
        ...[join(root, 'dist/kafka-backup.cjs'), 'copy', '--from', here, '--to', bucket],
        ...['--backup-id', 'b1', '--format', 'json'],
      ])
      assert.equal(there.code, 0, there.stderr)
      const [report] = JSON.parse(there.stdout).backups
      assert.deepEqual([report.ok, report.generations, report.existing_objects], [true, [1, 2], 0])
      const again = await copyBackup({ from: { location: bucket }, to: { location: back }, backupId: 'b1' })
      assert.deepEqual([again.ok, again.objects, again.bytes], [true, report.objects, report.bytes])
      assert.deepEqual(await objectsIn(back), await objectsIn(here))
      await assertDeep(back)
      for (const topic of topics) {
        const expected = await kafka.driver.consume(topic, { isolation: 'read_committed' })
        assertSameRecords(expected, await readArchivedTopic(back, 'b1', topic))
      }
      const document = {
        mode: 'restore',
        backup_id: 'b1',
        target: { bootstrap_servers: kafka.server.bootstrapServers },
        storage: { backend: 'filesystem', path: back },
        restore: {
          topic_mapping: { zoo: 'copy-zoo', bulk: 'copy-bulk' },
          retention: 'hold',
          consumer_groups: { include: ['readers'] },
        },
        ...registryPart(other.server.url),
      }
      const job = parseJob(JSON.stringify(document), { source: 'test job', env: {}, mode: 'restore' })
      const restored = await runRestoreJob(job, quiet, never)
      assert.deepEqual(restored.consumerGroups.totals, { groups: 1, committed: 1, kept: 0, failed: 0 })
      assert.deepEqual(await send(other.server.url, 'GET', '/subjects'), ['customers'])
      for (const topic of topics) {
        const [expected, found] = await Promise.all(
          [topic, `copy-${topic}`].map(name => kafka.driver.consume(name, { isolation: 'read_committed' })),
        )
        assertSameRecords(expected ?? [], found ?? [])
      }
    })
  })

  test('of an encrypted backup with hidden names has the same keys, others or none, and the same records', async () => {
    await using registry = await openRegistry()
    const schema = JSON.stringify({ type: 'record', name: 'Customer', fields: [{ name: 'id', type: 'string' }] })
    await register(registry.server.url, { subject: 'customers', type: 'AVRO', schema })
    await withFolder(async folder => {
      const [ours, theirs, config] = [join(folder, 'ours.key'), join(folder, 'theirs.key'), join(folder, 'to.yaml')]
      await writeFile(ours, randomBytes(32))
      await writeFile(theirs, randomBytes(32))
      const encryptionWith = (key_file: string, hide_names: boolean) => ({
        encryption: { recipients: [{ key_file }], hide_names },
      })
      const to = {
        mode: 'restore',
        backup_id: 'x',
        target: { bootstrap_servers: ['127.0.0.1:1'] },
        storage: { backend: 'filesystem', path: join(folder, 'changed') },
        ...encryptionWith(theirs, false),
      }
      await writeFile(config, JSON.stringify(to))
      const here = join(folder, 'here')
      const encryption = encryptionWith(ours, true)
      await backUpAll(here, registry.server.url, encryption)
      const expected = await Promise.all(
        topics.map(topic => kafka.driver.consume(topic, { isolation: 'read_committed' })),
      )
      for (const [name, argv, keyFiles, others] of [
        ['kept', ['--to', join(folder, 'kept')], [ours], [theirs]],
        ['changed', ['--to-config', config], [theirs], [ours]],
        ['plain', ['--to', join(folder, 'plain'), '--decrypt'], [], []],
      ] as const) {
        const copying = ['copy', '--from', here, ...argv, '-b', 'b1', '--key-file', ours, '--format', 'json']
        const first = await callCli(copying)
        assert.equal(first.code, 0, first.stderr)
        const again = await callCli([...copying, '--verify-existing'])
        assert.deepEqual([again.code, JSON.parse(again.stdout).backups[0].objects], [0, 0], again.stderr)
        const objects = [...(await objectsIn(join(folder, name))).keys()]
        assert.ok(!objects.some(key => /zoo|bulk|customers/.test(key)))
        const place = { storage: { backend: 'filesystem', path: join(folder, name) } } as const
        const storage = await openExistingStorage({ ...place, keyFiles }, never)
        const { ok, problems, encrypted } = await verifyBackup(storage, 'b1', { deep: true, ...quiet }, never)
        assert.deepEqual([ok, problems, encrypted], [true, [], name !== 'plain'])
        for (const [at, topic] of topics.entries()) {
          assertSameRecords(expected[at] ?? [], await readArchivedTopic(storage, 'b1', topic))
        }
        if (others.length === 0) continue
        const locked = await openExistingStorage({ ...place, keyFiles: others }, never)
        await assert.rejects(verifyBackup(locked, 'b1', { deep: false, ...quiet }, never), { code: 'ENCRYPTION_KEY' })
      }
    })
  })

  test('that is repeated while the backup runs is complete each time', async () => {
    await kafka.driver.createTopic('live', { partitions: 2 })
    await kafka.driver.seedBulk('live', { count: 200, partitions: 2, valueBytes: 200 })
    await withFolder(async folder => {
      const [here, there] = [join(folder, 'here'), join(folder, 'there')]
      const stop = new AbortController()
      const spec = { servers: kafka.server.bootstrapServers, path: here, include: ['live'] }
      const stopped = new Error('stopped by the test')
      const running = backUp({ ...spec, backup: { continuous: true, commit_interval: '1s' } }, {}, stop.signal).catch(
        error => error,
      )
      const places = { from: { location: here }, to: { location: there }, backupId: 'b1' }
      const seen = new Set<number>()
      const deadlineMs = Date.now() + 60_000
      while (seen.size < 4 && Date.now() < deadlineMs) {
        await kafka.driver.seedBulk('live', { count: 200, partitions: 2, valueBytes: 200 })
        const report = await copyBackup(places).catch(error => {
          // Until its first commit there is no backup.
          if (!/^(STORAGE|BACKUP)_NOT_FOUND$/.test(error.code)) throw error
        })
        if (!report) await sleep(100)
        else {
          assert.equal(report.ok, true)
          await assertDeep(there)
          seen.add(report.newestGeneration ?? 0)
        }
      }
      assert.ok(seen.size >= 4, `generations seen: ${[...seen]}`)
      stop.abort(stopped)
      assert.equal(await running, stopped)
      await backUp(spec)
      await copyBackup(places)
      const digests = await kafka.driver.digest('live', { isolation: 'read_committed' })
      const archived = (await readArchivedTopic(there, 'b1', 'live')).map(hashChain)
      assert.deepEqual(
        archived,
        digests.map(({ sha256 }) => sha256),
      )
    })
  })
})

describe('a copy that is ended from outside', () => {
  const GENERATIONS = 4

  const moments = [/to copy/, /committed generation 1\b/, /committed generation 3\b/]
  for (const [signal, code, whens] of [
    ['SIGINT', 130, isFull ? moments : moments.slice(1, 2)],
    ['SIGTERM', 143, isFull ? moments : moments.slice(2)],
    ['SIGKILL', null, moments],
  ] as const) {
    test(`by ${signal} leaves complete generations, and the next run finishes it`, async () => {
      await withFolder(async folder => {
        const [here, there] = [join(folder, 'here'), join(folder, 'there')]
        const source = openLocation(here)
        await storeGenerations(source, GENERATIONS, { valueBytes: 4 << 20 })
        const argv = ['copy', '--from', here, '--to', there, '--backup-id', 'b1', '-v']
        for (const when of whens) {
          const ended = await runCli(argv, { signal, when })
          assert.equal(ended.code, code, ended.stderr)
          const target = openLocation(there)
          const generations = await listGenerations(target, 'b1', never)
          assert.ok(generations.length <= GENERATIONS)
          if (generations.length > 0) await assertDeep(there)
        }
        const last = await callCli([...argv, '--format', 'json'])
        assert.equal(last.code, 0, last.stderr)
        assert.equal(JSON.parse(last.stdout).backups[0].newest_generation, GENERATIONS)
        const left = [...(await objectsIn(there)).keys()].filter(key => key.includes('/.tmp-'))
        assert.ok(signal === 'SIGKILL' || left.length === 0, `left behind: ${left}`)
        // Leases of runs that were killed are on both sides, until they run out.
        const isCopied = ([key]: [string, unknown]) => !key.includes('/.tmp-') && !key.includes('/leases/')
        const [found, wanted] = [await objectsIn(there), await objectsIn(here)].map(all => [...all].filter(isCopied))
        assert.deepEqual(found?.map(nameAndHash), wanted?.map(nameAndHash))
      })
    })
  }
})

function nameAndHash([key, body]: [string, Buffer]): [string, string] {
  return [key, createHash('sha256').update(body).digest('hex')]
}

test('reports a target that holds another backup, and exits 5', async () => {
  await withFolder(async folder => {
    const [here, there] = [join(folder, 'here'), join(folder, 'there')]
    await storeGenerations(openLocation(here), 1)
    await storeGenerations(openLocation(there), 1, { run: 'other' })
    const config = join(folder, 'to.yaml')
    const job = {
      mode: 'restore',
      backup_id: 'x',
      target: { bootstrap_servers: ['127.0.0.1:1'] },
      storage: { backend: 'filesystem', path: there },
    }
    await writeFile(config, JSON.stringify(job))
    const refused = await callCli(['copy', '--from', here, '--to-config', config, '--all'])
    assert.equal(refused.code, 5, refused.stderr)
    assert.match(
      refused.stderr,
      /error: the backup `b1` at .* is not a copy of the source: its generation 1 is another one/,
    )
    const listed = await callCli(['list', '--path', here, '--path', there, '--path', join(folder, 'nowhere')])
    assert.equal(listed.code, 1)
    assert.match(listed.stdout, /LOCATION[\s\S]*b1[\s\S]*b1[\s\S]*nowhere: there is nothing at/)
  })
})
