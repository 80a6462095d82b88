import assert from 'node:assert/strict'
import { test } from 'node:test'
import { codecNames, readHeader } from '../../src/batch/header.ts'
import { keyPlacer, partitionForKey } from '../../src/batch/key-placer.ts'
import { rebuildBatches } from '../../src/batch/rebuild.ts'
import { RecordCursor } from '../../src/batch/record-cursor.ts'
import { encodeBatch } from '../fakes/batches.ts'
import { sourcesOf } from './checked-records.ts'

const keys = [null, Buffer.alloc(0), ...Array.from({ length: 200 }, (_, i) => Buffer.alloc(i + 1, `key ${i} `))]

test('each record is placed by its key, and one without a key nowhere', () => {
  for (const codec of codecNames) {
    const batch = encodeBatch({ codec, records: keys.map(key => ({ key, value: Buffer.from('not this') })) })
    const cursor = new RecordCursor()
    const placeOf = keyPlacer(7)
    cursor.open(batch, readHeader(batch, 0))
    for (const key of keys) {
      cursor.next()
      assert.equal(placeOf(cursor), key === null ? undefined : partitionForKey(key, 7), `${codec} ${key}`)
    }
  }
})

test('a key that ends beyond its record is refused with the offset of its batch', () => {
  const batch = encodeBatch({ baseOffset: 42n, records: [{ key: Buffer.from('abc'), value: Buffer.from('v') }] })
  // length, attributes, time, offset, and then the length of the key: 3 becomes 30.
  batch[61 + 4] = 60
  const placeOf = keyPlacer(3)
  const options = { maxBytes: 1000, targetBytes: 1000, codec: 'keep' as const }
  const takes = (record: Parameters<typeof placeOf>[0]) => placeOf(record) === 1
  assert.throws(() => rebuildBatches(sourcesOf([batch]), { ...options, takes }), {
    code: 'BATCH_INVALID',
    message: /batch at offset 42 .* a field ends beyond its record/,
  })
})
