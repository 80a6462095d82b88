import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { AbortedTransaction } from '../../src/archive/manifest.ts'
import { keyPlacer, partitionForKey } from '../../src/batch/key-placer.ts'
import type { EncodedRecord } from '../../src/batch/record-cursor.ts'
import { decodeRecords } from '../../src/batch/records.ts'
import { walkBatches } from '../../src/batch/walk.ts'
import { type OutgoingOptions, readOutgoing } from '../../src/restore/outgoing.ts'
import type { Outgoing } from '../../src/restore/outgoing-batch.ts'
import { offsetHeaders } from '../../src/restore/outgoing-options.ts'
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
  const fixed = { name: 't/0', sourcePartition: 4, segments, openAborted: [], start: 0n, end: 10_000n, timeWindow: {} }
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

  test('leaves out what was rolled back on both sides of a gap', async () => {
    const tx = { transactional: true, producerId: 5n }
    const batches = [encodeRun(0n, 2, tx), encodeRun(8n, 2, tx), encodeMarker(10n, 5n, 'abort'), encodeRun(11n, 1, tx)]
    const whole = { producer_id: 5n, first_offset: 0n, last_offset: 10n }
    const cut = { ...whole, last_offset: 7n }
    assert.deepEqual(offsetsOf(await read([batches], { aborted: [whole], openAborted: [cut] })), [11n])
    const [first, , , last] = batches
    assert.ok(first && last)
    assert.deepEqual(offsetsOf(await read([[first, last]], { openAborted: [cut] })), [11n])
  })

  test('is nothing from a batch whose checksum is wrong', async () => {
    const broken = encodeRun(3n, 4)
    broken[broken.length - 1] = (broken.at(-1) ?? 0) ^ 1
    await assert.rejects(read([[encodeRun(0n, 3), broken]]), {
      code: 'ARCHIVE_DAMAGED',
      message: /k\/0: .* offset 3 .*CRC/,
    })
  })

  test('is nothing from batches one of which claims another place, which no checksum covers', async () => {
    for (const wrong of [0n, 2n, 4n, 1n << 40n]) {
      const storage = openMemoryStorage()
      const batches = [encodeRun(0n, 3), encodeRun(3n, 4), encodeRun(7n, 2)]
      const segment = await storeSegment(storage, 'k/0', batches, false)
      batches[1]?.writeBigInt64BE(wrong, 0)
      await storage.remove('k/0', never)
      await storeSegment(storage, 'k/0', batches, false)
      const range = { sourcePartition: 0, start: 0n, end: 10_000n, timeWindow: {} }
      const fixed = { name: 't/0', openAborted: [], ...range, maxBytes: 1 << 20, batchBytes: 1 }
      const found = readOutgoing(storage, { ...fixed, segments: [segment] }, never)
      await assert.rejects(found.next(), { code: 'ARCHIVE_DAMAGED', message: /^k\/0: the batch at .* cannot be there/ })
    }
  })

  test('names the partition of a batch that cannot be opened', async () => {
    const broken = encodeBatch({ records: [{}, {}], codec: 'gzip', body: Buffer.from('not gzip') })
    await assert.rejects(read([[broken]], { start: 1n }), {
      code: 'BATCH_INVALID',
      message: /^t\/0: the batch at offset 0 \(gzip\) cannot be decoded/,
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

describe('what goes out by key', () => {
  const placeOf = keyPlacer(4)
  const takes = (record: EncodedRecord) => placeOf(record) === 1
  /** Keys 0, 1, 2, … by the offset, and none at every fifth. */
  const keyed = (baseOffset: number, count: number, spec: BatchSpec = {}): Buffer => {
    const keyOf = (offset: number) => (offset % 5 === 0 ? null : Buffer.from([offset]))
    const records = Array.from({ length: count }, (_, i) => ({
      key: keyOf(baseOffset + i),
      value: Buffer.alloc(100, `${baseOffset + i} `),
      timestampDelta: BigInt(baseOffset + i),
    }))
    return encodeBatch({ ...spec, baseOffset: BigInt(baseOffset), baseTimestamp: T, records })
  }
  const wanted = (from: number, to: number) =>
    Array.from({ length: to - from }, (_, i) => from + i)
      .filter(offset => offset % 5 !== 0 && partitionForKey(Buffer.from([offset]), 4) === 1)
      .map(BigInt)
  const batches = Array.from({ length: 20 }, (_, i) => keyed(i * 10, 10, { codec: i % 3 === 0 ? 'zstd' : 'none' }))

  test('is every record with such a key, and no other, in full batches over the bounds of pieces and segments', async () => {
    const found = await read([batches.slice(0, 7), batches.slice(7, 14), batches.slice(14)], {
      takes,
      batchBytes: 1000,
      codec: 'none',
    })
    assert.deepEqual(offsetsOf(found), wanted(0, 200))
    assert.ok(
      found.slice(0, -1).every(({ bytes }) => bytes.length > 850 && bytes.length <= 1000),
      `${found.map(({ bytes }) => bytes.length)}`,
    )
    assert.ok(found.every(({ conversion, sourcePartition }) => conversion === 'repartitioned' && sourcePartition === 4))
    const [first] = found.flatMap(recordsOf)
    const [at = 0n] = wanted(0, 200)
    assert.deepEqual([first?.key, first?.timestamp], [Buffer.from([Number(at)]), T + at])
  })

  test('can be gone on with behind any of its records', async () => {
    const all = wanted(0, 200)
    for (const [i, offset] of all.entries()) {
      const found = await read([batches.slice(0, 9), batches.slice(9)], {
        takes,
        start: offset + 1n,
        batchBytes: 700,
      })
      assert.deepEqual(offsetsOf(found), all.slice(i + 1), `behind ${offset}`)
    }
  })

  test('lies within the offsets and the times asked for, and tells its origin where that is wanted', async () => {
    const edit = offsetHeaders({ topic: 't', partition: 4, cluster: null })
    const timeWindow = { start: T + 50n, end: T + 120n }
    const found = await read([batches], { takes, start: 33n, end: 98n, timeWindow, edit, batchBytes: 700 })
    assert.deepEqual(offsetsOf(found), wanted(50, 98))
    const told = found.flatMap(recordsOf).map(({ headers }) => headers.map(([, value]) => `${value}`).slice(1, 3))
    assert.deepEqual(
      told,
      wanted(50, 98).map(offset => ['4', `${offset}`]),
    )
  })

  test('is nothing where no key is wanted', async () => {
    assert.deepEqual(await read([batches], { takes: () => false }), [])
  })

  test('is refused by name where a single record is too large, and only where it is wanted', async () => {
    const key = Array.from({ length: 9 }, (_, i) => Buffer.from([i])).find(one => partitionForKey(one, 4) === 1)
    const large = [[encodeBatch({ baseOffset: 7n, records: [{ key: key ?? null, value: Buffer.alloc(3000) }] })]]
    await assert.rejects(read(large, { takes, maxBytes: 2000, batchBytes: 2000 }), {
      code: 'RESTORE_REFUSED',
      message: /t\/0: the record at offset 7 makes a batch/,
    })
    const none = (record: EncodedRecord) => placeOf(record) === 2
    assert.deepEqual(await read(large, { takes: none, maxBytes: 2000, batchBytes: 2000 }), [])
  })
})
