import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { commitGeneration } from '../../src/archive/commit.ts'
import { freshKey } from '../../src/archive/incarnation.ts'
import { segmentKey } from '../../src/archive/layout.ts'
import type { Segment } from '../../src/archive/manifest.ts'
import { emptyPartition, withSegment } from '../../src/archive/summary.ts'
import { ArchiveReader } from '../../src/console/archive-reader.ts'
import { findRecords, type ScanParts } from '../../src/console/find-records.ts'
import { findTopic } from '../../src/console/find-topic.ts'
import { recordsPage } from '../../src/console/pages/records-page.ts'
import { readRecordQuery } from '../../src/console/record-query.ts'
import type { RecordView } from '../../src/console/record-view.ts'
import { type Clock, systemClock } from '../../src/lib/clock.ts'
import type { Storage } from '../../src/storage/storage.ts'
import { draftManifest, never, storeSegment, topicOf } from '../archive/sample-archive.ts'
import { batchOf, SHOP } from './sample-backups.ts'
import { useConsole } from './use-console.ts'

describe('a search in several requests', () => {
  const used = useConsole()
  /** Each request reads one piece of a segment. */
  const budget = { maxBytes: 0, maxMs: 60_000 }

  async function search(topic: string, text: string, max: number): Promise<{ found: RecordView[]; requests: number }> {
    const { storage } = used()
    const reader = new ArchiveReader([{ name: storage.location, storage }], systemClock)
    const backup = await reader.open({ at: 0, backupId: SHOP }, never)
    const parts: ScanParts = { backup, found: findTopic(backup, topic), clock: systemClock, budget }
    const asked = new URLSearchParams(text)
    const found: RecordView[] = []
    for (let requests = 1; requests <= max; requests++) {
      const query = readRecordQuery(parts.found, asked)
      const { records, next } = await findRecords(parts, query, never)
      found.push(...records)
      if (!next) return { found, requests }
      asked.set('resume', String(next.partition))
      asked.set('at', String(next.offset))
      if (query.from === undefined) asked.delete('from')
    }
    return assert.fail(`the search did not end after ${max} requests: ${asked}`)
  }

  test('ends, though it reads records that are not in the time window', async () => {
    const { found } = await search('orders', 'partition=0&since=1790000000000&until=1790000060000', 5)
    assert.deepEqual(
      found.map(({ offset }) => offset),
      [0n],
    )
  })

  test('finds every record of every partition once', async () => {
    const { found } = await search('orders', 'key=order-&prefix=1', 10)
    assert.equal(found.length, 75)
    assert.equal(new Set(found.map(({ partition, offset }) => `${partition}/${offset}`)).size, 75)
  })

  test('begins at the offset in every partition, also after a page that ended in the middle', async () => {
    for (const text of ['from=10', 'key=order-&prefix=1&from=10']) {
      const { found } = await search('orders', text, 10)
      const [first, second] = [0, 1].map(number => found.filter(({ partition }) => partition === number))
      assert.deepEqual(
        [first?.[0]?.offset, first?.length, second?.[0]?.offset, second?.length],
        [10n, 50, 10n, 5],
        text,
      )
    }
  })

  test('continues a link of an earlier version, which had the offset of one partition in `from`', async () => {
    const { found } = await search('orders', 'key=order-&prefix=1&resume=0&from=70', 10)
    assert.deepEqual([found[0]?.offset, found.filter(({ partition }) => partition === 1).length], [70n, 15])
  })
})

describe('reading back in several requests', () => {
  const used = useConsole({}, storage => addHoles(storage))

  /** Follows the link to older records until there is none. */
  async function readBack(topic: string, budget: ScanParts['budget'], backupId = SHOP) {
    const { storage } = used()
    const reader = new ArchiveReader([{ name: storage.location, storage }], systemClock)
    const backup = await reader.open({ at: 0, backupId }, never)
    const parts = { backup, found: findTopic(backup, topic), clock: systemClock, ...(budget && { budget }) }
    const asked = new URLSearchParams('partition=0')
    const found: bigint[] = []
    let stops = 0
    for (let requests = 1; requests <= 50; requests++) {
      const { records, next, isStopped } = await findRecords(parts, readRecordQuery(parts.found, asked), never)
      found.unshift(...records.map(({ offset }) => offset))
      assert.equal(isStopped, next !== undefined)
      if (isStopped) stops++
      const before = next?.offset ?? records[0]?.offset
      const isMore = next !== undefined || records.length === 50
      if (before === undefined || !isMore) return { found, stops }
      asked.set('before', String(before))
    }
    return assert.fail('it comes no further')
  }

  test('finds every record once, though each request has used up what it may read with the first piece', async () => {
    for (const [topic, id] of [
      ['orders', SHOP],
      ['holes', HOLES],
    ] as const) {
      const all = await readBack(topic, undefined, id)
      const { found, stops } = await readBack(topic, { maxBytes: 0, maxMs: 60_000 }, id)
      assert.deepEqual(found, all.found)
      assert.ok(found.length > 50 && all.stops === 0 && stops > 0, `${topic}: ${found.length}, ${stops} stops`)
    }
  })
})

