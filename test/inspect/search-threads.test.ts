import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import type { Worker } from 'node:worker_threads'
import { RecordMatcher } from '../../src/inspect/conditions.ts'
import { type BatchWatch, openPartition, readForward } from '../../src/inspect/read-records.ts'
import { SchemaDecoder } from '../../src/inspect/schema-decoder.ts'
import { openSifting } from '../../src/inspect/sieve-threads.ts'
import { SiftAhead } from '../../src/inspect/sift-ahead.ts'
import { never, storePartitions } from '../archive/sample-archive.ts'
import { encodeBatch } from '../fakes/batches.ts'
import { openMemoryStorage } from '../fakes/memory-storage.ts'

const LARGE = 1 << 30
const SEGMENTS = 40
const RECORDS = 50

const BATCHES = 4

/** One record of every third segment has the text, so that most batches of a piece are left out. */
function segments(): Buffer[][] {
  return Array.from({ length: SEGMENTS }, (_, number) =>
    Array.from({ length: BATCHES }, (_, batch) => {
      const records = Array.from({ length: RECORDS }, (_, at) => ({
        value: Buffer.from(
          `${at === 17 && batch === 1 && number % 3 === 0 ? 'needle' : 'hay'} ${number} ${'x'.repeat(500)}`,
        ),
      }))
      return encodeBatch({ baseOffset: BigInt((number * BATCHES + batch) * RECORDS), codec: 'zstd', records })
    }),
  )
}

test('a search finds the same and ends, although its threads are killed in the middle', async () => {
  const storage = openMemoryStorage()
  const { topics } = await storePartitions(storage, [segments()], false)
  const [topic = assert.fail()] = topics
  const [partition = assert.fail()] = topic.partitions
  const search = async (ahead: SiftAhead | undefined, onPiece: () => Promise<void> = async () => undefined) => {
    const decoder = new SchemaDecoder({ ofId: async () => [], all: async () => [] })
    const matcher = new RecordMatcher({ text: 'needle', headers: [] }, 'auto', decoder)
    const extent = { offsets: {}, times: {}, withAborted: false }
    let searched = 0
    const watch: BatchWatch = {
      mayMatch: (body, header) => matcher.mayMatch(body, header),
      judge: verdict => matcher.judge(verdict),
      ...(ahead && { excludes: record => matcher.excludes(record) }),
      ahead,
      onSearched: count => {
        searched += count
      },
      onRead: () => undefined,
    }
    const source = await openPartition(storage, topic, partition, extent, watch, never)
    const offsets: bigint[] = []
    for await (const record of readForward(storage, source, extent, never)) {
      if (!(await matcher.matches(record, never))) continue
      offsets.push(record.offset)
      await onPiece()
    }
    ahead?.close()
    return { offsets, searched }
  }
  const expected = await search(undefined)
  assert.deepEqual(
    [expected.offsets.length, expected.searched],
    [Math.ceil(SEGMENTS / 3), SEGMENTS * BATCHES * RECORDS],
  )

  const started: Worker[] = []
  const note = (worker: Worker) => started.push(worker)
  process.on('worker', note)
  try {
    const needles = new RecordMatcher(
      { text: 'needle', headers: [] },
      'auto',
      new SchemaDecoder({ ofId: async () => [], all: async () => [] }),
    ).needles
    let found = 0
    const kill = async () => {
      // In the middle: batches before it were searched with the threads, and the next ones wait for them.
      if (++found !== 5) return
      const exits = started.map(worker => once(worker, 'exit'))
      for (const worker of started) void worker.terminate()
      await Promise.all(exits)
    }
    assert.deepEqual(await search(new SiftAhead(openSifting(needles, LARGE, 2)), kill), expected)
    assert.deepEqual([started.length, found], [2, expected.offsets.length])
  } finally {
    process.off('worker', note)
  }
})
