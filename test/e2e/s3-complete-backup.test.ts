import assert from 'node:assert/strict'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { parseJob } from '../../src/config/load-job.ts'
import { runBackupJob } from '../../src/jobs/backup.ts'
import { probeKey } from '../../src/storage/check-location.ts'
import { type S3Fault, startFaultyS3 } from '../fakes/s3-faults.ts'
import { tableRows } from '../markdown.ts'
import { readArchivedTopic } from '../oracle/archive.ts'
import { assertSameRecords } from '../oracle/records.ts'
import { type S3Server, startS3 } from '../servers/versitygw.ts'
import { callCli } from './call-cli.ts'
import { runCli } from './run-cli.ts'
import { useKafka } from './use-kafka.ts'

const never = new AbortController().signal

describe('a bucket holds a complete backup', () => {
  const kafka = useKafka()
  let server: S3Server
  let folder: string
  const earlier = { ...process.env }

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'kafka-backup-test-'))
    server = await startS3()
    await server.makeBucket('backups')
    // As users of `--path s3://…` give them.
    process.env.AWS_ACCESS_KEY_ID = server.credentials.accessKeyId
    process.env.AWS_SECRET_ACCESS_KEY = server.credentials.secretAccessKey
    await kafka.driver.createTopic('events', { partitions: 3 })
    await kafka.driver.seedBulk('events', { count: 3000, partitions: 3, valueBytes: 10_000 })
  })
  after(async () => {
    process.env = earlier
    await server.stop()
    await rm(folder, { recursive: true, force: true })
  })

  function jobOf(prefix: string, endpoint: string): string {
    return JSON.stringify({
      mode: 'backup',
      backup_id: 'b1',
      source: { bootstrap_servers: kafka.server.bootstrapServers, topics: { include: ['events'] } },
      storage: {
        backend: 's3',
        bucket: 'backups',
        prefix,
        endpoint,
        // biome-ignore lint/suspicious/noTemplateCurlyInString: a variable of the job file
        access_key_id: '${AWS_ACCESS_KEY_ID}',
        // biome-ignore lint/suspicious/noTemplateCurlyInString: a variable of the job file
        secret_access_key: '${AWS_SECRET_ACCESS_KEY}',
      },
      backup: { compression: 'none' },
    })
  }

  async function command(...args: string[]) {
    const { stdout, stderr, code } = await callCli([...args, '--format', 'json'])
    return { exitCode: code, stderr, document: stdout === '' ? undefined : JSON.parse(stdout) }
  }

  async function answer(...args: string[]) {
    const { exitCode, stderr, document } = await command(...args)
    assert.equal(exitCode, 0, stderr)
    return document
  }

  test('that every command accepts by job file and by URL', async () => {
    const config = join(folder, 'job.json')
    await writeFile(config, jobOf('team/a', server.endpoint))
    const location = `s3://backups/team/a?endpoint=${server.endpoint}`
    assert.equal((await command('list', '--path', location)).exitCode, 1)
    assert.equal((await answer('backup', '--config', config, '--dry-run')).totals.offsets, 3000)
    const missing = await command('list', '--config', config)
    assert.match(missing.stderr, /there is nothing at s3:\/\/backups\/team\/a/)
    const checked = await answer('check', '--config', config)
    assert.equal(checked.ok, true)
    const copied = await runCli(['backup', '--config', config, '--format', 'json'])
    assert.deepEqual([copied.code, JSON.parse(copied.stdout).copied.records], [0, 3000], copied.stderr)
    assert.equal((await answer('backup', '--config', config)).copied.records, 0)
    const source = await kafka.driver.consume('events', { isolation: 'read_committed' })
    assertSameRecords(source, await readArchivedTopic(location, 'b1', 'events'))
    for (const at of [
      ['--path', location],
      ['--config', config],
    ]) {
      const { backups, location: shown } = await answer('list', ...at)
      assert.deepEqual([shown, backups.length, backups[0].records], [location, 1, 3000])
      assert.equal((await answer('describe', ...at, '--backup-id', 'b1')).topics[0].partition_count, 3)
      assert.equal((await answer('verify', ...at, '--backup-id', 'b1', '--deep')).ok, true)
      const of = ['--backup-id', 'b1', '--topic', 'events']
      const newest = await answer('cat', ...at, ...of, '--partition', '2', '--newest', '1')
      assert.equal(newest.offset, Number(source[2]?.at(-1)?.offset))
      const { searched } = await answer('search', ...at, ...of, '--header', 'in no record', '--count')
      assert.equal(searched, 3000)
    }
  })

  test('with only the requests whose permissions are documented', async () => {
    const faulty = await startFaultyS3(server, [])
    const config = join(folder, 'requests.json')
    await writeFile(config, jobOf('team/e', faulty.endpoint))
    for (const args of [['check'], ['backup'], ['list'], ['describe'], ['verify'], ['verify', '--deep']]) {
      await answer(...args, '--config', config)
    }
    const page = await readFile(new URL('../../docs/s3.md', import.meta.url), 'utf8')
    const documented = new Set(tableRows(page, 's3-requests').map(([name]) => name))
    assert.deepEqual(new Set(faulty.requests).difference(documented), new Set())
    await faulty.close()
  })

  test('made through a store that sometimes fails, without loss or duplicates', async () => {
    const faults: S3Fault[] = [
      { on: 'UploadPart', effect: 'lose-reply', times: 2 },
      { on: 'UploadPart', effect: { status: 503, code: 'SlowDown' }, times: 2 },
      { on: 'CompleteMultipartUpload', effect: 'lose-reply', times: 1 },
      { on: 'PutObject', effect: 'lose-reply', times: 3 },
      { on: 'GetObject', effect: { status: 500, code: 'InternalError' }, times: 1 },
    ]
    const faulty = await startFaultyS3(server, faults)
    const job = parseJob(jobOf('team/b', faulty.endpoint), { source: 'test job', env: process.env, mode: 'backup' })
    const report = await runBackupJob(job, { onProgress: () => undefined }, never)
    assert.equal(report.manifest.complete, true)
    const location = `s3://backups/team/b?endpoint=${faulty.endpoint}`
    assertSameRecords(
      await kafka.driver.consume('events', { isolation: 'read_committed' }),
      await readArchivedTopic(location, 'b1', 'events'),
    )
    await faulty.close()
  })

  test('unless the store replaces existing objects: then nothing is copied', async () => {
    const faulty = await startFaultyS3(server, [{ on: 'PutObject', effect: 'ignore-condition' }])
    const job = parseJob(jobOf('team/c', faulty.endpoint), { source: 'test job', env: process.env, mode: 'backup' })
    await assert.rejects(runBackupJob(job, { onProgress: () => undefined }, never), { code: 'STORAGE_UNFIT' })
    assert.deepEqual(await readdir(join(server.dataDir, 'backups', 'team', 'c')), [probeKey])
    await faulty.close()
  })

  test('whose second concurrent run waits for the first, and copies nothing twice', async () => {
    const job = parseJob(jobOf('team/d', server.endpoint), { source: 'test job', env: process.env, mode: 'backup' })
    const runs = await Promise.all([1, 2].map(() => runBackupJob(job, { onProgress: () => undefined }, never)))
    assert.equal(Math.min(...runs.map(({ copied }) => copied.records)), 0)
    const location = `s3://backups/team/d?endpoint=${server.endpoint}`
    assertSameRecords(
      await kafka.driver.consume('events', { isolation: 'read_committed' }),
      await readArchivedTopic(location, 'b1', 'events'),
    )
  })
})