describe('the page of records', () => {
  const used = useConsole({}, async storage => {
    await addHoles(storage)
    const value = Buffer.from(`{"a":1,"b":"${'x'.repeat(4 << 20)}"}`)
    await addBackup(storage, LARGE, 'large', [[batchOf(0n, [{ value }])]])
    const unknown = Buffer.from('\0\0\0\0\u0007payload')
    await addBackup(storage, UNKNOWN, 'unknown', [[batchOf(0n, [{ key: unknown, value: unknown }])]])
  })
  /** Every request has used up its time at once. */
  const late: Clock = { ...systemClock, monotonic: () => systemClock.monotonic() + 20_000 * calls++ }
  let calls = 0

  async function page(backupId: string, topic: string, query: string, clock: Clock): Promise<string> {
    const { storage } = used()
    const reader = new ArchiveReader([{ name: storage.location, storage }], systemClock)
    const backup = await reader.open({ at: 0, backupId }, never)
    const rawPath = `/at/0/${backupId}/topics/${topic}/records`
    const request = { path: [], rawPath, query: new URLSearchParams(query), clock, signal: never }
    return String(await recordsPage(backup, topic, request))
  }

  test('leads to older records also where the limit of a request ended it', async () => {
    for (const query of ['partition=0&before=5000', 'partition=0&key=none&before=14000']) {
      const text = await page(HOLES, 'holes', query, late)
      assert.match(text, /stopped at the limit of one request; continue it below/)
      assert.match(text, /before=3600[^"]*">Older/, query)
    }
  })

  test('leads back and forth where it has no records', async () => {
    assert.match(await page(HOLES, 'holes', 'partition=0&key=none&from=5000', systemClock), /before=5000">Before these/)
    assert.match(await page(HOLES, 'holes', 'partition=0&key=none&before=9', systemClock), /from=9">Newer/)
  })

  test('says how many records were too large to be decoded for a search', async () => {
    const text = await page(LARGE, 'large', 'where=a%3D1', systemClock)
    assert.match(
      text,
      /1 record too large to be decoded or searched here may match, too; kafka-backup search has higher limits\./,
    )
    assert.doesNotMatch(await page(LARGE, 'large', 'text=b', systemClock), /too large/)
  })

  test('says that keys or values without a schema were compared as they are stored', async () => {
    const notice = /Some keys or values name a schema that does not decode them, and were compared as they are stored\./
    for (const query of ['where=a%3D1', 'key=42', 'text=none']) {
      assert.match(await page(UNKNOWN, 'unknown', query, systemClock), notice, query)
    }
    assert.doesNotMatch(await page(UNKNOWN, 'unknown', '', systemClock), notice)
    assert.doesNotMatch(await page(LARGE, 'large', 'text=b', systemClock), notice)
  })

  test('continues a search over all partitions with the offset that every one begins at', async () => {
    const text = await page(SHOP, 'orders', 'key=order-&prefix=1&from=10', late)
    assert.match(text, /resume=0&amp;at=\d+&amp;from=10" rel="next">Continue/)
  })
})

const HOLES = 'holes'

/** A log whose records are far apart, as after compaction. */
function addHoles(storage: Storage): Promise<void> {
  const offsets = Array.from({ length: 120 }, (_, at) => BigInt(at * at))
  const batches = offsets.map(offset => batchOf(offset, [{ value: Buffer.from(`at ${offset}`) }]))
  return addBackup(storage, HOLES, 'holes', [batches.slice(0, 60), batches.slice(60)])
}

const LARGE = 'large'
const UNKNOWN = 'unknown'

async function addBackup(storage: Storage, backupId: string, topic: string, segmented: Buffer[][]): Promise<void> {
  let partition = emptyPartition(0, 0n)
  const segments: Segment[] = []
  for (const some of segmented) {
    const key = segmentKey({ backupId, topic, partition: 0 }, partition.end_offset, 'run1', true)
    const segment = await storeSegment(storage, key, some, true)
    segments.push(segment)
    partition = withSegment(partition, segment, 0, [])
  }
  const manifest = draftManifest([topicOf(topic, [partition])], { backup_id: backupId })
  const freshSegments = new Map([[freshKey({ id: `id-${topic}` }, 0), segments]])
  await commitGeneration(storage, { manifest, freshSegments, attempt: 1 }, never)
}
