import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { codecNames } from '../../src/batch/header.ts'
import { countRecordsFrom, decodeRecords, firstTimestamp } from '../../src/batch/records.ts'
import { walkBatches } from '../../src/batch/walk.ts'
import { type BatchSpec, compress, encodeBatch, encodeRecord, encodeVarint, withCrc } from '../fakes/batches.ts'

function decode(batch: Buffer) {
  const [header] = walkBatches(batch, 0, batch.length)
  assert.ok(header)
  return decodeRecords(batch, header)
}

const odd: BatchSpec = {
  baseOffset: 1000n,
  baseTimestamp: 1_700_000_000_000n,
  records: [
    { key: null, value: null },
    { key: Buffer.alloc(0), value: Buffer.alloc(0), timestampDelta: -5n },
    { key: Buffer.from([0, 255]), value: Buffer.alloc(300, 'x'), timestampDelta: 2n ** 40n, offsetDelta: 5 },
    {
      value: Buffer.from('headers'),
      offsetDelta: 2_000_000_000,
      headers: [
        ['a', Buffer.from('1')],
        ['a', Buffer.from('2')],
        ['', null],
        ['ünï', Buffer.alloc(0)],
      ],
    },
  ],
}

const expected = [
  { offset: 1000n, timestamp: 1_700_000_000_000n, key: null, value: null, headers: [] },
  { offset: 1001n, timestamp: 1_699_999_999_995n, key: Buffer.alloc(0), value: Buffer.alloc(0), headers: [] },
  {
    offset: 1005n,
    timestamp: 1_700_000_000_000n + 2n ** 40n,
    key: Buffer.from([0, 255]),
    value: Buffer.alloc(300, 'x'),
    headers: [],
  },
  {
    offset: 2_000_001_000n,
    timestamp: 1_700_000_000_000n,
    key: null,
    value: Buffer.from('headers'),
    headers: odd.records?.[3]?.headers,
  },
]

describe('records of a batch', () => {
  for (const codec of codecNames) {
    test(`with ${codec}: null and empty fields, repeated headers, holes and jumping times`, () => {
      assert.deepEqual(decode(encodeBatch({ ...odd, codec })), expected)
    })
  }

  test('of a batch that the broker stamped have its time', () => {
    const batch = encodeBatch({ ...odd, logAppendTime: true, maxTimestamp: 42n })
    assert.deepEqual(new Set(decode(batch).map(record => record.timestamp)), new Set([42n]))
  })

  test('have their first time in the header, unless compaction has put a delete horizon there', () => {
    const timeOf = (batch: Buffer) => {
      const [header] = walkBatches(batch, 0, batch.length)
      assert.ok(header)
      return firstTimestamp(batch, header)
    }
    const records = [{ timestampDelta: -9n }, { timestampDelta: 5n }]
    assert.equal(timeOf(encodeBatch({ baseTimestamp: 100n, records })), 100n)
    const horizon = encodeBatch({ baseTimestamp: 100n, records })
    horizon.writeInt16BE(horizon.readInt16BE(21) | 0x40, 21)
    assert.equal(timeOf(withCrc(horizon)), 91n)
    assert.equal(timeOf(encodeBatch({ records: [], lastOffsetDelta: 3 })), null)
  })

  test('a batch that compaction emptied has none', () => {
    assert.deepEqual(decode(encodeBatch({ records: [], lastOffsetDelta: 9 })), [])
  })

  test('below the start of the log do not count, and the batch is opened only for that', () => {
    const batch = encodeBatch({ ...odd, codec: 'gzip' })
    const [header] = walkBatches(batch, 0, batch.length)
    assert.ok(header)
    const counts = [999n, 1000n, 1001n, 1002n, 1005n, 1006n, 3_000_000_000n]
    assert.deepEqual(
      counts.map(start => countRecordsFrom(batch, header, start)),
      [4, 4, 3, 2, 2, 1, 0],
    )
    const closed = encodeBatch({ baseOffset: 5n, body: Buffer.from('no records at all'), recordCount: 3 })
    const [closedHeader] = walkBatches(closed, 0, closed.length)
    assert.ok(closedHeader)
    assert.equal(countRecordsFrom(closed, closedHeader, 5n), 3)
    assert.throws(() => countRecordsFrom(closed, closedHeader, 6n), { code: 'BATCH_INVALID' })
  })
})

