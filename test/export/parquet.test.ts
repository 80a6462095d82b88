import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { tableFromIPC } from 'apache-arrow'
import { readParquet } from 'parquet-wasm/node'
import { parquetEncoder } from '../../src/export/parquet.ts'
import { framed, type SampleRecord, type SampleSchema, showAll } from './shown-records.ts'

/** The rows, read by the Parquet implementation of Apache Arrow. */
async function rowsOf(samples: SampleRecord[], schemas: SampleSchema[] = []) {
  const encoder = parquetEncoder()
  const shown = await showAll(samples, schemas)
  const chunks = [encoder.start(), ...shown.map(one => encoder.add(one)), encoder.end()]
  const table = tableFromIPC(readParquet(Buffer.concat(chunks)).intoIPCStream())
  return { rows: table.toArray().map(row => row.toJSON()), pieces: chunks.filter(({ length }) => length > 0).length }
}

const wide = 9_223_372_036_854_775_807n
const list = (values: Iterable<unknown> | null) => values && [...values]

describe('a Parquet file', () => {
  test('has every record with its key, value, headers and timestamp', async () => {
    const headers: [string, Buffer | null][] = [
      ['h', null],
      ['h', Buffer.from([0xff])],
    ]
    const samples: SampleRecord[] = [
      { key: 'k', value: 'text €', headers, offset: wide, partition: 3, timestamp: -1n },
      { key: null, value: null, transaction: 'committed' },
      { key: '', value: Buffer.from([0, 0xff]) },
    ]
    const { rows } = await rowsOf(samples)
    assert.deepEqual(
      rows.map(row => [row.topic, row.partition, row.offset, row.timestamp, row.transaction]),
      [
        ['orders', 3, wide, -1n, 'plain'],
        ['orders', 0, 1n, 1_700_000_000_000n, 'committed'],
        ['orders', 0, 2n, 1_700_000_000_000n, 'plain'],
      ],
    )
    assert.deepEqual(
      rows.map(row => [list(row.key), row.key_text, list(row.value), row.value_text]),
      [
        [[...Buffer.from('k')], 'k', [...Buffer.from('text €')], 'text €'],
        [null, null, null, null],
        [[], '', [0, 0xff], null],
      ],
    )
    const found = [...rows[0].headers].map(one => [one.name, list(one.value)])
    assert.deepEqual(found, [
      ['h', null],
      ['h', [0xff]],
    ])
    assert.deepEqual([...rows[1].headers], [])
  })

  test('has decoded values as JSON with every digit, and the reason where one is not decoded', async () => {
    const json = '{"a":9223372036854775807,"b":0.12345678901234567890123}'
    const schema: SampleSchema = { id: 7, subject: 's', type: 'JSON', schema: '{}' }
    const { rows } = await rowsOf([{ value: framed(7, json) }, { value: framed(9, 'x') }], [schema])
    assert.deepEqual([rows[0].value_text, rows[0].value_schema_id, rows[0].value_not_decoded], [json, 7, null])
    assert.match(rows[1].value_not_decoded, /the backup has no schema ID 9/)
    assert.deepEqual(list(rows[1].value), [...framed(9, 'x')])
  })

  test('is written in groups of rows, so memory stays bounded', async () => {
    const samples = Array.from({ length: 3000 }, (_, at) => ({ key: `${at % 7}`, value: `${at} ${'x'.repeat(8000)}` }))
    const { rows, pieces } = await rowsOf(samples)
    assert.ok(pieces > 3)
    assert.deepEqual(
      rows.map(({ offset, key_text, value_text }) => [offset, key_text, value_text]),
      samples.map(({ key, value }, at) => [BigInt(at), key, value]),
    )
  })

  test('takes values of many megabytes', async () => {
    const large = Buffer.alloc(20 << 20, 'ab')
    const { rows } = await rowsOf([{ value: large }, { value: 'small' }])
    assert.ok(Buffer.from(rows[0].value).equals(large))
    assert.equal(rows[1].value_text, 'small')
  })
})
