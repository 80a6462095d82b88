import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hasValidCrc } from '../../src/batch/crc.ts'
import { codecNames, hasDeleteHorizon, isTransactional } from '../../src/batch/header.ts'
import { decodeRecords } from '../../src/batch/records.ts'
import { stampBatch } from '../../src/batch/stamp.ts'
import { walkBatches } from '../../src/batch/walk.ts'
import { encodeBatch, withCrc } from '../fakes/batches.ts'

const stamp = { producerId: 2n ** 40n + 7n, producerEpoch: 3, baseSequence: 2_147_483_640 }
const times = [-9n, 0n, 5n, 2n ** 40n]

test('a stamped batch is one of this producer, and of no transaction, offset or leader', () => {
  for (const codec of codecNames) {
    const batch = encodeBatch({ codec, baseOffset: 2n ** 50n, leaderEpoch: 7, producerId: 5n, transactional: true })
    const before = decodeRecords(batch, headerOf(batch))
    stampBatch(batch, 0, batch.length, stamp)
    const header = headerOf(batch)
    assert.deepEqual(
      [header.baseOffset, header.leaderEpoch, header.producerId, isTransactional(header.attributes)],
      [0n, -1, stamp.producerId, false],
    )
    assert.deepEqual([batch.readInt16BE(51), batch.readInt32BE(53)], [stamp.producerEpoch, stamp.baseSequence])
    assert.ok(hasValidCrc(batch, 0, batch.length))
    const after = decodeRecords(batch, header)
    assert.deepEqual(
      after,
      before.map((record, i) => ({ ...record, offset: BigInt(i) })),
    )
  }
})

test('everything but the fields that a producer owns stays as it is', () => {
  const batch = encodeBatch({ codec: 'zstd', baseOffset: 9n, transactional: true, producerId: 5n })
  const stamped = Buffer.from(batch)
  stampBatch(stamped, 0, stamped.length, stamp)
  const owned = (at: number) => at < 8 || (at >= 12 && at < 16) || (at >= 17 && at < 23) || (at >= 43 && at < 57)
  for (let at = 0; at < batch.length; at++) if (!owned(at)) assert.equal(stamped[at], batch[at], `byte ${at}`)
  assert.equal(stamped.readInt16BE(21), 4, 'only the codec is left of the attributes')
})

test('records have the same times without the delete horizon, since they are told relative to it', () => {
  const records = times.map(timestampDelta => ({ timestampDelta }))
  const batch = encodeBatch({ baseTimestamp: 1_800_000_000_000n, records })
  batch.writeInt16BE(batch.readInt16BE(21) | 0x40, 21)
  withCrc(batch)
  const before = decodeRecords(batch, headerOf(batch)).map(record => record.timestamp)
  stampBatch(batch, 0, batch.length, stamp)
  assert.equal(hasDeleteHorizon(headerOf(batch).attributes), false)
  assert.deepEqual(
    decodeRecords(batch, headerOf(batch)).map(record => record.timestamp),
    before,
  )
  assert.deepEqual(
    before,
    times.map(delta => 1_800_000_000_000n + delta),
  )
})

test('among others in a segment only the batch that was meant changes', () => {
  const batches = [1n, 2n, 3n].map(baseOffset => encodeBatch({ baseOffset, producerId: 5n }))
  const segment = Buffer.concat(batches)
  const headers = walkBatches(segment, 0, segment.length)
  const [, second] = headers
  assert.ok(second)
  stampBatch(segment, second.position, second.sizeBytes, stamp)
  assert.deepEqual(
    walkBatches(segment, 0, segment.length).map(header => header.producerId),
    [5n, stamp.producerId, 5n],
  )
  for (const { position, sizeBytes } of headers) assert.ok(hasValidCrc(segment, position, sizeBytes))
})

test('a byte that changed after its CRC was checked does not match the CRC of the stamped batch', () => {
  const batch = encodeBatch({ codec: 'zstd', producerId: 5n })
  batch.writeUInt8((batch.at(-1) ?? 0) ^ 1, batch.length - 1)
  stampBatch(batch, 0, batch.length, stamp)
  assert.equal(hasValidCrc(batch, 0, batch.length), false)
})

test('the CRC of a stamped batch is valid for every length of its records', () => {
  for (const length of [...Array(70).keys(), 255, 256, 4095, 65_536, 1_000_003]) {
    const batch = encodeBatch({ records: [{ value: Buffer.alloc(length, length) }], producerId: 5n })
    stampBatch(batch, 0, batch.length, { ...stamp, baseSequence: length })
    assert.ok(hasValidCrc(batch, 0, batch.length), `${length} bytes`)
  }
})

function headerOf(batch: Buffer) {
  const [header] = walkBatches(batch, 0, batch.length)
  assert.ok(header)
  return header
}
