import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { codecNames } from '../../src/batch/header.ts'
import { decodeRecords } from '../../src/batch/records.ts'
import { walkBatches } from '../../src/batch/walk.ts'
import { takeMemory } from '../../src/lib/recycled-memory.ts'
import { createIdMap } from '../../src/registry/ids/id-map.ts'
import { indexSchemas } from '../../src/registry/ids/known-schemas.ts'
import { readOutgoing } from '../../src/restore/outgoing.ts'
import { IdRewriter } from '../../src/restore/rewrite-ids.ts'
import type { Storage } from '../../src/storage/storage.ts'
import { never, storeSegment } from '../archive/sample-archive.ts'
import { encryptEverything } from '../encryption/samples.ts'
import { encodeBatch } from '../fakes/batches.ts'
import { openMemoryStorage } from '../fakes/memory-storage.ts'
import { framed } from '../registry/ids/sample-schemas.ts'

const SEGMENTS = 12
const BATCHES = 5

/** Segments of some hundred kilobytes, read into memory that can be given back, as backends of the program do. */
async function openSegments(id = 5) {
  const memory = openMemoryStorage()
  const used = new Set<ArrayBufferLike>()
  const batches: Buffer[] = []
  const segments = []
  for (let i = 0; i < SEGMENTS; i++) {
    const some = Array.from({ length: BATCHES }, (_, j) => {
      const value = framed(id, randomBytes(50_000).toString('base64'))
      return encodeBatch({ baseOffset: BigInt(i * BATCHES + j), codec: codecNames[j] ?? 'none', records: [{ value }] })
    })
    batches.push(...some)
    segments.push(await storeSegment(memory, `k/${i}`, some, false))
  }
  const readRange: Storage['readRange'] = async (key, start, length, signal) => {
    const bytes = takeMemory(length)
    used.add(bytes.buffer)
    ;(await memory.readRange(key, start, length, signal)).copy(bytes)
    return bytes
  }
  const storage: Storage = { ...memory, readRange }
  return { storage, used, batches, options: { ...range, segments } }
}

const range = {
  ...{ name: 't/0', sourcePartition: 0, openAborted: [], start: 0n, end: 10_000n, timeWindow: {} },
  ...{ maxBytes: 1 << 20, batchBytes: 1 },
}

const rewriteTo = (...pairs: [source: number, target: number][]) => ({
  ...{ schemas: indexSchemas([]), topic: 't', judged: {}, writes: true, reasons: new Map(), context: '.' },
  idMap: createIdMap(pairs.map(([source, target]) => ({ context: '.', source, target }))),
  ...{ parts: ['value'] as const, unknownIds: 'fail' as const },
})

const recordsOf = (bytes: Buffer) => walkBatches(bytes, 0, bytes.length).flatMap(one => decodeRecords(bytes, one))

describe('the memory of batches that go out', () => {
  test('is used again when the next one is asked for, and not before', async () => {
    const { storage, used, batches, options } = await openSegments()
    let i = 0
    for await (const { bytes } of readOutgoing(storage, { ...options, givesBack: true }, never)) {
      // Meanwhile the next piece is read.
      for (let turns = 0; turns < 5; turns++) await turn()
      assert.ok(bytes.equals(batches[i] ?? Buffer.alloc(0)), `batch ${i}`)
      i++
    }
    assert.equal(i, SEGMENTS * BATCHES)
    assert.ok(used.size < SEGMENTS / 2, `${used.size} buffers for ${SEGMENTS} pieces`)
  })

  test('is used again also where schema IDs are rewritten, here or on threads', async () => {
    const { storage, used, batches, options } = await openSegments()
    let i = 0
    const ids = new IdRewriter(rewriteTo([5, 500]), 't/0')
    for await (const { bytes } of readOutgoing(storage, { ...options, ids, givesBack: true }, never)) {
      for (let turns = 0; turns < 5; turns++) await turn()
      const [expected] = recordsOf(batches[i] ?? Buffer.alloc(0))
      expected?.value?.writeInt32BE(500, 1)
      assert.deepEqual(recordsOf(bytes), [expected], `batch ${i}`)
      i++
    }
    assert.equal(i, SEGMENTS * BATCHES)
    assert.ok(used.size < SEGMENTS / 2, `${used.size} buffers for ${SEGMENTS} pieces`)
  })

  test('of an encrypted backup holds the IDs of the backup again when a partition is read again', async () => {
    const storage = encryptEverything(openMemoryStorage())
    const batch = encodeBatch({ records: [{ value: framed(5, 'a') }] })
    const segments = [await storeSegment(storage, 'b1/k', [batch], false)]
    const read = async () => {
      const found: (number | undefined)[] = []
      const options = {
        ...range,
        segments,
        ids: new IdRewriter(rewriteTo([5, 6], [6, 7]), 't/0'),
        givesBack: true as const,
      }
      for await (const { bytes } of readOutgoing(storage, options, never)) {
        found.push(...recordsOf(bytes).map(({ value }) => value?.readInt32BE(1)))
      }
      return found
    }
    assert.deepEqual([await read(), await read()], [[6], [6]])
  })

  test('of merged batches is used again when the next one is asked for, and not before', async () => {
    const memory = openMemoryStorage()
    const value = randomBytes(10_000)
    const small = Array.from({ length: 1000 }, (_, i) => encodeBatch({ baseOffset: BigInt(i), records: [{ value }] }))
    const segments = [await storeSegment(memory, 'k/merged', small, true)]
    const used = new Set<ArrayBufferLike>()
    let [records, batches] = [0, 0]
    const options = { ...range, segments, end: 1000n, batchBytes: 512 << 10, givesBack: true as const }
    for await (const { bytes, recordCount, runs } of readOutgoing(memory, options, never)) {
      for (let turns = 0; turns < 5; turns++) await turn()
      used.add(bytes.buffer)
      const found = recordsOf(bytes)
      assert.deepEqual([found.length, runs], [recordCount, [{ sourceOffset: BigInt(records), count: recordCount }]])
      assert.ok(found.every(one => one.value?.equals(value)))
      records += recordCount
      batches++
    }
    assert.equal(records, 1000)
    assert.ok(batches > 10 && used.size < batches / 2, `${used.size} buffers for ${batches} batches`)
  })

  test('stays with who keeps the batches', async () => {
    const { storage, batches, options } = await openSegments()
    const kept: Buffer[] = []
    for await (const { bytes } of readOutgoing(storage, options, never)) kept.push(bytes)
    assert.deepEqual(
      kept.map((bytes, i) => bytes.equals(batches[i] ?? Buffer.alloc(0))),
      batches.map(() => true),
    )
  })
})
