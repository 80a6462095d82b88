import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { readHeader } from '../../src/batch/header.ts'
import { RecordCursor } from '../../src/batch/record-cursor.ts'
import { keyFilter, legsFrom, ownShare, startOf } from '../../src/restore/legs.ts'
import type { PlannedStream } from '../../src/restore/plan.ts'
import { encodeBatch } from '../fakes/batches.ts'
import { samplePartition } from './samples.ts'

const topic = { name: 'orders', id: 'id-orders' }
const legs = [0, 2, 5].map(partition => ({ topic, source: samplePartition(partition), start: 100n, end: 200n }))
const stream: PlannedStream = { partition: 1, legs, keyedAmong: 3 }

describe('the legs of a stream', () => {
  const left = (sourcePartition: number, sourceOffset: bigint) =>
    legsFrom(stream, { sourcePartition, sourceOffset }).map(({ source, start }) => [source.partition, Number(start)])

  test('are all left at its start', () => {
    assert.deepEqual(startOf(stream), { sourcePartition: 0, sourceOffset: 100n })
    assert.deepEqual(legsFrom(stream, startOf(stream)), legs)
  })

  test('are left from the offset of one on, and those behind it as they are', () => {
    assert.deepEqual(left(0, 150n), [
      [0, 150],
      [2, 100],
      [5, 100],
    ])
    assert.deepEqual(left(2, 200n), [
      [2, 200],
      [5, 100],
    ])
    assert.deepEqual(left(5, 120n), [[5, 120]])
    assert.deepEqual(left(6, 0n), [])
  })
})

describe('a stream by key', () => {
  const takers = (key: Buffer | null, from = legs[1] ?? assert.fail()) => {
    const cursor = new RecordCursor()
    const batch = encodeBatch({ records: [{ key, value: Buffer.from('key 1') }] })
    cursor.open(batch, readHeader(batch, 0))
    cursor.next()
    return [0, 1, 2].filter(partition => keyFilter({ ...stream, partition }, from)?.(cursor))
  }

  test('shares the keys with the others, each to one', () => {
    const keys = Array.from({ length: 300 }, (_, i) => Buffer.from(`key ${i}`))
    const taken = keys.map(key => takers(key))
    assert.ok(taken.every(({ length }) => length === 1))
    assert.equal(new Set(taken.flat()).size, 3)
    assert.deepEqual(takers(Buffer.alloc(0)).length, 1, 'an empty key is a key')
  })

  test('takes records without a key by the partition that they were in', () => {
    assert.deepEqual(
      legs.map(leg => takers(null, leg)),
      [[0], [2], [2]],
    )
  })

  test('is the only one that asks for keys', () => {
    assert.equal(keyFilter({ partition: 1, legs }, legs[0] ?? assert.fail()), undefined)
  })

  test('is taken for its share, of which none is lost', () => {
    for (const total of [0, 1, 2, 3, 100, 101]) {
      const shares = [0, 1, 2].map(partition => ownShare({ ...stream, partition }, total))
      assert.equal(
        shares.reduce((sum, one) => sum + one, 0),
        total,
      )
    }
    assert.equal(ownShare({ partition: 4, legs }, 17), 17)
  })
})
