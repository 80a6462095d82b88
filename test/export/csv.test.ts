import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { csvEncoder } from '../../src/export/csv.ts'
import { framed, type SampleRecord, type SampleSchema, showAll } from './shown-records.ts'

/** An independent reader of RFC 4180. */
function parseCsv(text: string): string[][] {
  const rows: string[][] = [[]]
  const field = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n|$)/y
  while (field.lastIndex < text.length) {
    const [, quoted, plain = '', end] = field.exec(text) ?? assert.fail('not CSV')
    rows.at(-1)?.push(quoted?.replaceAll('""', '"') ?? plain)
    if (end === '\r\n') rows.push([])
  }
  return rows.slice(0, -1)
}

async function rowsOf(samples: SampleRecord[], schemas: SampleSchema[] = [], keepsFormulas = false) {
  const encoder = csvEncoder({ keepsFormulas })
  const shown = await showAll(samples, schemas)
  const bytes = [encoder.start(), ...shown.map(one => encoder.add(one)), encoder.end()]
  const [head = [], ...rows] = parseCsv(Buffer.concat(bytes).toString('utf8'))
  return rows.map(row => Object.fromEntries(row.map((cell, at) => [head[at] ?? '?', cell])))
}

describe('a CSV file', () => {
  test('keeps commas, quotes and line breaks of values', async () => {
    for (const value of ['a,b', 'say "hi"', 'one\ntwo\r\nthree', ' spaces ', '€ – 漢']) {
      const [row] = await rowsOf([{ value }])
      assert.equal(row?.value, value)
    }
  })

  test('tells null from an empty text, and both from bytes that are no text', async () => {
    const rows = await rowsOf([{ key: null, value: '' }, { value: null }, { value: Buffer.from([0xff, 0x00]) }])
    assert.deepEqual(
      rows.map(row => [row.key_encoding, row.value, row.value_encoding]),
      [
        ['null', '', 'text'],
        ['null', '', 'null'],
        ['null', 'ff00', 'hex'],
      ],
    )
  })

  test('keeps every digit of a decoded number', async () => {
    const json = '{"a":9223372036854775807,"b":0.1234567890123456789012,"c":1e400,"d":-0.5}'
    const [row] = await rowsOf([{ value: framed(7, json) }], [{ id: 7, subject: 's', type: 'JSON', schema: '{}' }])
    assert.deepEqual([row?.value, row?.value_encoding, row?.value_schema_id], [json, 'json', '7'])
  })

  test('gives the reason where a value is not decoded', async () => {
    const [row] = await rowsOf([{ value: framed(9, 'x') }])
    assert.deepEqual([row?.value, row?.value_encoding], ['000000000978', 'hex'])
    assert.match(row?.value_not_decoded ?? '', /the backup has no schema ID 9/)
  })

  test('keeps headers in order, repeated ones, and null ones', async () => {
    const headers: [string, Buffer | null][] = [
      ['a', Buffer.from('1')],
      ['a', null],
      ['b', Buffer.from([0])],
    ]
    const [row] = await rowsOf([{ headers }])
    assert.deepEqual(JSON.parse(row?.headers ?? ''), [
      { name: 'a', value: '1' },
      { name: 'a', value: null },
      { name: 'b', value: '00', value_encoding: 'hex' },
    ])
  })

  test('puts an apostrophe before what a spreadsheet would run, and says so', async () => {
    const dangers = ['=1+1', '+A1', '-A1', '@SUM(A1)', '\t=1', '\r=1', '＝1']
    for (const value of dangers) {
      const [row] = await rowsOf([{ key: value, value }])
      assert.deepEqual([row?.value, row?.value_encoding], [`'${value}`, 'escaped-text'])
      assert.deepEqual([row?.key, row?.key_encoding], [`'${value}`, 'escaped-text'])
      const [kept] = await rowsOf([{ value }], [], true)
      assert.deepEqual([kept?.value, kept?.value_encoding], [value, 'text'])
    }
    const [number] = await rowsOf([{ value: '-12.5e3' }])
    assert.deepEqual([number?.value, number?.value_encoding], ['-12.5e3', 'text'])
  })
})
