import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openBackup } from '../../src/archive/catalog.ts'
import { LogWriter } from '../../src/archive/log/log-writer.ts'
import { emptyPartition } from '../../src/archive/summary.ts'
import { verifyBackup } from '../../src/archive/verify.ts'
import { cutChunk, walkAnswer } from '../../src/backup/chunk.ts'
import { LogPublisher } from '../../src/backup/log-publisher.ts'
import type { PartitionCopy } from '../../src/backup/partition-copy.ts'
import type { Prepared } from '../../src/backup/round.ts'
import { BackupSession } from '../../src/backup/session.ts'
import type { Storage } from '../../src/storage/storage.ts'
import { encodeRun } from '../fakes/batches.ts'
import { JumpingClock } from '../fakes/jumping-clock.ts'
import { openMemoryStorage } from '../fakes/memory-storage.ts'
import { plainOptions } from './plain-options.ts'

const never = new AbortController().signal

/** One topic, whose partitions have ten offsets and are read again. */
function prepared(partitions: number): Prepared {
  const topic = { name: 't', id: 'id-of-t', state: 'current' as const, internal: false, replication_factor: 1 }
  const planned = Array.from({ length: partitions }, (_, i) => ({
    durable: emptyPartition(i, 0n),
    end: 10n,
    logStart: 0n,
    newGaps: [],
    reread: { durable: emptyPartition(i, 0n), reason: 'always' as const },
  }))
  const plan = { topics: [{ ...topic, configs: {}, partitions: planned }], warnings: [] }
  const source = { clusterId: 'c', brokers: 1, topics: [], visible: new Set<string>(), warnings: [] }
  return { plan, observed: { ...source, observedAt: '2026-01-02T03:04:05.000Z' }, previous: undefined }
}

/** The records at these offsets, in a segment that is durable. */
async function store(copy: PartitionCopy, from: bigint, count: number): Promise<void> {
  const bytes = encodeRun(from, count)
  const chunk = cutChunk(walkAnswer(bytes, { start: 0, end: bytes.length }, copy.name), copy.position, copy.end)
  assert.ok(chunk)
  await copy.store(bytes, chunk, [])
  await copy.hand()
  await copy.settled()
}

test('a list that is read to its end while a commit is being planned takes its place in the next one', async () => {
  const memory = openMemoryStorage()
  let onRead: () => Promise<void> = async () => undefined
  const storage: Storage = {
    ...memory,
    read: async (key, signal) => {
      const act = onRead
      onRead = async () => undefined
      await act()
      return memory.read(key, signal)
    },
  }
  const clock = new JumpingClock()
  let names = 0
  const parts = { storage, clock, newRun: () => `r${++names}`, toolVersion: '0', onProgress: () => undefined }
  const log = await LogWriter.open(
    storage,
    { manifest: undefined },
    { backupId: 'b1', ...parts, nowMs: clock.now },
    never,
  )
  const publisher = new LogPublisher(log, plainOptions(), prepared(2), parts)
  const session = new BackupSession(plainOptions(), prepared(2), { ...parts, storeSignal: never }, publisher)
  for (const copy of session.copies) await store(copy, 0n, 10)
  const [first, second] = session.rereads
  assert.ok(first && second)
  // Compaction has left seven records of each.
  for (const copy of session.rereads) await store(copy, 3n, 4)
  await session.commit(true, [])
  await store(first, 7n, 3)
  onRead = () => store(second, 7n, 3)
  await session.commit(true, [])
  assert.equal(second.isCaughtUp, true)
  const states: unknown[] = []
  const note = async () => {
    const { topics } = await openBackup(memory, 'b1', never)
    const partitions = topics[0]?.partitions ?? []
    states.push(partitions.map(({ records, reread }) => [records, reread?.records]))
    for (const { records, list } of partitions) {
      const listed = (await list?.read(never)) ?? []
      assert.equal(
        listed.reduce((sum, one) => sum + one.records, 0),
        records,
      )
    }
    const { problems } = await verifyBackup(memory, 'b1', { deep: true, onProgress: () => undefined }, never)
    assert.deepEqual(problems, [])
  }
  await note()
  await session.commit(true, [])
  await note()
  assert.deepEqual(states, [
    [
      [7, undefined],
      [10, 4],
    ],
    [
      [7, undefined],
      [7, undefined],
    ],
  ])
})
