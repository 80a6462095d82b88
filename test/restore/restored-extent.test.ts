import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { TimeWindow } from '../../src/batch/needs.ts'
import { extentOf } from '../../src/restore/restored-extent.ts'
import { indexAt, never, storeBackup } from '../archive/sample-archive.ts'
import { encodeBatch, withCrc } from '../fakes/batches.ts'
import { openMemoryStorage } from '../fakes/memory-storage.ts'

const value = Buffer.from('v')
/** Ten records a batch, a second apart from the time of the batch on. */
const batch = (baseOffset: bigint, baseTimestamp: bigint) =>
  encodeBatch({
    baseOffset,
    baseTimestamp,
    maxTimestamp: baseTimestamp + 9000n,
    records: Array.from({ length: 10 }, (_, i) => ({ value, timestampDelta: BigInt(i * 1000) })),
  })

/** Where a batch says how it is compressed. */
const ATTRIBUTES = 21
const MAX_TIMESTAMP = 35

const halves = () => [
  [batch(0n, 100_000n), batch(10n, 200_000n)],
  [batch(20n, 300_000n), batch(30n, 400_000n)],
]

async function extent(
  { start = 0n, end = 40n, lists = halves() }: { start?: bigint; end?: bigint; lists?: Buffer[][] },
  window: TimeWindow = {},
): Promise<[bigint | null, bigint | null]> {
  const storage = openMemoryStorage()
  const topic = (await storeBackup(storage, lists)).topics[0] ?? assert.fail()
  const source = topic.partitions[0] ?? assert.fail()
  const pages = await Promise.all(source.indexes.map(ref => indexAt(storage, ref)))
  const segments = pages.flatMap(page => page.segments)
  const { oldest, newest } = await extentOf(storage, { topic, source, start, end }, segments, window, never)
  return [oldest, newest]
}

describe('the times of what is restored', () => {
  test('are those of the partition where all of it is', async () => {
    assert.deepEqual(await extent({}), [100_000n, 409_000n])
  })

  test('are cut by a window, and none where nothing lies in it', async () => {
    assert.deepEqual(await extent({}, { end: 250_000n }), [100_000n, 209_000n])
    assert.deepEqual(await extent({}, { start: 305_000n, end: 350_000n }), [305_000n, 309_000n])
    assert.deepEqual(await extent({}, { start: 500_000n }), [null, null])
  })

  test('are those of the records in a window, not of its end, where a record behind it is much newer', async () => {
    assert.deepEqual(await extent({ start: 20n }, { end: 399_000n }), [300_000n, 309_000n])
    assert.deepEqual(await extent({}, { start: 210_000n, end: 299_000n }), [null, null])
  })

  test('are read where a range of offsets goes through a segment, to the record', async () => {
    assert.deepEqual(await extent({ end: 5n }), [100_000n, 104_000n])
    assert.deepEqual(await extent({ start: 15n, end: 20n }), [205_000n, 209_000n])
    assert.deepEqual(await extent({ start: 25n }), [305_000n, 409_000n])
  })

  test('come from the header of a batch that cannot be decoded, which is restored as it is', async () => {
    const broken = batch(10n, 200_000n)
    broken.writeInt16BE(4, ATTRIBUTES)
    const lists = [[batch(0n, 100_000n), withCrc(broken), batch(20n, 300_000n), batch(30n, 400_000n)]]
    assert.deepEqual(await extent({ lists }, { end: 250_000n }), [100_000n, 209_000n])
  })

  test('come from the header of a batch that no bound goes through, without decoding its records', async () => {
    const early = batch(0n, 100_000n)
    // A header that says something else than the records.
    early.writeBigInt64BE(120_000n, MAX_TIMESTAMP)
    const lists = [[withCrc(early), batch(10n, 200_000n)]]
    assert.deepEqual(await extent({ lists, end: 20n }, { end: 150_000n }), [100_000n, 120_000n])
    assert.deepEqual(await extent({ lists, end: 9n }, { end: 150_000n }), [100_000n, 108_000n])
    assert.deepEqual(await extent({ lists, end: 20n }, { start: 101_500n, end: 150_000n }), [102_000n, 109_000n])
  })

  test('are read within the window as well', async () => {
    assert.deepEqual(await extent({ end: 5n }, { start: 102_000n }), [102_000n, 104_000n])
  })
})
