import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { runCli } from './run-cli.ts'
import { useKafka } from './use-kafka.ts'

describe('from nothing to a backup', () => {
  let folder: string
  const kafka = useKafka()

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'kafka-backup-test-'))
    await kafka.driver.createTopic('orders', { partitions: 2 })
    await kafka.driver.createTopic('app-count-repartition', { partitions: 1 })
    await kafka.driver.seedBulk('orders', { count: 2000, partitions: 2, valueBytes: 500 })
  })
  after(() => rm(folder, { recursive: true, force: true }))

  const cli = (...args: string[]) =>
    runCli(args, { cwd: folder, env: { ...process.env, KAFKA_BACKUP_LOCATION: join(folder, 'store') } })

  test('init reads a client.properties, shows sizes and writes a job that can run', async () => {
    const properties = join(folder, 'client.properties')
    await writeFile(properties, `bootstrap.servers=${kafka.server.bootstrapServers.join(',')}\nacks=all\n`)
    const { code, stdout, stderr } = await cli('init', '--from', properties, '--backup-id', 'first', '--yes')
    assert.equal(code, 0, stderr)
    // 2,000 records of 500 bytes.
    assert.match(stderr, /orders +2 +\d+(\.\d)? (KiB|MiB)/)
    assert.match(stderr, /Ready/)
    assert.match(stdout, /Wrote backup\.yaml/)
    const again = await cli('init', '--from', properties, '--yes')
    assert.equal(again.code, 2)
    assert.match(again.stderr, /backup\.yaml already exists/)
    assert.match(await readFile(join(folder, 'backup.yaml'), 'utf8'), /exclude:\n {6}- "?\*-repartition/)
  })

  test('the job runs as it was written, and its backup is described by its name alone', async () => {
    const ran = await cli('backup', 'backup.yaml')
    assert.equal(ran.code, 0, ran.stderr)
    const described = await cli('describe', 'first', '--format', 'json')
    assert.equal(described.code, 0, described.stderr)
    const { topics, totals } = JSON.parse(described.stdout)
    assert.deepEqual([topics.map(({ name }: { name: string }) => name), totals.records], [['orders'], 2000])
    const names = await cli('completion', 'names', '--', 'cat', 'first', '')
    assert.equal(names.stdout, 'orders\n')
    const records = await cli('cat', 'first', 'orders', '--limit', '3', '--format', 'json')
    assert.equal(records.stdout.trim().split('\n').length, 3)
  })

  test('status reports the backup as fresh, then as verified, and as stale with a shorter interval', async () => {
    const fresh = await cli('status', '--config', 'backup.yaml', '--format', 'json')
    assert.equal(fresh.code, 0, fresh.stderr)
    const [backup] = JSON.parse(fresh.stdout).locations[0].backups
    assert.deepEqual([backup.level, backup.records, backup.expected_interval_source], ['ok', 2000, 'job'])
    assert.equal(backup.last_verified_at, null)
    assert.equal((await cli('verify', 'first', '--deep')).code, 0)
    const verified = await cli('status', '--format', 'json')
    const [proven] = JSON.parse(verified.stdout).locations[0].backups
    assert.ok(Date.parse(proven.last_verified_at) >= Date.parse(backup.created_at))
    const stale = await cli('status', '--interval', '1ms')
    assert.equal(stale.code, 4, stale.stdout)
    assert.match(stale.stdout, /first: the last commit is .* old, expected one every 1 ms/)
    assert.equal((await cli('status', '--interval', '1ms', '--nagios')).code, 2)
  })
})
