import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { AbortedTransaction } from '../../src/archive/manifest.ts'
import { decodeRecords } from '../../src/batch/records.ts'
import { walkBatches } from '../../src/batch/walk.ts'
import { offsetHeaders } from '../../src/restore/offset-headers.ts'
import { type Outgoing, type OutgoingOptions, readOutgoing } from '../../src/restore/outgoing.ts'
import { never, storeSegment } from '../archive/sample-archive.ts'
import { type BatchSpec, encodeBatch, encodeMarker, encodeRun } from '../fakes/batches.ts'
import { openMemoryStorage } from '../fakes/memory-storage.ts'

const T = 1_700_000_000_000n

async function read(
  lists: Buffer[][],
  changes: Partial<OutgoingOptions> & { aborted?: AbortedTransaction[]; log?: string } = {},
) {
  const storage = openMemoryStorage()
  const segments = []
  for (const [i, batches] of lists.entries()) segments.push(await storeSegment(storage, `k/${i}`, batches, i % 2 === 1))
  if (changes.aborted && segments[0]) segments[0] = { ...segments[0], aborted: changes.aborted }
  const fixed = { name: 't/0', segments, openAborted: [], start: 0n, end: 10_000n, timeWindow: {} }
  const options = { ...fixed, maxBytes: 1 << 20, batchBytes: 1, ...changes }
  const found: Outgoing[] = []
  for await (const one of readOutgoing(storage, options, never)) found.push(one)
  return found
}

const offsetsOf = (found: readonly Outgoing[]) =>
  found.flatMap(({ runs }) =>
    runs.flatMap(({ sourceOffset, count }) => Array.from({ length: count }, (_, i) => sourceOffset + BigInt(i))),
  )
const timesOf = (found: readonly Outgoing[]) => found.flatMap(one => recordsOf(one).map(({ timestamp }) => timestamp))
const recordsOf = ({ bytes }: Outgoing) =>
  walkBatches(bytes, 0, bytes.length).flatMap(header => [...decodeRecords(bytes, header)])
const timed = (baseOffset: bigint, ...deltas: bigint[]): Buffer => {
  const spec: BatchSpec = {
    baseOffset,
    baseTimestamp: T,
    records: deltas.map(timestampDelta => ({ value: Buffer.from('v'), timestampDelta })),
  }
  return encodeBatch(spec)
}

