import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { AbortTracker, cutChunk, examineChunk, splitChunk, walkAnswer } from '../../src/backup/chunk.ts'
import { encodeBatch, encodeMarker, encodeRun } from '../fakes/batches.ts'

function cut(batches: Buffer[], position: bigint, end: bigint) {
  const bytes = Buffer.concat(batches)
  return { bytes, chunk: cutChunk(walkAnswer(bytes, { start: 0, end: bytes.length }, 'orders/0'), position, end) }
}

const offsets = (chunk: ReturnType<typeof cutChunk>) => chunk?.headers.map(header => header.baseOffset)

describe('a chunk is cut', () => {
  const three = [encodeRun(0n, 10), encodeRun(10n, 10), encodeRun(20n, 10, { leaderEpoch: 4 })]

  test('from the batch that holds the position to the batch that holds the end, both whole', () => {
    const { chunk } = cut(three, 15n, 25n)
    assert.deepEqual(offsets(chunk), [10n, 20n])
    assert.deepEqual([chunk?.startOffset, chunk?.nextOffset, chunk?.lastEpoch], [15n, 30n, 4])
  })

  test('without batches that begin at the end or end before the position', () => {
    assert.deepEqual(offsets(cut(three, 10n, 20n).chunk), [10n])
    assert.deepEqual(cut(three, 30n, 40n).chunk, undefined)
    assert.deepEqual(cut(three, 0n, 0n).chunk, undefined)
  })

  test('over holes, which belong to nobody', () => {
    const { chunk } = cut([encodeRun(5n, 1), encodeRun(50n, 1, { lastOffsetDelta: 49 })], 3n, 80n)
    assert.deepEqual([offsets(chunk), chunk?.startOffset, chunk?.nextOffset], [[5n, 50n], 3n, 100n])
  })

  test('without the rest that a fetch ends with', () => {
    const bytes = Buffer.concat(three)
    const chunk = cutChunk(walkAnswer(bytes, { start: 0, end: bytes.length - 1 }, 'orders/0'), 0n, 30n)
    assert.deepEqual([offsets(chunk), chunk?.nextOffset], [[0n, 10n], 20n])
  })

  test('and is mostly plain when more than half of its bytes are', () => {
    const plain = encodeRun(0n, 1, { valueBytes: 500 })
    const packed = (valueBytes: number) => encodeRun(1n, 1, { codec: 'gzip', body: Buffer.alloc(valueBytes, 1) })
    assert.equal(cut([plain], 0n, 9n).chunk?.mostlyPlain, true)
    assert.equal(cut([packed(500)], 0n, 9n).chunk?.mostlyPlain, false)
    assert.equal(cut([plain, packed(400)], 0n, 9n).chunk?.mostlyPlain, true)
    assert.equal(cut([plain, packed(600)], 0n, 9n).chunk?.mostlyPlain, false)
  })
})

describe('an answer whose batches cannot follow each other is SOURCE_CORRUPT, and nothing of it is taken', () => {
  const table: [name: string, batches: Buffer[]][] = [
    ['a batch that stands twice', [encodeRun(0n, 10), encodeRun(0n, 10)]],
    ['a batch that overlaps the one before', [encodeRun(0n, 10), encodeRun(9n, 10)]],
    [
      'a batch far ahead, before the ones that come next',
      [encodeRun(0n, 10), encodeRun(2n ** 40n, 10), encodeRun(20n, 10)],
    ],
    ['a batch that ends before it begins', [encodeRun(0n, 10, { lastOffsetDelta: -1 })]],
    ['a batch with fewer records than none', [encodeBatch({ body: Buffer.alloc(0), recordCount: -5 })]],
  ]
  for (const [name, batches] of table) {
    test(name, () => {
      const expected = { code: 'SOURCE_CORRUPT', retryable: true, message: /^orders\/0: / }
      assert.throws(() => cut(batches, 0n, 30n), expected)
    })
  }
})

test('an old batch is refused with its partition and its offset', () => {
  const batches = [encodeRun(0n, 10), encodeBatch({ baseOffset: 10n, magic: 1 })]
  assert.throws(() => cut(batches, 0n, 30n), { code: 'BATCH_OLD_FORMAT', message: /^orders\/0: .*offset 10 .*v1/ })
})

