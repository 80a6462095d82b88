import assert from 'node:assert/strict'
import { mkdtemp, readdir, readFile, rm, symlink, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { jobText, withFolder } from './backup-job.ts'
import { callCli } from './call-cli.ts'
import { launcher, root, run, runCli } from './run-cli.ts'
import { useKafka } from './use-kafka.ts'

describe('the command line', () => {
  let folder: string
  let config: string
  let store: string

  const kafka = useKafka()

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'kafka-backup-test-'))
    store = join(folder, 'store')
    config = join(folder, 'job.yaml')
    await kafka.driver.createTopic('events', { partitions: 2 })
    await kafka.driver.seedBulk('events', { count: 2000, partitions: 2, valueBytes: 5000 })
    await writeFile(config, jobText({ servers: kafka.server.bootstrapServers, path: store, include: ['events'] }))
  })
  after(async () => {
    await rm(folder, { recursive: true, force: true })
  })

  const at = () => ['--path', store, '--backup-id', 'b1']

  test('runs from a checkout with the pinned Node, from any folder', async () => {
    const { code, stdout, stderr } = await run(launcher, ['--version'])
    assert.deepEqual([code, stderr], [0, ''])
    assert.equal(stdout.trim(), JSON.parse(await readFile(join(root, 'package.json'), 'utf8')).version)
  })

  test('check, backup, list, describe and verify answer in JSON with documented exit codes', async () => {
    const json = async (...args: string[]) => {
      const { code, stdout, stderr } = await runCli([...args, '--format', 'json'])
      assert.equal(code, 0, stderr)
      return JSON.parse(stdout)
    }
    assert.equal((await json('check', '--config', config)).ok, true)
    assert.equal((await json('backup', '--config', config, '--dry-run')).totals.offsets, 2000)
    await assert.rejects(readdir(store), { code: 'ENOENT' })
    await json('backup', '--config', config)
    assert.equal((await json('list', '--path', store)).backups[0].records, 2000)
    const described = await json('describe', ...at())
    assert.equal(described.topics[0].partition_count, 2)
    assert.deepEqual(described.schema_registry, {
      enabled: false,
      taken_at: null,
      subjects_count: 0,
      schemas_count: 0,
      subjects: [],
    })
    assert.equal((await json('verify', ...at(), '--deep')).ok, true)
  })

  test('verify names damage and exits 3', async () => {
    const partition = join(store, 'b1/kafka/events/1')
    const segment = (await readdir(partition)).find(name => name.includes('.log')) ?? ''
    await truncate(join(partition, segment), 1000)
    const { code, stdout } = await runCli(['verify', ...at()])
    assert.equal(code, 3)
    assert.match(stdout, new RegExp(`b1/kafka/events/1/${segment.replaceAll('.', '\\.')}.*1000 bytes instead of`))
  })

  test('a bad job file and a bad command line exit 2 and name the field', async () => {
    const bad = join(folder, 'bad.yaml')
    await writeFile(bad, `${await readFile(config, 'utf8')}`.replace('"include"', '"inclode"'))
    const invalid = await runCli(['backup', '--config', bad])
    assert.equal(invalid.code, 2)
    assert.match(invalid.stderr, /source\.topics\.inclode.*did you mean/)
    assert.equal((await runCli(['backup'])).code, 2)
    assert.equal((await runCli(['restroe'])).code, 2)
    const scheme = await runCli(['list', '--path', 's3://bucket/x'])
    assert.equal(scheme.code, 2)
    assert.match(scheme.stderr, /s3/)
  })

  test('a missing backup is named together with those that are there', async () => {
    const { code, stderr } = await runCli(['describe', '--path', store, '--backup-id', 'b2'])
    assert.equal(code, 1)
    assert.match(stderr, /no backup `b2`.*there are: b1/)
  })

  test('names the folder of a backup and a controller listener as such', async () => {
    const own = await runCli(['list', '--path', join(store, 'b1')])
    assert.equal(own.code, 2)
    assert.match(own.stderr, /is the folder of one backup[\s\S]*b1 as the backup id/)
    const settings = await readFile(join(kafka.server.dataDirs[0] ?? '', '../server.properties'), 'utf8')
    const controller = /CONTROLLER:\/\/(127\.0\.0\.1:\d+)/.exec(settings)?.[1] ?? assert.fail(settings)
    const wrong = await callCli(['check', '--config', config, '--set', `source.bootstrap_servers=${controller}`])
    assert.equal(wrong.code, 1)
    assert.match(wrong.stderr, /is a controller listener of KRaft, which serves no clients/)
  })

  test('a location where nothing can be stored fails the check, and a backup before it copies', async () => {
    await symlink(join(folder, 'nowhere'), join(folder, 'dangling'))
    for (const [path, why] of [
      [join(folder, 'dangling'), /dangling is a symbolic link to a folder that does not exist/],
      ['/proc/backups/all', /\/proc/],
      [config, /job\.yaml is (a file, )?not a folder/],
    ] as const) {
      const checked = await callCli(['check', '--config', config, '--set', `storage.path=${path}`])
      assert.equal(checked.code, 1, checked.stdout)
      assert.match(checked.stdout + checked.stderr, why)
      const stored = await callCli(['backup', '--config', config, '--set', `storage.path=${path}`])
      assert.notEqual(stored.code, 0)
      assert.match(stored.stderr, why)
      assert.doesNotMatch(stored.stderr, /offsets to copy/)
    }
  })

  for (const [signal, exitCode] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const) {
    test(`${signal} commits what is stored and exits ${exitCode}`, () =>
      withFolder(async path => {
        await kafka.driver.createTopic(`long-${signal}`, { partitions: 4 })
        await kafka.driver.seedBulk(`long-${signal}`, { count: 5000, partitions: 4, valueBytes: 2000 })
        const job = join(path, 'job.yaml')
        const spec = { servers: kafka.server.bootstrapServers, path: join(path, 'store'), include: [`long-${signal}`] }
        await writeFile(job, jobText({ ...spec, backup: { segment_bytes: '1MiB', memory_budget: '32MiB' } }))
        // Too slow to end before the signal comes, also on a busy machine.
        const slowly = ['backup', '--config', job, '--set', 'backup.rate_limit=256KiB']
        const interrupted = await runCli(slowly, { signal, when: /offsets to copy/ })
        assert.equal(interrupted.code, exitCode, interrupted.stderr)
        const verified = await callCli(['verify', '--path', spec.path, '--backup-id', 'b1', '--deep'])
        assert.ok([0, 1].includes(verified.code ?? -1), 'nothing committed yet, or what is committed is whole')
        const resumed = await callCli(['backup', '--config', job, '--format', 'json'])
        assert.equal(resumed.code, 0, resumed.stderr)
        const listed = await callCli(['list', '--path', spec.path, '--format', 'json'])
        assert.equal(JSON.parse(listed.stdout).backups[0].records, 5000)
      }))
  }
})
