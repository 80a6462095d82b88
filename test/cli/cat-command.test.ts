import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { stripVTControlCharacters } from 'node:util'
import type { Actions } from '../../src/cli/actions.ts'
import { main } from '../../src/cli/main.ts'
import { KafkaBackupError } from '../../src/errors.ts'
import type { FoundRecord } from '../../src/inspect/found-record.ts'
import type { ShownRecord } from '../../src/inspect/print-format.ts'
import { SchemaDecoder } from '../../src/inspect/schema-decoder.ts'
import { showHeaders } from '../../src/inspect/show-record.ts'
import { fakeActions } from './fake-actions.ts'
import { FakeIo } from './fake-io.ts'

function shown(changes: Partial<FoundRecord> = {}, parts: Partial<Omit<ShownRecord, 'record'>> = {}): ShownRecord {
  const record: FoundRecord = {
    ...{ topic: 'orders', partition: 2, offset: 1500n, timestamp: 1_700_000_000_000n, transaction: 'plain' },
    ...{ key: Buffer.from('k'), value: Buffer.from('v'), headers: [], ...changes },
  }
  const headers = showHeaders(record, new SchemaDecoder({ ofId: async () => [], all: async () => [] }))
  return { record, key: { encoding: 'text', value: 'k' }, value: { encoding: 'text', value: 'v' }, headers, ...parts }
}

async function run(argv: string[], records: readonly ShownRecord[] = [shown()], io = new FakeIo()) {
  const catAt: Actions['catAt'] = async (...[, , , , work]) => work(stream(records))
  const actions = fakeActions({ catAt })
  const code = await main(['cat', '--path', '/backups', '--backup-id', 'b', '--topic', 'orders', ...argv], io, actions)
  return { code, out: io.stdout.text, err: io.stderr.text }
}

async function* stream<T>(items: readonly T[]): AsyncGenerator<T> {
  yield* items
}

