import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { RebuiltBatch } from '../../src/batch/batch-builder.ts'
import { codecNames, codecOf } from '../../src/batch/header.ts'
import { Rebuilder, type RebuildOptions, rebuildBatches } from '../../src/batch/rebuild.ts'
import { encodeBatch, encodeMarker, encodeRun } from '../fakes/batches.ts'
import { checkedRecords, sourcesOf, visibleRecords } from './checked-records.ts'
import { RandomBatches } from './random-batches.ts'

const options: RebuildOptions = { maxBytes: 1 << 20, targetBytes: 1 << 20, codec: 'keep' }
const ROUNDS = 100

describe('rebuilt batches', () => {
  for (const codec of codecNames) {
    test(`hold the same records, ${codec}`, () => {
      const any = new RandomBatches(1000 + codecNames.indexOf(codec))
      let seen = 0
      for (let round = 0; round < ROUNDS; round++) {
        const sources = sourcesOf(any.batches(1 + any.pick(5), any.chance(0.7) ? codec : undefined))
        const targetBytes = any.oneOf([100, 500, 5000, 1 << 20], 100)
        const rebuilt = rebuildBatches(sources, { ...options, targetBytes, codec })
        const expected = visibleRecords(sources)
        assert.deepEqual(checkedRecords(rebuilt), expected, `round ${round}`)
        for (const batch of rebuilt) assert.equal(codecOf(batch.bytes.readInt16BE(21)), codec)
        seen += expected.length
      }
      assert.ok(seen > 1000, `${seen} records`)
    })
  }

  test('are the same bytes where nothing was to change', () => {
    for (const codec of codecNames) {
      const any = new RandomBatches(5)
      for (let round = 0; round < 50; round++) {
        const records = any
          .records()
          .map(({ offsetDelta, ...record }, i) => ({ ...record, ...(i === 0 && { timestampDelta: 0n }) }))
        if (records.length === 0) continue
        const [first] = rebuildBatches(sourcesOf([encodeBatch({ records, codec, leaderEpoch: -1 })]), options)
        assert.ok(first)
        const again = rebuildBatches(sourcesOf([first.bytes]), options)
        assert.deepEqual(
          again.map(batch => batch.bytes),
          [first.bytes],
        )
        if (codec === 'none') assert.deepEqual(first.bytes, encodeBatch({ records, leaderEpoch: -1 }))
      }
    }
  })

  test('have the codec of the first source, or the one asked for', () => {
    const sources = sourcesOf([encodeRun(0n, 3, { codec: 'lz4' }), encodeRun(3n, 3, { codec: 'gzip' })])
    const codecsWith = (codec: RebuildOptions['codec']) =>
      rebuildBatches(sources, { ...options, codec }).map(batch => codecOf(batch.bytes.readInt16BE(21)))
    assert.deepEqual(codecsWith('keep'), ['lz4'])
    assert.deepEqual(codecsWith('none'), ['none'])
    assert.deepEqual(codecsWith('zstd'), ['zstd'])
  })

  test('of nothing, empty batches and control batches are none', () => {
    assert.deepEqual(rebuildBatches([], options), [])
    const sources = sourcesOf([encodeBatch({ records: [], lastOffsetDelta: 5 }), encodeMarker(6n, 1n, 'commit')])
    assert.deepEqual(rebuildBatches(sources, options), [])
  })

  test('keep the attributes of each record', () => {
    const source = encodeBatch({ records: [{}, {}] })
    source[62] = 0x55
    const [batch] = rebuildBatches(sourcesOf([source]), options)
    assert.equal(batch?.bytes[62], 0x55)
  })

  test('tell by runs where their records come from', () => {
    const sources = sourcesOf([
      encodeBatch({ baseOffset: 10n, records: [{}, { offsetDelta: 1 }, { offsetDelta: 4 }] }),
      encodeRun(15n, 2),
      encodeRun(17n, 1),
      encodeRun(2n ** 63n - 2n, 2),
    ])
    const [batch] = rebuildBatches(sources, options)
    assert.deepEqual(batch?.runs, [
      { sourceOffset: 10n, count: 2 },
      { sourceOffset: 14n, count: 4 },
      { sourceOffset: 2n ** 63n - 2n, count: 2 },
    ])
  })
})

