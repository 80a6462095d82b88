import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { realActions } from '../../src/cli/actions.ts'
import { main } from '../../src/cli/main.ts'
import { fakeActions } from './fake-actions.ts'
import { FakeIo } from './fake-io.ts'

const text = `mode: restore
backup_id: orders
target: { bootstrap_servers: [kafka:9092] }
storage: { backend: filesystem, path: /backups }
`

describe('the job file of a restore', () => {
  let folder = ''
  let path = ''
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'job-modes-'))
    path = join(folder, 'restore.yaml')
    await writeFile(path, text)
  })
  after(() => rm(folder, { recursive: true }))

  async function run(...argv: string[]) {
    const { loadJob, loadBackupJob, loadClusterlessJob } = realActions
    const io = new FakeIo()
    const actions = fakeActions({ loadJob, loadBackupJob, loadClusterlessJob })
    const code = await main([...argv, '--config', path, '--no-progress'], io, actions)
    return { code, out: io.stdout.text, err: io.stderr.text, calls: actions.calls }
  }

  for (const argv of [['backup'], ['backup', '--dry-run'], ['backup', '--shard', '0/2'], ['backup', '--commit']]) {
    test(`is refused by ${argv.join(' ')}, which names the mode and the right command`, async () => {
      const { code, out, err, calls } = await run(...argv)
      assert.deepEqual([code, out, calls], [2, '', {}])
      assert.match(
        err,
        /restore\.yaml: 1 error\n {2}mode: "restore" is a job for `kafka-backup restore`, not for this command, which needs mode: backup \[line 1\]\n/,
      )
    })
  }

  test('is accepted by check', async () => {
    const { code, err, calls } = await run('check')
    assert.deepEqual([code, err], [0, ''])
    assert.equal(Object(calls.checkJob?.[0]).mode, 'restore')
  })

  for (const command of ['list', 'describe', 'verify']) {
    test(`gives ${command} the location of the backup`, async () => {
      const { code, err, calls } = await run(command)
      assert.deepEqual([code, err], [0, ''])
      assert.equal(Object(calls.openJobStorage?.[0]).storage.path, '/backups')
    })
  }
})

test('commands that do not contact Kafka take a job file without a cluster, which other commands refuse', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'job-modes-'))
  const path = join(folder, 'schemas.yaml')
  const registry = 'enterprise: { schema_registry: { enabled: true, url: "http://registry:8081" } }\n'
  const storage = 'storage: { backend: filesystem, path: /backups }\n'
  const { loadClusterlessJob, loadBackupJob, loadRestoreJob } = realActions
  const run = async (mode: string, ...argv: string[]) => {
    await writeFile(path, `mode: ${mode}\nbackup_id: orders\n${storage}${registry}`)
    const [io, actions] = [new FakeIo(), fakeActions({ loadClusterlessJob, loadBackupJob, loadRestoreJob })]
    const code = await main([...argv, '--config', path, '--no-progress'], io, actions)
    return { code, err: io.stderr.text, calls: Object.keys(actions.calls) }
  }
  try {
    assert.deepEqual((await run('backup', 'schemas', 'backup')).calls, ['backupSchemasJob'])
    assert.deepEqual((await run('restore', 'schemas', 'restore')).calls, ['restoreSchemasJob'])
    assert.deepEqual((await run('restore', 'schemas', 'plan')).calls, ['dryRunSchemasJob'])
    assert.deepEqual((await run('restore', 'registry', 'probe')).calls, ['probeRegistryJob'])
    assert.deepEqual((await run('restore', 'schemas', 'list')).calls, ['listSchemasJob'])
    assert.deepEqual((await run('backup', 'schemas', 'diff')).calls, ['diffSchemasJob'])
    for (const [work, ...argv] of [
      ['listBackups', 'list'],
      ['describeBackup', 'describe'],
      ['verifyBackup', 'verify'],
      ['pruneAt', 'prune', '--keep-last', '1', '--dry-run'],
      ['listKeysJob', 'key', 'list'],
    ] as const) {
      for (const mode of ['backup', 'restore']) {
        const { code, err, calls } = await run(mode, ...argv)
        assert.deepEqual([code, err], [0, ''], argv.join(' '))
        assert.ok(calls.includes(work), `${argv.join(' ')}: ${calls}`)
      }
    }
    assert.ok((await run('backup', 'offsets', 'snapshots')).calls.includes('openOffsets'))
    assert.ok((await run('restore', 'topics', '--strimzi-cluster', 'c')).calls.includes('planTopicsJob'))
    assert.match((await run('backup', 'schemas', 'restore')).err, /which needs mode: restore/)
    for (const [command, section] of [
      ['backup', 'source'],
      ['restore', 'target'],
    ] as const) {
      const { code, err } = await run(command, command)
      assert.equal(code, 2)
      assert.match(err, new RegExp(`^  ${section}: is required`, 'm'))
    }
  } finally {
    await rm(folder, { recursive: true })
  }
})