describe('a chunk is split', () => {
  const batches = [encodeRun(0n, 10), encodeRun(10n, 10, { leaderEpoch: 1 }), encodeRun(20n, 10, { leaderEpoch: 2 })]
  const size = batches[0]?.length ?? 0
  const { chunk } = cut(batches, 0n, 30n)

  test('at the batch that fills the room', () => {
    assert.ok(chunk)
    for (const [room, count] of [
      [-5, 1],
      [0, 1],
      [1, 1],
      [size, 1],
      [size + 1, 2],
      [2 * size, 2],
      [2 * size + 1, 3],
      [10 * size, 3],
    ] as const) {
      const { head, tail } = splitChunk(chunk, room)
      assert.equal(head.headers.length, count, `room for ${room}`)
      assert.deepEqual([...head.headers, ...(tail?.headers ?? [])], chunk.headers)
    }
  })

  test('into two that meet, each with its own epoch', () => {
    assert.ok(chunk)
    const { head, tail } = splitChunk(chunk, size)
    assert.deepEqual([head.startOffset, head.nextOffset, head.lastEpoch], [0n, 10n, 0])
    assert.deepEqual([tail?.startOffset, tail?.nextOffset, tail?.lastEpoch], [10n, 30n, 2])
  })
})

describe('a chunk is examined', () => {
  const examine = (batches: Buffer[], aborted: [bigint, bigint][] = [], position = 0n) => {
    const { bytes, chunk } = cut(batches, position, 2n ** 60n)
    assert.ok(chunk)
    const tracker = new AbortTracker(aborted.map(([producerId, firstOffset]) => ({ producerId, firstOffset })))
    return { facts: examineChunk(bytes, chunk, tracker, 'orders/0'), open: tracker.open }
  }

  test('for its counts and times; markers are batches without records of a user', () => {
    const { facts } = examine([
      encodeRun(0n, 10, { baseTimestamp: 500n, maxTimestamp: 900n }),
      encodeRun(10n, 5, { baseTimestamp: 100n, maxTimestamp: 200n }),
      encodeMarker(15n, 1n, 'commit'),
    ])
    assert.deepEqual(facts, {
      startOffset: 0n,
      endOffset: 16n,
      batches: 3,
      records: 15,
      abortedRecords: 0,
      firstTimestamp: 100n,
      lastTimestamp: 900n,
      aborted: [],
    })
  })

  test('for records that were rolled back, between others, and those whose marker is still to come', () => {
    const data = (base: bigint, producerId: bigint, transactional = true) =>
      encodeRun(base, 10, { producerId, transactional })
    const { facts, open } = examine(
      [
        data(0n, 1n),
        data(10n, 2n),
        data(20n, 1n),
        encodeMarker(30n, 1n, 'abort'),
        data(31n, 1n),
        data(41n, 2n, false),
        encodeMarker(51n, 1n, 'commit'),
      ],
      [
        [1n, 0n],
        [2n, 10n],
      ],
    )
    assert.equal(facts.records, 50)
    assert.equal(facts.abortedRecords, 30, 'two batches of producer 1, one of producer 2')
    assert.deepEqual(facts.aborted, [{ producer_id: 1n, first_offset: 0n, last_offset: 30n }])
    assert.deepEqual(open, [{ producer_id: 2n, first_offset: 10n, last_offset: null }])
  })

  test('only from its first offset on, where the log was cut inside a batch', () => {
    assert.equal(examine([encodeRun(0n, 10, { codec: 'lz4' }), encodeRun(10n, 10)], [], 4n).facts.records, 16)
  })

  test('without times where compaction has left no record', () => {
    const { facts } = examine([encodeBatch({ records: [], lastOffsetDelta: 9 })])
    assert.deepEqual([facts.records, facts.firstTimestamp, facts.lastTimestamp, facts.endOffset], [0, null, null, 10n])
  })

  test('and one with a wrong checksum is refused with its place', () => {
    const bad = encodeRun(10n, 5)
    bad[70] = (bad[70] ?? 0) ^ 1
    assert.throws(() => examine([encodeRun(0n, 10), bad]), {
      code: 'SOURCE_CORRUPT',
      message: /orders\/0: .*offset 10 /,
    })
  })
})