describe('times', () => {
  const timesOf = (batches: readonly RebuiltBatch[]) => checkedRecords(batches).map(record => record.timestamp)

  test('that the broker gave are written into each record', () => {
    const records = [{ timestampDelta: 5n }, { timestampDelta: 2n ** 60n }, {}]
    const source = encodeBatch({ records, logAppendTime: true, maxTimestamp: 42n })
    const rebuilt = rebuildBatches(sourcesOf([source]), options)
    assert.deepEqual(timesOf(rebuilt), [42n, 42n, 42n])
    assert.deepEqual([rebuilt[0]?.firstTimestamp, rebuilt[0]?.maxTimestamp], [42n, 42n])
  })

  test('that are absent stay absent, and so does their maximum', () => {
    const rebuilt = rebuildBatches(sourcesOf([encodeRun(0n, 2, { baseTimestamp: -1n })]), options)
    assert.deepEqual([...timesOf(rebuilt), rebuilt[0]?.maxTimestamp], [-1n, -1n, -1n])
  })

  test('too far apart for one batch are in two', () => {
    const ends = [-(2n ** 63n), 2n ** 63n - 1n, -1n]
    const rebuilt = rebuildBatches(
      sourcesOf(ends.map((baseTimestamp, i) => encodeRun(BigInt(i), 1, { baseTimestamp }))),
      options,
    )
    assert.deepEqual(timesOf(rebuilt), ends)
    assert.deepEqual(
      rebuilt.map(batch => batch.recordCount),
      [1, 2],
    )
  })

  test('that wrap around in the source are what clients make of them', () => {
    const source = encodeBatch({
      baseTimestamp: -1n,
      records: [{}, { timestampDelta: -(2n ** 63n) }],
      maxTimestamp: 2n ** 63n - 1n,
    })
    assert.deepEqual(timesOf(rebuildBatches(sourcesOf([source]), options)), [-1n, 2n ** 63n - 1n])
  })
})

describe('what comes little by little', () => {
  test('makes the same batches, and needs no source any more', () => {
    const any = new RandomBatches(77)
    for (let round = 0; round < ROUNDS; round++) {
      const batches = any.batches(1 + any.pick(8), 'lz4')
      const fixed = { ...options, targetBytes: any.oneOf([100, 500, 5000], 100) }
      const expected = rebuildBatches(sourcesOf(batches), fixed)
      const rebuilder = new Rebuilder(fixed, 0)
      const found = batches.flatMap(batch =>
        sourcesOf([batch]).flatMap(source => {
          const full = rebuilder.add(source)
          source.bytes.fill(0xee)
          return full
        }),
      )
      assert.deepEqual([...found, ...rebuilder.flush()], expected, `round ${round}`)
    }
  })

  test('fills batches up, whatever the codecs and the bounds of the sources are', () => {
    const codecs = ['none', 'zstd', 'gzip'] as const
    const sources = Array.from({ length: 90 }, (_, i) =>
      encodeRun(BigInt(i * 10), 10, { valueBytes: 100, codec: codecs[i % 3] ?? 'none' }),
    )
    const rebuilder = new Rebuilder({ ...options, targetBytes: 4000, codec: 'none' }, 0)
    const [full, rest] = [
      sourcesOf(sources).flatMap((source, i) =>
        rebuilder.add(source, { start: BigInt(i * 10 + 6), end: BigInt(i * 10 + 8) }),
      ),
      rebuilder.flush(),
    ]
    assert.ok(full.every(({ bytes }) => bytes.length > 3800 && bytes.length <= 4000))
    const offsets = checkedRecords([...full, ...rest]).map(({ offset }) => Number(offset))
    assert.deepEqual(
      offsets,
      Array.from({ length: 180 }, (_, i) => 10 * (i >> 1) + 6 + (i & 1)),
    )
    assert.deepEqual(rebuilder.flush(), [])
  })
})

