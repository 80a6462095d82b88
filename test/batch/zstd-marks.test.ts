import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import { editZstdFrame, type PlainEdit } from '../../src/batch/zstd-edit.ts'
import { ZstdMarks } from '../../src/batch/zstd-marks.ts'
import { createRandom } from '../fakes/faulty-storage.ts'
import { bytesOf, idReplaced, MAX_HEAD_BYTES, pickFrom, recordsOf } from './framed-records.ts'

const pick = pickFrom(createRandom(20_261_119))

function packed(plain: Buffer, level = 3): Buffer {
  return zstdCompressSync(plain, { params: { [constants.ZSTD_c_compressionLevel]: level } })
}

/** Up to the last byte of the beginning that differs. */
function editOf(plain: Buffer, wanted: Buffer): PlainEdit {
  let length = Math.min(MAX_HEAD_BYTES, plain.length)
  while (length > 0 && plain[length - 1] === wanted[length - 1]) length--
  return { before: plain.subarray(0, length), after: wanted.subarray(0, length) }
}

/** Marks that know where records like these have their ID. */
function marksFor(plain: Buffer, wanted: Buffer): ZstdMarks {
  const marks = new ZstdMarks()
  marks.expect(editOf(plain, wanted), wanted)
  return marks
}

/** Blocks of one repeated byte, each as long as a block may be. */
function frameOfRuns(count: number): Buffer {
  const [header, blocks] = [Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0, 0x58]), Buffer.alloc(4 * count)]
  for (let i = 0; i < count; i++) blocks.writeUIntLE(Number(i === count - 1) | (1 << 1) | ((128 << 10) << 3), 4 * i, 3)
  return Buffer.concat([header, blocks])
}

function holds(frame: Buffer, plain: Buffer): boolean {
  try {
    return zstdDecompressSync(frame).equals(plain)
  } catch {
    return false
  }
}

