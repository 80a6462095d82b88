import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hashOf } from '../../src/archive/hash.ts'
import { emptyPartition } from '../../src/archive/summary.ts'
import { KafkaBackupError } from '../../src/errors.ts'
import { formatJson } from '../../src/lib/json.ts'
import { examineArchive, readExtent } from '../../src/restore/examine-archive.ts'
import { planRestore } from '../../src/restore/plan.ts'
import type { Storage } from '../../src/storage/storage.ts'
import { never, storeBackup, storeSegment, topicOf } from '../archive/sample-archive.ts'
import { encodeBatch, encodeRun } from '../fakes/batches.ts'
import { openMemoryStorage } from '../fakes/memory-storage.ts'
import { plainOptions } from './plain-options.ts'
import { manifestOf } from './samples.ts'

/** A segment every minute for three months. */
const SEGMENTS = 131_000

test('a partition with as many segments as a continuous backup makes in a quarter of a year is examined', async () => {
  const storage = openMemoryStorage()
  const sample = await storeSegment(
    storage,
    'b1/kafka/orders/0/00000000000000000000.run1.log',
    [encodeRun(0n, 1)],
    false,
  )
  const segments = Array.from({ length: SEGMENTS }, (_, i) => ({
    ...sample,
    start_offset: BigInt(i),
    end_offset: BigInt(i + 1),
  }))
  const head = { format: 'kafka-backup-index', format_version: 1, topic: 'orders', topic_id: 'id-orders', partition: 0 }
  const bytes = Buffer.from(formatJson({ ...head, segments }))
  const key = 'b1/kafka/orders/0/index-00000001.run1.json'
  await storage.create(key, bytes, never)
  const index = { key, size: bytes.length, blake3: hashOf(bytes), segments: SEGMENTS }
  const end = BigInt(SEGMENTS)
  const totals = { segments: SEGMENTS, records: SEGMENTS, batches: SEGMENTS, end_offset: end }
  const sizes = { bytes: SEGMENTS * sample.plain_size, stored_bytes: SEGMENTS * sample.size }
  const partition = { ...emptyPartition(0, 0n), ...totals, ...sizes, indexes: [index] }
  const manifest = manifestOf([topicOf('orders', [partition])], { backup_id: 'b1' })
  const plan = planRestore(manifest, plainOptions({ backupId: 'b1' }))
  const question = { verify: false, progress: undefined, timeWindow: {} }
  const { findings, largestSegments } = await examineArchive(storage, plan, question, never)
  assert.deepEqual([findings, largestSegments.get('orders')], [[], sample.plain_size])
})

test('a listing that fails while indexes are read is the error of the restore, and ends no process', async () => {
  const storage = openMemoryStorage()
  const manifest = await storeBackup(storage, [[encodeRun(0n, 1)]])
  const plan = planRestore(manifest, plainOptions({ backupId: manifest.backup_id }))
  const denied = new KafkaBackupError('STORAGE_DENIED', 'no permission to list')
  const slow: Storage = {
    ...storage,
    list: () => ({ [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(denied) }) }),
    read: async (...args) => {
      for (let turns = 0; turns < 3; turns++) await new Promise(resolve => setImmediate(resolve))
      return storage.read(...args)
    },
  }
  const unhandled: unknown[] = []
  const onUnhandled = (error: unknown) => void unhandled.push(error)
  process.on('unhandledRejection', onUnhandled)
  try {
    const question = { verify: false, progress: undefined, timeWindow: {} }
    await assert.rejects(examineArchive(slow, plan, question, never), denied)
  } finally {
    process.off('unhandledRejection', onUnhandled)
  }
  assert.deepEqual(unhandled, [])
})

test('segments that the end of a window goes through are not read, but those of topics that show the times of brokers, or may', async () => {
  const storage = openMemoryStorage()
  const timed = (baseOffset: bigint, baseTimestamp: bigint) =>
    encodeBatch({ baseOffset, baseTimestamp, maxTimestamp: baseTimestamp, records: [{ value: Buffer.from('v') }] })
  const manifest = await storeBackup(storage, [[timed(0n, 1000n), timed(1n, 5000n), timed(2n, 9000n)]])
  let reads = 0
  const counted: Storage = {
    ...storage,
    readRange: (...args) => {
      reads++
      return storage.readRange(...args)
    },
  }
  const question = { verify: false, progress: undefined, timeWindow: { end: 8000n } }
  const examine = async (configs: Record<string, string>) => {
    const topics = manifest.topics.map(topic => ({ ...topic, configs }))
    const plan = planRestore({ ...manifest, topics }, plainOptions({ backupId: manifest.backup_id }))
    const [topic] = plan.topics
    const { extents } = await examineArchive(counted, plan, question, never)
    return { plan, topic: topic ?? assert.fail(), extent: extents.get(topic?.name ?? '') }
  }
  const { plan, topic, extent } = await examine({ 'message.timestamp.type': 'CreateTime' })
  assert.deepEqual([extent?.oldest, extent?.newest, extent?.newestLeast, reads], [1000n, 7999n, 1000n, 0])
  const exact = await readExtent(counted, plan, topic, question, never)
  assert.deepEqual([exact.oldest, exact.newest, exact.newestLeast], [1000n, 5000n, undefined])
  assert.ok(reads > 0)
  for (const configs of [{ 'message.timestamp.type': 'LogAppendTime' }, {}]) {
    const read = await examine(configs)
    assert.deepEqual([read.extent?.newest, read.extent?.newestLeast], [5000n, undefined])
  }
})
