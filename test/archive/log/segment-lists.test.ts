import assert from 'node:assert/strict'
import { test } from 'node:test'
import { noChange } from '../../../src/archive/log/change.ts'
import { type OpenedGeneration, openGeneration } from '../../../src/archive/log/open-generation.ts'
import { SegmentLists } from '../../../src/archive/log/segment-lists.ts'
import { writeCheckpoint } from '../../../src/archive/log/write-checkpoint.ts'
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
