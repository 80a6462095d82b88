import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import { decompress as decompressElsewhere } from 'fzstd'
import type { SourceBatch } from '../../src/batch/compression.ts'
import { HEADER_BYTES } from '../../src/batch/header.ts'
import { patchBatch } from '../../src/batch/patch-batch.ts'
import { RecordParts } from '../../src/batch/record-parts.ts'
import { decodeRecords } from '../../src/batch/records.ts'
import { editZstdFrame } from '../../src/batch/zstd-edit.ts'
import { ZstdEditor } from '../../src/batch/zstd-editor.ts'
import { encodeBatch } from '../fakes/batches.ts'
import { createRandom } from '../fakes/faulty-storage.ts'
import { sourcesOf } from './checked-records.ts'
import { bytesOf, type Form, idReplaced, MAX_HEAD_BYTES, pickFrom, recordsOf, words } from './framed-records.ts'

const pick = pickFrom(createRandom(20_261_118))
const BEGINNING = MAX_HEAD_BYTES
const plainOf = (form: Form, id: number, records: number) => recordsOf(form, id, records, pick)

function editOf(before: Buffer, after: Buffer) {
  return { before: before.subarray(0, BEGINNING), after: after.subarray(0, BEGINNING) }
}

describe('the beginning of a zstd frame', () => {
  for (const form of ['json', 'binary'] as const) {
    test(`is edited in all its copies, so that every decoder reads the new ID everywhere (${form})`, () => {
      let edited = 0
      for (let round = 0; round < 120; round++) {
        const [from, to] = [1 + pick(200), 1 + pick(200)]
        const plain = plainOf(form, from, 1 + pick(3000))
        const level = 1 + pick(9)
        const frame = zstdCompressSync(plain, { params: { [constants.ZSTD_c_compressionLevel]: level } })
        const before = Buffer.from(frame)
        const wanted = idReplaced(plain, from, to)
        const result = editZstdFrame(frame, editOf(plain, wanted), plain.length)
        assert.deepEqual(frame, before, 'the frame itself is left alone')
        if (!result || !zstdDecompressSync(result).equals(wanted)) continue
        edited++
        assert.ok(
          Buffer.from(decompressElsewhere(result)).equals(wanted),
          'an implementation in JavaScript reads the same',
        )
        assert.ok(Math.abs(result.length - frame.length) <= 4)
      }
      assert.ok(edited > (form === 'json' ? 30 : 90), `${edited} of 120 frames were edited`)
    })
  }

  test('is edited where it is stored as it is', () => {
    const plain = bytesOf(200, pick)
    const after = Buffer.from(plain)
    after.writeInt32BE(77, 4)
    const result = editZstdFrame(zstdCompressSync(plain), editOf(plain, after), plain.length)
    assert.ok(result)
    assert.deepEqual(zstdDecompressSync(result), after)
  })

  test('is left alone in frames that are not made for it', () => {
    const plain = plainOf('json', 5, 500)
    const edit = editOf(plain, idReplaced(plain, 5, 101))
    const checked = zstdCompressSync(plain, { params: { [constants.ZSTD_c_checksumFlag]: 1 } })
    const frame = zstdCompressSync(plain)
    const others = {
      'a checksum': checked,
      'two frames': Buffer.concat([frame, frame]),
      'cut off': frame.subarray(0, -1),
      'one repeated byte': zstdCompressSync(Buffer.alloc(1000, 90)),
      'no frame': Buffer.from('no frame'),
      nothing: Buffer.alloc(0),
    }
    for (const [what, bytes] of Object.entries(others)) {
      assert.equal(editZstdFrame(bytes, edit, plain.length), undefined, what)
    }
    assert.ok(editZstdFrame(frame, edit, plain.length))
    const foreign = { ...edit, before: Buffer.alloc(BEGINNING, 1) }
    assert.equal(editZstdFrame(frame, foreign, plain.length), undefined, 'other bytes than the frame holds')
    const uncoded = { ...edit, after: Buffer.concat([edit.before.subarray(0, -1), Buffer.from([0xfe])]) }
    assert.equal(editZstdFrame(frame, uncoded, plain.length), undefined, 'a byte that no literal of the frame has')
  })

  test('never fails at damaged bytes', () => {
    const plain = plainOf('json', 5, 400)
    const edit = editOf(plain, idReplaced(plain, 5, 101))
    const frame = zstdCompressSync(plain)
    for (let round = 0; round < 3000; round++) {
      const damaged = Buffer.from(frame)
      for (let i = 0; i <= pick(3); i++) damaged[round % 2 === 0 ? pick(120) : pick(frame.length)] = pick(256)
      const result = editZstdFrame(damaged, edit, plain.length)
      assert.ok(result === undefined || result.length > 0)
    }
  })
})

