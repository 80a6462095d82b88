import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  readNumber,
  readVarint,
  readVarlong,
  varintBytes,
  varlongBytes,
  writeVarint,
  writeVarlong,
} from '../../src/batch/varint.ts'
import { encodeVarint } from '../fakes/batches.ts'

const known: [hex: string, value: bigint][] = [
  ['00', 0n],
  ['01', -1n],
  ['02', 1n],
  ['7e', 63n],
  ['7f', -64n],
  ['8001', 64n],
  ['ac02', 150n],
  ['feffffff0f', 2n ** 31n - 1n],
  ['ffffffff0f', -(2n ** 31n)],
  ['feffffffffffffffff01', 2n ** 63n - 1n],
  ['ffffffffffffffffff01', -(2n ** 63n)],
]

test('known encodings have their known values', () => {
  for (const [hex, value] of known) {
    const cursor = { buffer: Buffer.from(hex, 'hex'), position: 0 }
    assert.equal(readVarlong(cursor), value, hex)
    assert.equal(cursor.position, hex.length / 2, hex)
  }
})

test('every power of two, its neighbours and their negatives come back', () => {
  for (let bits = 0n; bits <= 63n; bits++) {
    for (const near of [-1n, 0n, 1n]) {
      for (const value of [2n ** bits + near, -(2n ** bits) + near]) {
        if (value !== BigInt.asIntN(64, value)) continue
        const cursor = { buffer: encodeVarint(value), position: 0 }
        assert.equal(readVarlong(cursor), value)
        assert.equal(cursor.position, cursor.buffer.length)
      }
    }
  }
})

test('the cursor stands behind what was read, wherever it began', () => {
  const cursor = { buffer: Buffer.concat([Buffer.from([9]), encodeVarint(300), encodeVarint(-5)]), position: 1 }
  assert.deepEqual([readVarint(cursor), readVarint(cursor), cursor.position], [300, -5, cursor.buffer.length])
})

test('a value padded with empty groups is read, one of more than ten bytes is refused', () => {
  assert.equal(readVarlong({ buffer: Buffer.from('8280808000', 'hex'), position: 0 }), 1n)
  assert.equal(readVarlong({ buffer: Buffer.from('82808080808080808000', 'hex'), position: 0 }), 1n)
  assert.throws(() => readVarlong({ buffer: Buffer.alloc(20, 0x80), position: 0 }), /longer than ten bytes/)
})

test('a value that is cut off is refused at every place', () => {
  const whole = encodeVarint(-(2n ** 63n))
  for (let length = 0; length < whole.length; length++) {
    assert.throws(() => readVarlong({ buffer: whole.subarray(0, length), position: 0 }), RangeError)
  }
})

test('what is written is what Kafka would write, and as long as was said', () => {
  const buffer = Buffer.alloc(12)
  for (let bits = 0n; bits <= 63n; bits++) {
    for (const near of [-1n, 0n, 1n]) {
      for (const value of [2n ** bits + near, -(2n ** bits) + near]) {
        if (value !== BigInt.asIntN(64, value)) continue
        const expected = encodeVarint(value)
        assert.deepEqual(buffer.subarray(1, writeVarlong(buffer, 1, value)), expected, `${value}`)
        assert.equal(varlongBytes(value), expected.length)
        if (bits >= 52n) continue
        assert.deepEqual(buffer.subarray(1, writeVarint(buffer, 1, Number(value))), expected, `${value}`)
        assert.equal(varintBytes(Number(value)), expected.length)
      }
    }
  }
})

test('a plain number is read from up to seven groups; beyond, the cursor stays where it was', () => {
  for (const value of [2n ** 48n - 1n, -(2n ** 48n)]) {
    const cursor = { buffer: encodeVarint(value), position: 0 }
    assert.equal(readNumber(cursor), Number(value))
    assert.equal(cursor.position, 7)
  }
  for (const value of [2n ** 48n, -(2n ** 48n) - 1n, 2n ** 63n - 1n]) {
    const cursor = { buffer: encodeVarint(value), position: 0 }
    assert.ok(Number.isNaN(readNumber(cursor)))
    assert.equal(cursor.position, 0)
    assert.equal(readVarlong(cursor), value)
  }
})
