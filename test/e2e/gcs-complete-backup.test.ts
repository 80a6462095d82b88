import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { parseJob } from '../../src/config/load-job.ts'
import { runBackupJob } from '../../src/jobs/backup.ts'
import { runRestoreJob } from '../../src/jobs/restore.ts'
import { type GcsFault, startFaultyGcs } from '../fakes/gcs-faults.ts'
import { type GoogleTokens, startGoogleTokens } from '../fakes/google-tokens.ts'
import { tableRows } from '../markdown.ts'
import { readArchivedTopic } from '../oracle/archive.ts'
import { assertSameRecords } from '../oracle/records.ts'
import { type GcsServer, startGcs } from '../servers/fake-gcs.ts'
import { runCommand } from '../servers/run-command.ts'
import { useKafka } from './use-kafka.ts'

const never = new AbortController().signal
const program = resolve(import.meta.dirname, '../../bin/kafka-backup.js')
const records = 12_000

describe('a bucket of Google Cloud holds a complete backup', () => {
  const kafka = useKafka()
  let server: GcsServer
  let tokens: GoogleTokens
  let folder: string
  let keyFile: string
  const earlier = { ...process.env }

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'kafka-backup-test-'))
    server = await startGcs()
    await server.makeBucket('backups')
    tokens = await startGoogleTokens()
    keyFile = join(folder, 'key.json')
    await writeFile(keyFile, JSON.stringify(tokens.serviceAccount()))
    // As users of `--path gs://…` give it.
    process.env.GOOGLE_APPLICATION_CREDENTIALS = keyFile
    await kafka.driver.createTopic('events', { partitions: 3 })
    await kafka.driver.seedBulk('events', { count: records, partitions: 3, valueBytes: 1_000 })
  })
  after(async () => {
    process.env = earlier
    await tokens.close()
    await server.stop()
    await rm(folder, { recursive: true, force: true })
  })

  function storageOf(prefix: string, endpoint: string): Record<string, unknown> {
    return { backend: 'gcs', bucket: 'backups', prefix, endpoint, key_file: keyFile, part_size: '1MiB' }
  }

  function jobOf(prefix: string, endpoint: string): string {
    return JSON.stringify({
      mode: 'backup',
      backup_id: 'b1',
      source: { bootstrap_servers: kafka.server.bootstrapServers, topics: { include: ['events'] } },
      storage: storageOf(prefix, endpoint),
      backup: { compression: 'none' },
    })
  }

  function restoreOf(prefix: string, endpoint: string, target: string): string {
    return JSON.stringify({
      mode: 'restore',
      backup_id: 'b1',
      target: { bootstrap_servers: kafka.server.bootstrapServers },
      storage: storageOf(prefix, endpoint),
      restore: { topic_mapping: { events: target } },
    })
  }

  async function answer(...args: string[]) {
    const { stdout, stderr, exitCode } = await runCommand(process.execPath, [program, ...args, '--format', 'json'])
    assert.equal(exitCode, 0, stderr)
    return JSON.parse(stdout)
  }

  const consumed = (topic: string) => kafka.driver.consume(topic, { isolation: 'read_committed' })

  test('that every command accepts by job file and by URL, with documented requests only', async () => {
    const store = await startFaultyGcs(server, [], authorization => tokens.isGood(authorization))
    const config = join(folder, 'job.json')
    await writeFile(config, jobOf('team/a', store.endpoint))
    const location = `gs://backups/team/a?endpoint=${store.endpoint}`
    assert.equal((await answer('check', '--config', config)).ok, true)
    assert.equal((await answer('backup', '--config', config)).copied.records, records)
    assert.equal((await answer('backup', '--config', config)).copied.records, 0)
    assertSameRecords(await consumed('events'), await readArchivedTopic(location, 'b1', 'events'))
    const { backups, location: shown } = await answer('list', '--path', location)
    assert.deepEqual([shown, backups.length, backups[0].records], [location, 1, records])
    assert.equal((await answer('verify', '--config', config, '--deep')).ok, true)
    const restore = join(folder, 'restore.json')
    await writeFile(restore, restoreOf('team/a', store.endpoint, 'events-by-command'))
    await answer('restore', '--config', restore)
    assertSameRecords(await consumed('events'), await consumed('events-by-command'))
    const page = await readFile(new URL('../../docs/gcs.md', import.meta.url), 'utf8')
    const documented = new Set(tableRows(page, 'gcs-requests').map(([name]) => name))
    assert.deepEqual(new Set(store.requests).difference(documented), new Set())
    await store.close()
  })

  test('made and restored through a store that sometimes fails, without loss or duplicates', async () => {
    const busy = { status: 503, reason: 'backendError' }
    const faults: GcsFault[] = [
      { on: 'chunk', effect: 'lose-reply', times: 2 },
      { on: 'chunk', effect: 'cut-request', times: 1 },
      { on: 'chunk', effect: busy, times: 1 },
      { on: 'finish', effect: 'lose-reply', times: 1 },
      { on: 'insert', effect: 'lose-reply', times: 3 },
      { on: 'read', effect: busy, times: 1 },
      { on: 'read', effect: 'cut-reply', times: 1 },
    ]
    const store = await startFaultyGcs(server, faults, authorization => tokens.isGood(authorization))
    const given = { source: 'test job', env: process.env }
    const job = parseJob(jobOf('team/b', store.endpoint), { ...given, mode: 'backup' })
    const report = await runBackupJob(job, { onProgress: () => undefined }, never)
    assert.equal(report.manifest.complete, true)
    // In the midst of it all tokens are withdrawn.
    tokens.withdraw()
    const restore = parseJob(restoreOf('team/b', store.endpoint, 'events-again'), { ...given, mode: 'restore' })
    await runRestoreJob(restore, { onProgress: () => undefined }, never)
    assertSameRecords(await consumed('events'), await consumed('events-again'))
    assert.equal(store.openUploads, 0)
    await store.close()
  })

  test('whose second concurrent run waits for the first, and copies nothing twice', async () => {
    const text = jobOf('team/d', server.endpoint)
    const job = parseJob(text, { source: 'test job', env: process.env, mode: 'backup' })
    const runs = await Promise.all([1, 2].map(() => runBackupJob(job, { onProgress: () => undefined }, never)))
    assert.equal(Math.min(...runs.map(({ copied }) => copied.records)), 0)
    const location = `gs://backups/team/d?endpoint=${server.endpoint}`
    assertSameRecords(await consumed('events'), await readArchivedTopic(location, 'b1', 'events'))
  })
})
