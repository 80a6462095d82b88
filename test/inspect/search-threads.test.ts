import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import type { Worker } from 'node:worker_threads'
import { RecordMatcher } from '../../src/inspect/conditions.ts'
import type { BatchWatch } from '../../src/inspect/open-piece.ts'
import { openPartition, readForward } from '../../src/inspect/read-records.ts'
import { SchemaDecoder } from '../../src/inspect/schema-decoder.ts'
import { openSifting } from '../../src/inspect/sieve-threads.ts'
import { SiftAhead } from '../../src/inspect/sift-ahead.ts'
import { openFilesystemStorage } from '../../src/storage/file/filesystem.ts'
import type { Storage } from '../../src/storage/storage.ts'
import { never, storePartitions } from '../archive/sample-archive.ts'
import { encodeBatch } from '../fakes/batches.ts'
import { openMemoryStorage } from '../fakes/memory-storage.ts'

const LARGE = 1 << 30
const MIB = 1 << 20
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

/** Returns a search for the text, with or without threads. `onFound` is called after each record. */
async function openSearch(storage: Storage, stored: Buffer[][], compressed = false) {
  const { topics } = await storePartitions(storage, [stored], compressed)
  const [topic = assert.fail()] = topics
  const [partition = assert.fail()] = topic.partitions
  return async (ahead: SiftAhead | undefined, onFound: () => Promise<void> = async () => undefined) => {
    const matcher = newMatcher()
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
    const found: string[] = []
    for await (const record of readForward(storage, source, extent, never)) {
      if (!(await matcher.matches(record, never))) continue
      found.push(`${record.offset} ${record.value}`)
      await onFound()
    }
    ahead?.close()
    return { found, searched }
  }
}

function newMatcher(): RecordMatcher {
  const decoder = new SchemaDecoder({ ofId: async () => [], all: async () => [] })
  return new RecordMatcher({ text: 'needle', headers: [] }, 'auto', decoder)
}

const { needles } = newMatcher()

test('a search finds the same and ends, although its threads are killed in the middle', async () => {
  const storage = openMemoryStorage()
  const search = await openSearch(storage, segments())
  const expected = await search(undefined)
  assert.deepEqual([expected.found.length, expected.searched], [Math.ceil(SEGMENTS / 3), SEGMENTS * BATCHES * RECORDS])

  const started: Worker[] = []
  const note = (worker: Worker) => started.push(worker)
  process.on('worker', note)
  try {
    let found = 0
    const kill = async () => {
      // In the middle: batches before it were searched with the threads, and the next ones wait for them.
      if (++found !== 5) return
      const exits = started.map(worker => once(worker, 'exit'))
      for (const worker of started) void worker.terminate()
      await Promise.all(exits)
    }
    assert.deepEqual(await search(new SiftAhead(openSifting(needles, LARGE, 2)), kill), expected)
    assert.deepEqual([started.length, found], [2, expected.found.length])
  } finally {
    process.off('worker', note)
  }
})

test('a search finds the same in memory that it shares with its threads, compressed or not', async t => {
  const path = await mkdtemp(join(tmpdir(), 'kafka-backup-search-'))
  t.after(() => rm(path, { recursive: true }))
  for (const codec of ['none', 'zstd'] as const) {
    // Several pieces, of which each ends inside a batch.
    const batches = Array.from({ length: 50 }, (_, batch) => {
      const records = Array.from({ length: 3 }, (_, at) => {
        const text = randomBytes(50_000).toString('base64url')
        return { value: Buffer.from(batch % 4 === 0 && at === 1 ? `${text} needle ${batch}` : text) }
      })
      return encodeBatch({ baseOffset: BigInt(batch * 3), codec, records })
    })
    const search = await openSearch(openFilesystemStorage({ path: join(path, codec) }), [batches])
    const expected = await search(undefined)
    assert.deepEqual([expected.found.length, expected.searched], [13, 150])
    const sifting = openSifting(needles, LARGE, 2)
    const memories: ArrayBufferLike[] = []
    const sift: typeof sifting.sift = (bytes, headers) => {
      memories.push(bytes.buffer)
      return sifting.sift(bytes, headers)
    }
    const { width, busyBytes } = sifting
    const ahead = new SiftAhead({ width, busyBytes, sift, close: () => sifting.close() })
    assert.deepEqual(await search(ahead), expected)
    const shared = memories.filter(one => one instanceof SharedArrayBuffer)
    assert.ok(shared.length > 1, `${shared.length} of ${memories.length} pieces were shared`)
    assert.ok(shared.length < memories.length, 'the batch between two pieces is copied')
  }
})

