import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { StoredGroup } from '../../src/archive/groups-section.ts'
import { downloadAnswer } from '../../src/console/answer.ts'
import type { ArchiveReader, OpenedBackup } from '../../src/console/archive-reader.ts'
import { findTopic, permanentLabel } from '../../src/console/find-topic.ts'
import { type BackupRow, fillRow } from '../../src/console/list-backups.ts'
import { parseTarget } from '../../src/console/page-request.ts'
import { showState } from '../../src/console/pages/backups-page.ts'
import { showGroup } from '../../src/console/pages/groups-page.ts'
import { highlightJson, highlightProto } from '../../src/console/pages/highlight.ts'
import { showRecord } from '../../src/console/pages/record-page.ts'
import { pageOf, showTable, type TableSpec } from '../../src/console/pages/table.ts'
import { compareLines, showDifference } from '../../src/console/pages/text-difference.ts'
import { hexDump, recordLimits, viewBytes, viewPart } from '../../src/console/show-part.ts'
import { KafkaBackupError } from '../../src/errors.ts'
import type { SchemaDecoder } from '../../src/inspect/schema-decoder.ts'
import { topicOf } from '../archive/sample-archive.ts'

function spec(query: string): TableSpec<{ name: string; size: bigint | null }> {
  const rows = [3n, 1n, null, 2n].map((size, at) => ({ name: `row ${at}`, size }))
  return {
    ...{
      name: 't',
      caption: 'Things',
      rows,
      rawPath: '/x',
      query: new URLSearchParams(query),
      empty: 'none',
      pageRows: 3,
    },
    columns: [
      { key: 'name', title: 'Name', order: row => row.name, cell: row => row.name },
      { key: 'size', title: 'Size', isNumber: true, order: row => row.size, cell: row => String(row.size) },
    ],
  }
}

test('tells a damaged backup from one whose key, permission or store is missing', async () => {
  for (const [code, badge] of [
    ['ARCHIVE_DAMAGED', 'bad">damaged<'],
    ['STORAGE_DENIED', 'bad">access denied<'],
    ['STORAGE_UNAVAILABLE', 'bad">unreachable<'],
    ['ENCRYPTION_KEY', 'warn">encrypted, no key<'],
  ] as const) {
    const newest = () => Promise.reject(new KafkaBackupError(code, 'why'))
    const reader = { newest, redact: (text: string) => text } as unknown as ArchiveReader
    const row: BackupRow = { at: 0, location: '/b', backupId: 'orders', state: undefined }
    await fillRow(reader, row, new AbortController().signal)
    assert.match(String(showState(row)), new RegExp(`badge ${badge}.*why`), code)
  }
})

describe('a table', () => {
  const names = (query: string) =>
    pageOf(spec(query))
      .rows.map(({ name }) => name.slice(-1))
      .join('')

  test('is ordered by a column and divided into pages', () => {
    assert.equal(names(''), '012')
    assert.equal(names('t-sort=size'), '213')
    assert.equal(names('t-sort=-size'), '031')
    assert.equal(names('t-sort=size&t-page=2'), '0')
  })

  test('shows a page that exists for any number, and ignores an unknown column', () => {
    for (const page of ['0', '-1', 'x', '1e9', 'NaN', '']) assert.ok(names(`t-page=${page}`).length > 0, page)
    assert.equal(names('t-sort=__proto__'), '012')
  })

  test('keeps the rest of the address in its links', () => {
    const text = String(showTable(spec('generation=3&t-sort=size&t-page=2')))
    assert.match(text, /aria-sort="ascending"/)
    assert.match(text, /href="\/x\?generation=3&amp;t-sort=-size#t"/)
    assert.match(text, /href="\/x\?generation=3&amp;t-sort=size#t" rel="first"/)
  })
})

