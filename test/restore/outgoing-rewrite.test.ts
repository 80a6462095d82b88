import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { constants, zstdCompressSync } from 'node:zlib'
import { hasValidCrc } from '../../src/batch/crc.ts'
import { codecNames, codecOf, isTransactional } from '../../src/batch/header.ts'
import { keyPlacer } from '../../src/batch/key-placer.ts'
import type { EncodedRecord } from '../../src/batch/record-cursor.ts'
import { decodeRecords } from '../../src/batch/records.ts'
import { walkBatches } from '../../src/batch/walk.ts'
import { createIdMap } from '../../src/registry/ids/id-map.ts'
import { indexSchemas } from '../../src/registry/ids/known-schemas.ts'
import { addCounts, noCounts } from '../../src/restore/id-counts.ts'
import { type OutgoingOptions, readOutgoing } from '../../src/restore/outgoing.ts'
import type { Outgoing } from '../../src/restore/outgoing-batch.ts'
import { offsetHeaders } from '../../src/restore/outgoing-options.ts'
import type { TopicRewrite } from '../../src/restore/part-rewriter.ts'
import { IdRewriter } from '../../src/restore/rewrite-ids.ts'
import { never, storeSegment } from '../archive/sample-archive.ts'
import { type BatchSpec, encodeBatch, encodeMarker, encodeRecord, encodeRun } from '../fakes/batches.ts'
import { createRandom } from '../fakes/faulty-storage.ts'
import { openMemoryStorage } from '../fakes/memory-storage.ts'
import { framed } from '../registry/ids/sample-schemas.ts'

const T = 1_700_000_000_000n
const idMap = createIdMap([
  { context: '.', source: 5, target: 500 },
  { context: '.', source: 6, target: 600 },
  { context: '.', source: 7, target: 7 },
])
const both: TopicRewrite = {
  schemas: indexSchemas([]),
  topic: 't',
  judged: {},
  writes: true,
  reasons: new Map(),
  idMap,
  context: '.',
  parts: ['key', 'value'],
  unknownIds: 'fail',
}

async function read(
  batches: Buffer[],
  changes: Partial<OutgoingOptions> & { rewrite?: Partial<TopicRewrite>; compressed?: boolean } = {},
) {
  const storage = openMemoryStorage()
  const segments = [await storeSegment(storage, 'k/0', batches, changes.compressed ?? false)]
  const ids = new IdRewriter({ ...both, ...changes.rewrite }, 't/0')
  const fixed = { name: 't/0', sourcePartition: 4, segments, openAborted: [], start: 0n, end: 10_000n, timeWindow: {} }
  const found: Outgoing[] = []
  const options = { ...fixed, maxBytes: 1 << 20, batchBytes: 1, ids, ...changes }
  for await (const one of readOutgoing(storage, options, never)) found.push(one)
  return found
}

/** Records of the ids 5, 6, 7, 5, … in their values, with a key of 6. */
const idsAt = (i: number) => 5 + (i % 3)
function batchOf(baseOffset: number, count: number, spec: BatchSpec = {}): Buffer {
  const records = Array.from({ length: count }, (_, i) => ({
    key: framed(6, `k${baseOffset + i}`),
    value: framed(idsAt(baseOffset + i), `value ${baseOffset + i}`),
    timestampDelta: BigInt(i),
    ...spec.records?.[i],
  }))
  return encodeBatch({ baseTimestamp: T, ...spec, baseOffset: BigInt(baseOffset), records })
}

const target = (id: number) => (id === 7 ? 7 : id * 100)
const expectedValue = (offset: number) => framed(target(idsAt(offset)), `value ${offset}`)
const headerOf = ({ bytes }: Outgoing) => {
  const [header] = walkBatches(bytes, 0, bytes.length)
  assert.ok(header)
  return header
}
const recordsOf = (one: Outgoing) => {
  assert.ok(hasValidCrc(one.bytes, 0, one.bytes.length))
  return decodeRecords(one.bytes, headerOf(one))
}
const offsetsOf = (found: readonly Outgoing[]) =>
  found.flatMap(({ runs }) =>
    runs.flatMap(({ sourceOffset, count }) => Array.from({ length: count }, (_, i) => Number(sourceOffset) + i)),
  )
/** Every record that went out is the one of its offset, with the ids of the target. */
function assertRewritten(found: readonly Outgoing[], offsets: number[]): void {
  assert.deepEqual(offsetsOf(found), offsets)
  const records = found.flatMap(recordsOf)
  assert.deepEqual(
    records.map(({ key, value }) => [key, value]),
    offsets.map(offset => [framed(600, `k${offset}`), expectedValue(offset)]),
  )
}
const countsOf = (found: readonly Outgoing[]) => {
  const sum = noCounts()
  for (const { ids } of found) if (ids) addCounts(sum, ids)
  return sum
}
const range = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => from + i)