describe('what goes out', () => {
  test('is what was stored, bit for bit, where nothing speaks against it', async () => {
    const batches = [encodeRun(0n, 5, { codec: 'lz4' }), encodeRun(5n, 7, { codec: 'zstd' }), encodeRun(12n, 1)]
    const found = await read([batches.slice(0, 2), batches.slice(2)])
    assert.deepEqual(
      found.map(({ bytes }) => bytes),
      batches,
    )
    assert.deepEqual(
      found.map(({ conversion }) => conversion),
      [undefined, undefined, undefined],
    )
    assert.deepEqual(
      offsetsOf(found),
      Array.from({ length: 13 }, (_, i) => BigInt(i)),
    )
  })

  test('is merged where batches are small', async () => {
    const found = await read([Array.from({ length: 100 }, (_, i) => encodeRun(BigInt(i), 1))], { batchBytes: 1 << 20 })
    assert.equal(found.length, 1)
    assert.equal(found[0]?.recordCount, 100)
    assert.equal(found[0]?.conversion, 'merged')
    assert.deepEqual(
      offsetsOf(found),
      Array.from({ length: 100 }, (_, i) => BigInt(i)),
    )
  })

  test('has no holes, and knows where they were', async () => {
    const records = [0, 3, 4].map(offsetDelta => ({ value: Buffer.from(`${offsetDelta}`), offsetDelta }))
    const found = await read([[encodeBatch({ baseOffset: 10n, records, lastOffsetDelta: 9 })]])
    assert.deepEqual(offsetsOf(found), [10n, 13n, 14n])
    assert.equal(found[0]?.conversion, 'holes')
  })

  test('carries the time that the broker had set', async () => {
    const spec = { logAppendTime: true, baseTimestamp: T, maxTimestamp: T + 500n }
    const found = await read([[encodeRun(0n, 3, spec)]])
    assert.deepEqual(timesOf(found), [T + 500n, T + 500n, T + 500n])
    assert.equal(found[0]?.conversion, 'log_append_time')
    assert.equal((found[0]?.bytes.readInt16BE(21) ?? 8) & 8, 0)
  })

  test('lies within the times asked for, also where they are equal or out of order', async () => {
    const batches = [timed(0n, 5n, 1n, 9n), timed(3n, 5n, 5n), timed(5n, 4n), timed(6n, 9n, 5n, 8n, 7n)]
    const found = await read([batches], { timeWindow: { start: T + 5n, end: T + 9n } })
    assert.deepEqual(offsetsOf(found), [0n, 3n, 4n, 7n, 8n, 9n])
    assert.deepEqual(
      timesOf(found),
      [5n, 5n, 5n, 5n, 8n, 7n].map(delta => T + delta),
    )
  })

  test('is what was stored where all times of a batch turn out to lie within', async () => {
    const batches = [timed(0n, 0n, 1n, 3n), timed(3n, 0n, -1n, 3n), timed(6n, 1n, 0n, 3n)]
    const found = await read([batches], { timeWindow: { start: T, end: T + 4n } })
    assert.deepEqual(offsetsOf(found), [0n, 1n, 2n, 3n, 5n, 6n, 7n, 8n])
    assert.deepEqual([found[0]?.bytes, found.at(-1)?.bytes], [batches[0], batches[2]])
  })

  test('begins and ends inside batches where the offsets say so, and leaves the others as they were', async () => {
    const batches = [encodeRun(0n, 10), encodeRun(10n, 10), encodeRun(20n, 10)]
    const found = await read([batches], { start: 4n, end: 23n, batchBytes: 600 })
    assert.deepEqual(
      offsetsOf(found),
      Array.from({ length: 19 }, (_, i) => BigInt(i + 4)),
    )
    assert.deepEqual(
      found.map(({ conversion }) => conversion),
      ['cut', undefined, 'cut'],
    )
    assert.deepEqual(found[1]?.bytes, batches[1])
  })

  test('leaves out markers and what was rolled back, and keeps what the same producer committed around it', async () => {
    const tx = { transactional: true, producerId: 5n }
    const batches = [
      encodeRun(0n, 2, tx),
      encodeMarker(2n, 5n, 'commit'),
      encodeRun(3n, 2, tx),
      encodeRun(5n, 1, { ...tx, producerId: 6n }),
      encodeRun(6n, 1),
      encodeMarker(7n, 5n, 'abort'),
      encodeRun(8n, 2, tx),
      encodeMarker(10n, 5n, 'commit'),
      encodeRun(11n, 2, tx),
    ]
    const aborted = [{ producer_id: 5n, first_offset: 3n, last_offset: 7n }]
    const openAborted = [{ producer_id: 5n, first_offset: 11n, last_offset: null }]
    assert.deepEqual(offsetsOf(await read([batches], { aborted, openAborted })), [0n, 1n, 5n, 6n, 8n, 9n])
  })

  test('is nothing from a batch whose checksum is wrong', async () => {
    const broken = encodeRun(3n, 4)
    broken[broken.length - 1] = (broken.at(-1) ?? 0) ^ 1
    await assert.rejects(read([[encodeRun(0n, 3), broken]]), {
      code: 'ARCHIVE_DAMAGED',
      message: /k\/0: .* offset 3 .*CRC/,
    })
  })

  test('is split where the target takes less, and refused by name where a single record is too large', async () => {
    const found = await read([[encodeRun(0n, 100, { valueBytes: 100 })]], { maxBytes: 2000, batchBytes: 2000 })
    assert.ok(found.length > 5 && found.every(({ bytes }) => bytes.length <= 2000))
    assert.equal(offsetsOf(found).length, 100)
    await assert.rejects(read([[encodeRun(0n, 1), encodeRun(1n, 1, { valueBytes: 5000 })]], { maxBytes: 2000 }), {
      code: 'RESTORE_REFUSED',
      message: /t\/0: the record at offset 1 makes a batch of \d+ bytes; the target takes 2000/,
    })
  })

  test('tells its origin where that is wanted', async () => {
    const edit = offsetHeaders({ topic: 't', partition: 4, cluster: null })
    const found = await read([[encodeRun(7n, 2)]], { edit, end: 8n })
    assert.deepEqual(offsetsOf(found), [7n])
    const [record] = found.flatMap(recordsOf)
    assert.deepEqual(
      record?.headers.map(([name, value]) => `${name}=${value}`),
      [
        'x-original-topic=t',
        'x-original-partition=4',
        'x-original-offset=7',
        `x-original-timestamp=${T}`,
        'x-source-cluster=',
      ],
    )
  })
})
