import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hasValidCrc } from '../../src/batch/crc.ts'
import { codecOf, HEADER_BYTES, isControl, isLogAppendTime, isTransactional } from '../../src/batch/header.ts'
import { walkBatches } from '../../src/batch/walk.ts'
import { encodeBatch, encodeRun } from '../fakes/batches.ts'

const first = encodeRun(5n, 3)
const second = encodeRun(8n, 1)
const both = Buffer.concat([first, second])

test('a header says all that the batch says of itself', () => {
  const batch = encodeBatch({
    baseOffset: 2n ** 40n,
    leaderEpoch: 7,
    baseTimestamp: -5n,
    maxTimestamp: 2n ** 62n,
    producerId: 2n ** 50n,
    codec: 'zstd',
    logAppendTime: true,
    transactional: true,
    records: [{}, { offsetDelta: 9 }],
  })
  const [header] = walkBatches(Buffer.concat([Buffer.from('before'), batch]), 6, 6 + batch.length)
  assert.ok(header)
  const { attributes, ...rest } = header
  assert.deepEqual(rest, {
    position: 6,
    sizeBytes: batch.length,
    baseOffset: 2n ** 40n,
    lastOffset: 2n ** 40n + 9n,
    leaderEpoch: 7,
    baseTimestamp: -5n,
    maxTimestamp: 2n ** 62n,
    producerId: 2n ** 50n,
    recordCount: 2,
  })
  assert.deepEqual(
    [codecOf(attributes), isLogAppendTime(attributes), isTransactional(attributes), isControl(attributes)],
    ['zstd', true, true, false],
  )
})

test('of a tail that is cut anywhere only the whole batches are seen', () => {
  for (let end = 0; end <= both.length; end++) {
    const expected = end === both.length ? [5n, 8n] : end >= first.length ? [5n] : []
    const found = walkBatches(both.subarray(0, end), 0, end).map(header => header.baseOffset)
    assert.deepEqual(found, expected, `cut at ${end}`)
  }
})

test('the end given counts, not the end of the memory', () => {
  assert.deepEqual(walkBatches(both, 0, both.length - 1).length, 1)
  assert.deepEqual(walkBatches(both, first.length, both.length)[0]?.position, first.length)
  assert.deepEqual(walkBatches(both, 3, 3), [])
})

const badLengths = [0, -1, -12, -2147483648, HEADER_BYTES - 13]
for (const length of badLengths) {
  test(`a batch that claims a length of ${length} is refused`, () => {
    const bytes = Buffer.concat([first, second])
    bytes.writeInt32BE(length, first.length + 8)
    assert.throws(() => walkBatches(bytes, 0, bytes.length), { code: 'BATCH_INVALID' })
  })
}

test('a batch that claims to be larger than anything is a tail', () => {
  const bytes = Buffer.from(both)
  bytes.writeInt32BE(2147483647, first.length + 8)
  assert.equal(walkBatches(bytes, 0, bytes.length).length, 1)
})

test('the old formats are refused by name with their offset, unknown ones as such', () => {
  for (const [magic, code, message] of [
    [0, 'BATCH_OLD_FORMAT', /offset 77 .*v0/],
    [1, 'BATCH_OLD_FORMAT', /offset 77 .*v1/],
    [3, 'BATCH_INVALID', /unknown format 3/],
    [-1, 'BATCH_INVALID', /unknown format -1/],
  ] as const) {
    const bytes = encodeBatch({ baseOffset: 77n, magic })
    assert.throws(() => walkBatches(bytes, 0, bytes.length), { code, message })
    // Also where only the beginning has arrived: an old message may be shorter than a header of today.
    assert.throws(() => walkBatches(bytes.subarray(0, 20), 0, 20), { code })
  }
})

test('the checksum covers everything from the attributes on, and itself', () => {
  for (let at = 0; at < first.length; at++) {
    const bytes = Buffer.from(both)
    bytes[at] = (bytes[at] ?? 0) ^ 0x10
    const isCovered = at >= 17
    assert.equal(hasValidCrc(bytes, 0, first.length), !isCovered, `byte ${at}`)
    assert.equal(hasValidCrc(bytes, first.length, second.length), true)
  }
})