describe('marked frames', () => {
  test('hold what the runtime reads, whatever their blocks are made of', () => {
    const sample = recordsOf('json', 5, 10, pick)
    const marks = marksFor(sample, idReplaced(sample, 5, 101))
    let opened = 0
    for (let round = 0; round < 60; round++) {
      const records = recordsOf(pick(4) === 0 ? 'binary' : 'json', 1 + pick(3), 1 + pick(4000), pick)
      const tails = [Buffer.alloc(0), Buffer.alloc(pick(400_000), 7), bytesOf(pick(300_000), pick)]
      const plain = Buffer.concat([records, ...tails.slice(0, 1 + pick(3)), records.subarray(0, pick(records.length))])
      const frame = packed(plain, 1 + pick(15))
      const before = Buffer.from(frame)
      const read = marks.open(frame)
      assert.deepEqual(frame, before, 'the frame itself is left alone')
      if (!read) continue
      opened++
      assert.ok(read.equals(plain), `round ${round}`)
    }
    assert.ok(opened > 25, `${opened} of 60 were opened`)
  })

  test('confirm an edit where decoding does, and never where it does not', () => {
    const verdicts = { both: 0, decoding: 0, neither: 0 }
    for (let round = 0; round < 200; round++) {
      const [from, to] = [1 + pick(120), 1 + pick(120)]
      const plain = recordsOf('json', from, 1 + pick(2000), pick)
      // Text that repeats the bytes of an ID is copied from there, too, and must not change with it.
      if (round % 3 === 0) plain.copy(plain, plain.length - 20, 9, 25)
      const wanted = idReplaced(plain, from, to)
      const marks = marksFor(plain, wanted)
      const frame = packed(plain, 1 + pick(5))
      const edit = editOf(plain, wanted)
      const edited = from === to ? undefined : editZstdFrame(frame, edit, plain.length)
      if (!edited || !marks.open(frame)) continue
      const isRight = holds(edited, wanted)
      const isConfirmed = marks.confirms(edited, edit, wanted)
      assert.ok(isRight || !isConfirmed, `round ${round}`)
      verdicts[isConfirmed ? 'both' : isRight ? 'decoding' : 'neither']++
    }
    assert.ok(verdicts.both > 40 && verdicts.neither > 10, JSON.stringify(verdicts))
    assert.equal(verdicts.decoding, 0)
  })

  test('do not confirm frames that differ in anything else', () => {
    const plain = recordsOf('json', 5, 300, pick)
    const wanted = idReplaced(plain, 5, 101)
    const [frame, edit, marks] = [packed(plain), editOf(plain, wanted), marksFor(plain, wanted)]
    const edited = editZstdFrame(frame, edit, plain.length) ?? assert.fail('it can be edited')
    let confirmed = 0
    for (let round = 0; round < 2000; round++) {
      const changed = Buffer.from(edited)
      const at = round % 2 === 0 ? pick(120) : pick(edited.length)
      changed[at] = pick(256)
      assert.ok(marks.open(frame))
      if (!marks.confirms(changed, edit, wanted)) continue
      confirmed++
      assert.ok(holds(changed, wanted), `round ${round}: byte ${at}`)
    }
    assert.ok(confirmed < 100, `${confirmed}: most changes damage the frame`)
    for (const at of [0, 40, wanted.length - 1]) {
      const other = Buffer.from(wanted)
      other[at] = (other[at] ?? 0) ^ 1
      assert.ok(marks.open(frame))
      assert.equal(marks.confirms(edited, edit, other), false, `another byte at ${at}`)
    }
    assert.ok(marks.open(frame))
    assert.equal(marks.confirms(edited, edit, wanted), true)
    assert.equal(marks.confirms(edited, edit, wanted), false, 'only of the frame that was opened last')
  })

  test('never read damaged frames as anything else than the runtime does', () => {
    const plain = recordsOf('json', 5, 400, pick)
    const marks = marksFor(plain, idReplaced(plain, 5, 101))
    const frame = packed(plain)
    for (let round = 0; round < 2000; round++) {
      const damaged = Buffer.from(frame)
      for (let i = 0; i <= pick(3); i++) damaged[round % 2 === 0 ? pick(120) : pick(frame.length)] = pick(256)
      const read = marks.open(damaged)
      assert.ok(read === undefined || holds(damaged, read), `round ${round}`)
    }
    assert.ok(marks.open(frame)?.equals(plain))
  })

  test('are not opened where no byte is left for a mark, where no ID is, and where there is a checksum', () => {
    const plain = recordsOf('json', 5, 100, pick)
    const marks = marksFor(plain, idReplaced(plain, 5, 101))
    assert.equal(marks.open(packed(Buffer.concat([plain, bytesOf(9000, pick)]))), undefined)
    assert.equal(marks.open(packed(Buffer.alloc(3, 0x90))), undefined)
    assert.ok(!marks.open(packed(recordsOf('json', 5, 120_000, pick))), 'more than 4 MiB')
    const checked = zstdCompressSync(plain, { params: { [constants.ZSTD_c_checksumFlag]: 1 } })
    assert.equal(marks.open(checked), undefined)
    assert.equal(new ZstdMarks().open(packed(plain)), undefined, 'before the first edit')
    assert.ok(marks.open(packed(plain)))
  })

  test('are not opened where lists of their literals or copies would take much memory', () => {
    const plain = recordsOf('json', 5, 100, pick)
    const marks = marksFor(plain, idReplaced(plain, 5, 101))
    const frameId = plain.subarray(8, MAX_HEAD_BYTES)
    const repeated = (count: number) => Buffer.concat([plain.subarray(0, 8), Buffer.alloc(count * 5, frameId)])
    assert.ok(marks.open(packed(repeated(100_000), 19)))
    assert.ok(!marks.open(packed(repeated(200_000), 19)), 'an ID that is copied very often')
    assert.ok(!marks.open(frameOfRuns(33_000)), 'more literals than a header can say')
    assert.ok(marks.open(packed(plain)))
  })
})
