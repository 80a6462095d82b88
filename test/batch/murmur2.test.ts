import assert from 'node:assert/strict'
import { test } from 'node:test'
import { murmur2, partitionForKey } from '../../src/batch/key-placer.ts'

const texts: [key: string, hash: number][] = [
  ['', 275646681],
  ['a', -1563381124],
  ['ab', 316155434],
  ['abc', 479470107],
  ['abcd', -1323649548],
  ['21', -973932308],
  ['foobar', -790332482],
  ['a-little-bit-long-string', -985981536],
  ['a-little-bit-longer-string', -1486304829],
  ['lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8', -58897971],
]

/** Keys whose byte i is i * 131 + 255, so that most bytes are negative to Java. */
const patterns: [length: number, hash: number, partitionOf12: number][] = [
  [1, -311467685, 3],
  [2, -32049041, 3],
  [3, -542397839, 9],
  [5, -2067796652, 0],
  [7, 1286765027, 11],
  [64, 1422354192, 0],
  [255, 1345147532, 8],
  [1000, -1825505530, 10],
  [65537, 929828601, 9],
]

test('keys hash as in the Java client', () => {
  for (const [key, hash] of texts) assert.equal(murmur2(Buffer.from(key)), hash, key)
  for (const [length, hash] of patterns) assert.equal(murmur2(pattern(length)), hash, `${length} bytes`)
  assert.equal(murmur2(Buffer.alloc(7, 0xff)), -71293549)
})

test('keys go to the partition that the Java client chooses', () => {
  for (const [length, , partition] of patterns) assert.equal(partitionForKey(pattern(length), 12), partition)
  assert.equal(partitionForKey(Buffer.from('foobar'), 1), 0)
})

test('where the key lies in memory does not matter', () => {
  const around = Buffer.from('xxxfoobarxxx')
  assert.equal(murmur2(around.subarray(3, 9)), -790332482)
  assert.equal(murmur2(around, 3, 9), -790332482)
  for (const [length, hash, partition] of patterns) {
    const inside = Buffer.concat([Buffer.alloc(5, 1), pattern(length), Buffer.alloc(3, 2)])
    assert.equal(murmur2(inside, 5, 5 + length), hash)
    assert.equal(partitionForKey(inside, 12, 5, 5 + length), partition)
  }
})

function pattern(length: number): Buffer {
  return Buffer.from(Array.from({ length }, (_, i) => (i * 131 + 255) & 0xff))
}
