import assert from 'node:assert/strict'
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import type { Cluster } from '../../src/kafka/cluster.ts'
import { commitGroupOffsets } from '../../src/kafka/group-offsets.ts'
import { progressFields } from '../../src/observe/job-progress.ts'
import { findFreePorts } from '../servers/ports.ts'
import { type JobSpec, jobText } from './backup-job.ts'
import { callCli } from './call-cli.ts'
import { openCluster } from './raw-produce.ts'
import { type RunOptions, runCli } from './run-cli.ts'
import { useKafka } from './use-kafka.ts'

const RECORDS = 20_000

describe('a pod reports the result of its job', () => {
  const kafka = useKafka()
  let cluster: Cluster
  let folder: string
  let store: string

  before(async () => {
    cluster = await openCluster(kafka.server)
    folder = await mkdtemp(join(tmpdir(), 'kafka-backup-test-'))
    store = join(folder, 'store')
    await kafka.driver.createTopic('events', { partitions: 2 })
    await kafka.driver.seedBulk('events', { count: RECORDS, partitions: 2, valueBytes: 500 })
    const offsets = [10n, 20n].map((offset, partition) => ({ partition, offset, leaderEpoch: -1, metadata: '' }))
    const positions = offsets.map(one => ({ topic: 'events', ...one }))
    await commitGroupOffsets(cluster, 'billing', positions, new AbortController().signal)
  })
  after(async () => {
    cluster?.close()
    await rm(folder, { recursive: true, force: true })
  })

  let files = 0
  const writeJob = async (text: string) => {
    const path = join(folder, `job-${files++}.yaml`)
    await writeFile(path, text)
    return path
  }
  const backupJob = (spec: Partial<JobSpec> = {}) =>
    writeJob(jobText({ servers: kafka.server.bootstrapServers, path: store, include: ['events'], ...spec }))
  const restoreJob = (rest: Record<string, unknown> = {}) =>
    writeJob(
      JSON.stringify({
        mode: 'restore',
        backup_id: 'b1',
        target: { bootstrap_servers: kafka.server.bootstrapServers },
        storage: { backend: 'filesystem', path: store },
        restore: {
          topic_mapping: { events: 'copy' },
          consumer_groups: { include: ['billing'], mapping: { billing: 'billing-copy' } },
        },
        ...rest,
      }),
    )

  /** Runs the command as a pod does: with a file for its result. */
  const inPod = async (args: string[], options: RunOptions = {}) => {
    const file = join(folder, `termination-log-${files++}`)
    await writeFile(file, 'of a run before')
    const env = { ...process.env, KAFKA_BACKUP_RESULT_FILE: file }
    const ran = await (options.signal ? runCli(args, { ...options, env }) : callCli(args, env))
    const line = await readFile(file, 'utf8')
    assert.ok(Buffer.byteLength(line) <= 4096)
    const result = JSON.parse(line)
    assert.equal(result.exit, ran.code, ran.stderr)
    assert.equal(result.ok, ran.code === 0)
    assert.ok(Date.parse(result.started_at) <= Date.parse(result.finished_at))
    return { ...ran, result }
  }

  test('of a backup: what was copied, the totals, and the key of the report', async () => {
    const { result, stdout } = await inPod([
      ...['backup', '--config', await backupJob()],
      ...['--report', '--format', 'json'],
    ])
    assert.deepEqual([result.ok, result.command, result.backup_id, result.generation], [true, 'backup', 'b1', 1])
    const { totals } = result
    assert.deepEqual([totals.records, totals.topics, totals.partitions], [RECORDS, 1, 2])
    assert.deepEqual([totals.backup.records, totals.backup.partitions, totals.backup.groups], [RECORDS, 2, 1])
    const occupied = await sizeOf(join(store, 'b1'))
    const reportBytes = (await stat(join(store, result.report))).size
    // Measured while the run still held its lease, and before its report was written.
    assert.ok(totals.backup.stored_bytes >= occupied - reportBytes && totals.stored_bytes > 0)
    assert.ok(totals.backup.stored_bytes < occupied + 2000)
    const reports = await readdir(join(store, 'b1/reports'))
    assert.deepEqual(reports, [result.report.replace('b1/reports/', '')])
    assert.match(reports[0] ?? '', /^\d{8}t\d{6}z-[0-9a-f]{8}\.json$/)
    assert.deepEqual(JSON.parse(await readFile(join(store, result.report), 'utf8')), JSON.parse(stdout))
    const verified = await inPod(['verify', '--config', await backupJob(), '--deep'])
    assert.deepEqual([verified.result.ok, verified.result.totals.damaged], [true, 0])
    assert.equal(verified.result.totals.records, RECORDS)
  })

  test('of a failed backup: the error, help, and whether to retry', async () => {
    const [port = 0] = await findFreePorts(1)
    const missing = await inPod(['backup', '--config', await backupJob({ include: ['nowhere'] })])
    assert.deepEqual([missing.code, missing.result.code, missing.result.retryable], [1, 'TOPIC_NOT_FOUND', false])
    assert.match(missing.result.message, /nowhere/)
    const servers = [`127.0.0.1:${port}`]
    const unreachable = await inPod(['backup', '--config', await backupJob({ servers })])
    assert.deepEqual([unreachable.code, unreachable.result.retryable], [1, true])
    assert.equal(unreachable.result.code, 'KAFKA_UNREACHABLE')
    const invalid = await inPod(['backup', '--config', await writeJob('mode: backup\n')])
    assert.deepEqual([invalid.code, invalid.result.code], [2, 'CONFIG_INVALID'])
  })

  test('of a stopped backup: that the next run resumes it', async () => {
    const slow = { path: join(folder, 'slow'), backup: { rate_limit: '1MiB', segment_bytes: '1MiB' } }
    const stop = { signal: 'SIGTERM', when: /offsets to copy/ } as const
    const { result } = await inPod(['backup', '--config', await backupJob(slow)], stop)
    assert.deepEqual([result.exit, result.code, result.retryable], [143, 'TERMINATED', true])
    assert.ok(result.totals.records < RECORDS)
  })

  test('of a restore: records and groups; a store that refuses the report causes a warning', async () => {
    // Nothing can be put below a file.
    await rm(join(store, 'b1/reports'), { recursive: true })
    await writeFile(join(store, 'b1/reports'), '')
    const { result, stderr } = await inPod(['restore', '--config', await restoreJob(), '--report'])
    assert.deepEqual([result.ok, result.command, result.generation], [true, 'restore', 1], stderr)
    const { records, topics, partitions, groups, groups_failed } = result.totals
    assert.deepEqual([records, topics, partitions, groups, groups_failed], [RECORDS, 1, 2, 1, 0])
    assert.match(stderr, /warning: the report could not be stored/)
    assert.deepEqual([result.report, result.warnings], [null, 1])
  })

  test('of a reset and a rollback: groups, partitions, strategy and snapshot', async () => {
    const config = await restoreJob()
    const request = ['--group', 'billing', '--topic', 'events', '--strategy', 'earliest']
    const reset = await inPod(['offsets', 'reset', '--config', config, ...request, '--yes'])
    const { strategy, groups, partitions, groups_set, snapshot_id } = reset.result.totals
    assert.deepEqual(
      [reset.result.command, strategy, groups, groups_set, partitions],
      ['offsets reset', 'earliest', 1, 1, 2],
    )
    const back = await inPod(['offsets', 'rollback', '--config', config, '--snapshot-id', snapshot_id, '--yes'])
    assert.deepEqual([back.result.totals.strategy, back.result.totals.partitions], ['rollback', 2])
    assert.notEqual(back.result.totals.snapshot_id, snapshot_id)
    const taken = await inPod(['offsets', 'snapshot', '--config', config, '--group', 'billing'])
    assert.deepEqual([taken.result.totals.groups, taken.result.totals.partitions], [1, 2])
    const unknown = await inPod(['offsets', 'rollback', '--config', config, '--snapshot-id', 'none', '--yes'])
    assert.deepEqual([unknown.code, unknown.result.code], [1, 'STORAGE_NOT_FOUND'])
  })

  test('/progress moves while a backup and a restore run', async () => {
    const [port = 0] = await findFreePorts(1)
    const listen = `127.0.0.1:${port}`
    const path = join(folder, 'watched')
    const backup = { path, metrics: listen, backup: { rate_limit: '3MiB' } }
    const restore = {
      storage: { backend: 'filesystem', path },
      restore: { topic_mapping: { events: 'watched' }, consumer_groups: { include: [] }, rate_limit: '3MiB' },
      metrics: { listen },
    }
    const backedUp = await watch(['backup', '--config', await backupJob(backup)], listen)
    const restored = await watch(['restore', '--config', await restoreJob(restore)], listen)
    for (const [pages, job] of [[backedUp, 'backup'] as const, [restored, 'restore'] as const]) {
      const copying = pages.filter(({ phase }) => phase === 'copying')
      assert.ok(new Set(copying.map(({ records }) => records)).size > 2, `${job}: ${JSON.stringify(copying)}`)
      assert.ok(copying.some(({ remaining_seconds }) => remaining_seconds !== null))
      const [last] = copying.slice(-1)
      assert.deepEqual([last?.job, last?.backup_id, last?.planned_partitions], [job, 'b1', 2])
      assert.deepEqual(Object.keys(last ?? {}), Object.keys(progressFields))
    }
    await assert.rejects(fetch(`http://${listen}/progress`), 'the listener ends with the job')
  })

  test('a verification that cannot listen on the metrics address warns and continues', async () => {
    const [port = 0] = await findFreePorts(1)
    const metrics = `127.0.0.1:${port}`
    const path = join(folder, 'beside')
    await inPod(['backup', '--config', await backupJob({ path })])
    const stop = new AbortController()
    const job = await backupJob({ path, metrics, backup: { continuous: true } })
    const continuous = runCli(['backup', '--config', job], { killOn: stop.signal })
    for (let isUp = false; !isUp; ) {
      isUp = await fetch(`http://${metrics}/healthz`).then(
        () => true,
        () => false,
      )
    }
    const { result, stderr } = await inPod(['verify', '--config', await backupJob({ path, metrics })])
    assert.equal(result.ok, true, stderr)
    assert.match(stderr, /warning: metrics\.listen: cannot listen/)
    stop.abort()
    await continuous
  })

  type Page = Record<keyof typeof progressFields, string | number | null>

  /** All pages that are served between the start and the end of a command. */
  async function watch(args: string[], listen: string): Promise<Page[]> {
    const pages: Page[] = []
    let isRunning = true
    const ended = inPod(args).finally(() => {
      isRunning = false
    })
    while (isRunning) {
      const page = await fetch(`http://${listen}/progress`).then(
        answer => answer.json() as Promise<Page>,
        () => undefined,
      )
      if (page) pages.push(page)
      await new Promise(resolve => setTimeout(resolve, 50))
    }
    assert.equal((await ended).code, 0)
    return pages
  }
})

async function sizeOf(folder: string): Promise<number> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const files = entries.filter(entry => entry.isFile()).map(entry => stat(join(entry.parentPath, entry.name)))
  return (await Promise.all(files)).reduce((sum, { size }) => sum + size, 0)
}