describe('what goes out with other ids', () => {
  for (const codec of codecNames) {
    test(`has its codec (${codec}), its offsets and times, and a right checksum`, async () => {
      const batches = [batchOf(0, 30, { codec }), batchOf(30, 30, { codec }), batchOf(60, 1, { codec })]
      for (const compressed of [false, true]) {
        const found = await read(batches, { compressed })
        assertRewritten(found, range(0, 61))
        assert.deepEqual(
          found.map(one => [codecOf(headerOf(one).attributes), one.conversion, one.recordCount]),
          [30, 30, 1].map(count => [codec, 'schema_ids', count]),
        )
        assert.deepEqual(found.flatMap(recordsOf)[33]?.timestamp, T + 3n)
        assert.deepEqual(countsOf(found).key.rewritten, 61)
        const { rewritten, same } = countsOf(found).value
        assert.deepEqual([rewritten, same], [41, 20])
      }
    })
  }

  test('is what was stored, bit for bit, where no id of a batch is another', async () => {
    for (const codec of codecNames) {
      const records = [{ key: null, value: framed(7) }, { value: Buffer.from('plain') }, { value: null }]
      const same = encodeBatch({ baseOffset: 0n, codec, records })
      const found = await read([Buffer.from(same), batchOf(3, 3, { codec })])
      assert.deepEqual(found[0]?.bytes, same)
      assert.deepEqual(
        found.map(({ conversion }) => conversion),
        [undefined, 'schema_ids'],
      )
    }
  })

  test('keeps a transaction until it is stamped, and has neither markers nor what was rolled back', async () => {
    const tx = { transactional: true, producerId: 5n }
    const unknown = { records: [{ value: framed(44) }, { value: framed(44) }] }
    const batches = [
      batchOf(0, 2, { ...tx, codec: 'zstd' }),
      encodeMarker(2n, 5n, 'commit'),
      encodeBatch({ ...tx, ...unknown, baseOffset: 3n }),
      encodeMarker(5n, 5n, 'abort'),
    ]
    const found = await read(batches, { openAborted: [{ producer_id: 5n, first_offset: 3n, last_offset: 5n }] })
    assertRewritten(found, [0, 1])
    assert.ok(found.every(one => isTransactional(headerOf(one).attributes)))
  })

  test('has no holes', async () => {
    for (const codec of codecNames) {
      const records = [0, 3, 4].map(i => ({
        key: framed(6, `k${i}`),
        value: framed(idsAt(i), `value ${i}`),
        offsetDelta: i,
      }))
      const found = await read([encodeBatch({ codec, records, lastOffsetDelta: 9 })])
      assertRewritten(found, [0, 3, 4])
      assert.equal(found[0]?.conversion, 'holes')
    }
  })

  test('carries the time that the broker had set', async () => {
    for (const codec of codecNames) {
      const found = await read([batchOf(0, 3, { codec, logAppendTime: true, maxTimestamp: T + 500n })])
      assertRewritten(found, [0, 1, 2])
      assert.deepEqual(
        found.flatMap(recordsOf).map(({ timestamp }) => timestamp),
        [T + 500n, T + 500n, T + 500n],
      )
      assert.equal(found[0]?.conversion, 'log_append_time')
    }
  })

  test('is merged where batches are small', async () => {
    for (const codec of codecNames) {
      const found = await read(
        range(0, 50).map(i => batchOf(i, 1, { codec })),
        { batchBytes: 1 << 20 },
      )
      assertRewritten(found, range(0, 50))
      assert.deepEqual([found.length, found[0]?.conversion], [1, 'schema_ids'])
      assert.equal(countsOf(found).key.rewritten, 50)
    }
  })

  test('is merged for its size alone where no id is another', async () => {
    const batches = range(0, 9).map(i => encodeBatch({ baseOffset: BigInt(i), records: [{ value: framed(7) }] }))
    const [one] = await read(batches, { batchBytes: 1 << 20 })
    assert.deepEqual([one?.conversion, one?.ids?.value.same], ['merged', 9])
  })

  test('lies within the offsets and times asked for; ids outside of them matter to nobody', async () => {
    for (const codec of codecNames) {
      const odd = { value: framed(44), key: framed(44) }
      const spec = (...at: number[]): BatchSpec => ({
        codec,
        records: range(0, 10).map(i => (at.includes(i) ? odd : {})),
      })
      const batches = [batchOf(0, 10, spec(0, 3)), batchOf(10, 10, { codec }), batchOf(20, 10, spec(3, 9))]
      const found = await read(batches, { start: 4n, end: 23n, batchBytes: 600 })
      assertRewritten(found, range(4, 23))
      assert.deepEqual(
        found.map(({ conversion }) => conversion),
        ['cut', 'schema_ids', 'cut'],
      )
      const window = await read([batchOf(0, 10, spec(0, 1, 8))], { timeWindow: { start: T + 2n, end: T + 8n } })
      assertRewritten(window, range(2, 8))
      assert.equal(countsOf(window).key.rewritten, 6)
    }
  })

  test('is patched as a whole where all times of a batch turn out to lie within the window', async () => {
    const found = await read([batchOf(0, 10, { codec: 'zstd' })], { timeWindow: { start: T, end: T + 100n } })
    assertRewritten(found, range(0, 10))
    assert.equal(found[0]?.conversion, 'schema_ids')
  })

  test('tells its origin where that is wanted', async () => {
    const edit = offsetHeaders({ topic: 't', partition: 4, cluster: null })
    const found = await read([batchOf(0, 5, { codec: 'lz4' })], { edit })
    assertRewritten(found, range(0, 5))
    assert.equal(found[0]?.conversion, 'headers')
    assert.equal(found.flatMap(recordsOf)[0]?.headers.length, 5)
  })

  test('is split where it has become too large, since its producer had packed it better', async () => {
    const random = createRandom(1)
    const word = () => ['order', 'line', 'amount', 'currency', 'customer'][Math.floor(random() * 5)] ?? ''
    const texts = range(0, 200).map(() => range(0, 40).map(word).join(' '))
    const records = texts.map(text => ({ value: framed(5, text) }))
    const plain = Buffer.concat(records.map((record, i) => encodeRecord(record, i)))
    // A frame with a checksum is not edited.
    const params = { [constants.ZSTD_c_compressionLevel]: 19, [constants.ZSTD_c_checksumFlag]: 1 }
    const body = zstdCompressSync(plain, { params })
    const batch = encodeBatch({ codec: 'zstd', records, body })
    const found = await read([batch], { maxBytes: batch.length, batchBytes: batch.length })
    assert.deepEqual(
      found.flatMap(recordsOf).map(({ value }) => value),
      texts.map(text => framed(500, text)),
    )
    assert.ok(found.length > 1 && found.every(({ bytes }) => bytes.length <= batch.length))
    assert.ok(found.every(({ conversion }) => conversion === 'oversize'))
    assert.equal(countsOf(found).value.rewritten, 200)
  })

  test('comes in order and complete from many batches of one piece, packed side by side', async () => {
    const batches = range(0, 60).map(i => batchOf(i * 20, 20, { codec: codecNames[i % 5] ?? 'none' }))
    const found = await read(batches)
    assertRewritten(found, range(0, 1200))
    assert.equal(countsOf(found).key.rewritten, 1200)
  })

  test('ends at an id that the target does not have, with the place of its record', async () => {
    for (const codec of codecNames) {
      const batch = encodeBatch({ baseOffset: 2n, codec, records: [{ value: framed(5) }, { value: framed(44) }] })
      await assert.rejects(read([batchOf(0, 2), batch]), {
        code: 'SCHEMA_ID_UNKNOWN',
        message:
          'Schema ID 44 not found in target registry: no schema of the backup has it. The value of t/0 at offset 3 carries it.',
      })
      const passed = await read([batchOf(0, 2), batch], { rewrite: { unknownIds: 'pass' } })
      assert.deepEqual(passed.flatMap(recordsOf).at(-1)?.value, framed(44))
      assert.equal(countsOf(passed).value.unknown, 1)
    }
  })

  test('is decided by its new key where keys decide, and counts only what is taken', async () => {
    const placeOf = keyPlacer(3)
    const batches = range(0, 10).map(i => batchOf(i * 10, 10, { codec: 'zstd' }))
    const all: number[] = []
    let counted = 0
    for (const partition of range(0, 3)) {
      const takes = (record: EncodedRecord) => placeOf(record) === partition
      const found = await read(batches, { takes, batchBytes: 1000 })
      const offsets = offsetsOf(found)
      assertRewritten(found, offsets)
      for (const one of found) assert.equal(one.conversion, 'repartitioned')
      all.push(...offsets)
      counted += countsOf(found).key.rewritten
    }
    assert.deepEqual(
      all.toSorted((a, b) => a - b),
      range(0, 100),
    )
    assert.equal(counted, 100)
    const plain = await read([encodeRun(0n, 1)], { takes: () => false })
    assert.deepEqual(plain, [])
  })
})