describe('two texts', () => {
  const marks = (a: string, b: string) =>
    compareLines(a, b)
      .map(({ kind, text }) => `${kind[0]}${text}`)
      .join(' ')

  test('differ in the fewest lines', () => {
    assert.equal(marks('a\nb\nc', 'a\nc\nd'), 'sa rb sc ad')
    assert.equal(marks('a', 'a'), 'sa')
    assert.equal(marks('', 'a'), 'r aa')
  })

  test('of many thousand lines are compared without much memory', () => {
    const [a, b] = ['x', 'y'].map(one => Array.from({ length: 5000 }, (_, at) => `${one}${at}`).join('\n'))
    assert.equal(compareLines(a ?? '', b ?? '').length, 10_000)
  })
})

test('texts of millions of lines are not compared: each line is an element of the page', () => {
  const [few, many] = [5000, 8 << 20].map(count => '\n'.repeat(count))
  for (const [one, other] of [
    [few, many],
    [many, few],
  ])
    assert.match(String(showDifference(one ?? '', other ?? '')), /too many lines/)
  assert.match(String(showDifference(few ?? '', `${few}a`)), /class="added"/)
})

test('the bytes of a record are saved without the batch that they are a part of', () => {
  const batch = Buffer.alloc(1 << 20, 'a')
  const { body } = downloadAnswer('x.key', batch.subarray(10, 100_000))
  assert.ok(Buffer.isBuffer(body) && body.buffer.byteLength < 200_000 && body.equals(batch.subarray(10, 100_000)))
})

describe('colors', () => {
  test('keep the text as it is, also where it is cut or hostile', () => {
    const plain = (text: string) =>
      text
        .replace(/<[^>]+>/g, '')
        .replaceAll('&quot;', '"')
        .replaceAll('&lt;', '<')
        .replaceAll('&gt;', '>')
    for (const text of ['{"a": [1, true, "x\\"y"]}', '{"a": "cut', '"<script>"', '\\"\\"'.repeat(1000), '"\\']) {
      assert.equal(plain(String(highlightJson(text))), text)
    }
    for (const text of [
      'message A { string a = 1; } // end',
      '/* open',
      '"open\nnext',
      '/*'.repeat(20_000),
      '"\\"'.repeat(20_000),
    ]) {
      assert.equal(plain(String(highlightProto(text))), text)
    }
  })
})

describe('texts that are not closed', () => {
  test('are one token, also with an escaped end of a line: trying each of their quotes would take minutes', () => {
    for (const end of ['\n', '\r', '\u2028']) {
      const text = `${'\\"'.repeat(1000)}\\${end}`
      assert.equal(String(highlightJson(text)).match(/hl-string/g)?.length, 1)
      assert.equal(String(highlightProto(text)).match(/hl-string/g)?.length, 1)
    }
  })
})

test('a value whose text would be longer than any string is shown up to its limit', () => {
  let value: unknown = new Array(1_500_000).fill(0)
  for (let depth = 0; depth < 190; depth++) value = [value]
  const schema = { id: 1, subject: 's', version: 1, type: 'JSON' as const }
  const decoder = { decode: () => ({ kind: 'decoded', schema, value }) } as unknown as SchemaDecoder
  const { form, text, isCut } = viewPart(
    { key: null, value: Buffer.from('x'), headers: [] },
    'value',
    decoder,
    recordLimits,
  )
  assert.deepEqual([form, text.length, isCut], ['json', recordLimits.maxChars, true])
})

const manifest = { backup_id: 'b', generation: 1, created_at: '2026-01-01T00:00:00.000Z', topics: [] }
const backup = {
  ...{ place: { at: 0, backupId: 'b' }, newest: 1 },
  manifest: {
    ...manifest,
    consumer_groups: { state: 'taken', groups: 1, positions: 1, taken_at: manifest.created_at },
  },
} as unknown as OpenedBackup
const asked = { query: new URLSearchParams(), rawPath: '/x' }

