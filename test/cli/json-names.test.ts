import assert from 'node:assert/strict'
import { test } from 'node:test'
import { main } from '../../src/cli/main.ts'
import { fakeActions } from './fake-actions.ts'
import { assertSnakeKeys, FakeIo } from './fake-io.ts'

const at = ['--path', '/backups', '--backup-id', 'orders']
const config = ['--config', 'job.yaml']

/** What can be printed without a server. Commands whose sessions are faked elsewhere are checked there, by `FakeIo`. */
const commands: readonly string[][] = [
  ['check', ...config],
  ['backup', ...config],
  ['backup', ...config, '--dry-run'],
  ['backup', ...config, '--shard', '1/4'],
  ['restore', ...config],
  ['restore', ...config, '--dry-run'],
  ['restore', ...config, '--prepare', '--shards', '2'],
  ['restore', ...config, '--shard', '1/2'],
  ['list', '--path', '/backups'],
  ['list', ...at, '--generations'],
  ['describe', ...at],
  ['export', ...at, '--topic', 'orders', '--out', '/files'],
  ['hold', ...at],
  ['hold', ...at, '--release', '--generation', '41'],
  ['diff', ...at, '--from', '41'],
  ['verify', ...at],
  ['repair', ...at, '--dry-run'],
  ['compare', ...config],
  ['offset-map', ...config],
  ['key', 'new'],
  ['key', 'list', ...at],
  ['key', 'rewrap', ...at, '--recipient-file', 'a'],
  ['prune', '--path', '/backups', '--keep-last', '1', '--dry-run'],
  ['delete', ...at, '--yes'],
  ['schemas', 'backup', ...config],
  ['schemas', 'restore', ...config],
  ['schemas', 'restore', ...config, '--dry-run'],
  ['schemas', 'list', ...config],
  ['schemas', 'diff', ...config],
]

for (const argv of commands) {
  test(`${argv.join(' ')} prints one JSON document, with fields in snake_case`, async () => {
    const io = new FakeIo()
    await main([...argv, '--format', 'json'], io, fakeActions())
    assert.equal(typeof JSON.parse(io.stdout.text), 'object', io.stderr.text)
  })
}

test('finds a camelCase field at any depth', () => {
  assert.throws(() => assertSnakeKeys('[{"backup_id":1,"a":{"dataKeys":[]}}]'), /not in snake_case: dataKeys/)
  assertSnakeKeys(
    '{"requests":{"OffsetCommit":1},"configs":{"retention.ms":"1"},"config":{"compatibilityLevel":"NONE"}}',
  )
})