describe('a batch is refused as BATCH_INVALID', () => {
  const refuses = (batch: Buffer, message?: RegExp) =>
    assert.throws(() => decode(batch), { code: 'BATCH_INVALID', ...(message && { message }) })
  const record = encodeRecord({ key: Buffer.from('key'), value: Buffer.from('value'), headers: [['h', null]] }, 0)

  test('when its records are cut off at any byte', () => {
    for (let length = 0; length < record.length; length++) {
      refuses(encodeBatch({ body: record.subarray(0, length), recordCount: 1 }))
    }
  })

  for (const codec of codecNames.filter(name => name !== 'none')) {
    test(`when its ${codec} bytes are cut off at any byte`, () => {
      const whole = compress(codec, Buffer.concat([record, encodeRecord({ value: Buffer.alloc(500, 'abc') }, 1)]))
      for (let length = 0; length < whole.length; length++) {
        const batch = encodeBatch({ codec, body: whole.subarray(0, length), recordCount: 2 })
        // A footer of checksums may be missing where the codec does not need it to have everything.
        if (isWhole(batch)) continue
        refuses(batch)
      }
      refuses(encodeBatch({ codec, body: whole.subarray(0, whole.length >> 1), recordCount: 2 }))
    })
  }

  test('when bytes are left over, or a record has another length than it says', () => {
    refuses(encodeBatch({ body: Buffer.concat([record, Buffer.from([0])]), recordCount: 1 }), /left over/)
    refuses(encodeBatch({ body: Buffer.concat([record, record]), recordCount: 1 }), /left over/)
    const longer = Buffer.from(record)
    longer[0] = (longer[0] ?? 0) + 2
    refuses(encodeBatch({ body: Buffer.concat([longer, Buffer.from([0])]), recordCount: 1 }), /wrong length/)
  })

  test('when it claims a number of records that it cannot hold, without making room for them', () => {
    for (const recordCount of [2, 1000, 30_000_000, 2_147_483_647]) {
      const before = process.memoryUsage().heapTotal
      refuses(encodeBatch({ body: record, recordCount }))
      assert.ok(process.memoryUsage().heapTotal - before < 50 << 20, `${recordCount} records`)
    }
  })

  test('when it claims a negative number of records, also where nothing follows', () => {
    for (const recordCount of [-1, -2_147_483_648]) {
      refuses(encodeBatch({ body: record, recordCount }))
      refuses(encodeBatch({ body: Buffer.alloc(0), recordCount }))
    }
  })

  test('when a record claims a negative number of headers, or more than it has room for', () => {
    for (const count of [-1, -5, 30_000_000, 2n ** 62n]) {
      const content = Buffer.concat([Buffer.from([0, 0, 0, 1, 1]), encodeVarint(count)])
      const body = Buffer.concat([encodeVarint(content.length), content])
      const before = process.memoryUsage().heapTotal
      refuses(encodeBatch({ body, recordCount: 1 }))
      assert.ok(process.memoryUsage().heapTotal - before < 50 << 20, `${count} headers`)
    }
  })

  test('when a header has no name', () => {
    const content = Buffer.concat([Buffer.from([0, 0, 0, 1, 1]), encodeVarint(1), Buffer.from([1, 1])])
    refuses(encodeBatch({ body: Buffer.concat([encodeVarint(content.length), content]), recordCount: 1 }), /no name/)
  })

  test('when its compression is one that nobody knows', () => {
    for (const codec of [5, 6, 7]) {
      const batch = encodeBatch({ baseOffset: 12n })
      batch.writeInt16BE(codec, 21)
      refuses(withCrc(batch), /offset 12 has an unknown compression/)
    }
  })
})

function isWhole(batch: Buffer): boolean {
  try {
    return decode(batch).length === 2
  } catch {
    return false
  }
}