describe('sizes', () => {
  test('of merged batches come near the target and never exceed it', () => {
    const sources = sourcesOf(Array.from({ length: 5000 }, (_, i) => encodeRun(BigInt(i), 1, { valueBytes: 100 })))
    const rebuilt = rebuildBatches(sources, { ...options, targetBytes: 20_000 })
    for (const { bytes } of rebuilt.slice(0, -1)) assert.ok(bytes.length <= 20_000 && bytes.length > 19_800)
    assert.equal(checkedRecords(rebuilt).length, 5000)
  })

  test('a batch that compresses well stays one when a record is dropped', () => {
    for (const codec of ['gzip', 'lz4', 'zstd'] as const) {
      const source = encodeRun(0n, 3000, { codec, valueBytes: 1000 })
      const rebuilt = rebuildBatches(sourcesOf([source]), {
        ...options,
        targetBytes: source.length + 1000,
        fromOffset: 1n,
      })
      assert.deepEqual([codec, ...rebuilt.map(batch => batch.recordCount)], [codec, 2999])
    }
  })

  test('no batch is larger than allowed unless a single record is, and that one is named', () => {
    const any = new RandomBatches(77)
    const seen = { oversize: 0, single: 0, several: 0 }
    for (let round = 0; round < ROUNDS; round++) {
      const sources = sourcesOf(any.batches(1 + any.pick(4)))
      const codec = any.oneOf(codecNames, 'none')
      const rebuilt = rebuildBatches(sources, { maxBytes: 400, targetBytes: 1 << 20, codec })
      assert.deepEqual(checkedRecords(rebuilt), visibleRecords(sources))
      for (const { bytes, recordCount, isOversize } of rebuilt) {
        assert.equal(isOversize, bytes.length > 400)
        if (isOversize) assert.equal(recordCount, 1)
        seen[isOversize ? 'oversize' : recordCount === 1 ? 'single' : 'several']++
      }
    }
    assert.ok(Math.min(seen.oversize, seen.single, seen.several) > 50, JSON.stringify(seen))
  })

  test('what compresses worse than its source is halved until it fits', () => {
    // The first record makes the source look as if everything in it could be squeezed.
    const any = new RandomBatches(3)
    const noise = Array.from({ length: 64 }, () => Buffer.from(Array.from({ length: 1000 }, () => any.pick(256))))
    const records = [{ value: Buffer.alloc(8 << 20) }, ...noise.map(value => ({ value }))]
    for (const codec of ['gzip', 'snappy', 'lz4', 'zstd'] as const) {
      const sources = sourcesOf([encodeBatch({ baseOffset: 5n, codec, records })])
      const rebuilt = rebuildBatches(sources, { maxBytes: 10_000, targetBytes: 10_000, codec: 'keep', fromOffset: 6n })
      assert.ok(rebuilt.length >= 7 && rebuilt.length <= 16, `${rebuilt.length} batches`)
      for (const { bytes, isOversize } of rebuilt) assert.ok(bytes.length <= 10_000 && !isOversize)
      assert.deepEqual(checkedRecords(rebuilt), visibleRecords(sources).slice(1))
    }
  })

  test('what no longer fits because compression makes it larger goes without', () => {
    const any = new RandomBatches(4)
    const value = Buffer.from(Array.from({ length: 5000 }, () => any.pick(256)))
    const source = encodeBatch({ records: [{ value }] })
    const rebuilt = rebuildBatches(sourcesOf([source]), {
      maxBytes: source.length,
      targetBytes: source.length,
      codec: 'gzip',
    })
    assert.deepEqual(
      rebuilt.map(batch => [batch.isOversize, codecOf(batch.bytes.readInt16BE(21))]),
      [[false, 'none']],
    )
  })
})

