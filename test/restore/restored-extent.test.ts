import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { ManifestPartition } from '../../src/archive/manifest.ts'
import type { TimeWindow } from '../../src/batch/needs.ts'
import { extentOf, type RestoredExtent } from '../../src/restore/restored-extent.ts'
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

interface Restored {
  start?: bigint
  end?: bigint
  lists?: Buffer[][]
  /** What else is said of the partition. */
  more?: Partial<ManifestPartition>
}

async function extent(restored: Restored, window: TimeWindow = {}): Promise<[bigint | null, bigint | null]> {
  const { oldest, newest } = await findExtent(restored, window, true)
  return [oldest, newest]
}

async function findExtent(
  { start = 0n, end = 40n, lists = halves(), more = {} }: Restored,
  window: TimeWindow,
  isExact: boolean,
): Promise<RestoredExtent> {
  const storage = openMemoryStorage()
  const topic = (await storeBackup(storage, lists)).topics[0] ?? assert.fail()
  const source = { ...(topic.partitions[0] ?? assert.fail()), ...more }
  const pages = await Promise.all(source.indexes.map(ref => indexAt(storage, ref)))
  const segments = pages.flatMap(page => page.segments)
  // Deleted records stay in the first batch of a log.
  const [first] = segments
  if (first && more.start_offset !== undefined) first.start_offset = more.start_offset
  return extentOf(storage, { topic, source, start, end }, segments, { window, isExact }, never)
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

  test('lie between the first time of a segment and the end of a window that goes through it, unless they have to be exact', async () => {
    const roughly = async (window: TimeWindow, restored: Restored = {}) => {
      const { oldest, newest, newestLeast } = await findExtent(restored, window, false)
      return [oldest, newest, newestLeast]
    }
    assert.deepEqual(await roughly({ end: 399_000n }), [100_000n, 398_999n, 300_000n])
    assert.deepEqual(await roughly({ end: 301_000n }), [100_000n, 300_999n, 300_000n])
    assert.deepEqual(await roughly({ end: 250_000n }, { end: 20n }), [100_000n, 209_000n, undefined])
    assert.deepEqual(await roughly({}), [100_000n, 409_000n, undefined])
    // The record with the first time may not be restored: before the window, outside the offsets, rolled back or deleted.
    assert.deepEqual(await roughly({ start: 310_000n, end: 405_000n }), [400_000n, 404_000n, undefined])
    assert.deepEqual(await roughly({ end: 405_000n }, { start: 25n }), [305_000n, 404_000n, undefined])
    const exactly = [100_000n, 309_000n, undefined]
    assert.deepEqual(await roughly({ end: 399_000n }, { more: { aborted_records: 1 } }), exactly)
    const gap = { from: 15n, to: 20n, reason: 'retention' as const, found_at: '' }
    assert.deepEqual(await roughly({ end: 399_000n }, { more: { gaps: [gap] } }), exactly)
    const cutLog = { start: 21n, lists: halves().slice(1), more: { start_offset: 21n } }
    assert.deepEqual(await roughly({ end: 399_000n }, cutLog), [301_000n, 309_000n, undefined])
  })

  test('are read within the window as well', async () => {
    assert.deepEqual(await extent({ end: 5n }, { start: 102_000n }), [102_000n, 104_000n])
  })
})
