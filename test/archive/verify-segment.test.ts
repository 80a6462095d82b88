import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Segment } from '../../src/archive/manifest.ts'
import { checkSegment } from '../../src/archive/verify-segment.ts'
import { encodeMarker, encodeRun } from '../fakes/batches.ts'
import { withFaults } from '../fakes/faulty-storage.ts'
import { openMemoryStorage } from '../fakes/memory-storage.ts'
import { never, storeSegment } from './sample-archive.ts'

const batches = [encodeRun(0n, 3), encodeRun(3n, 3), encodeRun(10n, 3)]

async function check(changes: Partial<Segment>, stored = batches): Promise<string[]> {
  const storage = openMemoryStorage()
  const segment = await storeSegment(storage, 'b/s', stored, false)
  return checkSegment(storage, { ...segment, ...changes }, never)
}

describe('a segment is held against its entry in the index', () => {
  const rows: [name: string, changes: Partial<Segment>, problems: string[]][] = [
    ['nothing is wrong', {}, []],
    ['another end', { end_offset: 14n }, ['it ends at offset 13 instead of 14']],
    ['another number of batches', { batches: 4 }, ['it holds 3 batches instead of 4']],
    ['another number of records', { records: 10 }, ['it holds 9 records instead of 10']],
    ['another time', { last_timestamp: 5n }, ['its time range is not the recorded one']],
    ['no time', { first_timestamp: null }, ['its time range is not the recorded one']],
    ['another hash', { blake3: '0'.repeat(64) }, ['its BLAKE3 hash is not the recorded one']],
    ['more plain bytes', { plain_size: 1000 }, ['it holds 336 plain bytes instead of 1000']],
    [
      'a start behind the first batch',
      { start_offset: 3n },
      ['the batch at offset 0 lies before offset 3, where the batch before it ends', 'it holds 6 records instead of 9'],
    ],
  ]
  for (const [name, changes, problems] of rows) {
    test(name, async () => assert.deepEqual(await check(changes), problems))
  }

  test('records below its start do not count, where the log was cut inside its first batch', async () => {
    assert.deepEqual(await check({ start_offset: 2n, records: 7 }), [])
  })

  test('markers are batches without records', async () => {
    assert.deepEqual(await check({ records: 3 }, [encodeRun(0n, 3), encodeMarker(3n, 1n, 'commit')]), [])
  })
})

test('batches in another order than that of their offsets are named', async () => {
  const problems = await check({ end_offset: 6n, start_offset: 0n }, [
    encodeRun(0n, 3),
    encodeRun(10n, 3),
    encodeRun(3n, 3),
  ])
  assert.deepEqual(problems, ['the batch at offset 3 lies before offset 13, where the batch before it ends'])
})

test('a store that does not answer is no damage', async () => {
  const memory = openMemoryStorage()
  const segment = await storeSegment(memory, 'b/s', batches, false)
  const storage = withFaults(memory, [{ on: 'readRange', effect: { kind: 'throw-before' } }])
  await assert.rejects(checkSegment(storage, segment, never), { code: 'STORAGE_UNAVAILABLE' })
})
