import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readInt64 } from '../../src/lib/int64.ts'

test('reads what was written, at every power of two and next to it', () => {
  const bytes = Buffer.alloc(11)
  for (let power = 0n; power < 64n; power++) {
    for (const near of [-1n, 0n, 1n]) {
      for (const sign of [-1n, 1n]) {
        const value = BigInt.asIntN(64, sign * (1n << power) + near)
        bytes.writeBigInt64BE(value, 3)
        assert.equal(readInt64(bytes, 3), value)
      }
    }
  }
})

test('refuses to read past the end of the bytes', () => {
  assert.throws(() => readInt64(Buffer.alloc(11), 4), RangeError)
})
