import { randomBytes } from 'node:crypto'
import { hashOf } from '../src/archive/hash.ts'
import { type ListChange, noChange, type TopicRow } from '../src/archive/log/change.ts'
import { CommitLog } from '../src/archive/log/commit-log.ts'
import { diffRows, zeroRow } from '../src/archive/log/row-change.ts'
import { beginLog } from '../src/archive/log/start-log.ts'
import type { Segment } from '../src/archive/manifest.ts'
import { openFilesystemStorage } from '../src/storage/file/filesystem.ts'
import { SEGMENT_BYTES, widePartitions, wideSegments } from './wide-names.ts'

const hash = hashOf(Buffer.from('a segment'))

/** A backup of many partitions in a folder: a checkpoint and a few commits. The segments that it names are not there. */
export async function writeWideBackup(path: string, partitions: number): Promise<void> {
  const { signal } = new AbortController()
  const storage = openFilesystemStorage({ path })
  const newName = () => randomBytes(4).toString('hex')
  const log = new CommitLog(storage, 'b', newName, await beginLog(storage, 'b', undefined, newName(), signal))
  const at = new Date().toISOString()
  const facts = { tool_version: '0', run: newName(), complete: true, created_at: at, started_at: at }
  const topics = new Map<string, TopicRow>()
  const lists = new Map<string, ListChange>()
  for (const { number, topic: name, partition } of widePartitions(partitions)) {
    const id = hashOf(Buffer.from(String(number))).slice(0, 32)
    topics.set(id, { name, id, state: 'current', internal: false, replication_factor: 3, configs: {} })
    lists.set(`${id}/${partition}`, newList(name, partition))
  }
  await log.commit(facts, { ...noChange, topics, lists }, signal)
  await log.checkpoint(signal)
  for (let i = 0; i < 20; i++) {
    await log.commit(facts, { ...noChange, head: { warnings: [`commit ${i}`] } }, signal)
    await log.tidy(signal)
  }
}

function newList(topic: string, partition: number): ListChange {
  const segments = wideSegments(topic, partition).map(segmentOf)
  const end = BigInt(segments.length) * 1000n
  const bytes = segments.length * SEGMENT_BYTES
  const counts = { records: 4000, batches: 40, bytes, stored_bytes: bytes, segments: segments.length }
  const row = { ...zeroRow, ...counts, end_offset: end, high_watermark: end, last_stable_offset: end }
  const last_batch = { base_offset: end - 1n, records: 1, crc: 1 }
  return { isNew: true, row: diffRows(zeroRow, { ...row, last_epoch: 0, last_batch }), parts: segments }
}

function segmentOf({ key, start }: { key: string; start: bigint }): Segment {
  return {
    key,
    size: SEGMENT_BYTES,
    plain_size: SEGMENT_BYTES,
    blake3: hash,
    compression: 'none',
    start_offset: start,
    end_offset: start + 1000n,
    batches: 10,
    records: 1000,
    aborted_records: 0,
    first_timestamp: 1_763_000_000_000n,
    last_timestamp: 1_763_000_060_000n,
  }
}
