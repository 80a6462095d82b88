import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { judgeTail, markOf, walkAnswer } from '../../src/backup/chunk.ts'
import { encodeRun } from '../fakes/batches.ts'

const stored = encodeRun(10n, 10)
const tail = markOf(stored, walk(stored)[0]) ?? assert.fail()

function walk(bytes: Buffer) {
  return walkAnswer(bytes, { start: 0, end: bytes.length }, 'orders/0')
}

const judge = (batches: Buffer[], mayBeCompacted?: boolean) =>
  judgeTail(Buffer.concat(batches), walk(Buffer.concat(batches)), tail, 20n, mayBeCompacted)
const isOther = (...batches: Buffer[]) => judge(batches) === 'other'

describe('the batch that was stored last', () => {
  test('is the same with the same bytes, whatever follows it', () => {
    assert.equal(isOther(stored), false)
    assert.equal(isOther(stored, encodeRun(20n, 10)), false)
  })

  test('is another with other bytes or other bounds', () => {
    assert.equal(isOther(encodeRun(10n, 10, { valueBytes: 99 })), true)
    assert.equal(isOther(encodeRun(12n, 8)), true)
    assert.equal(isOther(encodeRun(10n, 15)), true)
    assert.equal(isOther(encodeRun(5n, 15)), true)
  })

  test('may have been removed, thinned out or marked by compaction', () => {
    assert.equal(isOther(encodeRun(20n, 10)), false)
    const thinned = Buffer.from(stored)
    thinned.writeInt32BE(7, 57)
    thinned.writeUInt32BE(1, 17)
    assert.equal(isOther(thinned), false)
    const marked = Buffer.from(stored)
    marked.writeInt16BE(marked.readInt16BE(21) | 0x40, 21)
    marked.writeUInt32BE(1, 17)
    assert.equal(isOther(marked), false)
    for (const changed of [encodeRun(20n, 10), thinned, marked]) {
      assert.equal(judge([changed]), 'gone', 'which proves nothing')
      assert.equal(judge([changed], false), 'other', 'where nothing is compacted')
    }
  })
})