describe('records are left out', () => {
  test('below an offset and outside a window, exactly', () => {
    const any = new RandomBatches(99)
    const bounds = [-(2n ** 61n), -1n, 0n, 1n, 1_700_000_000_010n, 2n ** 50n, 2n ** 53n + 2n, 2n ** 62n]
    let left = 0
    let out = 0
    for (let round = 0; round < ROUNDS * 2; round++) {
      const sources = sourcesOf(any.batches(1 + any.pick(4)))
      const all = visibleRecords(sources)
      const fromOffset = any.chance(0.5)
        ? (any.oneOf(all, undefined)?.offset ?? 3n) + BigInt(any.pick(3) - 1)
        : undefined
      const bound = () => (any.chance(0.5) ? any.oneOf(bounds, 0n) : any.oneOf(all, undefined)?.timestamp) ?? 0n
      const timeWindow = { ...(any.chance(0.6) && { start: bound() }), ...(any.chance(0.6) && { end: bound() }) }
      const rebuilt = rebuildBatches(sources, {
        ...options,
        timeWindow,
        ...(fromOffset !== undefined && { fromOffset }),
      })
      const { start, end } = timeWindow
      const expected = all.filter(
        ({ offset, timestamp }) =>
          offset >= (fromOffset ?? offset) &&
          timestamp >= (start ?? timestamp) &&
          (end === undefined || timestamp < end),
      )
      assert.deepEqual(checkedRecords(rebuilt), expected, `round ${round}`)
      left += expected.length
      out += all.length - expected.length
    }
    assert.ok(left > 800 && out > 800, `${left} left, ${out} out`)
  })
})

describe('a batch that cannot be decoded is refused with its offset', () => {
  const refuses = (batch: Buffer, edit?: RebuildOptions['edit']) =>
    assert.throws(() => rebuildBatches(sourcesOf([batch]), { ...options, ...(edit && { edit }) }), {
      code: 'BATCH_INVALID',
      message: /batch at offset 9 /,
    })

  test('when it claims other records than it has', () => {
    for (const recordCount of [-1, 1, 3, 2_147_483_647])
      refuses(encodeBatch({ baseOffset: 9n, records: [{}, {}], recordCount }))
  })

  test('also when another batch follows that would go on', () => {
    const sources = sourcesOf([encodeBatch({ baseOffset: 9n, recordCount: 2 }), encodeRun(10n, 1)])
    assert.throws(() => rebuildBatches(sources, options), { code: 'BATCH_INVALID', message: /batch at offset 9 / })
  })

  test('when its compression is broken or unknown', () => {
    refuses(encodeBatch({ baseOffset: 9n, codec: 'zstd', body: Buffer.from('no frame'), recordCount: 1 }))
    const unknown = encodeBatch({ baseOffset: 9n })
    unknown.writeInt16BE(6, 21)
    refuses(unknown)
  })

  test('when a field ends beyond its record, as soon as somebody looks', () => {
    const body = Buffer.from([12, 0, 0, 0, 20, 1, 0])
    refuses(encodeBatch({ baseOffset: 9n, body, recordCount: 1 }), record => ({ value: record.key }))
  })

  test('whatever was done to it, or is rebuilt into something that can be decoded', () => {
    const any = new RandomBatches(20_260_102)
    const outcomes = { rebuilt: 0, refused: 0 }
    for (let i = 0; i < 1500; i++) {
      const [source] = any.batches(1)
      assert.ok(source)
      for (let changes = 1 + any.pick(3); changes > 0; changes--)
        source[61 + any.pick(source.length - 61)] = any.pick(256)
      try {
        const rebuilt = rebuildBatches(sourcesOf([source]), {
          ...options,
          edit: record => ({ key: record.value, addHeaders: record.headers() }),
        })
        checkedRecords(rebuilt)
        outcomes.rebuilt++
      } catch (error) {
        assert.equal((error as { code?: string }).code, 'BATCH_INVALID', `mutation ${i}: ${error}`)
        outcomes.refused++
      }
    }
    assert.ok(outcomes.rebuilt > 100 && outcomes.refused > 300, JSON.stringify(outcomes))
  })
})
