import assert from 'node:assert/strict'
import { test } from 'node:test'
import { walkBatches } from '../../src/batch/walk.ts'
import { convertOldParts } from '../../src/kafka/convert-old-parts.ts'
import { encodeRun } from '../fakes/batches.ts'
import { encodeOldMessage } from '../fakes/old-messages.ts'

const nameOf = ({ start }: { start: number }) => `the part at ${start}`

/** An answer with something in front, as in a real one. */
function answerOf(parts: readonly Buffer[]) {
  let position = 3
  const places = parts.map(({ length }) => {
    const start = position
    position += length
    return { start, end: position }
  })
  return { bytes: Buffer.concat([Buffer.from('abc'), ...parts]), places }
}

test('an answer without old messages is the same memory', () => {
  const { bytes, places } = answerOf([encodeRun(0n, 3), Buffer.alloc(0)])
  const fetched = convertOldParts(bytes, places, nameOf)
  assert.equal(fetched.bytes, bytes)
  assert.deepEqual(fetched.partitions, places)
})

test('of several parts, each has its own batches, and those that were converted say so', () => {
  const cut = encodeOldMessage({ offset: 4n })
  const parts = [
    encodeRun(7n, 2),
    encodeOldMessage({ offset: 5n }),
    cut.subarray(0, 30),
    Buffer.concat([encodeOldMessage({ offset: 1n, magic: 0 }), cut.subarray(0, 20)]),
    encodeRun(9n, 1).subarray(0, 40),
  ]
  const { bytes, places } = answerOf(parts)
  const { bytes: read, partitions } = convertOldParts(bytes, places, nameOf)
  assert.deepEqual(
    partitions.map(({ start, end, converted }) => [
      walkBatches(read, start, end).map(one => one.baseOffset),
      converted,
    ]),
    [
      [[7n], undefined],
      [[5n], { formats: ['v1'], endOffset: 6n }],
      [[], undefined],
      [[1n], { formats: ['v0'], endOffset: 2n }],
      [[], undefined],
    ],
  )
})

test('a message that cannot be decoded is SOURCE_CORRUPT, with its partition', () => {
  const bad = encodeOldMessage({ offset: 5n })
  bad[20] = 99
  const { bytes, places } = answerOf([bad])
  assert.throws(() => convertOldParts(bytes, places, nameOf), {
    code: 'SOURCE_CORRUPT',
    message: /^the part at 3: the message at offset 5 in format v1 /,
  })
})
