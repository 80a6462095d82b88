import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { openBackup } from '../../src/archive/catalog.ts'
import { verifyBackup } from '../../src/archive/verify.ts'
import { parseJob } from '../../src/config/load-job.ts'
import { runBackupJob } from '../../src/jobs/backup.ts'
import { compareJob } from '../../src/jobs/compare.ts'
import { openExistingStorage } from '../../src/jobs/parts.ts'
import { runRestoreJob } from '../../src/jobs/restore.ts'
import { parseLocation, type StorageOptions } from '../../src/storage/location.ts'
import type { Storage } from '../../src/storage/storage.ts'
import { readArchivedTopic } from '../oracle/archive.ts'
import { assertSameRecords } from '../oracle/records.ts'
import { startS3 } from '../servers/versitygw.ts'
import { callCli } from './call-cli.ts'
import { allOf, findMarkers, type Planted, plantMarkers } from './planted-markers.ts'
import { runCli } from './run-cli.ts'
import { openRegistry, register, type WatchedRegistry } from './schema-world.ts'
import { useKafka } from './use-kafka.ts'

const never = new AbortController().signal
const quiet = { onProgress: () => undefined }

describe('an encrypted backup', () => {
  const kafka = useKafka()
  let registry: WatchedRegistry
  let planted: Planted
  let folder: string
  let keyFile: string

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'kafka-backup-test-'))
    keyFile = join(folder, 'backup.key')
    await writeFile(keyFile, `${randomBytes(32).toString('base64')}\n`)
    registry = await openRegistry()
    planted = await plantMarkers(kafka.driver, registry.server.url)
    assert.ok(allOf(planted).size > 10_000)
  })
  after(async () => {
    await registry?.server.close()
    await rm(folder, { recursive: true, force: true })
  })

  const encryption = (hideNames = false) => ({
    encryption: { recipients: [{ key_file: keyFile }], hide_names: hideNames },
  })

  const document = (storage: object, more: object, backup: object = {}) => ({
    mode: 'backup',
    backup_id: 'b1',
    source: { bootstrap_servers: kafka.server.bootstrapServers, topics: { include: ['mkr-*'] } },
    storage,
    backup: { compression: 'none', ...backup },
    enterprise: { schema_registry: { enabled: true, url: registry.server.url } },
    ...more,
  })

  const backUp = (storage: object, more: object, backup: object = {}, signal = never) =>
    runBackupJob(
      parseJob(JSON.stringify(document(storage, more, backup)), {
        source: 'test job',
        env: process.env,
        mode: 'backup',
      }),
      quiet,
      signal,
    )

  const inFolder = (name: string) => ({ backend: 'filesystem', path: join(folder, name) })

  async function withOpened<T>(storage: StorageOptions, work: (storage: Storage) => Promise<T>): Promise<T> {
    const opened = await openExistingStorage({ storage, keyFiles: [keyFile] }, never)
    try {
      return await work(opened)
    } finally {
      await opened.close()
    }
  }

  /** The records of every topic are those that a consumer reads, and every byte of the backup is in order. */
  const assertExact = (storage: StorageOptions) =>
    withOpened(storage, async opened => {
      for (const topic of planted.topics) {
        const expected = await kafka.driver.consume(topic, { isolation: 'read_committed' })
        assertSameRecords(expected, await readArchivedTopic(opened, 'b1', topic))
      }
      const verified = await verifyBackup(opened, 'b1', { deep: true, ...quiet }, never)
      assert.deepEqual([verified.problems, verified.encrypted], [[], true])
    })

  test('in a folder contains none of ten thousand markers, which the same search finds in an unencrypted one', async () => {
    const markers = allOf(planted)
    await backUp(inFolder('plain'), {})
    assert.equal((await findMarkers(parseLocation(join(folder, 'plain')), markers)).size, markers.size)

    await backUp(inFolder('hidden'), encryption(true))
    assert.deepEqual(await findMarkers(parseLocation(join(folder, 'hidden')), markers), new Set())
    await assertExact(parseLocation(join(folder, 'hidden')))

    await backUp(inFolder('named'), encryption())
    const named = await findMarkers(parseLocation(join(folder, 'named')), markers)
    assert.deepEqual(named, planted.topics.union(planted.subjects))
    await assertExact(parseLocation(join(folder, 'named')))
  })

  test('in a bucket contains none either, and is exact', async () => {
    await using server = await startS3()
    const bucket = await server.makeBucket('backups')
    const storage = {
      backend: 's3',
      bucket: 'backups',
      endpoint: server.endpoint,
      access_key_id: server.credentials.accessKeyId,
      secret_access_key: server.credentials.secretAccessKey,
    }
    await backUp(storage, encryption(true))
    const options: StorageOptions = { backend: 's3', ...bucket }
    assert.deepEqual(await findMarkers(options, allOf(planted)), new Set())
    await assertExact(options)
  })

  test('is restored with its schemas and groups, and compared, by a job with a key', async () => {
    await backUp(inFolder('restored'), encryption(true))
    await using target = await openRegistry()
    const [topic = ''] = planted.topics
    const [group = ''] = planted.groups
    const job = parseJob(
      JSON.stringify({
        mode: 'restore',
        backup_id: 'b1',
        target: { bootstrap_servers: kafka.server.bootstrapServers },
        storage: inFolder('restored'),
        encryption: { recipients: [{ key_file: keyFile }] },
        restore: {
          topic_mapping: Object.fromEntries([...planted.topics].map(name => [name, `copy-${name}`])),
          consumer_groups: { include: [group], mapping: { [group]: 'carried' } },
        },
        enterprise: { schema_registry: { enabled: true, url: target.server.url, restore: { rewrite_ids: false } } },
      }),
      { source: 'test job', env: {}, mode: 'restore' },
    )
    const report = await runRestoreJob(job, quiet, never)
    assert.equal(
      report.consumerGroups.totals.groups,
      1,
      JSON.stringify(report.consumerGroups, (_, v) => String(v)),
    )
    assert.equal((await compareJob(job, quiet, never)).ok, true)
    const [source, copy] = [
      await kafka.driver.consume(topic, { isolation: 'read_committed' }),
      await kafka.driver.consume(`copy-${topic}`, { isolation: 'read_committed' }),
    ]
    assertSameRecords(source, copy)
    const subjects = (await (await fetch(`${target.server.url}/subjects`)).json()) as string[]
    assert.deepEqual(new Set(subjects), planted.subjects)
    // What the restore has written beside the backup tells nothing either.
    assert.deepEqual(await findMarkers(parseLocation(join(folder, 'restored')), allOf(planted)), new Set())
  })

  test('of shards that start at the same time has one data key, and is exact', async () => {
    const config = join(folder, 'shards.json')
    await writeFile(config, JSON.stringify(document(inFolder('shards'), encryption(true))))
    const shards = await Promise.all(
      [0, 1, 2].map(index => runCli(['backup', '--config', config, '--shard', `${index}/3`])),
    )
    for (const { code, stderr } of shards) assert.equal(code, 0, stderr)
    const committed = await callCli(['backup', '--config', config, '--commit'])
    assert.equal(committed.code, 0, committed.stderr)
    await assertExact(parseLocation(join(folder, 'shards')))
    assert.deepEqual(await findMarkers(parseLocation(join(folder, 'shards')), allOf(planted)), new Set())
    const listed = await callCli(['key', 'list', '--config', config, '--format', 'json'])
    assert.equal(JSON.parse(listed.stdout).data_keys.length, 1)
  })

  test('that is continuous stays encrypted in every generation, and ends with the schemas of its last records', async () => {
    const stop = new AbortController()
    const running = backUp(
      inFolder('running'),
      encryption(true),
      { continuous: true, commit_interval: '1s', poll_interval: '1h' },
      stop.signal,
    )
    running.catch(() => undefined)
    const [topic = ''] = planted.topics
    const at = parseLocation(join(folder, 'running'))
    const recordsNow = () =>
      withOpened(at, async opened => {
        const { topics } = await openBackup(opened, 'b1', never)
        return topics.flatMap(({ partitions }) => partitions).reduce((sum, { records }) => sum + records, 0)
      }).catch(() => 0)
    const until = async (records: number) => {
      for (let tries = 0; (await recordsNow()) < records; tries++) {
        assert.ok(tries < 300, 'not seen within 30 s')
        await new Promise(resolve => setTimeout(resolve, 100))
      }
    }
    await until(2_450)
    const marker = `mkr-${randomBytes(8).toString('hex')}`
    await register(registry.server.url, { subject: `${marker}-value`, type: 'AVRO', schema: '"long"' })
    const requests = registry.requests.length
    await kafka.driver.produce(topic, [{ partition: 0, key: null, value: Buffer.from(marker) }])
    await until(2_451)
    assert.deepEqual(registry.requests.slice(requests), [], 'a round between two polls asked the registry')
    stop.abort(new Error('stopped by the test'))
    await assert.rejects(running, /stopped by the test/)
    const { carried_sections, schema_registry } = await withOpened(at, opened => openBackup(opened, 'b1', never))
    assert.equal(carried_sections, undefined, 'the end of the run reads all of them once more')
    assert.ok(schema_registry?.subjects.some(({ name }) => name === `${marker}-value`))
    await assertExact(at)
    assert.deepEqual(await findMarkers(at, new Set([...allOf(planted), marker])), new Set())
  })

  test('is listed without its key, opens with it, and with another one after a rewrap', async () => {
    const { path } = inFolder('rotated')
    const config = join(folder, 'rotated.json')
    await writeFile(config, JSON.stringify(document(inFolder('rotated'), encryption())))
    assert.match((await callCli(['check', '--config', config])).stdout, /b1 has no keys yet/)
    await backUp(inFolder('rotated'), encryption())
    assert.match((await callCli(['check', '--config', config])).stdout, /the data key [0-9a-f]{32} opens/)
    const at = ['--path', path, '--backup-id', 'b1']
    const cli = (...args: string[]) => callCli(args)

    const listed = await cli('list', '--path', path)
    assert.equal(listed.code, 0, listed.stderr)
    assert.match(listed.stdout, /b1 +encrypted, no key/)
    const locked = await cli('verify', ...at)
    assert.equal(locked.code, 1)
    assert.match(locked.stderr, /the backup `b1` is encrypted, and opens with key [0-9a-f]{16}; no key was given/)
    assert.match((await cli('list', '--path', path, '--key-file', keyFile)).stdout, /b1 +complete, encrypted/)
    assert.match((await cli('describe', ...at, '--key-file', keyFile)).stdout, /Encrypted +AES-256-GCM, data key/)

    const next = join(folder, 'next.key')
    assert.equal((await cli('key', 'new', '--out', next)).code, 0)
    assert.match((await cli('key', 'new', '--out', next)).stderr, /a key is never overwritten/)
    const rewrapped = await cli('key', 'rewrap', ...at, '--key-file', keyFile, '--recipient-file', next)
    assert.equal(rewrapped.code, 0, rewrapped.stderr)
    assert.equal((await cli('verify', ...at, '--deep', '--key-file', keyFile)).code, 1)
    assert.equal((await cli('verify', ...at, '--deep', '--key-file', next)).code, 0)
    const env = { ...process.env, KAFKA_BACKUP_KEY_FILE: next }
    assert.equal((await runCli(['verify', ...at], { env })).code, 0)
    await assert.rejects(backUp(inFolder('rotated'), encryption()), { code: 'ENCRYPTION_KEY' })
    await assert.rejects(backUp(inFolder('rotated'), {}), { code: 'ENCRYPTION_KEY' })
  })
})
