import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  listGenerations,
  newestState,
  openBackup,
  readGeneration,
  readManifest,
  scanManifests,
} from '../../../src/archive/catalog.ts'
import { commitGeneration } from '../../../src/archive/commit.ts'
import { listSegments } from '../../../src/archive/indexes.ts'
import { manifestKey } from '../../../src/archive/layout.ts'
import { noChange } from '../../../src/archive/log/change.ts'
import { CommitLog, type LogStart } from '../../../src/archive/log/commit-log.ts'
import { commitKey } from '../../../src/archive/log/keys.ts'
import { diffRows } from '../../../src/archive/log/row-change.ts'
import { beginLog } from '../../../src/archive/log/start-log.ts'
import { type Manifest, parseManifest, type Segment } from '../../../src/archive/manifest.ts'
import { withSegment } from '../../../src/archive/summary.ts'
import { checkPartition } from '../../../src/archive/verify-objects.ts'
import { hasCode } from '../../../src/errors.ts'
import type { Storage } from '../../../src/storage/storage.ts'
import { encodeRun } from '../../fakes/batches.ts'
import { openMemoryStorage } from '../../fakes/memory-storage.ts'
import { never, storePartitions, storeSegment } from '../sample-archive.ts'

const facts = {
  tool_version: '0.2.0',
  run: '0a0b0c0d',
  complete: false,
  created_at: '2026-11-15T10:13:45.239Z',
  started_at: '2026-11-15T10:13:40.239Z',
}

async function segmentsOf(storage: Storage, { topics }: Manifest): Promise<(readonly Segment[])[]> {
  const all = topics.flatMap(topic => topic.partitions.map(one => listSegments(storage, topic, one, never)))
  return Promise.all(all)
}

/** Version 1 with two partitions, continued without a change. */
async function continued(): Promise<{ storage: Storage; before: Manifest; start: LogStart; log: CommitLog }> {
  const storage = openMemoryStorage()
  const lists = [[[encodeRun(0n, 3)], [encodeRun(3n, 2)]], [[encodeRun(0n, 4)]]]
  const before = await storePartitions(storage, lists, true)
  const start = await beginLog(storage, 'b1', before, 'w1', never)
  const log = new CommitLog(storage, 'b1', () => 'w2', start)
  return { storage, before, start, log }
}

test('a backup of version 1 has the same state and the same segments after it was continued as version 2', async () => {
  const { storage, before, log } = await continued()
  await log.commit(facts, noChange, never)
  const after = await openBackup(storage, 'b1', never)
  assert.deepEqual(await segmentsOf(storage, after), await segmentsOf(storage, before))
  const strip = ({ topics, avoided: _, ...rest }: Manifest) => ({
    ...rest,
    topics: topics.map(({ partitions, ...topic }) => ({
      ...topic,
      partitions: partitions.map(({ indexes: __, list: ___, ...one }) => one),
    })),
  })
  assert.deepEqual(strip(after), strip({ ...before, ...facts, generation: 2, format_version: 2 }))
  assert.deepEqual(await listGenerations(storage, 'b1', never), [1, 2])
  assert.deepEqual(strip(await readGeneration(storage, 'b1', 1, never)), strip(before))
})

test('what is appended in version 2 comes behind the segments of version 1', async () => {
  const { storage, before, start, log } = await continued()
  const segment = await storeSegment(storage, 'b1/kafka/orders/1/4.log', [encodeRun(4n, 6)], false)
  const row = start.state.lists.get('id-orders/1') ?? assert.fail()
  const { partition: _, indexes: __, ...changed } = withSegment({ partition: 1, indexes: [], ...row }, segment, 0, [])
  const change = { isNew: false, row: diffRows(row, changed), parts: [[0, 1] as const, segment] }
  await log.commit(facts, { ...noChange, lists: new Map([['id-orders/1', change]]) }, never)
  const after = await openBackup(storage, 'b1', never)
  const [first = [], second = []] = await segmentsOf(storage, before)
  assert.deepEqual(await segmentsOf(storage, after), [first, [...second, segment]])
  const [topic] = after.topics
  const [, partition] = topic?.partitions ?? []
  assert.ok(topic && partition)
  assert.deepEqual(checkPartition(topic, partition, [...second, segment]), [])
})

test('a writer that dies before the first commit of version 2 leaves the state of version 1, and the next one continues', async () => {
  const { storage, before } = await continued()
  assert.deepEqual(await openBackup(storage, 'b1', never), before)
  assert.deepEqual(await listGenerations(storage, 'b1', never), [1])
  const start = await beginLog(storage, 'b1', before, 'w9', never)
  await new CommitLog(storage, 'b1', () => 'w8', start).commit(facts, noChange, never)
  assert.equal((await openBackup(storage, 'b1', never)).generation, 2)
})

test('a backup that begins with version 2 has its first generation there', async () => {
  const storage = openMemoryStorage()
  const start = await beginLog(storage, 'b1', undefined, 'w1', never)
  assert.deepEqual(await newestState(storage, 'b1', never), { manifest: undefined, isLog: true })
  await new CommitLog(storage, 'b1', () => 'w2', start).commit(facts, noChange, never)
  assert.equal((await openBackup(storage, 'b1', never)).generation, 1)
  assert.deepEqual(await listGenerations(storage, 'b1', never), [1])
  assert.deepEqual([...storage.objects.keys()].sort(), [commitKey('b1', 1), manifestKey('b1', 1)].sort())
})

test('a writer of version 1 that was faster keeps its generation, and the writer of version 2 gets WRITER_CONFLICT', async () => {
  const storage = openMemoryStorage()
  const before = await storePartitions(storage, [[[encodeRun(0n, 3)]]], true)
  await storage.create(manifestKey('b1', 2), Buffer.from('{}'), never)
  await assert.rejects(beginLog(storage, 'b1', before, 'w1', never), error => hasCode(error, 'WRITER_CONFLICT'))
})

test('a generation that does not exist in either version is not found', async () => {
  const { storage } = await continued()
  await assert.rejects(readGeneration(storage, 'b1', 7, never), error => hasCode(error, 'STORAGE_NOT_FOUND'))
})

test('the marker is a manifest that is too new', async () => {
  const { storage, log } = await continued()
  await log.commit(facts, noChange, never)
  await assert.rejects(readManifest(storage, 'b1', 2, never), error => hasCode(error, 'ARCHIVE_TOO_NEW'))
})

test('a program of version 1 that comes later is refused, as reader and as writer, before and after the first commit', async () => {
  for (const isCommitted of [false, true]) {
    const { storage, before, log } = await continued()
    if (isCommitted) await log.commit(facts, noChange, never)
    // What such a program does: it reads the newest of `manifests/`, and creates the next one.
    const { manifests } = await scanManifests(storage, 'b1', never)
    const newest = [...manifests.keys()].at(-1) ?? 0
    const bytes = await storage.read(manifestKey('b1', newest), never)
    assert.throws(
      () => parseManifest(bytes, 'manifests'),
      error => hasCode(error, 'ARCHIVE_TOO_NEW'),
    )
    const { format: _, format_version: __, ...manifest } = before
    const draft = { manifest: { ...manifest, run: 'old', generation: 2 }, freshSegments: new Map(), attempt: 1 }
    await assert.rejects(commitGeneration(storage, draft, never), error =>
      hasCode(error, 'WRITER_CONFLICT', 'ARCHIVE_TOO_NEW'),
    )
    assert.equal((await openBackup(storage, 'b1', never)).generation, isCommitted ? 2 : 1)
  }
})
