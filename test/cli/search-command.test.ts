import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import type { Actions } from '../../src/cli/actions.ts'
import { main } from '../../src/cli/main.ts'
import { KafkaBackupError } from '../../src/errors.ts'
import { SchemaDecoder } from '../../src/inspect/schema-decoder.ts'
import { catAt } from '../../src/jobs/inspect.ts'
import { openStorage } from '../../src/storage/open-storage.ts'
import { fakeActions } from './fake-actions.ts'
import { FakeIo } from './fake-io.ts'

const golden = () => openStorage({ backend: 'filesystem', path: join(import.meta.dirname, '../golden/v0.1.0') })

/** On a backup of an earlier release: two partitions with all codecs, headers, tombstones and transactions. */
async function search(...argv: string[]) {
  return searchWith(
    (_storage, _backupId, request, signal, work) => catAt(golden(), 'golden', request, signal, work),
    ...argv,
  )
}

async function searchWith(cat: Actions['catAt'], ...argv: string[]) {
  const io = new FakeIo()
  const actions = fakeActions({ catAt: cat })
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
    assert.deepEqual(counts, { found: 2, searched: 18, not_decoded: 0, keys_not_decoded: 0, topics, warnings: [] })
  })

  test('warns of damage that was read around on standard error, and in JSON', async () => {
    const warning = 'a/log/checkpoints/1: it is missing'
    const damaged: Actions['catAt'] = async (_storage, _backupId, request, signal, work) => {
      const result = await catAt(golden(), 'golden', request, signal, work)
      request.onProgress?.({ type: 'warning', message: warning })
      return result
    }
    const { code, out, err } = await searchWith(damaged, '--key-prefix', 'lz4', '--count', '--format', 'json')
    assert.deepEqual([code, JSON.parse(out).warnings], [0, [warning]])
    assert.ok(err.includes(warning))
  })

  test('decodes headers where they are printed, and not where records are counted', async t => {
    const prepared = t.mock.method(SchemaDecoder.prototype, 'prepareHeaders')
    const decoded = t.mock.method(SchemaDecoder.prototype, 'decodeHeader')
    const calls = () => [prepared, decoded].map(({ mock }) => mock.callCount())
    await search('--header', 'h', '--count')
    assert.deepEqual(calls(), [0, 0])
    await search('--header', 'h', '--format', 'json')
    assert.ok(calls().every(count => count > 0))
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

  test('tells programs what it has searched, too', async () => {
    const { out, err } = await search('--text', 'nowhere', '--log-format', 'json', '-v')
    assert.equal(out, '')
    assert.match(err, /^\{.*search: found 0 of 18 records/m)
  })

  test('says that its output was closed before the end', async () => {
    const io = new FakeIo()
    io.writeBytes = async () => false
    const actions = fakeActions({
      catAt: (_storage, _backupId, request, signal, work) => catAt(golden(), 'golden', request, signal, work),
    })
    const place = ['--path', '/backups', '--backup-id', 'golden']
    assert.equal(await main(['search', ...place, '--header', 'h'], io, actions), 0)
    assert.match(io.stderr.text, /found \d+ of \d+ records .*; it stopped when its output was closed\n/)
  })

  test('says that it stopped at the limit, or before the end', async () => {
    assert.match((await search('--header', 'h', '--limit', '2', '--count')).err, /it stopped at --limit/)
    const failing = await searchWith(
      async (_storage, _backupId, { tally }) => {
        tally?.topics.set('orders', { searched: 7, matched: 0 })
        throw new KafkaBackupError('ARCHIVE_DAMAGED', 'a segment is damaged')
      },
      ...['--text', 'x'],
    )
    assert.equal(failing.code, 3)
    assert.match(failing.err, /found 0 of 7 records in 1 topic, .*; it did not come to the end/)
  })

  test('does not say no where schemas are damaged, and says how many values were not decoded', async () => {
    const withTally = (changes: object) =>
      searchWith(
        async (_storage, _backupId, { tally }, _signal, work) => {
          Object.assign(tally ?? {}, { topics: new Map([['t', { searched: 7, matched: 0 }]]), ...changes })
          return work(ReadableStream.from([]) as unknown as AsyncIterable<never>)
        },
        ...['--text', 'x', '--require-match', '--quiet'],
      )
    const damaged = await withTally({ damage: 'v1.json is missing' })
    assert.equal(damaged.code, 3)
    assert.match(damaged.err, /schemas cannot be read were taken as they are stored: v1\.json is missing/)
    const raw = await withTally({ notDecoded: 5 })
    assert.equal(raw.code, 6)
    assert.match(raw.err, /none of 7 records meets the conditions; 5 values could not be decoded/)
    const large = await withTally({ notDecoded: 5, tooLarge: 2 })
    assert.match(large.err, /5 values could not be .* were searched as stored \(2 values too long as text\)/)
  })

  test('names keys that could not be decoded, also where records are counted', async () => {
    const withKeys = (changes: object, ...argv: string[]) =>
      searchWith(
        async (_storage, _backupId, { tally }, _signal, work) => {
          Object.assign(tally ?? {}, { topics: new Map([['t', { searched: 7, matched: 0 }]]), ...changes })
          return work(ReadableStream.from([]) as unknown as AsyncIterable<never>)
        },
        ...['--key', '42', '--count', ...argv],
      )
    const one = await withKeys({ keysNotDecoded: 1 })
    assert.match(
      one.err,
      /found 0 of 7 records .*; 1 key could not be decoded with a schema and was searched as stored/,
    )
    const both = await withKeys({ keysNotDecoded: 2, notDecoded: 1 }, '--format', 'json', '--require-match')
    assert.match(both.err, /; 2 keys and 1 value could not be decoded with a schema and were searched as stored/)
    const { keys_not_decoded, not_decoded } = JSON.parse(both.out.slice(0, both.out.indexOf('\n}') + 2))
    assert.deepEqual([keys_not_decoded, not_decoded, both.code], [2, 1, 6])
  })

  test('refuses a context that the backup does not have', async () => {
    const { code, err } = await search('--text', 'x', '--context', 'eu')
    assert.equal(code, 1)
    assert.match(err, /the backup has no schemas in the context eu/)
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
