import assert from 'node:assert/strict'
import { test } from 'node:test'
import { noChange } from '../../../src/archive/log/change.ts'
import { createDocument } from '../../../src/archive/log/document.ts'
import { type OpenedGeneration, openGeneration } from '../../../src/archive/log/open-generation.ts'
import { SegmentLists } from '../../../src/archive/log/segment-lists.ts'
import { writeCheckpoint } from '../../../src/archive/log/write-checkpoint.ts'
import { runPool } from '../../../src/lib/pool.ts'
import type { Storage } from '../../../src/storage/storage.ts'
import { openMemoryStorage } from '../../fakes/memory-storage.ts'
import { longLog } from './long-log.ts'

const { signal } = new AbortController()

/** A generation whose segments are in many pages. */
async function manyPages(): Promise<{ storage: Storage; opened: OpenedGeneration; pages: number }> {
  const storage = openMemoryStorage()
  await longLog(storage, 40)
  const opened = await openGeneration(storage, 'b', 40, signal)
  const { pages } = await writeCheckpoint(storage, opened, 'many', signal, { maxSegments: 3 })
  const checkpoint = opened.checkpoint ?? {
    format: 'kafka-backup-checkpoint',
    format_version: 2,
    backup_id: 'b',
    generation: 40,
    parts: [],
    change: {},
    pages: [],
  }
  return {
    storage,
    opened: { ...opened, checkpoint: { ...checkpoint, pages: [...pages] }, pending: noChange },
    pages: pages.length,
  }
}

test('a page is read once, in whatever order lists are asked for', async () => {
  const { storage, opened, pages } = await manyPages()
  const reads: string[] = []
  const counted: Storage = {
    ...storage,
    read: (key, ...rest) => {
      reads.push(key)
      return storage.read(key, ...rest)
    },
  }
  assert.ok(pages > 4, `${pages} pages`)
  const lists = new SegmentLists(counted, opened)
  const keys = [...opened.state.lists.keys()].sort()
  for (const list of [...keys.filter((_, i) => i % 2 === 0), ...keys.filter((_, i) => i % 2 === 1)]) {
    assert.equal(
      (await lists.read(list, opened.state.lists.get(list), signal)).length,
      opened.state.lists.get(list)?.segments,
    )
  }
  assert.equal(reads.length, pages)
})

test('a reader gets a page although the one who began to read it has stopped', async () => {
  const { storage, opened } = await manyPages()
  const [list, row] = [...opened.state.lists].find(([, { segments }]) => segments > 0) ?? assert.fail()
  const gate = Promise.withResolvers<void>()
  const slow: Storage = {
    ...storage,
    read: async (key, readSignal) => {
      await gate.promise
      return storage.read(key, readSignal)
    },
  }
  const lists = new SegmentLists(slow, opened)
  const stopping = new AbortController()
  const first = lists.read(list, row, stopping.signal)
  const second = lists.read(list, row, signal)
  stopping.abort()
  gate.resolve()
  await assert.rejects(first)
  assert.equal((await second).length, opened.state.lists.get(list)?.segments)
})

test('lists have their segments although the memory of their pages is given back while others are read', async () => {
  const storage = openMemoryStorage()
  const id = 'a'.repeat(32)
  const count = 8000
  const names = Array.from({ length: count }, (_, i) => `${id}/${i}`).sort()
  const pages = []
  for (let at = 0; at < count; at += 2000) {
    const lists = names.slice(at, at + 2000).map(list => [list, [rowAt(Number(list.split('/')[1]))]])
    const page = { format: 'kafka-backup-page', format_version: 2, backup_id: 'b', packs: [], lists }
    const ref = await createDocument(storage, `b/page-${at}`, page, signal)
    pages.push({ ...ref, first: String(lists[0]?.[0]), last: String(lists.at(-1)?.[0]) })
  }
  const { opened } = await manyPages()
  const topic = { name: 'orders', id, state: 'current', internal: false, replication_factor: 1, configs: {} } as const
  const source = { ...opened, state: { topics: new Map([[id, topic]]) }, checkpoint: { pages }, pending: noChange }
  const lists = new SegmentLists(storage, source, 1)
  // Neighbours are in different pages, so that each page has readers while another one takes its place.
  const mixed = Array.from({ length: 100 }, (_, i) => names[(i * 2003) % count] ?? assert.fail())
  await runPool(mixed, 8, async list => {
    const [segment] = await lists.read(list, { segments: 1 }, signal)
    assert.equal(segment?.start_offset, BigInt(list.split('/')[1] ?? ''))
  })
})

function rowAt(offset: number): unknown[] {
  const key = `b/kafka/orders/${offset}/${String(offset).padStart(20, '0')}.0a0b0c0d.log`
  return [key, 0, 0, 1, 1, 'A'.repeat(43), 0, offset, 1, 1, 1, 0, null, null]
}

test('damage in a page is reported, also if another caller read the page first', async () => {
  const storage = openMemoryStorage()
  const id = 'a'.repeat(32)
  const lists = [
    [`${id}/0`, [rowAt(0)]],
    [`${id}/1`, [[1]]],
  ]
  const page = { format: 'kafka-backup-page', format_version: 2, backup_id: 'b', packs: [], lists }
  const pages = [{ ...(await createDocument(storage, 'b/page', page, signal)), first: `${id}/0`, last: `${id}/1` }]
  const { opened } = await manyPages()
  const first = new AbortController()
  const topic = { name: 'orders', id, state: 'current', internal: false, replication_factor: 1, configs: {} } as const
  const source = { ...opened, state: { topics: new Map([[id, topic]]) }, checkpoint: { pages }, pending: noChange }
  const reader = new SegmentLists(storage, source)
  await reader.read(`${id}/0`, { segments: 1 }, first.signal)
  first.abort()
  await assert.rejects(reader.read(`${id}/1`, { segments: 1 }, signal), { code: 'ARCHIVE_DAMAGED' })
})
