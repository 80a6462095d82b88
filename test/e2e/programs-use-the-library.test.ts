import assert from 'node:assert/strict'
import { copyFile, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import type { BackupJobDocument, OnProgress, RestoreJobDocument } from '../../src/index.ts'
import { withFolder } from './backup-job.ts'
import { checkTypes, openProject, type Project } from './installed-package.ts'
import { root, run } from './run-cli.ts'
import { useKafka } from './use-kafka.ts'

/** Large ones: a run lasts as long as their bytes take. */
const RECORDS = 2400

describe('programs use the library', () => {
  const kafka = useKafka()
  let project: Project

  before(async () => {
    project = await openProject()
    await kafka.driver.createTopic('orders', { partitions: 3 })
    await kafka.driver.seedBulk('orders', {
      count: RECORDS,
      partitions: 3,
      valueBytes: 10_000,
      startTimestamp: Date.now() - 3_600_000,
    })
  })
  after(() => project?.close())

  const storageAt = (path: string) => ({ backend: 'filesystem', path }) as const
  const backupJob = (path: string, backup: BackupJobDocument['backup'] = {}): BackupJobDocument => ({
    mode: 'backup',
    backup_id: 'orders',
    source: { bootstrap_servers: kafka.server.bootstrapServers, topics: { include: ['orders'] } },
    storage: storageAt(path),
    backup,
  })
  const restoreJob = (path: string, target: string, restore: RestoreJobDocument['restore']): RestoreJobDocument => ({
    mode: 'restore',
    backup_id: 'orders',
    target: { bootstrap_servers: kafka.server.bootstrapServers },
    storage: storageAt(path),
    restore: { topic_mapping: { orders: target }, ...restore },
  })
  const digest = async (topic: string) =>
    (await kafka.driver.digest(topic, { isolation: 'read_committed' })).map(({ count, sha256 }) => ({ count, sha256 }))

  test('the programs in the docs have correct types, also in strict mode', async () => {
    const pages = await Promise.all(['README.md', 'docs/library.md'].map(page => readFile(join(root, page), 'utf8')))
    const programs = pages.flatMap(page => [...page.matchAll(/```ts\n([\s\S]*?)```/g)].map(([, text]) => text ?? ''))
    assert.equal(programs.length, 3)
    for (const [at, text] of programs.entries()) await writeFile(join(project.path, `program-${at}.ts`), text)
    const wrong = "import { backup } from 'kafka-backup'\nawait backup({ mode: 'backup' })\n"
    await writeFile(join(project.path, 'wrong.ts'), wrong)
    const { code, stdout } = await checkTypes(project)
    assert.notEqual(code, 0)
    const places = [...stdout.matchAll(/^(\S+?)\(\d+,\d+\): error/gm)].map(([, file]) => file)
    assert.deepEqual(places, ['wrong.ts'], stdout)
    assert.match(stdout, /backup_id/)
  })

  test('the example works with the package that npm would publish', () =>
    withFolder(async path => {
      await copyFile(join(root, 'examples/backup-and-restore.ts'), join(project.path, 'backup-and-restore.ts'))
      const node = join(root, 'node_modules/.bin/node')
      const args = ['backup-and-restore.ts', kafka.server.bootstrapServers.join(), 'orders', path]
      const ran = await run(node, args, { cwd: project.path })
      const lines = ran.stdout.split('\n').filter(line => !line.startsWith('  again in '))
      assert.deepEqual(lines, [
        '  2400 offsets in 3 partitions to go',
        'backed up: 2400 new records, generation 1',
        'verified: every byte is as it was',
        '  2400 records in 3 partitions to go',
        'restored: 2400 records',
        'compared: 2400 records are the same, 0 differ',
        '',
      ])
      assert.deepEqual([ran.code, ran.stderr], [0, ''])
      assert.deepEqual(await digest('orders-restored'), await digest('orders'))
      const again = await run(node, args, { cwd: project.path })
      assert.match(again.stdout, /backed up: 0 new records/)
      const lost = await run(node, [...args.slice(0, 2), 'not-there', path], { cwd: project.path })
      assert.equal(lost.code, 1)
      assert.match(lost.stderr, /^TOPIC_NOT_FOUND: .*not-there/)
    }))

  test('an aborted backup keeps what is durable, and the next one resumes', () =>
    withFolder(async path => {
      const { backup, describe, KafkaBackupError, verify } = project.library
      const job = backupJob(path, { rate_limit: '4MiB', memory_budget: '32MiB' })
      const stop = new AbortController()
      const reason = new Error('enough for now')
      const onProgress = once(() => stop.abort(reason))
      await assert.rejects(backup(job, { signal: stop.signal, onProgress }), (error: unknown) => {
        assert.ok(error instanceof KafkaBackupError)
        assert.deepEqual([error.code, error.cause], ['INTERRUPTED', reason])
        return true
      })
      const kept = await describe({ job })
      assert.equal(kept.complete, false)
      assert.ok(kept.totals.records > 0 && kept.totals.records < RECORDS, `${kept.totals.records} records`)
      const { copied, totals } = await backup(backupJob(path))
      assert.deepEqual([kept.totals.records + copied.records, totals.records], [RECORDS, RECORDS])
      const { ok, complete } = await verify({ location: path, backupId: 'orders', deep: true })
      assert.deepEqual([ok, complete], [true, true])
    }))

  test('the next restore resumes an aborted one, each record once', () =>
    withFolder(async path => {
      const { backup, compare, findOffset, offsetMap, restore } = project.library
      await backup(backupJob(path))
      const slow = restoreJob(path, 'again', { rate_limit: '4MiB', batch_bytes: '64KiB' })
      const planned = await restore(slow, { dryRun: true })
      assert.deepEqual([planned.state, planned.totals.records, planned.findings], ['new', RECORDS, []])
      const stop = new AbortController()
      await assert.rejects(restore(slow, { signal: stop.signal, onProgress: once(() => stop.abort()) }), {
        name: 'KafkaBackupError',
        code: 'INTERRUPTED',
        help: /recorded on the target/,
      })
      const { state, totals } = await restore(slow, { dryRun: true })
      assert.equal(state, 'begun')
      assert.ok(totals.records < RECORDS)
      const job = restoreJob(path, 'again', {})
      const { topics, wasComplete } = await restore(job)
      assert.ok(!wasComplete && (topics[0]?.records ?? RECORDS) < RECORDS, 'the second run wrote only the rest')
      assert.deepEqual(await digest('again'), await digest('orders'))
      assert.equal((await restore(job)).wasComplete, true)
      assert.equal((await compare(job)).ok, true)
      const place = await findOffset(job, { topic: 'orders', partition: 1, offset: 471n })
      assert.deepEqual([place?.isExact, place?.targetOffset], [true, 471n])
      assert.equal((await offsetMap(job, { topic: 'orders', partition: 1 })).length, 1)
    }))

  test('all blockers of a restore are one error with all findings', () =>
    withFolder(async path => {
      const { backup, RestoreRefusal, restore } = project.library
      await backup(backupJob(path))
      await assert.rejects(restore(restoreJob(path, 'orders', {})), (error: unknown) => {
        assert.ok(error instanceof RestoreRefusal)
        assert.equal(error.code, 'RESTORE_REFUSED')
        assert.deepEqual(
          error.findings.map(({ severity, subject }) => [severity, subject]),
          [['error', 'topic orders']],
        )
        return true
      })
    }))

  test('shards and a check are available for programs', () =>
    withFolder(async path => {
      const { backupShard, check, commitShards } = project.library
      const job = backupJob(path)
      assert.equal((await check(job)).ok, true)
      await assert.rejects(backupShard(job, { index: 2, count: 2 }), { code: 'USAGE' })
      for (const index of [0, 1]) await backupShard(job, { index, count: 2 })
      assert.equal((await commitShards(job)).totals.records, RECORDS)
      const { prepareRestore, restoreShard, finishRestore } = project.library
      const back = restoreJob(path, 'shards-back', {})
      await assert.rejects(prepareRestore(back, 0), { code: 'USAGE' })
      assert.equal((await prepareRestore(back, 2)).shards.length, 2)
      await restoreShard(back, { index: 0, count: 2 })
      await assert.rejects(finishRestore(back), { code: 'SHARDS_INCOMPLETE', message: /shard 1 of 2/ })
      await restoreShard(back, { index: 1, count: 2 })
      assert.equal((await finishRestore(back)).totals.found, RECORDS)
      assert.deepEqual(await digest('shards-back'), await digest('orders'))
    }))
})

/** Calls at the first records that arrive. */
function once(act: () => void): OnProgress {
  let isDone = false
  return event => {
    if (event.type !== 'copied' || isDone) return
    isDone = true
    act()
  }
}
