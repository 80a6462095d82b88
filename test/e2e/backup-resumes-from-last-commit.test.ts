import assert from 'node:assert/strict'
import { readdir, readFile, stat, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { verifyBackup } from '../../src/archive/verify.ts'
import type { OnProgress } from '../../src/observe/progress.ts'
import { openLocation } from '../open-location.ts'
import { readArchivedTopic, readTopicEntry } from '../oracle/archive.ts'
import { assertSameRecords } from '../oracle/records.ts'
import { within } from '../wait-for.ts'
import { backUp, jobText, withFolder } from './backup-job.ts'
import { runCli } from './run-cli.ts'
import { useKafka } from './use-kafka.ts'

const never = new AbortController().signal

describe('a run resumes from the last commit', () => {
  const kafka = useKafka()
  const other = useKafka()

  const seed = (topic: string, count = 3000) => kafka.driver.seedBulk(topic, { count, partitions: 2, valueBytes: 200 })
  const spec = (topic: string, path: string) => ({ servers: kafka.server.bootstrapServers, path, include: [topic] })

  async function assertWhole(topic: string, path: string): Promise<void> {
    const expected = await kafka.driver.consume(topic, { isolation: 'read_committed' })
    assertSameRecords(expected, await readArchivedTopic(path, 'b1', topic))
    const verified = await verifyBackup(openLocation(path), 'b1', { deep: true, onProgress: () => undefined }, never)
    assert.deepEqual(verified.problems, [])
  }

  test('copies only what is new, and nothing if nothing is new', () =>
    withFolder(async path => {
      await kafka.driver.createTopic('more', { partitions: 2 })
      await seed('more')
      assert.equal((await backUp(spec('more', path))).copied.records, 3000)
      assert.equal((await backUp(spec('more', path))).copied.records, 0)
      await seed('more', 500)
      const third = await backUp(spec('more', path))
      assert.equal(third.copied.records, 500)
      assert.equal(third.manifest.generation, 3)
      await assertWhole('more', path)
    }))

  test('copies new partitions and topics', () =>
    withFolder(async path => {
      await kafka.driver.createTopic('grow-a', { partitions: 2 })
      await seed('grow-a')
      await backUp(spec('grow-*', path))
      await kafka.driver.createPartitions('grow-a', 4)
      await kafka.driver.produce('grow-a', [{ partition: 3, key: null, value: Buffer.from('new partition') }])
      await kafka.driver.createTopic('grow-b', { partitions: 2 })
      await seed('grow-b', 100)
      await backUp(spec('grow-*', path))
      await assertWhole('grow-a', path)
      await assertWhole('grow-b', path)
    }))

  test('keeps a deleted topic separate from the re-created one', () =>
    withFolder(async path => {
      await kafka.driver.createTopic('again', { partitions: 2 })
      await seed('again', 1000)
      const old = await kafka.driver.consume('again', { isolation: 'read_committed' })
      await backUp(spec('again', path))
      await kafka.driver.deleteTopic('again')
      await kafka.driver.createTopic('again', { partitions: 2 })
      await seed('again', 50)
      const { manifest, warnings, newGaps } = await backUp(spec('again', path))
      assert.ok(warnings.some(line => line.includes('deleted and created again')))
      assert.deepEqual(new Set(newGaps.map(gap => gap.reason)), new Set(['topic_recreated']))
      await assertWhole('again', path)
      const replaced = manifest.topics.find(topic => topic.state === 'replaced')
      assert.ok(replaced)
      assertSameRecords(old, await readTopicEntry(path, replaced))
    }))

  test('records what retention removed between two runs as a gap that the manifest and verify name', () =>
    withFolder(async path => {
      await kafka.driver.createTopic('expired', { partitions: 2 })
      await seed('expired', 200)
      await backUp(spec('expired', path))
      await seed('expired', 200)
      await kafka.driver.deleteRecords('expired', 0, 150n)
      const { newGaps } = await backUp(spec('expired', path))
      const gap = { topic: 'expired', partition: 0, from: 100n, to: 150n, reason: 'retention' }
      assert.deepEqual(newGaps, [gap])
      const verified = await verifyBackup(openLocation(path), 'b1', { deep: true, onProgress: () => undefined }, never)
      assert.deepEqual(verified.problems, [])
      assert.deepEqual(
        verified.gaps.map(({ found_at: _, ...rest }) => rest),
        [gap],
      )
      await assert.rejects(
        async () => {
          await kafka.driver.deleteRecords('expired', 1, 200n)
          await seed('expired', 2)
          await kafka.driver.deleteRecords('expired', 1, 201n)
          await backUp({ ...spec('expired', path), backup: { on_gap: 'fail' } })
        },
        { code: 'GAP_FOUND', exitCode: 4 },
      )
    }))

  test('refuses another cluster under the same backup_id before anything is written', () =>
    withFolder(async path => {
      await kafka.driver.createTopic('here', { partitions: 2 })
      await seed('here', 10)
      await backUp(spec('here', path))
      await other.driver.createTopic('here', { partitions: 2 })
      const attempt = backUp({ ...spec('here', path), servers: other.server.bootstrapServers })
      await assert.rejects(attempt, { code: 'CONFIG_INVALID', message: /holds cluster .* lead to/ })
      await assertWhole('here', path)
    }))

  test('the second of two concurrent runs waits, names the first, and copies nothing twice', () =>
    withFolder(async path => {
      await kafka.driver.createTopic('race', { partitions: 2 })
      await seed('race')
      const warnings: string[] = []
      const onProgress: OnProgress = event => event.type === 'warning' && warnings.push(event.message)
      const reports = await Promise.all([1, 2].map(() => backUp(spec('race', path), { onProgress })))
      assert.deepEqual(reports.map(({ copied }) => copied.records).sort(), [0, 3000])
      assert.match(
        warnings.join(),
        /^backup `b1` at .* is being written by another run \(backup on .*, process \d+, since /,
      )
      await assertWhole('race', path)
    }))

  test('exits 5 before it copies if the other run lasts longer than a lease', () =>
    withFolder(async path => {
      await kafka.driver.createTopic('busy', { partitions: 2 })
      await seed('busy')
      const stop = new AbortController()
      const begun = Promise.withResolvers<void>()
      const onProgress: OnProgress = event => event.type === 'idle' && begun.resolve()
      const busy = { ...spec('busy', path), backup: { lease_duration: '6s', continuous: true, commit_interval: '30s' } }
      const first = backUp(busy, { onProgress }, stop.signal)
      await within(60_000, () => 'the first run is idle', Promise.race([begun.promise, first]))
      const copied: unknown[] = []
      const second = backUp(spec('busy', path), { onProgress: event => event.type === 'copied' && copied.push(event) })
      await assert.rejects(second, {
        code: 'WRITER_CONFLICT',
        exitCode: 5,
        message: /another run \(backup on .*process/,
      })
      assert.deepEqual(copied, [])
      stop.abort(new Error('enough'))
      await assert.rejects(first, /enough/)
      await assert.rejects(readdir(join(path, 'b1/leases')), { code: 'ENOENT' })
    }))

  test('resumes a killed run: immediately on the same machine, elsewhere when its lease has expired', () =>
    withFolder(async path => {
      await kafka.driver.createTopic('killed', { partitions: 2 })
      await seed('killed')
      const slow = { continuous: true, commit_interval: '1s', lease_duration: '8s' }
      const config = join(path, 'job.yaml')
      await writeFile(config, jobText({ ...spec('killed', path), backup: slow }))
      for (const isElsewhere of [false, true]) {
        await seed('killed', 50)
        const args = ['backup', '--config', config, '-v']
        const killed = await runCli(args, { signal: 'SIGKILL', when: /committed generation/ })
        assert.equal(killed.code, null, killed.stderr)
        const [name = ''] = await readdir(join(path, 'b1/leases'))
        const file = join(path, 'b1/leases', name)
        const { mtime } = await stat(file)
        if (isElsewhere) {
          const { machine: _, ...lease } = JSON.parse(await readFile(file, 'utf8'))
          await writeFile(file, JSON.stringify(lease))
          await utimes(file, mtime, mtime)
        }
        await seed('killed', 100)
        const report = await backUp(spec('killed', path))
        const waitedMs = Date.parse(report.manifest.started_at) - mtime.getTime()
        if (isElsewhere) assert.ok(waitedMs >= 8000, `it waited until ${waitedMs} ms after the last renewal`)
        assert.equal(report.copied.records, 100)
      }
      await assertWhole('killed', path)
    }))

  test('an interrupted run commits what it has stored, and the next one resumes', () =>
    withFolder(async path => {
      await kafka.driver.createTopic('stopped', { partitions: 2 })
      await kafka.driver.seedBulk('stopped', { count: 6000, partitions: 2, valueBytes: 10_000 })
      const stop = new AbortController()
      const small = {
        ...spec('stopped', path),
        backup: { compression: 'none', segment_bytes: '1MiB', memory_budget: '32MiB' },
      }
      const onProgress = (event: { type: string }) => event.type === 'copied' && stop.abort(new Error('Ctrl-C'))
      await assert.rejects(backUp(small, { onProgress }, stop.signal), /Ctrl-C/)
      const partial = await verifyBackup(openLocation(path), 'b1', { deep: true, onProgress: () => undefined }, never)
      assert.equal(partial.complete, false)
      assert.ok(partial.records > 0 && partial.records < 6000, `${partial.records} records were kept`)
      assert.deepEqual(partial.problems, [])
      const rest = await backUp(small)
      assert.equal(rest.copied.records + partial.records, 6000)
      await assertWhole('stopped', path)
    }))
})