test('a search finds the same in compressed segments, whose memory is freed when it was searched', async () => {
  const stored = Array.from({ length: 12 }, (_, number) => [
    encodeBatch({ baseOffset: BigInt(2 * number), records: [{ value: Buffer.alloc(MIB) }] }),
    encodeBatch({ baseOffset: BigInt(2 * number + 1), records: [{ value: Buffer.from('needle') }] }),
  ])
  const search = await openSearch(openMemoryStorage(), stored, true)
  const expected = await search(undefined)
  assert.equal(expected.found.length, 12)
  const sifting = openSifting(needles, 0)
  assert.ok(sifting.busyBytes < 12 * MIB)
  assert.deepEqual(await search(new SiftAhead(sifting)), expected)
})

test('a search finds damage in a batch that it would leave out before it goes on, because its reader may not wait for the end', async () => {
  const texts = ['needle 0', 'hay 1', 'needle 2']
  const batches = texts.map((text, i) =>
    encodeBatch({ baseOffset: BigInt(i), records: [{ value: Buffer.from(text) }] }),
  )
  const storage = openMemoryStorage()
  const search = await openSearch(storage, [batches])
  const damaged = Buffer.concat(batches)
  // The last letter of the first record: the sieve finds no needle in it.
  damaged[(batches[0]?.length ?? 0) - 4] = 0x39
  await storage.replace('b1/kafka/orders/0/0.log', damaged, never)
  for (const totalBytes of [0, LARGE]) {
    const ahead = new SiftAhead(openSifting(needles, totalBytes, 2))
    const reading = search(ahead, () => assert.fail('a record was found before'))
    await assert.rejects(reading, { code: 'ARCHIVE_DAMAGED', message: /the batch at offset 0 has a wrong CRC-32C/ })
    ahead.close()
  }
})

for (const rest of ['passes for a batch', 'has an old format'] as const) {
  test(`a search names the batch whose length is wrong, if what is left behind it ${rest}`, async () => {
    const batches = ['hay 0', 'hay 1', 'hay 2'].map((text, i) =>
      encodeBatch({ baseOffset: BigInt(i), records: [{ value: Buffer.from(text) }] }),
    )
    const storage = openMemoryStorage()
    const search = await openSearch(storage, [batches])
    const damaged = Buffer.concat(batches)
    const [first = 0, second = 0] = batches.map(({ length }) => length)
    // The second batch takes in the beginning of the third one.
    damaged.writeInt32BE(second - 12 + 8, first + 8)
    const left = first + second + 8
    damaged.writeInt32BE(damaged.length - left - 12, left + 8)
    damaged[left + 16] = rest === 'has an old format' ? 1 : 2
    await storage.replace('b1/kafka/orders/0/0.log', damaged, never)
    for (const ahead of [undefined, new SiftAhead(openSifting(needles, 0))]) {
      await assert.rejects(search(ahead), {
        code: 'ARCHIVE_DAMAGED',
        message: /the batch at offset 1 has a wrong CRC-32C/,
      })
    }
  })
}

test('a search names the object whose bytes are not a batch', async () => {
  const batches = ['hay 0', 'hay 1'].map((text, i) =>
    encodeBatch({ baseOffset: BigInt(i), records: [{ value: Buffer.from(text) }] }),
  )
  const storage = openMemoryStorage()
  const search = await openSearch(storage, [batches])
  const damaged = Buffer.concat(batches)
  // The magic number is outside the checksum.
  damaged[(batches[0]?.length ?? 0) + 16] = 7
  await storage.replace('b1/kafka/orders/0/0.log', damaged, never)
  for (const ahead of [undefined, new SiftAhead(openSifting(needles, 0))]) {
    await assert.rejects(search(ahead), { code: 'ARCHIVE_DAMAGED', message: /0\.log: .* unknown format 7/ })
  }
})
