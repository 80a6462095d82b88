import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { main } from '../../src/cli/main.ts'
import { fakeActions } from './fake-actions.ts'
import { FakeIo } from './fake-io.ts'

async function run(argv: string[], env: Record<string, string> = {}) {
  const io = new FakeIo({ env })
  const actions = fakeActions()
  const code = await main(argv, io, actions)
  return { code, err: io.stderr.text, calls: actions.calls }
}

describe('arguments that are short for options', () => {
  test('name a backup, a topic, a job file or locations', async () => {
    const described = await run(['describe', 'orders', '--path', '/backups'])
    assert.deepEqual([described.code, described.calls.describeBackup?.[1]], [0, 'orders'])
    const verified = await run(['verify', '--deep', 'orders', '-p', '/backups'])
    assert.deepEqual([verified.code, verified.calls.openLocation?.[0]], [0, '/backups'])
    const printed = await run(['cat', 'orders', 'payments', '-p', '/backups'])
    assert.equal(printed.code, 0, printed.err)
    const checked = await run(['check', 'job.yaml'])
    assert.deepEqual([checked.code, checked.calls.loadJob?.[0]], [0, 'job.yaml'])
    const listed = await run(['list', '/a', '/b'])
    assert.deepEqual([listed.code, listed.calls.openLocation?.[0]], [0, '/b'])
  })

  test('are refused where the option is given too, and where there are too many', async () => {
    const twice = await run(['describe', 'orders', '--backup-id', 'orders', '-p', '/backups'])
    assert.equal(twice.code, 2)
    assert.match(
      twice.err,
      /pass the backup-id as an argument or as --backup-id, not both[\s\S]*kafka-backup describe --help/,
    )
    const many = await run(['describe', 'orders', 'payments', '-p', '/backups'])
    assert.equal(many.code, 2)
    assert.match(many.err, /too many arguments/)
  })

  test('and --backup-id are refused where they cannot be the ID of a backup', async () => {
    const empty = await run(['describe', '', '-p', '/backups'])
    assert.equal(empty.code, 2)
    assert.match(
      empty.err,
      /error: the backup ID is empty\nhelp: `kafka-backup list` shows .* `kafka-backup describe --help`/,
    )
    for (const argv of [
      ['hold', '../orders', '-p', '/backups'],
      ['copy', '--from', '/a', '--to', '/b', '-b', 'orders', '-b', '../orders'],
      ['schemas', 'diff', '-p', '/a', '-b', 'orders', '--against-backup-id', '../orders'],
    ]) {
      const { code, err } = await run(argv)
      assert.equal(code, 2)
      assert.match(err, /"\.\.\/orders" is not a backup ID: an ID is the name of one folder/)
    }
  })

  test('or their options are required where they were', async () => {
    const { code, err } = await run(['backup'])
    assert.equal(code, 2)
    assert.match(err, /backup needs a job file: pass it as an argument or as --config/)
  })
})

describe('KAFKA_BACKUP_LOCATION', () => {
  const env = { KAFKA_BACKUP_LOCATION: '/usual' }

  test('is the location of commands that read backups', async () => {
    for (const argv of [['describe', 'orders'], ['list'], ['verify', 'orders'], ['cat', 'orders', 'orders']]) {
      const { code, err, calls } = await run(argv, env)
      assert.deepEqual([code, calls.openLocation?.[0]], [0, '/usual'], err)
    }
  })

  test('gives way to --path and to the job file', async () => {
    assert.equal((await run(['describe', 'orders', '-p', '/other'], env)).calls.openLocation?.[0], '/other')
    const ofJob = await run(['describe', '--config', 'job.yaml'], env)
    assert.deepEqual([ofJob.code, ofJob.calls.openLocation], [0, undefined])
    assert.deepEqual((await run(['list', '--config', 'job.yaml'], env)).calls.openLocation, undefined)
  })

  test('is not enough to remove backups', async () => {
    for (const argv of [
      ['delete', '--yes', '--backup-id', 'orders'],
      ['prune', '--yes', '--keep-last', '1'],
    ]) {
      const { code, err, calls } = await run(argv, env)
      assert.equal(code, 2)
      assert.match(err, /--path/)
      assert.deepEqual([calls.deleteAt, calls.pruneAt], [undefined, undefined])
    }
  })
})
