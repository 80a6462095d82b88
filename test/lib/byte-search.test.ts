import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { describe, test } from 'node:test'
import { ByteSearch, FIND_BYTES } from '../../src/lib/byte-search.ts'
import { assembleWat } from './assemble-wat.ts'

/** Few different bytes, so that most places agree in the first and the last byte. */
function bytesOf(length: number): Buffer {
  return Buffer.from(Array.from({ length }, () => randomInt(3)))
}

describe('a search for bytes', () => {
  test('is assembled from its text', async () => {
    const text = await readFile(new URL('../../src/lib/find-bytes.wat', import.meta.url), 'utf8')
    assert.equal(FIND_BYTES, assembleWat(text).toString('base64'))
    assert.notEqual(FIND_BYTES, assembleWat(text.replace('i32.const 48', 'i32.const 32')).toString('base64'))
    assert.throws(() => assembleWat(text.replaceAll('i32.ctz', 'i32.clz')), /instruction i32\.clz/)
    assert.throws(() => assembleWat(text.replace('(br $quick)', '(br $nowhere)')), /unknown name \$nowhere/)
  })

  test('finds what Buffer.indexOf finds, at every length and place', () => {
    for (let length = 1; length <= 40; length++) {
      const needle = bytesOf(length)
      const search = new ByteSearch([Buffer.from('other'), needle])
      const room = search.allocate(200)
      for (let round = 0; round < 60; round++) {
        const size = randomInt(200)
        // What is behind the end must not count.
        room.fill(needle)
        bytesOf(size).copy(room)
        const at = randomInt(200)
        if (round % 2 === 0 && at + length <= size) needle.copy(room, at)
        const bytes = room.subarray(0, size)
        assert.equal(
          search.has(bytes, 1),
          bytes.includes(needle),
          `${needle.toString('hex')} in ${bytes.toString('hex')}`,
        )
        assert.equal(search.has(bytes, 0), false)
        const part = room.subarray(Math.min(size, 7), size)
        assert.equal(search.has(part, 1), part.includes(needle))
      }
    }
  })

  test('finds a needle that ends with the last byte, and none that is cut off there', () => {
    const needle = Buffer.from('needle')
    const search = new ByteSearch([needle])
    for (let size = needle.length; size < 80; size++) {
      const room = search.allocate(100)
      room.fill('x')
      needle.copy(room, size - needle.length)
      assert.equal(search.has(room.subarray(0, size), 0), true)
      assert.equal(search.has(room.subarray(0, size - 1), 0), false)
      assert.equal(search.has(room.subarray(0, 0), 0), false)
    }
  })

  test('keeps its needles when it allocates more memory', () => {
    const search = new ByteSearch([Buffer.from('one'), Buffer.from('two')])
    for (const size of [10, (64 << 10) - 32, 1 << 20, 5 << 20]) {
      const room = search.allocate(size)
      assert.equal(room.length, size)
      // Behind the needles, in the memory of the assembled search.
      assert.equal(room.byteOffset, 64 << 10)
      room.fill(0)
      room.write('two', size - 3)
      assert.deepEqual([search.has(room, 0), search.has(room, 1)], [false, true])
    }
  })

  test('works with any memory, and with needles of any size', () => {
    const large = Buffer.alloc(1 << 20, 'a')
    const search = new ByteSearch([large, Buffer.alloc(0)])
    const room = search.allocate(2 << 20)
    room.fill('a')
    assert.equal(search.has(room, 0), true)
    assert.equal(search.has(room.subarray(0, 100), 0), false)
    assert.equal(search.has(room, 1), true)
    assert.equal(new ByteSearch([Buffer.from('b')]).has(Buffer.from('abc'), 0), true)
  })
})
