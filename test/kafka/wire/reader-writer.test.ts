import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Reader } from '../../../src/kafka/wire/reader.ts'
import { Writer } from '../../../src/kafka/wire/writer.ts'

test('what was written is read back, field by field', () => {
  const id = '00112233445566778899aabbccddeeff'
  const bytes = new Writer()
    .int8(-128)
    .int16(-32768)
    .int32(-2147483648)
    .int64(-(2n ** 63n))
    .boolean(true)
    .boolean(false)
    .uvarint(300)
    .uuid(id)
    .string('ünï')
    .string('')
    .string(null)
    .noTags()
    .finish()
  const reader = new Reader(bytes)
  assert.deepEqual(
    [reader.int8(), reader.int16(), reader.int32(), reader.int64()],
    [-128, -32768, -2147483648, -(2n ** 63n)],
  )
  assert.deepEqual([reader.boolean(), reader.boolean(), reader.uvarint(), reader.uuid()], [true, false, 300, id])
  assert.deepEqual([reader.string(), reader.string(), reader.nullableString()], ['ünï', '', null])
  reader.tags()
  assert.equal(reader.position, bytes.length)
})

test('unsigned integers take as many groups as they need', () => {
  for (const [value, hex] of [
    [0, '00'],
    [127, '7f'],
    [128, '8001'],
    [16383, 'ff7f'],
    [16384, '808001'],
    [2 ** 31 - 1, 'ffffffff07'],
    [2 ** 32 - 1, 'ffffffff0f'],
  ] as const) {
    assert.equal(new Writer().uvarint(value).finish().toString('hex'), hex)
    assert.equal(new Reader(Buffer.from(hex, 'hex')).uvarint(), value)
  }
})

test('an array is its length and one, then its items; null is 0', () => {
  const writer = new Writer()
  writer
    .array([1, 2], item => writer.int8(item))
    .array([], () => undefined)
    .array(null, () => undefined)
  assert.equal(writer.finish().toString('hex'), '0301020100')
  const reader = new Reader(writer.finish())
  assert.deepEqual(
    [1, 2, 3].map(() => reader.array(() => reader.int8())),
    [[1, 2], [], []],
  )
})

test('the writer grows from field to field and for one large field', () => {
  const large = Buffer.alloc(100_000, 7)
  const writer = new Writer()
  for (let i = 0; i < 1000; i++) writer.int32(i)
  const bytes = writer.raw(large).int32(5).finish()
  assert.equal(bytes.length, 4000 + 100_000 + 4)
  assert.deepEqual([bytes.readInt32BE(3996), bytes[4000], bytes[103_999], bytes.readInt32BE(104_000)], [999, 7, 7, 5])
})

test('known tags are handed over and all are passed over exactly', () => {
  const bytes = Buffer.from('0300024142' + '050100' + '0703010203' + '2a', 'hex')
  const reader = new Reader(bytes)
  const seen: string[] = []
  reader.tags(tag => {
    seen.push(tag === 0 ? `0: ${reader.int8()}` : String(tag))
  })
  assert.deepEqual(seen, ['0: 65', '5', '7'])
  assert.equal(reader.int8(), 42)
})

test('a run of bytes is told by its place; an absent one is empty', () => {
  const reader = new Reader(Buffer.from('0401020300', 'hex'))
  assert.deepEqual(
    [reader.bytesRange(), reader.bytesRange()],
    [
      { start: 1, end: 4 },
      { start: 5, end: 5 },
    ],
  )
})

describe('an answer that cannot be read is KAFKA_PROTOCOL', () => {
  const reads: [name: string, hex: string, read: (reader: Reader) => unknown][] = [
    ['a number behind the end', '00', reader => reader.int64()],
    ['an id behind the end', '00', reader => reader.uuid()],
    ['a string behind the end', '05616263', reader => reader.string()],
    ['a string that must not be null', '00', reader => reader.string()],
    ['bytes behind the end', '05616263', reader => reader.bytesRange()],
    ['an integer without an end', 'ffffffffffffff', reader => reader.uvarint()],
    ['an integer that is cut off', 'ff', reader => reader.uvarint()],
    ['an array of more items than bytes', 'ffffffff0f', reader => reader.array(() => reader.int8())],
    ['an array that is cut off', '0301', reader => reader.array(() => reader.int8())],
    ['tags behind the end', '010005', reader => reader.tags()],
    ['tags without number', 'ffffffff0f', reader => reader.tags()],
  ]
  for (const [name, hex, read] of reads) {
    test(name, () => assert.throws(() => read(new Reader(Buffer.from(hex, 'hex'))), { code: 'KAFKA_PROTOCOL' }))
  }
})

test('a string longer than Kafka writes is refused, however the length is encoded', () => {
  const longest = new Writer().string('x'.repeat(32_767)).finish()
  assert.equal(new Reader(longest).string().length, 32_767)
  const longer = new Writer().string('x'.repeat(32_768)).finish()
  assert.throws(() => new Reader(longer).string(), { code: 'KAFKA_PROTOCOL', message: /32768 bytes, more than Kafka/ })
})
