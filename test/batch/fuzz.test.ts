import assert from 'node:assert/strict'
import { test } from 'node:test'
import { codecNames, isControl } from '../../src/batch/header.ts'
import { decodeMarker, decodeRecords } from '../../src/batch/records.ts'
import { walkBatches } from '../../src/batch/walk.ts'
import { KafkaBackupError } from '../../src/errors.ts'
import { encodeBatch, encodeMarker } from '../fakes/batches.ts'
import { createRandom } from '../fakes/faulty-storage.ts'

const MUTATIONS = 20_000

test('whatever is done to a batch, it is read or refused, and nothing else', () => {
  const seed = 20_260_102
  const random = createRandom(seed)
  const originals = [...codecNames.map(codec => encodeBatch({ codec, records })), encodeMarker(3n, 4n, 'abort')]
  const outcomes = { read: 0, refused: 0 }
  const before = process.memoryUsage().rss
  for (let i = 0; i < MUTATIONS; i++) {
    const bytes = mutate(originals, random)
    try {
      for (const header of walkBatches(bytes, 0, bytes.length)) {
        decodeRecords(bytes, header)
        if (isControl(header.attributes)) decodeMarker(bytes, header)
      }
      outcomes.read++
    } catch (error) {
      assert.ok(error instanceof KafkaBackupError, `mutation ${i} of seed ${seed}: ${error}`)
      outcomes.refused++
    }
  }
  assert.ok(outcomes.read > 500 && outcomes.refused > 5000, JSON.stringify(outcomes))
  assert.ok(process.memoryUsage().rss - before < 300 << 20, 'nothing made much room')
})

const records = [
  {
    key: Buffer.from('key'),
    value: Buffer.from('value '.repeat(20)),
    headers: [['h', Buffer.from('v')]] satisfies [string, Buffer][],
  },
  { key: null, value: null },
  { value: Buffer.alloc(200, 7), timestampDelta: 1000n },
]

/** One to four changes: a byte, an extreme INT32, a cut, a repetition, or another batch in front. */
function mutate(originals: readonly Buffer[], random: () => number): Buffer {
  const pick = (below: number) => Math.floor(random() * below)
  let bytes = Buffer.from(originals[pick(originals.length)] ?? Buffer.alloc(0))
  for (let changes = 1 + pick(4); changes > 0 && bytes.length > 4; changes--) {
    const at = pick(bytes.length)
    const kind = pick(6)
    if (kind <= 2) bytes[at] = pick(256)
    if (kind === 3)
      bytes.writeInt32BE([-1, 0, 1, 2_147_483_647, -2_147_483_648, 61][pick(6)] ?? 0, pick(bytes.length - 3))
    if (kind === 4) bytes = bytes.subarray(0, at)
    if (kind === 5) bytes = Buffer.concat([originals[pick(originals.length)] ?? bytes, bytes.subarray(at)])
  }
  return bytes
}
