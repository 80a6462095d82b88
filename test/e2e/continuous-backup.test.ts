import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { openBackup, readGeneration } from '../../src/archive/catalog.ts'
import { readGroups } from '../../src/archive/groups.ts'
import type { Manifest } from '../../src/archive/manifest.ts'
import { verifyBackup } from '../../src/archive/verify.ts'
import { parseJob } from '../../src/config/load-job.ts'
import { dryRunRestoreJob } from '../../src/jobs/restore.ts'
import { commitGroupOffsets } from '../../src/kafka/group-offsets.ts'
import { fetchBounds } from '../../src/kafka/offsets.ts'
import type { ProgressEvent } from '../../src/observe/progress.ts'
import { openLocation } from '../open-location.ts'
import { readArchivedTopic, readTopicEntry, segmentsOf } from '../oracle/archive.ts'
import { hashChain } from '../oracle/records.ts'
import { runKafkaTool } from '../servers/kafka-tools.ts'
import { findFreePorts } from '../servers/ports.ts'
import { backUp, jobText, withFolder } from './backup-job.ts'
import { openCluster } from './raw-produce.ts'
import { restore, restoreJobText } from './restore-job.ts'
import { cli } from './run-cli.ts'
import { useKafka } from './use-kafka.ts'

const never = new AbortController().signal
const stopped = new Error('stopped by the test')

