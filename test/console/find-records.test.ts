import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ArchiveReader } from '../../src/console/archive-reader.ts'
import { findRecords, type RecordView, type ScanParts } from '../../src/console/find-records.ts'
import { findTopic } from '../../src/console/find-topic.ts'
import { readRecordQuery } from '../../src/console/record-query.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { never } from '../archive/sample-archive.ts'
import { SHOP } from './sample-backups.ts'
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
      const { records, next } = await findRecords(parts, readRecordQuery(parts.found, asked), never)
      found.push(...records)
      if (!next) return { found, requests }
      asked.set('resume', String(next.partition))
      asked.set('from', String(next.offset))
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
})
