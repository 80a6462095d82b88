import assert from 'node:assert/strict'
import { test } from 'node:test'
import { stripVTControlCharacters } from 'node:util'
import type { Actions } from '../../src/cli/actions.ts'
import { main } from '../../src/cli/main.ts'
import { backupReport, fakeActions } from './fake-actions.ts'
import { FakeIo } from './fake-io.ts'

function backup(io: FakeIo, ...options: string[]) {
  const runBackupJob: Actions['runBackupJob'] = async (_, { onProgress }) => {
    onProgress({ type: 'planned', topics: 1, partitions: 1, offsets: 4n })
    onProgress({ type: 'copied', topic: 't', partition: 0, offsets: 1n, records: 1, bytes: 1024 })
    io.clock.pass(10_000)
    return backupReport
  }
  return main(['backup', '--config', 'job.yaml', ...options], io, fakeActions({ runBackupJob }))
}

const lines = [
  'backup: 1 topic, 1 partition, 4 offsets to copy',
  'backup: 25%, 1 record, 1.0 KiB, 102 B/s, ETA 30 s',
  'backup: done: 1 record, 1.0 KiB in 10.0 s',
]

test('draws a bar on standard error of a terminal, and clears it at the end', async () => {
  const io = new FakeIo({ columns: 80 })
  await backup(io)
  assert.match(stripVTControlCharacters(io.stderr.text), /^backup ━+─+ {2}25% /)
  assert.ok(io.stderr.text.endsWith('\r\x1b[K'))
  assert.doesNotMatch(io.stdout.text, /25%/)
})

test('prints plain lines without a terminal', async () => {
  const io = new FakeIo()
  await backup(io)
  assert.equal(io.stderr.text, `${lines.join('\n')}\n`)
})

test('stays on standard error with --format json', async () => {
  const io = new FakeIo()
  await backup(io, '--format', 'json')
  assert.equal(io.stderr.text, `${lines.join('\n')}\n`)
  assert.equal(JSON.parse(io.stdout.text).backup_id, 'orders')
})

test('writes log lines with --log-format json and -v, also on a terminal', async () => {
  const io = new FakeIo({ columns: 80 })
  await backup(io, '--log-format', 'json', '-v')
  const messages = io.stderr.text
    .trimEnd()
    .split('\n')
    .map(line => JSON.parse(line).msg)
  assert.deepEqual(
    messages.filter(message => message.startsWith('backup: ')),
    lines,
  )
  const silent = new FakeIo({ columns: 80 })
  await backup(silent, '--log-format', 'json')
  assert.equal(silent.stderr.text, '')
})

test('is turned off by --no-progress and --quiet, with and without a terminal', async () => {
  for (const option of ['--no-progress', '--quiet']) {
    for (const options of [{}, { columns: 80 }]) {
      const io = new FakeIo(options)
      await backup(io, option)
      assert.equal(io.stderr.text, '')
    }
  }
})
