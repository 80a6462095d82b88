import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { hasSchemaGuid, isPlausiblePayload, readSchemaId, writeSchemaId } from '../../../src/registry/ids/schema-id.ts'

const idOf = (...bytes: number[]) => readSchemaId(Buffer.from(bytes), 0, bytes.length)
const framed = (payload: number[] | string) =>
  Buffer.concat([
    Buffer.from([0, 0, 0, 0, 5]),
    typeof payload === 'string' ? Buffer.from(payload) : Buffer.from(payload),
  ])

describe('the id in front of a payload', () => {
  test('is read from five bytes on, big-endian', () => {
    assert.equal(idOf(0, 0, 0, 0, 5), 5)
    assert.equal(idOf(0, 0x7f, 0xff, 0xff, 0xff, 1, 2), 2 ** 31 - 1)
  })

  test('is none in what is shorter, empty or begins with another byte', () => {
    for (const bytes of [[], [0], [0, 0, 0, 5], [1, 0, 0, 0, 5], [3, 0, 0, 0, 5], [0x7b, 0x7d, 0, 0, 0]]) {
      assert.equal(idOf(...bytes), 0, `${bytes}`)
    }
  })

  test('is none where it would be 0 or less: small numbers, and global ids of Apicurio, of eight bytes', () => {
    const long = Buffer.alloc(8)
    for (const value of [0n, 1n, 2n ** 24n - 1n]) {
      long.writeBigInt64BE(value)
      assert.equal(readSchemaId(long, 0, 8), 0, `${value}`)
    }
    assert.equal(idOf(0, 0xff, 0xff, 0xff, 0xff), 0)
  })

  test('is read, as it must be, from a time in milliseconds, which only the subjects can tell from one', () => {
    const time = Buffer.alloc(8)
    time.writeBigInt64BE(1_700_000_000_000n)
    assert.equal(readSchemaId(time, 0, 8), 101_327)
  })

  test('ends where the part ends, whatever follows in the buffer', () => {
    const bytes = Buffer.from([9, 0, 0, 0, 0, 5])
    assert.equal(readSchemaId(bytes, 1, 5), 0)
    assert.equal(readSchemaId(bytes, 1, 6), 5)
  })

  test('is written over four bytes and no other', () => {
    const bytes = Buffer.from([9, 0, 0, 0, 0, 5, 7])
    writeSchemaId(bytes, 1, 0x01020304)
    assert.deepEqual([...bytes], [9, 0, 1, 2, 3, 4, 7])
  })
})

test('a GUID takes 17 bytes with its magic', () => {
  const guid = Buffer.alloc(17, 1)
  assert.equal(hasSchemaGuid(guid, 0, 17), true)
  assert.equal(hasSchemaGuid(guid, 0, 16), false)
  assert.equal(hasSchemaGuid(Buffer.alloc(17), 0, 17), false)
})

describe('a payload', () => {
  test('of JSON Schema begins like JSON', () => {
    for (const text of ['{}', ' \n[1]', '"a"', '-1', '0', 'true', 'null']) {
      assert.equal(isPlausiblePayload(framed(text), 'JSON'), true, text)
    }
    for (const payload of ['', 'abc', [0xfe, 0x01]]) assert.equal(isPlausiblePayload(framed(payload), 'JSON'), false)
  })

  test('of Protobuf begins with message indexes', () => {
    const indexes = [[0], [0, 10, 3], [2, 2, 8], [4, 0, 2, 8], [1, 1, 8]]
    for (const payload of indexes) assert.equal(isPlausiblePayload(framed(payload), 'PROTOBUF'), true, `${payload}`)
  })

  test('of Protobuf is none without all of them', () => {
    const broken = [[], [4, 0], [0x80], [0xff, 0xff, 0xff, 0xff, 0x0f], [200, 1, 0, 0]]
    for (const payload of broken) assert.equal(isPlausiblePayload(framed(payload), 'PROTOBUF'), false, `${payload}`)
  })

  test('of Avro may be anything, also nothing', () => {
    for (const payload of [[], [0xff]]) assert.equal(isPlausiblePayload(framed(payload), 'AVRO'), true)
  })
})