describe('cat', () => {
  for (const fails of [false, true]) {
    test(`warns of damage that was read around on standard error${fails ? ', also if it fails' : ''}`, async () => {
      const io = new FakeIo()
      const catAt: Actions['catAt'] = async (...[, , { onProgress }, , work]) => {
        onProgress?.({ type: 'warning', message: 'a/log/checkpoints/1: it is missing' })
        const result = await work(stream([shown()]))
        if (fails) throw new KafkaBackupError('ARCHIVE_DAMAGED', 'a/log/packs/1 is missing')
        return result
      }
      const argv = ['cat', '--path', '/backups', '--backup-id', 'b', '--topic', 'orders', '--print', '%s\\n']
      assert.equal(await main(argv, io, fakeActions({ catAt })), fails ? 3 : 0)
      assert.equal(io.stdout.text, 'v\n')
      assert.match(io.stderr.text, /a\/log\/checkpoints\/1: it is missing/)
    })
  }

  test('prints a line for each record below the name of its topic', async () => {
    const schema = { id: 7, subject: 's', version: 1, type: 'AVRO' as const }
    const { code, out } = await run(
      [],
      [
        shown(),
        shown(
          {
            offset: 1501n,
            headers: [
              ['h', null],
              ['h', Buffer.from('x')],
            ],
          },
          { value: { encoding: 'null', value: null } },
        ),
        shown({ offset: 1502n, transaction: 'aborted' }, { value: { encoding: 'json', value: { a: 1n }, schema } }),
        shown(
          { topic: 'other', offset: 0n },
          { value: { encoding: 'hex', value: '00ff', reason: 'the backup has no schema ID 9' } },
        ),
      ],
    )
    assert.equal(code, 0)
    assert.equal(
      out,
      `orders
PARTITION  OFFSET        TIME                      KEY               VALUE
2          1500          2023-11-14T22:13:20.000Z  k                 v
2          1501          2023-11-14T22:13:20.000Z  k                 (tombstone)
           headers: h=null, h=x
2          1502          2023-11-14T22:13:20.000Z  k                 {"a":1}
           aborted: restores and consumers leave it out

other
PARTITION  OFFSET        TIME                      KEY               VALUE
2          0             2023-11-14T22:13:20.000Z  k                 00ff
           value not decoded: the backup has no schema ID 9
`,
    )
  })

  test('shows transactions as such: what was rolled back, and the markers', async () => {
    const records = [
      shown({ transaction: 'committed' }),
      shown({ offset: 1501n, transaction: 'commit marker', key: Buffer.from([0, 0, 0, 1]), value: Buffer.alloc(6) }),
      shown({ offset: 1502n, transaction: 'abort marker' }),
    ]
    const { out } = await run(['--with-aborted'], records)
    const lines = out.trimEnd().split('\n').slice(2)
    assert.deepEqual(
      lines.map(line => line.split(/ {2,}/).slice(1).join(' ')),
      [
        '1500 2023-11-14T22:13:20.000Z k v',
        '1501 2023-11-14T22:13:20.000Z (commit marker)',
        '1502 2023-11-14T22:13:20.000Z (abort marker)',
      ],
    )
    const json = (await run(['--with-aborted', '--format', 'json'], records)).out.trimEnd().split('\n')
    assert.deepEqual(
      json.map(line => JSON.parse(line).transaction),
      ['committed', 'commit marker', 'abort marker'],
    )
  })

  test('cuts lines to the width of a terminal, and escapes what would control it', async () => {
    const value = { encoding: 'text', value: `\u001b[2J${'x'.repeat(200)}` } as const
    const { out } = await run([], [shown({}, { value })], new FakeIo({ columns: 80 }))
    const lines = stripVTControlCharacters(out).trimEnd().split('\n')
    assert.ok(lines.every(line => line.length <= 80))
    assert.match(lines.at(-1) ?? '', /…$/)
    assert.ok(!out.includes('\u001b[2J'))
  })

  test('prints a document on one line for each record', async () => {
    const { out } = await run(['--format', 'json'], [shown(), shown({ offset: 1501n })])
    const lines = out.trimEnd().split('\n')
    assert.deepEqual(
      lines.map(line => JSON.parse(line).offset),
      [1500, 1501],
    )
  })

  test('prints in the format that was asked for', async () => {
    assert.equal((await run(['--print', '%p:%o=%k\\n'])).out, '2:1500=k\n')
    assert.equal((await run(['-f', '%p:%o=%k\\n'])).out, '2:1500=k\n')
    assert.equal((await run(['--format=%o\\n'])).out, '1500\n')
  })

  const wrong: [string[], RegExp][] = [
    [['--from-offset', 'x'], /--from-offset is an offset from 0 to 9223372036854775807, not "x"/],
    [['--from-offset', '9223372036854775808'], /--from-offset is an offset from 0 to 9223372036854775807/],
    [['--from-offset', '5', '--to-offset', '5'], /--to-offset must be greater than --from-offset/],
    [['--since', '2026-01-01'], /--since 2026-01-01 is a day without a time/],
    [['--since', '2026-01-02T00:00:00Z', '--until', '2026-01-01T00:00:00Z'], /--until must be later than --since/],
    [['--newest', '0'], /--newest must be 1 or more/],
    [['--newest', '100001'], /--newest is at most 100000/],
    [['--limit', '-1'], /--limit is a number/],
    [['--print', '%k', '--format', 'json'], /either --print or --format json/],
    [['--print', '%z'], /--print does not know %z/],
    [['-f', '%z'], /--print does not know %z/],
    [['-f', 'yaml'], /'-f, --format <format>' argument 'yaml' is invalid/],
    [['--key-as', 'octal'], /Allowed choices are auto, text, hex, base64/],
    [['--generation', '1', '--as-of', '2026-01-01T00:00:00Z'], /either --generation or --as-of/],
  ]
  for (const [argv, message] of wrong) {
    test(`refuses ${argv.join(' ')}`, async () => {
      const { code, err } = await run(argv)
      assert.equal(code, 2)
      assert.match(err, message)
    })
  }

  test('says on standard error that nothing was found, unless it is to be quiet', async () => {
    const nothing = await run([], [])
    assert.deepEqual([nothing.code, nothing.out], [0, ''])
    assert.match(nothing.err, /cat: there are no records in this range/)
    assert.equal((await run(['--quiet'], [])).err, '')
  })

  test('names keys that could not be decoded, and ends with the code of damage if schemas are damaged', async () => {
    const withTally = async (changes: object, ...argv: string[]) => {
      const catAt: Actions['catAt'] = async (...[, , { tally }, , work]) => {
        Object.assign(tally ?? {}, { topics: new Map([['t', { searched: 7, matched: 0 }]]), ...changes })
        return work(stream([]))
      }
      const io = new FakeIo()
      const place = ['--path', '/backups', '--backup-id', 'b', '--topic', 't', '--key', '42', ...argv]
      return { code: await main(['cat', ...place], io, fakeActions({ catAt })), err: io.stderr.text }
    }
    const unknown = await withTally({ keysNotDecoded: 2 })
    assert.equal(unknown.code, 0)
    assert.match(unknown.err, /cat: none of 7 records matches; 2 keys could not be decoded with a schema/)
    const some = await withTally({ keysNotDecoded: 1, topics: new Map([['t', { searched: 7, matched: 1 }]]) })
    assert.match(some.err, /cat: 1 of 7 records matches; 1 key could not be decoded with a schema/)
    const damaged = await withTally({ keysNotDecoded: 2, damage: 'v1.json is missing' }, '--quiet')
    assert.equal(damaged.code, 3)
    assert.match(
      damaged.err,
      /keys, values or headers whose schemas cannot be read were taken as .*: v1\.json is missing/,
    )
  })

  test('prints what it found before damage', async () => {
    async function* damagedLater(): AsyncGenerator<ShownRecord> {
      yield shown()
      throw new KafkaBackupError('ARCHIVE_DAMAGED', 'a segment is damaged')
    }
    const io = new FakeIo()
    const actions = fakeActions({ catAt: async (...[, , , , work]) => work(damagedLater()) })
    const place = ['--path', '/backups', '--backup-id', 'b', '--topic', 'orders']
    assert.equal(await main(['cat', ...place, '--print', '%o\\n'], io, actions), 3)
    assert.equal(io.stdout.text, '1500\n')
  })

  test('stops reading when the reader of its output is gone', async () => {
    let taken = 0
    async function* endless(): AsyncGenerator<ShownRecord> {
      for (;;) {
        taken++
        yield shown({}, { value: { encoding: 'text', value: 'x'.repeat(10_000) } })
      }
    }
    const io = new FakeIo()
    io.writeBytes = async () => false
    const actions = fakeActions({ catAt: async (...[, , , , work]) => work(endless()) })
    const place = ['--path', '/backups', '--backup-id', 'b', '--topic', 'orders']
    assert.equal(await main(['cat', ...place, '--print', '%s'], io, actions), 0)
    assert.ok(taken < 20)
  })
})
