import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { assertSameRecords, decodeRecord, encodeRecord, hashChain, type OracleRecord } from './records.ts'

const plain: OracleRecord = { key: Buffer.from('k'), value: Buffer.from('v'), headers: [], timestamp: 1n }

test('the canonical bytes are the timestamp, then length and bytes of each field', () => {
  const record: OracleRecord = { ...plain, value: null, headers: [['h', Buffer.alloc(0)]], timestamp: -2n }
  const hex = 'fffffffffffffffe' + '000000016b' + 'ffffffff' + '00000001' + '0000000168' + '00000000'
  assert.equal(encodeRecord(record).toString('hex'), hex)
})

test('a record survives encoding and decoding', () => {
  const record: OracleRecord = {
    key: null,
    value: Buffer.alloc(0),
    headers: [
      ['ä', null],
      ['ä', Buffer.from([0, 255])],
      ['', Buffer.alloc(0)],
    ],
    timestamp: 1700000000000n,
  }
  const bytes = Buffer.concat([Buffer.from('junk'), encodeRecord(record), Buffer.from('junk')])
  assert.deepEqual(decodeRecord(bytes, 4), { record, end: bytes.length - 4 })
})

test('the hash covers all records in order', () => {
  const other = { ...plain, key: null }
  const bytes = Buffer.concat([encodeRecord(plain), encodeRecord(other)])
  assert.equal(hashChain([plain, other]), createHash('sha256').update(bytes).digest('hex'))
  assert.notEqual(hashChain([plain, other]), hashChain([other, plain]))
})

test('equal records pass, whatever their offsets', () => {
  assertSameRecords([[{ ...plain, offset: 5n }], []], [[{ ...plain, offset: 7n }], []])
})

const differences: [name: string, actual: OracleRecord[][], message: RegExp][] = [
  ['a key', [[{ ...plain, key: null }]], /partition 0, index 0: key expected 'k', found null/],
  ['an empty value for a null one', [[{ ...plain, value: Buffer.alloc(0) }]], /value expected 'v'.*, found ''/],
  ['a timestamp', [[{ ...plain, timestamp: 2n, offset: 9n }]], /index 0 \(offset 9\): timestamp expected 1, found 2/],
  ['a header', [[{ ...plain, headers: [['a', null]] }]], /headers expected \[\], found \[a=null\]/],
  ['a missing record', [[]], /1 records expected, 0 found\n.*missing from index 0: key 'k', value 'v', timestamp 1/],
  ['a surplus record', [[plain, plain]], /1 records expected, 2 found\n.*surplus from index 1/],
  ['a surplus partition', [[plain], []], /1 partitions expected, 2 found/],
]
for (const [name, actual, message] of differences) {
  test(`a difference names ${name}`, () => assert.throws(() => assertSameRecords([[plain]], actual), { message }))
}

test('headers differ when their order does', () => {
  const one: OracleRecord['headers'][number] = ['a', Buffer.from('1')]
  const two: OracleRecord['headers'][number] = ['a', Buffer.from('2')]
  const expected = { ...plain, headers: [one, two] }
  assert.throws(() => assertSameRecords([[expected]], [[{ ...plain, headers: [two, one] }]]), /headers expected/)
})

test('long values are shown around their first different byte', () => {
  const value = Buffer.alloc(1000, 'a')
  const changed = Buffer.from(value).fill('b', 500, 501)
  const compare = () => assertSameRecords([[{ ...plain, value }]], [[{ ...plain, value: changed }]])
  assert.throws(compare, /found 'aaaaaaaab.*' at byte 492 of 1000/)
})
