import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openBody } from '../../src/batch/compression.ts'
import { type BatchHeader, readHeader } from '../../src/batch/header.ts'
import { RecordCursor } from '../../src/batch/record-cursor.ts'
import { RecordParts } from '../../src/batch/record-parts.ts'
import { type FrameIds, scanFrames } from '../../src/inspect/scan-frames.ts'
import { LONG_BYTES, type Part, parts, readSchemaId } from '../../src/registry/ids/schema-id.ts'
import { RandomBatches } from '../batch/random-batches.ts'
import { encodeBatch, type RecordSpec } from '../fakes/batches.ts'
import { framed } from '../registry/ids/sample-schemas.ts'

/** The same with the cursor that the rest of the program uses, which throws where the bytes are not records. */
function walked(body: Buffer, header: BatchHeader, part: Part): FrameIds {
  const [cursor, found] = [new RecordCursor(), new RecordParts()]
  const ids: FrameIds = new Map()
  cursor.openBody(body, header)
  while (cursor.next()) {
    found.locate(cursor)
    const [start, end] = part === 'key' ? [found.keyStart, found.keyEnd] : [found.valueStart, found.valueEnd]
    const id = start < 0 ? 0 : readSchemaId(body, start, end)
    if (id === 0) continue
    const counts = ids.get(id) ?? { frames: 0, longs: 0 }
    counts[end - start === LONG_BYTES ? 'longs' : 'frames']++
    ids.set(id, counts)
  }
  return ids
}

function someRecords(random: RandomBatches): RecordSpec[] {
  const part = () =>
    random.oneOf(
      [null, Buffer.alloc(0), framed(1 + random.pick(3), 'x'.repeat(random.pick(200))), Buffer.alloc(8, 1)],
      null,
    )
  return Array.from({ length: random.pick(20) }, () => ({
    key: part(),
    value: part(),
    timestampDelta: BigInt(random.pick(1e6)),
  }))
}

test('a scan finds the schema IDs that a walk over the records finds', () => {
  const random = new RandomBatches(3)
  for (let i = 0; i < 200; i++) {
    const bytes = encodeBatch({ records: someRecords(random), lastOffsetDelta: 30 })
    const header = readHeader(bytes, 0)
    const body = openBody(bytes, header)
    for (const part of parts) assert.deepEqual(scanFrames(body, header.recordCount, part), walked(body, header, part))
  }
})

test('a scan leaves headers, GUIDs and everything odd to the walk', () => {
  const guid = Buffer.from(`01${'ab'.repeat(16)}`, 'hex')
  const odd: RecordSpec[] = [
    { value: framed(5, 'x'), headers: [['h', null]] },
    { value: guid },
    { value: framed(5, 'x'), timestampDelta: 2n ** 40n },
  ]
  for (const record of odd) {
    const bytes = encodeBatch({ records: [record] })
    const header = readHeader(bytes, 0)
    assert.equal(scanFrames(openBody(bytes, header), header.recordCount, 'value'), undefined)
  }
})

test('a scan takes no bytes for records that a walk refuses, and finds no other IDs in what both take', () => {
  const random = new RandomBatches(11)
  let taken = 0
  for (let i = 0; i < 3000; i++) {
    const bytes = encodeBatch({ records: someRecords(random), lastOffsetDelta: 30 })
    const header = readHeader(bytes, 0)
    const body = Buffer.from(openBody(bytes, header))
    if (body.length === 0) continue
    body[random.pick(body.length)] = random.pick(256)
    const cut = random.chance(0.2) ? body.subarray(0, random.pick(body.length)) : body
    const ids = scanFrames(cut, header.recordCount, 'value')
    if (!ids) continue
    taken++
    assert.deepEqual(ids, walked(cut, header, 'value'))
  }
  assert.ok(taken > 300, `${taken} were still records`)
})
