import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { convertOldMessages } from '../../src/batch/convert-old-messages.ts'
import { hasValidCrc } from '../../src/batch/crc.ts'
import { codecOf, isLogAppendTime } from '../../src/batch/header.ts'
import { headerChecksum } from '../../src/batch/lz4-header.ts'
import { decodeRecords } from '../../src/batch/records.ts'
import { walkBatches } from '../../src/batch/walk.ts'
import { encodeBatch } from '../fakes/batches.ts'
import { encodeOldMessage, encodeWrapper, type OldMessageSpec } from '../fakes/old-messages.ts'

function converted(log: Buffer) {
  const { bytes, ...rest } = convertOldMessages(log, 0, log.length) ?? assert.fail('nothing was converted')
  const headers = walkBatches(bytes, 0, bytes.length)
  for (const header of headers) assert.ok(hasValidCrc(bytes, header.position, header.sizeBytes))
  const records = headers.map(header => decodeRecords(bytes, header))
  return { headers, records, ...rest }
}

const text = (value: string) => Buffer.from(value)
const record = (offset: bigint, timestamp: bigint, key: Buffer | null, value: Buffer | null) => ({
  offset,
  timestamp,
  key,
  value,
  headers: [],
})

describe('messages of format v0 and v1 become batches of v2', () => {
  test('keys, values, nulls, empty texts, offsets and times stay as they are', () => {
    const log = Buffer.concat([
      encodeOldMessage({ magic: 0, offset: 7n, key: text('k'), value: text('v') }),
      encodeOldMessage({ magic: 0, offset: 9n, key: null, value: null }),
      encodeOldMessage({ offset: 10n, timestamp: 1_234_567_890_123n, key: text(''), value: text('') }),
      encodeOldMessage({ offset: 12n, timestamp: -1n, key: text('d'), value: null }),
    ])
    const { headers, records, formats, endOffset } = converted(log)
    assert.deepEqual(records, [
      [record(7n, -1n, text('k'), text('v'))],
      [record(9n, -1n, null, null)],
      [record(10n, 1_234_567_890_123n, text(''), text(''))],
      [record(12n, -1n, text('d'), null)],
    ])
    assert.deepEqual([formats, endOffset], [['v0', 'v1'], 13n])
    for (const { leaderEpoch, producerId, attributes } of headers) {
      assert.deepEqual([leaderEpoch, producerId, attributes], [-1, -1n, 0])
    }
    assert.deepEqual(
      headers.map(({ baseTimestamp, maxTimestamp }) => [baseTimestamp, maxTimestamp]),
      [
        [-1n, -1n],
        [-1n, -1n],
        [1_234_567_890_123n, 1_234_567_890_123n],
        [-1n, -1n],
      ],
    )
  })

  for (const codec of ['gzip', 'snappy', 'lz4'] as const) {
    for (const magic of [0, 1] as const) {
      test(`a message of v${magic} that wraps others with ${codec} becomes one batch with this codec`, () => {
        // Compaction leaves holes inside.
        const inner: OldMessageSpec[] = [100n, 101n, 104n].map((offset, i) => ({
          magic,
          offset,
          timestamp: 1_500_000_000_000n - BigInt(i * 5),
          key: i === 1 ? null : text(`key ${i}`),
          value: Buffer.alloc(70_000, `value ${i} `),
        }))
        const { headers, records, formats } = converted(encodeWrapper(codec, inner, { magic }))
        const expected = inner.map(({ offset = 0n, timestamp = 0n, key = null, value = null }) =>
          record(offset, magic === 0 ? -1n : timestamp, key, value),
        )
        assert.deepEqual(records, [expected])
        const [header = assert.fail()] = headers
        assert.deepEqual([header.baseOffset, header.lastOffset, header.recordCount], [100n, 104n, 3])
        assert.deepEqual([codecOf(header.attributes), formats], [codec, [`v${magic}`]])
        assert.equal(header.maxTimestamp, magic === 0 ? -1n : 1_500_000_000_000n)
      })
    }
  }

  test('with LogAppendTime the time of the wrapper is that of all its records', () => {
    const inner = [5n, 6n].map(offset => ({ offset, timestamp: 1n }))
    const stamp = { timestamp: 1_600_000_000_000n, logAppendTime: true }
    const alone = encodeOldMessage({ offset: 7n, ...stamp })
    const { headers, records } = converted(Buffer.concat([encodeWrapper('gzip', inner, stamp), alone]))
    assert.ok(headers.every(({ attributes }) => isLogAppendTime(attributes)))
    assert.deepEqual(
      records.flat().map(({ offset, timestamp }) => [offset, timestamp]),
      [
        [5n, 1_600_000_000_000n],
        [6n, 1_600_000_000_000n],
        [7n, 1_600_000_000_000n],
      ],
    )
  })

  test('a wrapper of v1 with offset 0 counts from 0, as some producers write it', () => {
    const inner = [0n, 1n, 2n].map(offset => ({ offset }))
    const { records } = converted(encodeWrapper('gzip', inner, { offset: 0n }))
    assert.deepEqual(
      records.flat().map(({ offset }) => offset),
      [0n, 1n, 2n],
    )
  })

  test('batches of v2 before and behind them are not changed', () => {
    const [before, behind] = [encodeBatch({ baseOffset: 1n, leaderEpoch: 4 }), encodeBatch({ baseOffset: 3n })]
    const log = Buffer.concat([before, encodeOldMessage({ offset: 2n }), behind])
    const { bytes } = convertOldMessages(log, 0, log.length) ?? assert.fail()
    assert.deepEqual(bytes.subarray(0, before.length), before)
    assert.deepEqual(bytes.subarray(-behind.length), behind)
    assert.equal(walkBatches(bytes, 0, bytes.length).length, 3)
    assert.equal(convertOldMessages(before, 0, before.length), undefined)
  })

  test('the batches do not depend on where an answer begins or ends', () => {
    const messages = [1n, 2n, 3n].map(offset => encodeOldMessage({ offset, value: Buffer.alloc(40, 'v') }))
    const log = Buffer.concat(messages)
    const whole = convertOldMessages(log, 0, log.length)?.bytes ?? assert.fail()
    for (let end = 0; end < log.length; end++) {
      const part = convertOldMessages(log, 0, end)
      const complete = Math.floor(end / (log.length / messages.length))
      const bytes = part?.bytes ?? Buffer.alloc(0)
      assert.deepEqual(bytes, whole.subarray(0, bytes.length))
      assert.equal(walkBatches(bytes, 0, bytes.length).length, complete)
    }
  })
})

