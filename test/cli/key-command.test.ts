import assert from 'node:assert/strict'
import { test } from 'node:test'
import { main } from '../../src/cli/main.ts'
import { fakeActions, job, keyListing } from './fake-actions.ts'
import { FakeIo } from './fake-io.ts'

async function run(...argv: string[]) {
  const io = new FakeIo()
  const actions = fakeActions({
    loadClusterlessJob: async () => ({ ...job, encryption: { recipients: [], hideNames: false } }),
  })
  const code = await main(argv, io, actions)
  return { code, out: io.stdout.text, err: io.stderr.text, calls: actions.calls }
}

const at = ['--path', '/backups', '--backup-id', 'orders']

test('key new creates a file, and advises to keep a copy', async () => {
  const { code, out, calls } = await run('key', 'new', '--out', 'backup.key')
  assert.equal(code, 0)
  assert.deepEqual(calls.newKeyJob, ['backup.key'])
  assert.match(out, /The key 0011223344556677 is in backup\.key\. Keep a copy outside the store\./)
})

test('key list shows data keys and recipients', async () => {
  const { code, out } = await run('key', 'list', ...at)
  assert.equal(code, 0)
  assert.match(out, /Data key +00112233445566778899aabbccddeeff/)
  assert.match(out, /key +0011223344556677 +ops\n *passphrase +passphrase +-/)
  const { backupId, location, version, createdAt, hideNames, dataKeys, recipients } = keyListing
  const data_keys = dataKeys.map(key => ({ id: key.id, created_at: key.createdAt }))
  const head = { backup_id: backupId, location, version, created_at: createdAt, hide_names: hideNames }
  const printed = await run('key', 'list', ...at, '--format', 'json')
  assert.deepEqual(JSON.parse(printed.out), { ...head, data_keys, recipients })
  const again = await run('key', 'rewrap', ...at, '--recipient-file', 'a', '--format', 'json')
  const snapshot_keys = { rewrapped: 1, kept: [] }
  assert.deepEqual(JSON.parse(again.out), { ...head, data_keys, recipients, removed: 1, snapshot_keys })
})

test('key rewrap takes new recipients from the job or from files, and the current key from --key-file', async () => {
  const byJob = await run('key', 'rewrap', '--config', 'job.yaml', '--key-file', 'old.key')
  assert.equal(byJob.code, 0, byJob.err)
  assert.deepEqual(Object(byJob.calls.rewrapKeysJob?.[0]).keyFiles, ['old.key'])
  assert.deepEqual(byJob.calls.rewrapKeysJob?.[1], { recipientFiles: [], isDataKeyNew: false, kmsKeys: [] })
  const byFiles = await run(
    'key',
    'rewrap',
    ...at,
    '--recipient-file',
    'a',
    '--recipient-file',
    'b',
    '--new-data-key',
    '--kms-key',
    'arn:k',
  )
  assert.deepEqual(byFiles.calls.rewrapKeysJob?.[1], {
    recipientFiles: ['a', 'b'],
    isDataKeyNew: true,
    kmsKeys: ['arn:k'],
  })
  assert.match(byFiles.out, /1 older keys file removed\. No data was rewritten\./)
})

test('refuses contradictory options before it changes anything', async () => {
  for (const [argv, pattern] of [
    [['key', 'rewrap', ...at], /the new recipients are missing/],
    [['key', 'list', '--path', '/backups'], /pass --backup-id or --config/],
    [['key', 'list'], /pass --path and --backup-id, or --config/],
    [['key', 'new', ...at], /--path is not for `key new`/],
    [['key', 'list', ...at, '--recipient-file', 'x'], /--recipient-file is not for `key list`/],
    [['key', 'other'], /other/],
  ] as const) {
    const { code, err, calls } = await run(...argv)
    assert.equal(code, 2, argv.join(' '))
    assert.match(err, pattern)
    assert.deepEqual(Object.keys(calls), [])
  }
})
