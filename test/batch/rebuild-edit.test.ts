import assert from 'node:assert/strict'
import { test } from 'node:test'
import { codecNames } from '../../src/batch/header.ts'
import { rebuildBatches } from '../../src/batch/rebuild.ts'
import type { RecordEdit } from '../../src/batch/record-editor.ts'
import { encodeBatch, encodeRun } from '../fakes/batches.ts'
import { checkedRecords, sourcesOf, visibleRecords } from './checked-records.ts'
import { RandomBatches } from './random-batches.ts'

const options = { maxBytes: 1 << 20, targetBytes: 1 << 20, codec: 'keep' } as const
const far = [-1n, 0n, 1_700_000_000_000n, 2n ** 50n, -(2n ** 50n) - 1n, 2n ** 63n - 1n]

test('an edit sees every record as it is, with its offset and visible time', () => {
  const any = new RandomBatches(11)
  for (let round = 0; round < 100; round++) {
    const sources = sourcesOf(any.batches(1 + any.pick(4)))
    const seen: object[] = []
    rebuildBatches(sources, {
      ...options,
      edit: record => {
        const { offset, timestamp, key, value } = record
        seen.push({ offset, timestamp, key, value, headers: record.headers() })
        return undefined
      },
    })
    assert.deepEqual(seen, visibleRecords(sources))
  }
})

test('what an edit asks for is changed, everything else stays', () => {
  const any = new RandomBatches(12)
  let changed = 0
  for (let round = 0; round < 150; round++) {
    const sources = sourcesOf(any.batches(1 + any.pick(4), any.oneOf(codecNames, 'none')))
    const edits = visibleRecords(sources).map(() => (any.chance(0.2) ? undefined : randomEdit(any)))
    let index = 0
    const rebuilt = rebuildBatches(sources, { ...options, targetBytes: 700, edit: () => edits[index++] })
    const expected = visibleRecords(sources).flatMap((record, i) => {
      const edit = edits[i]
      if (edit === 'drop') return []
      const { key = record.key, value = record.value, timestamp = record.timestamp, addHeaders = [] } = edit ?? {}
      return [{ ...record, key, value, timestamp, headers: [...record.headers, ...addHeaders] }]
    })
    assert.deepEqual(checkedRecords(rebuilt), expected, `round ${round}`)
    changed += edits.filter(edit => edit !== undefined).length
  }
  assert.ok(changed > 1000, `${changed} records changed`)
})

test('an edit that changes nothing makes the same bytes as none', () => {
  const sources = sourcesOf(new RandomBatches(13).batches(20))
  const plain = rebuildBatches(sources, options)
  for (const edit of [() => undefined, () => ({}), () => ({ addHeaders: [] })]) {
    assert.deepEqual(rebuildBatches(sources, { ...options, edit }), plain)
  }
})

test('an edit is asked only for records inside the bounds', () => {
  const source = encodeRun(10n, 5, { baseTimestamp: 7n })
  const seen: bigint[] = []
  const edit = (record: { offset: bigint }) => {
    seen.push(record.offset)
    return undefined
  }
  rebuildBatches(sourcesOf([source]), { ...options, fromOffset: 13n, edit })
  rebuildBatches(sourcesOf([source]), { ...options, timeWindow: { end: 7n }, edit })
  assert.deepEqual(seen, [13n, 14n])
})

test('a value may become larger than any memory that was there before', () => {
  const value = Buffer.alloc(3 << 20, 'large')
  const rebuilt = rebuildBatches(sourcesOf([encodeRun(0n, 3)]), { ...options, edit: () => ({ value }) })
  assert.deepEqual(
    rebuilt.map(batch => [batch.recordCount, batch.isOversize]),
    [1, 1, 1].map(count => [count, true]),
  )
  for (const record of checkedRecords(rebuilt)) assert.ok(record.value?.equals(value))
})

test('what an edit throws comes out as it is', () => {
  const failure = new Error('no such schema')
  const edit = () => {
    throw failure
  }
  assert.throws(
    () => rebuildBatches(sourcesOf([encodeBatch()]), { ...options, edit }),
    error => error === failure,
  )
})

function randomEdit(any: RandomBatches): RecordEdit | 'drop' {
  if (any.chance(0.2)) return 'drop'
  return {
    ...(any.chance(0.4) && { key: any.bytes(200) }),
    ...(any.chance(0.4) && { value: any.bytes(200) }),
    ...(any.chance(0.4) && { addHeaders: any.headers() }),
    ...(any.chance(0.4) && { timestamp: any.oneOf(far, 0n) }),
  }
}