describe('an editor of frames', () => {
  const plain = plainOf('json', 5, 300)
  const wanted = idReplaced(plain, 5, 101)
  const frame = zstdCompressSync(plain)

  test('returns no frame that holds anything else than it is to hold', () => {
    const editor = new ZstdEditor()
    assert.ok(editor.edit(frame, editOf(plain, wanted), wanted))
    const other = Buffer.from(wanted)
    other[other.length - 1] = 0
    assert.equal(editor.edit(frame, editOf(plain, wanted), other), undefined)
  })

  test('stops trying for a while when most frames cannot be edited', () => {
    const editor = new ZstdEditor()
    const tries = (count: number, edit: ReturnType<typeof editOf>) =>
      Array.from({ length: count }, () => editor.edit(frame, edit, wanted) !== undefined)
    assert.deepEqual(new Set(tries(16, editOf(wanted, wanted))), new Set([false]))
    assert.deepEqual(new Set(tries(240, editOf(plain, wanted))), new Set([false]))
    assert.deepEqual(tries(1, editOf(plain, wanted)), [true])
  })
})

describe('a zstd batch with other schema IDs', () => {
  const parts = new RecordParts()
  const framed = (id: number, ...texts: string[]) =>
    Buffer.concat(texts.flatMap(text => [Buffer.from([0, 0, 0, 0, id]), Buffer.from(text)]))
  const patch = (record: Parameters<RecordParts['locate']>[0] & { buffer: Buffer }) => {
    parts.locate(record)
    record.buffer.writeInt32BE(101, parts.valueStart + 1)
    return true
  }
  const patched = (values: Buffer[]) => {
    const [source] = sourcesOf([encodeBatch({ codec: 'zstd', records: values.map(value => ({ value })) })])
    assert.ok(source)
    const size = source.header.sizeBytes
    const result = patchAfterPause(source)
    return {
      values: decodeRecords(result.bytes, result.header).map(({ value }) => value),
      growth: result.bytes.length - size,
      isPacked: result.isPacked,
    }
  }
  /** The editor of this process may pause, because other tests have patched batches that cannot be edited. */
  const patchAfterPause = (source: SourceBatch) => {
    for (let paused = 0; paused < 240; paused++) patchBatch(source, { patch, codec: 'keep' })
    const result = patchBatch(source, { patch, codec: 'keep' })
    assert.ok(result)
    return result
  }
  const text = (i: number) => `{"event":"placed","number":${i},"word":"${words[pick(8)]}"}`

  test('keeps its size, which compressing it again would change', () => {
    const texts = Array.from({ length: 400 }, (_, i) => text(i))
    const { values, growth, isPacked } = patched(texts.map(one => framed(5, one)))
    assert.deepEqual(
      values,
      texts.map(one => framed(101, one)),
    )
    assert.ok(Math.abs(growth) <= 4, `${growth} bytes`)
    assert.equal(isPacked, false)
  })

  test('has the bytes of an ID inside a value as they were, although they are copies of the ID', () => {
    const texts = Array.from({ length: 400 }, (_, i) => [text(i), text(i)] as const)
    const { values, isPacked } = patched(texts.map(([one, other]) => framed(5, one, other)))
    assert.equal(isPacked, true)
    assert.deepEqual(
      values,
      texts.map(([one, other]) => Buffer.concat([framed(101, one), framed(5, other)])),
    )
  })

  test('begins with records that have no ID', () => {
    const texts = Array.from({ length: 50 }, (_, i) => text(i))
    const [source] = sourcesOf([
      encodeBatch({ codec: 'zstd', records: [{ value: null }, ...texts.map(one => ({ value: framed(5, one) }))] }),
    ])
    assert.ok(source)
    const skipping = (record: Parameters<typeof patch>[0]) => {
      parts.locate(record)
      return parts.valueStart >= 0 && patch(record)
    }
    const result = patchBatch(source, { patch: skipping, codec: 'keep' })
    assert.ok(result && result.bytes.length > HEADER_BYTES)
    const values = decodeRecords(result.bytes, result.header).map(({ value }) => value)
    assert.deepEqual(values, [null, ...texts.map(one => framed(101, one))])
  })
})