describe('a continuous backup', () => {
  const kafka = useKafka()

  /** Runs while `work` goes on, then is stopped; every event it told. */
  async function whileRunning(
    path: string,
    include: string[],
    backup: Record<string, unknown>,
    work: (parts: {
      events: ProgressEvent[]
      until: (holds: (manifest: Manifest) => boolean) => Promise<void>
    }) => Promise<void>,
    metrics?: string,
  ): Promise<ProgressEvent[]> {
    const controller = new AbortController()
    const events: ProgressEvent[] = []
    const spec = { servers: kafka.server.bootstrapServers, path, include, metrics }
    const onProgress = (event: ProgressEvent) => void events.push(event)
    const running = backUp(
      { ...spec, backup: { continuous: true, commit_interval: '1s', ...backup } },
      { onProgress },
      controller.signal,
    )
    const failed = running.then(
      () => assert.fail('it ended by itself'),
      error => error,
    )
    const until = async (holds: (manifest: Manifest) => boolean) => {
      for (let tries = 0; tries < 300; tries++) {
        const manifest = await openBackup(openLocation(path), 'b1', never).catch(() => undefined)
        if (manifest && holds(manifest)) return
        await new Promise(resolve => setTimeout(resolve, 100))
      }
      assert.fail(`not seen within 30 s; last events ${JSON.stringify(events.slice(-5), (_, v) => String(v))}`)
    }
    try {
      await work({ events, until })
    } finally {
      controller.abort(stopped)
      assert.equal(await failed, stopped)
    }
    return events
  }

  const recordsOf = (manifest: Manifest, name: string) =>
    manifest.topics
      .filter(topic => topic.name === name && topic.state === 'current')
      .flatMap(topic => topic.partitions)
      .reduce((sum, partition) => sum + partition.records, 0)

  async function assertExact(path: string, topic: string): Promise<void> {
    const digests = await kafka.driver.digest(topic, { isolation: 'read_committed' })
    assert.deepEqual(
      (await readArchivedTopic(path, 'b1', topic)).map(hashChain),
      digests.map(digest => digest.sha256),
    )
  }

  async function assertWhole(path: string): Promise<void> {
    const { problems } = await verifyBackup(
      openLocation(path),
      'b1',
      { deep: true, onProgress: () => undefined },
      never,
    )
    assert.deepEqual(problems, [])
  }

  const seed = (topic: string, count: number, partitions: number) =>
    kafka.driver.seedBulk(topic, { count, partitions, valueBytes: 100 })

  test('copies records, topics and partitions as they appear, and commits all of them', () =>
    withFolder(async path => {
      await kafka.driver.createTopic('grow-a', { partitions: 1 })
      await seed('grow-a', 1000, 1)
      await whileRunning(path, ['grow-*'], {}, async ({ until }) => {
        await until(manifest => recordsOf(manifest, 'grow-a') === 1000)
        await kafka.driver.createTopic('grow-b', { partitions: 2 })
        await seed('grow-b', 500, 2)
        await kafka.driver.createPartitions('grow-a', 3)
        await seed('grow-a', 900, 3)
        await until(manifest => recordsOf(manifest, 'grow-b') === 500 && recordsOf(manifest, 'grow-a') === 1900)
      })
      await assertExact(path, 'grow-a')
      await assertExact(path, 'grow-b')
      await assertWhole(path)
    }))

  test('ends with the latest committed offsets and settings; a restore of an earlier generation warns that its own are older', () =>
    withFolder(async path => {
      const topic = 'polled'
      await kafka.driver.createTopic(topic, { partitions: 1 })
      await seed(topic, 100, 1)
      const cluster = await openCluster(kafka.server)
      const commitAt = (offset: bigint) =>
        commitGroupOffsets(
          cluster,
          'polled-group',
          [{ topic, partition: 0, offset, leaderEpoch: -1, metadata: '' }],
          never,
        )
      try {
        await commitAt(10n)
        await whileRunning(path, [topic], { poll_interval: '1h' }, async ({ until }) => {
          await until(manifest => recordsOf(manifest, topic) === 100)
          await commitAt(90n)
          await seed(topic, 50, 1)
          await until(manifest => recordsOf(manifest, topic) === 150)
        })
      } finally {
        cluster.close()
      }
      const storage = openLocation(path)
      const newest = await openBackup(storage, 'b1', never)
      const offsetIn = async ({ consumer_groups: section }: Manifest) => {
        assert.equal(section?.state, 'taken')
        const { groups } = await readGroups(storage, section, never)
        return groups.find(({ group }) => group === 'polled-group')?.positions[0]?.offset
      }
      assert.deepEqual([newest.carried_sections, newest.topic_settings_at], [undefined, undefined])
      assert.equal(await offsetIn(newest), 90n)
      const before = await readGeneration(storage, 'b1', newest.generation - 1, never)
      assert.deepEqual([recordsOf(before, topic), await offsetIn(before)], [150, 10n])
      const warningsOf = async (generation: number) => {
        const wanted = { generation, topic_mapping: { [topic]: `${topic}-copy` }, consumer_groups: { include: ['*'] } }
        const spec = { servers: kafka.server.bootstrapServers, path, restore: wanted }
        const job = parseJob(restoreJobText(spec), { source: 'test job', env: process.env, mode: 'restore' })
        const { findings, warnings } = await dryRunRestoreJob(job, never)
        const older = / were read at .*, before its last records were copied/
        return [...findings.map(({ problem }) => problem), ...warnings].filter(one => older.test(one))
      }
      const older = (await warningsOf(before.generation)).map(one => one.split(' of generation')[0]).sort()
      assert.deepEqual(older, ['the committed offsets', 'the topic settings'])
      assert.deepEqual(await warningsOf(newest.generation), [])
    }))

  test('distinguishes a deleted topic from the re-created one, and keeps both exactly', () =>
    withFolder(async path => {
      await kafka.driver.createTopic('again', { partitions: 1 })
      await seed('again', 700, 1)
      const [before] = await kafka.driver.digest('again', { isolation: 'read_committed' })
      await whileRunning(path, ['again'], {}, async ({ until }) => {
        await until(manifest => recordsOf(manifest, 'again') === 700)
        await kafka.driver.deleteTopic('again')
        await until(manifest => manifest.topics.some(topic => topic.state === 'absent'))
        await kafka.driver.createTopic('again', { partitions: 2 })
        await seed('again', 300, 2)
        await until(manifest => recordsOf(manifest, 'again') === 300)
      })
      await assertExact(path, 'again')
      const { topics } = await openBackup(openLocation(path), 'b1', never)
      const old = topics.find(topic => topic.state === 'replaced') ?? assert.fail('the old one is gone')
      assert.equal((await readTopicEntry(path, old)).map(hashChain)[0], before?.sha256)
      assert.equal(old.partitions[0]?.gaps.length, 1)
      await assertWhole(path)
    }))

  test('records what was deleted before it could be read as a gap, in the manifest and in the metrics', () =>
    withFolder(async path => {
      const [port = 0] = await findFreePorts(1)
      const listen = `127.0.0.1:${port}`
      await kafka.driver.createTopic('expires', { partitions: 1 })
      await seed('expires', 400, 1)
      const sampled = async () => (await fetch(`http://${listen}/metrics`)).text()
      const work = async ({ until }: { until: (holds: (manifest: Manifest) => boolean) => Promise<void> }) => {
        await until(manifest => recordsOf(manifest, 'expires') === 400)
        assert.match(await sampled(), /^kafka_backup_job_lag_offsets\{topic="expires"\} 0$/m)
        // Both between two rounds: with luck of the clock the first part is read before; it is tried until it is not.
        for (
          let end = 600n;
          !/kafka_backup_job_gaps_total\{reason="retention"\} \d/.test(await sampled());
          end += 200n
        ) {
          assert.ok(end < 6000n, 'retention never overtook the backup')
          await seed('expires', 200, 1)
          await kafka.driver.deleteRecords('expires', 0, end - 1n)
          await new Promise(resolve => setTimeout(resolve, 1500))
        }
        assert.match(
          await sampled(),
          /^kafka_backup_job_storage_call_duration_seconds_count\{operation="create"\} \d+$/m,
        )
      }
      await whileRunning(path, ['expires'], {}, work, listen)
      const verified = await verifyBackup(openLocation(path), 'b1', { deep: true, onProgress: () => undefined }, never)
      assert.deepEqual(verified.problems, [])
      assert.deepEqual(
        verified.gaps.map(({ topic, reason }) => `${topic} ${reason}`),
        ['expires retention'],
      )
      await assert.rejects(fetch(`http://${listen}/metrics`), 'the listener ends with the run')
    }))

  test('never reports records of an ordinary producer as an open transaction', async () => {
    await kafka.driver.createTopic('busy')
    const cluster = await openCluster(kafka.server)
    const place = { topic: 'busy', partition: 0 }
    const options = { count: 1000, partitions: 1, valueBytes: 10, batchSize: 100 }
    let isWriting = true
    const ends = new Set<bigint>()
    // Until records came in at enough different moments, however slow the machine is.
    const write = async () => {
      while (ends.size <= 10) await kafka.driver.seedBulk('busy', options)
    }
    const writing = write().finally(() => {
      isWriting = false
    })
    while (isWriting) {
      const { lastStable, highWatermark } = (await fetchBounds(cluster, [place], never)).get('busy/0') ?? {}
      assert.ok(lastStable !== undefined && highWatermark !== undefined)
      assert.equal(lastStable, highWatermark)
      ends.add(highWatermark)
    }
    await writing
    cluster.close()
  })

  test('reads no more bytes per second than its rate limit', () =>
    withFolder(async path => {
      await kafka.driver.createTopic('limited', { partitions: 2 })
      await kafka.driver.seedBulk('limited', { count: 6000, partitions: 2, valueBytes: 1000 })
      const started = performance.now()
      const spec = { servers: kafka.server.bootstrapServers, path, include: ['limited'] }
      const { copied } = await backUp({ ...spec, backup: { rate_limit: '1MiB' } })
      const seconds = (performance.now() - started) / 1000
      // What is read last, an answer for each of two connections, is not waited for.
      const leastSeconds = copied.bytes / 2 ** 20 - 2
      assert.ok(seconds >= leastSeconds, `${copied.bytes} bytes in ${seconds} s`)
      assert.ok(copied.bytes > 6_000_000)
      await assertExact(path, 'limited')
    }))

  test('restores the same records from pieces and from merged segments, which Kafka reads itself', () =>
    withFolder(async path => {
      const servers = kafka.server.bootstrapServers
      const backup = { segment_bytes: '1MiB', compression: 'none' }
      const restoreTo = async (target: string) => {
        await restore({ servers, path, mapping: [['small', target]] })
        const isolation = 'read_committed' as const
        const source = await kafka.driver.digest('small', { isolation })
        const back = await kafka.driver.digest(target, { isolation })
        assert.deepEqual(
          back.map(({ sha256 }) => sha256),
          source.map(({ sha256 }) => sha256),
        )
      }
      const listAll = async () => {
        const { topics } = await openBackup(openLocation(path), 'b1', never)
        return Promise.all((topics[0]?.partitions ?? []).map(one => segmentsOf(path, one)))
      }
      await kafka.driver.createTopic('small', { partitions: 2 })
      let total = (await seed('small', 200, 2)).records
      await whileRunning(path, ['small'], backup, ({ until }) => until(one => recordsOf(one, 'small') === total))
      assert.ok((await listAll()).flat().every(({ piece }) => piece))
      await restoreTo('small-pieces')
      const isMerged = async () => (await listAll()).every(some => some.some(one => !one.piece && one.stored_from))
      await whileRunning(path, ['small'], backup, async ({ until }) => {
        // As many rounds as the run needs until it has merged what it wrote.
        for (let round = 0; !(await isMerged()); round++) {
          assert.ok(round < 100, 'nothing was merged in 100 rounds')
          total += (await seed('small', 400, 2)).records
          await until(one => recordsOf(one, 'small') === total)
        }
      })
      await assertWhole(path)
      await restoreTo('small-merged')
      const files = (await listAll()).flat().filter(({ piece }) => !piece)
      const named = files.map(({ key }) => join(path, key))
      const args = ['--deep-iteration', '--files', named.join()]
      const { stdout, stderr, exitCode } = await runKafkaTool(kafka.server, 'kafka.tools.DumpLogSegments', args)
      assert.equal(exitCode, 0, stderr)
      assert.doesNotMatch(stdout, /isvalid: false|mismatch|corrupt/i)
      const records = files.reduce((sum, one) => sum + one.records, 0)
      assert.equal(stdout.match(/^\| offset: /gm)?.length, records)
    }))

  test('stopped by SIGTERM and SIGINT while records arrive, loses and repeats nothing', () =>
    withFolder(async folder => {
      await kafka.driver.createTopic('stream', { partitions: 2 })
      const path = join(folder, 'store')
      const config = join(folder, 'job.yaml')
      const backup = { continuous: true, commit_interval: '1s' }
      await writeFile(config, jobText({ servers: kafka.server.bootstrapServers, path, include: ['stream'], backup }))
      const total = { records: 0 }
      for (const [signal, exitCode] of [
        ['SIGTERM', 143],
        ['SIGINT', 130],
        ['SIGTERM', 143],
      ] as const) {
        const [command, ...first] = cli
        const args = [...first, 'backup', '--config', config]
        const running = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] })
        const ended = once(running, 'close')
        let said = ''
        running.stderr.on('data', chunk => {
          said += chunk
        })
        await once(running.stderr, 'data')
        const hasBegun = () =>
          openBackup(openLocation(path), 'b1', never).then(
            () => true,
            () => false,
          )
        for (let i = 0; i < 5 || !(await hasBegun()); i++) {
          assert.ok(i < 200 && running.exitCode === null, `nothing was committed: ${said}`)
          total.records += (await seed('stream', 2000, 2)).records
          await new Promise(resolve => setTimeout(resolve, 300))
        }
        running.kill(signal)
        const [code] = await ended
        assert.equal(code, exitCode, said)
        await assertWhole(path)
      }
      const spec = { servers: kafka.server.bootstrapServers, path, include: ['stream'] }
      await backUp(spec)
      await assertExact(path, 'stream')
      assert.equal(recordsOf(await openBackup(openLocation(path), 'b1', never), 'stream'), total.records)
    }))
})
