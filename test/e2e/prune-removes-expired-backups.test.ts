import assert from 'node:assert/strict'
import { readdir, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { openBackup } from '../../src/archive/catalog.ts'
import { verifyBackup } from '../../src/archive/verify.ts'
import { parseJob } from '../../src/config/load-job.ts'
import { KafkaBackupError } from '../../src/errors.ts'
import { compareJob } from '../../src/jobs/compare.ts'
import { pruneAt } from '../../src/jobs/prune.ts'
import { runRestoreJob } from '../../src/jobs/restore.ts'
import type { ProgressEvent } from '../../src/observe/progress.ts'
import type { Storage } from '../../src/storage/storage.ts'
import { openLocation } from '../open-location.ts'
import { assertSameRecords } from '../oracle/records.ts'
import { backUp, withFolder } from './backup-job.ts'
import { callCli } from './call-cli.ts'
import { restoreJobText } from './restore-job.ts'
import { useKafka } from './use-kafka.ts'

const never = new AbortController().signal
const silent = { onProgress: () => undefined }
const DAY = 86_400_000

describe('prune removes expired data', () => {
  const kafka = useKafka()
  const specOf = (path: string, topic: string) => ({ servers: kafka.server.bootstrapServers, path, include: [topic] })
  const jobOf = (path: string, restore: Record<string, unknown>) => {
    const spec = { servers: kafka.server.bootstrapServers, path, restore: { retention: 'hold', ...restore } }
    return parseJob(restoreJobText(spec), { source: 'test job', env: process.env, mode: 'restore' })
  }
  const seed = (topic: string, seed: number) =>
    kafka.driver.seedBulk(topic, { count: 2000, partitions: 2, valueBytes: 100, seed })

  /** As if all that is stored by now were older. */
  async function age(path: string, days: number): Promise<void> {
    const then = new Date(Date.now() - days * DAY)
    for (const name of await readdir(path, { recursive: true })) {
      if (name.endsWith('.json') || /\.log(\.zst)?$/.test(name)) await utimes(join(path, name), then, then)
    }
  }

  const countSegments = async (path: string) =>
    (await readdir(path, { recursive: true })).filter(name => /\.log(\.zst)?$/.test(name)).length

  async function assertWhole(path: string): Promise<void> {
    const report = await verifyBackup(openLocation(path), 'b1', { deep: true, ...silent }, never)
    assert.deepEqual(report.problems, [])
  }

  /** A topic of three parts, the first two of which are in a backup for forty days. */
  async function grow(path: string, topic: string): Promise<void> {
    await kafka.driver.createTopic(topic, { partitions: 2 })
    for (const part of [1, 2]) {
      await seed(topic, part)
      await backUp(specOf(path, topic))
    }
    await kafka.driver.readGroup({ group: `early-${topic}`, topics: [topic], protocol: 'classic', take: 10 })
    await age(path, 40)
    await seed(topic, 3)
    await backUp(specOf(path, topic))
  }

  test('removes the oldest segments of a growing backup, which is restored exactly from there, with its groups', () =>
    withFolder(async path => {
      await grow(path, 'cut')
      const before = await countSegments(path)
      const args = ['prune', '--path', path, '--older-than', '30d', '--grace', '0s', '--format', 'json']
      const plan = await callCli([...args, '--dry-run'])
      assert.deepEqual([plan.code, JSON.parse(plan.stdout).totals.segments], [0, 4], plan.stderr)
      const refused = await callCli(args)
      assert.deepEqual([refused.code, await countSegments(path)], [2, before], refused.stderr)
      const done = await callCli([...args, '--yes'])
      assert.equal(done.code, 0, done.stderr)
      assert.deepEqual([before, await countSegments(path)], [6, 2])
      await assertWhole(path)

      const manifest = await openBackup(openLocation(path), 'b1', never)
      const starts = manifest.topics[0]?.partitions.map(({ start_offset }) => start_offset) ?? []
      assert.ok(starts.every(start => start > 0n))
      const consumer_groups = { include: ['early-cut'], mapping: { 'early-cut': 'late-cut' } }
      const job = jobOf(path, { topic_mapping: { cut: 'cut-back' }, consumer_groups })
      const report = await runRestoreJob(job, silent, never)
      assert.equal(report.consumerGroups.totals.committed, 1)
      const source = await kafka.driver.consume('cut', { isolation: 'read_committed' })
      const target = await kafka.driver.consume('cut-back', { isolation: 'read_committed' })
      const left = source.map((records, at) => records.filter(({ offset }) => (offset ?? 0n) >= (starts[at] ?? 0n)))
      assert.equal(left.flat().length, 2000)
      assertSameRecords(target, left)
      // The group had read ten records of what is gone: it goes on at the first that is left.
      const read = await kafka.driver.readGroup({ group: 'late-cut', topics: ['cut-back'], protocol: 'classic' })
      assert.equal(read.length, 2000)
      assert.equal((await compareJob(job, silent, never)).ok, true)

      await seed('cut', 4)
      const next = await backUp(specOf(path, 'cut'))
      assert.equal(next.copied.records, 2000)
      await assertWhole(path)
    }))

  test('keeps what an active restore reads, and removes it afterwards', () =>
    withFolder(async path => {
      await grow(path, 'busy')
      const storage = openLocation(path)
      const policy = { match: ['*'], olderThanMs: 30 * DAY, graceMs: 0 }
      let pruned: ReturnType<typeof pruneAt> | undefined
      /** The whole prune happens between what the restore knows and what it reads. */
      const decorateStorage = (inner: Storage): Storage => ({
        ...inner,
        readRange: async (...args) => {
          pruned ??= pruneAt(storage, policy, silent, { isDryRun: false }, never)
          await pruned
          return inner.readRange(...args)
        },
      })
      const job = jobOf(path, { topic_mapping: { busy: 'busy-back' }, consumer_groups: { include: [] } })
      await runRestoreJob(job, { ...silent, decorateStorage }, never)
      const [outcome] = (await pruned)?.backups ?? []
      assert.match(outcome?.usedBy.join() ?? '', /^restore on /)
      assert.deepEqual([outcome?.trimmed.segments, await countSegments(path)], [4, 6])
      const source = await kafka.driver.consume('busy', { isolation: 'read_committed' })
      const target = await kafka.driver.consume('busy-back', { isolation: 'read_committed' })
      assertSameRecords(target, source)
      await pruneAt(storage, policy, silent, { isDryRun: false }, never)
      assert.equal(await countSegments(path), 2)
      await assertWhole(path)
    }))

  test('leaves a continuous backup alone, which prunes itself and continues', () =>
    withFolder(async path => {
      await grow(path, 'flow')
      const stop = new AbortController()
      const events: ProgressEvent[] = []
      const retention = { older_than: '30d', grace: '0s', after_backup: true }
      const backup = { continuous: true, commit_interval: '1s' }
      const ended = backUp(
        { ...specOf(path, 'flow'), backup, retention },
        { onProgress: event => void events.push(event) },
        stop.signal,
      ).catch(error => error)
      const until = async (holds: () => boolean | Promise<boolean>) => {
        for (let tries = 0; tries < 300 && !(await holds()); tries++) await new Promise(wait => setTimeout(wait, 100))
        assert.ok(
          await holds(),
          JSON.stringify(events.slice(-5), (_, value) => String(value)),
        )
      }
      await until(() => events.some(({ type }) => type === 'pruned'))
      assert.equal(await countSegments(path), 2)
      const policy = { match: ['*'], olderThanMs: 1, graceMs: 0 }
      const [outside] = (await pruneAt(openLocation(path), policy, silent, { isDryRun: false }, never)).backups
      assert.match(outside?.usedBy.join() ?? '', /^backup on /)
      assert.equal(outside?.trimmed.segments, 0)
      await seed('flow', 5)
      await until(async () => {
        const { topics } = await openBackup(openLocation(path), 'b1', never)
        return topics[0]?.partitions.reduce((sum, { records }) => sum + records, 0) === 4000
      })
      const stopped = new KafkaBackupError('INTERRUPTED', 'stopped by the test')
      stop.abort(stopped)
      assert.equal(await ended, stopped)
      assert.deepEqual(
        events.filter(({ type }) => type === 'warning'),
        [],
      )
      const folders = await readdir(join(path, 'b1'))
      const known = ['checkpoints', 'commits', 'kafka', 'manifest.json', 'manifests', 'packs', 'rollups']
      assert.deepEqual(
        folders,
        known.filter(one => folders.includes(one)),
        'it leaves no lease',
      )
      assert.ok(folders.includes('commits') && folders.includes('manifests'))
      await assertWhole(path)
    }))

  test('an expired backup is hidden from every command, until it is kept again', () =>
    withFolder(async path => {
      await kafka.driver.createTopic('two', { partitions: 2 })
      await seed('two', 1)
      for (const backupId of ['two-1', 'two-2']) await backUp({ ...specOf(path, 'two'), backupId })
      const cli = (...args: string[]) => callCli([...args, '--path', path])
      const apart = await cli('prune', '--keep-last', '1', '--yes', '--format', 'json')
      assert.equal(JSON.parse(apart.stdout).totals.backups, 0, 'without --match they are no series')
      const pruned = await cli('prune', '--match', 'two-*', '--keep-last', '1', '--yes')
      assert.match(pruned.stdout, /two-1 .* expired +no rule keeps it/, pruned.stderr)
      assert.doesNotMatch((await cli('list')).stdout, /two-1/)
      const described = await cli('describe', '--backup-id', 'two-1')
      assert.equal(described.code, 1)
      assert.match(described.stderr, /was marked as expired by `prune`.*\n.*prune --path … --keep two-1/)
      await assert.rejects(backUp({ ...specOf(path, 'two'), backupId: 'two-1' }), { code: 'BACKUP_PRUNED' })
      assert.equal((await cli('prune', '--keep', 'two-1')).code, 0)
      assert.match((await cli('list')).stdout, /two-1/)
      assert.equal((await cli('verify', '--backup-id', 'two-1', '--deep')).code, 0)
    }))

  test('a deleted backup is removed immediately, the others stay, and its ID can be used again', () =>
    withFolder(async path => {
      await kafka.driver.createTopic('gone', { partitions: 2 })
      await seed('gone', 1)
      for (const backupId of ['gone', 'gone-2']) await backUp({ ...specOf(path, 'gone'), backupId })
      const cli = (...args: string[]) => callCli([...args, '--path', path])
      const one = ['delete', '--backup-id', 'gone']
      const unasked = await cli(...one)
      assert.deepEqual([unasked.code, await readdir(path)], [2, ['gone', 'gone-2']], unasked.stderr)
      const deleted = await cli(...one, '--yes', '--format', 'json')
      const { found, removed, generations_removed } = JSON.parse(deleted.stdout)
      assert.deepEqual([deleted.code, found, generations_removed], [0, true, 1], deleted.stderr)
      assert.ok(removed.objects > 4)
      assert.deepEqual(await readdir(path), ['gone-2'])
      const again = await cli(...one, '--yes')
      assert.deepEqual([again.code, again.stdout.startsWith('nothing to remove')], [0, true])
      assert.equal((await cli('verify', '--backup-id', 'gone-2', '--deep')).code, 0)
      await backUp({ ...specOf(path, 'gone'), backupId: 'gone' })
      assert.equal((await cli('verify', '--backup-id', 'gone', '--deep')).code, 0)
    }))
})
