import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { SourceBatch } from '../../src/batch/compression.ts'
import { hasValidCrc } from '../../src/batch/crc.ts'
import { codecNames, codecOf } from '../../src/batch/header.ts'
import { type PatchRecord, patchBatch } from '../../src/batch/patch-batch.ts'
import { RecordParts } from '../../src/batch/record-parts.ts'
import { decodeRecords } from '../../src/batch/records.ts'
import { KafkaBackupError } from '../../src/errors.ts'
import { encodeBatch, encodeMarker, encodeRun } from '../fakes/batches.ts'
import { sourcesOf, visibleRecords } from './checked-records.ts'
import { RandomBatches } from './random-batches.ts'

/** Turns the first byte of every value around. */
function flip(): PatchRecord {
  const parts = new RecordParts()
  return record => {
    parts.locate(record)
    if (parts.valueStart < 0 || parts.valueEnd === parts.valueStart) return false
    record.buffer[parts.valueStart] = (record.buffer[parts.valueStart] ?? 0) ^ 0xff
    return true
  }
}

const flipped = (value: Buffer | null) =>
  value === null || value.length === 0 ? value : Buffer.from([(value[0] ?? 0) ^ 0xff, ...value.subarray(1)])

function sourceOf(batch: Buffer): SourceBatch {
  const [source] = sourcesOf([batch])
  assert.ok(source)
  return source
}

describe('a batch that is patched', () => {
  test('has the same records but for the bytes that were patched, with any codec', () => {
    const any = new RandomBatches(21)
    let changed = 0
    for (let round = 0; round < 200; round++) {
      for (const batch of any.batches(3, any.oneOf(codecNames, 'none'))) {
        const original = sourceOf(Buffer.from(batch))
        const source = sourceOf(batch)
        const patched = patchBatch(source, { patch: flip(), codec: 'keep' })
        const expected = visibleRecords([original]).map(record => ({ ...record, value: flipped(record.value) }))
        assert.deepEqual(decodeRecords((patched ?? source).bytes, (patched ?? source).header), expected)
        if (!patched) continue
        changed++
        const codec = codecOf(original.header.attributes)
        if (codec !== 'zstd') assert.equal(patched.isPacked, codec !== 'none')
        assert.ok(hasValidCrc(patched.bytes, patched.header.position, patched.header.sizeBytes))
        const { position: _, sizeBytes, ...header } = patched.header
        const { position: __, sizeBytes: ___, ...before } = original.header
        assert.deepEqual(header, before)
        assert.equal(sizeBytes, patched.bytes.length)
      }
    }
    assert.ok(changed > 300, `${changed} batches changed`)
  })

  test('keeps its header, transactional and all, bit for bit besides length and checksum', () => {
    for (const codec of codecNames) {
      const spec = { codec, transactional: true, producerId: 9n, leaderEpoch: 4 }
      const batch = encodeRun(70n, 5, spec)
      const before = Buffer.from(batch)
      const patched = patchBatch(sourceOf(batch), { patch: flip(), codec: 'keep' })
      assert.ok(patched)
      const kept = (bytes: Buffer) => [bytes.subarray(0, 8), bytes.subarray(12, 17), bytes.subarray(21, 61)]
      assert.deepEqual(kept(patched.bytes), kept(before), codec)
    }
  })

  test('is left alone, bit for bit, where nothing was changed', () => {
    for (const codec of codecNames) {
      const batch = encodeRun(0n, 3, { codec })
      const before = Buffer.from(batch)
      assert.equal(patchBatch(sourceOf(batch), { patch: () => false, codec: 'keep' }), undefined)
      assert.deepEqual(batch, before)
    }
  })

  test('is none where it is a marker or empty', () => {
    const patch = () => assert.fail('no record of a user is in there')
    for (const batch of [encodeMarker(0n, 1n, 'commit'), encodeBatch({ records: [], lastOffsetDelta: 3 })]) {
      assert.equal(patchBatch(sourceOf(batch), { patch, codec: 'keep' }), undefined)
    }
  })

  test('may be packed otherwise', () => {
    for (const codec of codecNames) {
      const patched = patchBatch(sourceOf(encodeRun(3n, 4, { codec, transactional: true })), {
        patch: flip(),
        codec: 'none',
      })
      assert.ok(patched)
      assert.equal(codecOf(patched.header.attributes), 'none')
      assert.equal(codecOf(patched.bytes.readInt16BE(21)), 'none')
      assert.equal(patched.bytes.readInt16BE(21) & 0x10, 0x10)
      assert.equal(decodeRecords(patched.bytes, patched.header).length, 4)
      assert.ok(hasValidCrc(patched.bytes, 0, patched.bytes.length))
    }
  })

  test('says which it is where it cannot be opened, and lets through what the patch itself refuses', () => {
    const broken = encodeBatch({ baseOffset: 8n, records: [{}], codec: 'zstd', body: Buffer.from('no zstd') })
    const wrong = { code: 'BATCH_INVALID', message: /offset 8 \(zstd\) cannot be decoded/ }
    assert.throws(() => patchBatch(sourceOf(broken), { patch: flip(), codec: 'keep' }), wrong)
    const odd = encodeBatch({ baseOffset: 8n, records: [{}], body: Buffer.from([8, 0, 0, 0, 99]) })
    assert.throws(() => patchBatch(sourceOf(odd), { patch: flip(), codec: 'keep' }), { code: 'BATCH_INVALID' })
    const refusal = new KafkaBackupError('SCHEMA_ID_UNKNOWN', 'no')
    const patch = () => {
      throw refusal
    }
    assert.throws(
      () => patchBatch(sourceOf(encodeBatch()), { patch, codec: 'keep' }),
      error => error === refusal,
    )
  })
})

test('the parts of a record lie where its decoder finds them', () => {
  const any = new RandomBatches(22)
  const parts = new RecordParts()
  for (const batch of any.batches(100)) {
    const source = sourceOf(batch)
    const seen: object[] = []
    const at = (buffer: Buffer, start: number, end: number) =>
      start < 0 ? null : Buffer.from(buffer.subarray(start, end))
    const patch: PatchRecord = record => {
      parts.locate(record)
      const { buffer } = record
      const headers: [string, Buffer | null][] = []
      parts.eachHeader((nameStart, nameEnd, start, end) =>
        headers.push([buffer.toString('utf8', nameStart, nameEnd), at(buffer, start, end)]),
      )
      const key = at(buffer, parts.keyStart, parts.keyEnd)
      seen.push({ key, value: at(buffer, parts.valueStart, parts.valueEnd), headers })
      return false
    }
    patchBatch(source, { patch, codec: 'keep' })
    assert.deepEqual(
      seen,
      visibleRecords([source]).map(({ key, value, headers }) => ({ key, value, headers })),
    )
  }
})