describe('messages that cannot be decoded are refused with their offset', () => {
  const good = encodeWrapper('gzip', [{ offset: 40n }, { offset: 41n }])
  const cases: [string, Buffer, RegExp][] = [
    ['a wrong checksum', flip(encodeOldMessage({ offset: 41n }), 30), /wrong CRC-32/],
    ['a wrong checksum of a wrapper', flip(good, good.length - 1), /wrong CRC-32/],
    ['another codec than it says', encodeOldMessage({ offset: 41n, codec: 'snappy', value: text('x') }), /snappy/],
    ['zstd, which they do not have', encodeOldMessage({ offset: 41n, codec: 'zstd' }), /unknown compression/],
    ['a wrapper without a value', encodeOldMessage({ offset: 41n, codec: 'gzip', value: null }), /no value/],
    ['a wrapper of nothing', encodeWrapper('gzip', [], { offset: 41n }), /wraps no message/],
    ['offsets that fall', encodeWrapper('gzip', [{ offset: 42n }, { offset: 41n }], { magic: 0 }), /follows/],
    [
      'a wrapper with an offset below those inside',
      encodeWrapper('gzip', [{ offset: 0n }, { offset: 50n }], { offset: 41n }),
      /beyond its own/,
    ],
  ]
  for (const [name, bytes, reason] of cases) {
    test(name, () => {
      assert.throws(
        () => convertOldMessages(bytes, 0, bytes.length),
        (error: Error & { code?: string }) => {
          assert.equal(error.code, 'BATCH_INVALID')
          assert.match(error.message, /offset 41/)
          assert.match(error.message, reason)
          return true
        },
      )
    })
  }

  test('changed bytes never pass for other records', () => {
    const log = Buffer.concat([encodeOldMessage({ offset: 40n, key: text('k') }), good])
    const { records } = converted(log)
    for (let at = 12; at < log.length; at++) {
      // Offset and size of the second message lie outside of its checksum, as they do in v2.
      const second = log.length - good.length
      if (at >= second && at < second + 12) continue
      const bytes = flip(log, at)
      assert.throws(() => assert.deepEqual(converted(bytes).records, records), `byte ${at}`)
    }
  })
})

test('the checksum of the header of an LZ4 frame is that of the format', () => {
  // From frames of the reference implementation: 64 KiB blocks, and 4 MiB blocks with a content size.
  assert.equal(headerChecksum(Buffer.from([0x60, 0x40])), 0x82)
  assert.equal(headerChecksum(Buffer.from([0x64, 0x40])), 0xa7)
})

function flip(bytes: Buffer, at: number): Buffer {
  const changed = Buffer.from(bytes)
  changed[at] = (changed[at] ?? 0) ^ 0x10
  return changed
}
