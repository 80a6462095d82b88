import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { main } from '../../src/cli/main.ts'
import { catAt } from '../../src/jobs/inspect.ts'
import { openStorage } from '../../src/storage/open-storage.ts'
import { fakeActions } from './fake-actions.ts'
import { FakeIo } from './fake-io.ts'

const golden = () => openStorage({ backend: 'filesystem', path: join(import.meta.dirname, '../golden/v0.1.0') })

/** On a backup of an earlier release: two partitions with all codecs, headers, tombstones and transactions. */
async function search(...argv: string[]) {
  const io = new FakeIo()
  const actions = fakeActions({
    catAt: (_storage, _backupId, request, signal, work) => catAt(golden(), 'golden', request, signal, work),
  })
  const code = await main(['search', '--path', '/backups', '--backup-id', 'golden', ...argv], io, actions)
  return { code, out: io.stdout.text, err: io.stderr.text }
}

describe('search', () => {
  test('prints what it finds, in all topics, and says how many records it has searched', async () => {
    const { code, out, err } = await search('--text', 'zstd', '--print', '%t %p %o\\n')
    assert.equal(code, 0)
    assert.equal(out, 'golden 0 8\ngolden 1 4\n')
    assert.match(err, /search: found 2 of 18 records in 1 topic, .* read in /)
  })

  test('counts instead of printing', async () => {
    const { code, out } = await search('--key-prefix', 'lz4', '--count')
    assert.equal(code, 0)
    assert.deepEqual(
      out
        .split('\n')
        .map(line => line.split(/ +/))
        .slice(0, 2),
      [
        ['TOPIC', 'FOUND', 'SEARCHED'],
        ['golden', '2', '18'],
      ],
    )
    const { out: json } = await search('--key-prefix', 'lz4', '--count', '--format', 'json')
    const { bytes, ...counts } = JSON.parse(json)
    assert.ok(bytes > 0)
    const topics = [{ topic: 'golden', found: 2, searched: 18 }]
    assert.deepEqual(counts, { found: 2, searched: 18, not_decoded: 0, topics })
  })

  test('counts the records of a time or of offsets only', async () => {
    const counted = async (...argv: string[]) => JSON.parse((await search('--count', '--format', 'json', ...argv)).out)
    const of = async (...argv: string[]) => (({ found, searched }) => [found, searched])(await counted(...argv))
    assert.deepEqual(await of('--since', '1700000000001', '--until', '1700000000002'), [6, 6])
    assert.deepEqual(await of('--since', '1700000000001', '--until', '1700000000002', '--text', 'nowhere'), [0, 6])
    assert.deepEqual(await of('--from-offset', '3', '--to-offset', '5', '--text', 'nowhere'), [0, 4])
    assert.deepEqual(await of('--partition', '1', '--text', 'nowhere'), [0, 6])
  })

  test('stops at the limit', async () => {
    const { out, err } = await search('--header', 'h', '--limit', '2', '--print', '%o ')
    assert.equal(out, '0 1 ')
    assert.match(err, /found 2 of 2 records/)
  })

  test('without a match ends with 0, or with a code of its own on request', async () => {
    const plain = await search('--text', 'nowhere')
    assert.deepEqual([plain.code, plain.out], [0, ''])
    assert.match(plain.err, /found 0 of 18 records/)
    const required = await search('--text', 'nowhere', '--require-match')
    assert.equal(required.code, 6)
    assert.match(required.err, /none of 18 records meets the conditions/)
    assert.equal((await search('--text', 'zstd', '--require-match')).code, 0)
  })

  test('says nothing but the result with --quiet', async () => {
    const { err } = await search('--text', 'zstd', '--quiet')
    assert.equal(err, '')
  })

  for (const [argv, message] of [
    [[], /search needs a condition: --key, /],
    [['--where', '=1'], /--where "=1" begins with no name/],
    [['--text', 'x', '--count', '--print', '%k'], /pass either --print or --count/],
    [['--text', 'x', '--newest', '2'], /newest/],
  ] as const) {
    test(`refuses ${argv.join(' ') || 'no condition'}`, async () => {
      const { code, err } = await search(...argv)
      assert.equal(code, 2)
      assert.match(err, message)
    })
  }
})
