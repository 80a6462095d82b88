import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { parseJob } from '../../src/config/load-job.ts'
import { runBackupJob } from '../../src/jobs/backup.ts'
import { type AzureFault, startFaultyAzure } from '../fakes/azure-faults.ts'
import { tableRows } from '../markdown.ts'
import { readArchivedTopic } from '../oracle/archive.ts'
import { assertSameRecords } from '../oracle/records.ts'
import { type AzureServer, startAzure } from '../servers/azurite.ts'
import { makeGuardedFolder } from '../servers/guard.ts'
import { runCommand } from '../servers/run-command.ts'
import { restore } from './restore-job.ts'
import { useKafka } from './use-kafka.ts'

const never = new AbortController().signal
const program = resolve(import.meta.dirname, '../../bin/kafka-backup.js')

describe('a container holds a complete backup', () => {
  const kafka = useKafka()
  let server: AzureServer
  let folder: Awaited<ReturnType<typeof makeGuardedFolder>>
  const earlier = { ...process.env }

  before(async () => {
    folder = await makeGuardedFolder('azure-jobs')
    server = await startAzure()
    await server.makeContainer('backups')
    // As users of `--path az://…` give it.
    process.env.AZURE_STORAGE_KEY = server.accountKey
    await kafka.driver.createTopic('events', { partitions: 3 })
    await kafka.driver.seedBulk('events', { count: 20_000, partitions: 3, valueBytes: 1_000 })
  })
  after(async () => {
    process.env = earlier
    await server?.stop()
    await folder?.remove()
  })

  function jobOf(prefix: string, endpoint: string): string {
    return JSON.stringify({
      mode: 'backup',
      backup_id: 'b1',
      source: { bootstrap_servers: kafka.server.bootstrapServers, topics: { include: ['events'] } },
      storage: {
        backend: 'azure',
        container: 'backups',
        prefix,
        endpoint,
        // biome-ignore lint/suspicious/noTemplateCurlyInString: a variable of the job file
        account_key: '${AZURE_STORAGE_KEY}',
        part_size: '1MiB',
      },
      backup: { compression: 'none' },
    })
  }

  const locationOf = (prefix: string, endpoint: string) => `az://backups/${prefix}?endpoint=${endpoint}`
  const committed = (topic: string) => kafka.driver.consume(topic, { isolation: 'read_committed' })

  async function command(...args: string[]) {
    const { stdout, stderr, exitCode } = await runCommand(process.execPath, [program, ...args, '--format', 'json'])
    return { exitCode, stderr, document: stdout === '' ? undefined : JSON.parse(stdout) }
  }

  async function answer(...args: string[]) {
    const { exitCode, stderr, document } = await command(...args)
    assert.equal(exitCode, 0, stderr)
    return document
  }

  test('that every command accepts by job file and by URL, with documented requests only', async () => {
    const faulty = await startFaultyAzure(server, [])
    const config = join(folder.path, 'job.json')
    await writeFile(config, jobOf('team/a', faulty.endpoint))
    const location = locationOf('team/a', faulty.endpoint)
    const missing = await command('list', '--config', config)
    assert.match(missing.stderr, /there is nothing at az:\/\/backups\/team\/a/)
    assert.equal((await answer('check', '--config', config)).ok, true)
    assert.equal((await answer('backup', '--config', config)).copied.records, 20_000)
    assert.equal((await answer('backup', '--config', config)).copied.records, 0)
    assertSameRecords(await committed('events'), await readArchivedTopic(location, 'b1', 'events'))
    const { backups } = await answer('list', '--path', location)
    assert.deepEqual([backups.length, backups[0].records], [1, 20_000])
    assert.equal((await answer('describe', '--config', config)).topics[0].partition_count, 3)
    assert.equal((await answer('verify', '--path', location, '--backup-id', 'b1', '--deep')).ok, true)
    const page = await readFile(new URL('../../docs/azure.md', import.meta.url), 'utf8')
    const documented = new Set(tableRows(page, 'azure-requests').map(([name]) => name))
    assert.deepEqual(new Set(faulty.requests).difference(documented), new Set())
    await faulty.close()
  })

  test('made and restored through a service that sometimes fails, without loss or duplicates', async () => {
    const faults: AzureFault[] = [
      { on: 'PutBlock', effect: 'lose-reply', times: 1 },
      { on: 'PutBlock', effect: { status: 503, code: 'ServerBusy' }, times: 1 },
      { on: 'PutBlock', effect: 'cut-request', times: 1 },
      { on: 'PutBlockList', effect: 'lose-reply', times: 1 },
      { on: 'PutBlob', effect: 'lose-reply', times: 1 },
      { on: 'GetBlob', effect: { status: 500, code: 'InternalError' }, times: 1 },
      { on: 'GetBlob', effect: 'cut-reply', times: 1 },
      { on: 'ListBlobs', effect: 'lose-reply', times: 1 },
    ]
    const faulty = await startFaultyAzure(server, faults)
    const job = parseJob(jobOf('team/b', faulty.endpoint), { source: 'test job', env: process.env, mode: 'backup' })
    const report = await runBackupJob(job, { onProgress: () => undefined }, never)
    assert.equal(report.manifest.complete, true)
    const path = locationOf('team/b', faulty.endpoint)
    const servers = kafka.server.bootstrapServers
    const restored = await restore({ servers, path, mapping: [['events', 'events-back']] })
    assert.equal(restored.topics[0]?.records, 20_000)
    const expected = await committed('events')
    assertSameRecords(expected, await committed('events-back'))
    assertSameRecords(expected, await readArchivedTopic(path, 'b1', 'events'))
    await faulty.close()
  })

  test('whose second concurrent run waits for the first, and copies nothing twice', async () => {
    const job = parseJob(jobOf('team/d', server.endpoint), { source: 'test job', env: process.env, mode: 'backup' })
    const runs = await Promise.all([1, 2].map(() => runBackupJob(job, { onProgress: () => undefined }, never)))
    assert.equal(Math.min(...runs.map(({ copied }) => copied.records)), 0)
    const location = locationOf('team/d', server.endpoint)
    assertSameRecords(await committed('events'), await readArchivedTopic(location, 'b1', 'events'))
  })
})
