import { randomBytes } from 'node:crypto'
import { hashOf } from '../src/archive/hash.ts'
import { type ListChange, noChange, type TopicRow } from '../src/archive/log/change.ts'
import { CommitLog } from '../src/archive/log/commit-log.ts'
import { diffRows, zeroRow } from '../src/archive/log/row-change.ts'
import { beginLog } from '../src/archive/log/start-log.ts'
import type { Segment } from '../src/archive/manifest.ts'
import { openFilesystemStorage } from '../src/storage/file/filesystem.ts'

const PARTITIONS_OF_TOPIC = 10
const SEGMENTS = 4
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
  for (let i = 0; i < partitions; i++) {
    const [number, partition] = [Math.floor(i / PARTITIONS_OF_TOPIC), i % PARTITIONS_OF_TOPIC]
    const id = hashOf(Buffer.from(String(number))).slice(0, 32)
    const name = `topic-${String(number).padStart(6, '0')}`
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
  const segments = Array.from({ length: SEGMENTS }, (_, i) => segmentAt(topic, partition, BigInt(i) * 1000n))
  const end = BigInt(SEGMENTS) * 1000n
  const counts = { records: 4000, batches: 40, bytes: 400_000, stored_bytes: 400_000, segments: SEGMENTS }
  const row = { ...zeroRow, ...counts, end_offset: end, high_watermark: end, last_stable_offset: end }
  const last_batch = { base_offset: end - 1n, records: 1, crc: 1 }
  return { isNew: true, row: diffRows(zeroRow, { ...row, last_epoch: 0, last_batch }), parts: segments }
}

function segmentAt(topic: string, partition: number, start: bigint): Segment {
  return {
    key: `b/kafka/${topic}/${partition}/${String(start).padStart(20, '0')}.0a0b0c0d.log`,
    size: 100_000,
    plain_size: 100_000,
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