test('a lag that is not known is not shown as zero', () => {
  const lagOf = (...lags: (bigint | null)[]) => {
    const positions = lags.map((lag, partition) => ({ topic: 't', partition, offset: 5n, lag, metadata: '' }))
    const group = { group: 'g', type: 'classic', state: null, members: null, error: null, positions }
    const page = String(showGroup(backup, group as unknown as StoredGroup, asked))
    return /<dt>Lag<\/dt><dd>(.*?)<\/dd>/.exec(page)?.[1]
  }
  assert.deepEqual(
    [lagOf(2n, 0n), lagOf(null, null), lagOf(3n, null), lagOf()],
    ['2', 'unknown', 'at least 3, 1 partition unknown', '0'],
  )
})

test('a record with more headers than are shown says how many it has, and a time of -1 is none', () => {
  const none = { form: 'null' as const, text: '', isCut: false, size: 0 }
  const view = {
    ...{ partition: 0, offset: 7n, timestamp: -1n, transaction: 'plain' as const, key: none, value: none },
    ...{ headers: [{ name: 'h', value: null }], headerCount: 1500 },
  }
  const found = { label: 't', topic: topicOf('t', []) }
  const page = String(showRecord(backup, { found, view, contexts: [], bytes: { key: null, value: null } }, asked))
  assert.match(page, /the first 1 of 1,500 headers/)
  assert.match(page, /<dt>Time<\/dt><dd>none <small>-1</)
  assert.doesNotMatch(page, /1969/)
})

describe('bytes', () => {
  const limits = { maxChars: 10, isIndented: false }

  test('are text only if all of them are', () => {
    assert.deepEqual(viewBytes(Buffer.from('äöü'), limits), { form: 'text', text: 'äöü', isCut: false, size: 6 })
    assert.deepEqual(viewBytes(Buffer.from('a\0b'), limits), { form: 'binary', text: '610062', isCut: false, size: 3 })
    assert.deepEqual(viewBytes(Buffer.from([0xc3, 0x28]), limits), {
      form: 'binary',
      text: 'c328',
      isCut: false,
      size: 2,
    })
  })

  test('are cut at a character, and say so', () => {
    for (const text of ['a'.repeat(11), '😀'.repeat(6), 'é'.repeat(100)]) {
      const view = viewBytes(Buffer.from(text), limits)
      assert.ok(view.isCut && view.text.length <= 10, text)
      assert.ok(view.text.isWellFormed())
    }
    assert.equal(viewBytes(Buffer.alloc(100, 0xff), limits).text, 'ff'.repeat(5))
  })

  test('are shown as hexdump does', () => {
    assert.equal(hexDump(Buffer.from('a<b')), `00000000  61 3c 62 ${' '.repeat(39)} |a<b|`)
  })
})

test('a target is a path with decoded parts, or nothing', () => {
  assert.deepEqual(parseTarget('/at/0/a%2Fb?x=1')?.path, ['at', '0', 'a/b'])
  assert.deepEqual(parseTarget('/')?.path, [])
  for (const target of ['', 'x', '*', 'http://h/', '/%', '/%00', `/${'a'.repeat(9000)}`])
    assert.equal(parseTarget(target), undefined)
})

test('the permanent name of a topic means the same incarnation after the topic is created again', () => {
  const [old, again] = [topicOf('t', [], { id: 'a'.repeat(32) }), topicOf('t', [], { id: 'b'.repeat(32) })]
  const label = permanentLabel({ topic: old })
  const found = (...topics: (typeof old)[]) => {
    const { topic, label: shown } = findTopic({ manifest: { topics } } as unknown as OpenedBackup, label)
    return [topic.id[0], shown]
  }
  assert.deepEqual(found(old), ['a', 't'])
  const replaced = { ...old, state: 'replaced' as const }
  assert.deepEqual(found(again, replaced), ['a', 't@aaaaaaaa'])
  // The same ID, where the log has lost records.
  assert.deepEqual(found({ ...old, incarnation: 2 }, replaced), ['a', 't@aaaaaaaa.1'])
  assert.throws(() => found(again), { code: 'TOPIC_NOT_FOUND' })
})
