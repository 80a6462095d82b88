import { commitGeneration } from '../../src/archive/commit.ts'
import { segmentKey } from '../../src/archive/layout.ts'
import { SegmentWriter } from '../../src/archive/segment-writer.ts'
import { emptyPartition, withSegment } from '../../src/archive/summary.ts'
import type { Storage } from '../../src/storage/storage.ts'
import { draftManifest, factsOf, never, topicOf } from '../archive/sample-archive.ts'
import { encodeBatch } from '../fakes/batches.ts'

export const MANY = 'many'
export const LONG = 'long'
export const MANY_TOPICS = 10_000
export const LONG_RECORDS = 1_000_000

/** A backup of 10,000 topics without records, in two generations. */
export async function storeManyTopics(storage: Storage): Promise<void> {
  const topics = Array.from({ length: MANY_TOPICS }, (_, at) =>
    topicOf(`topic-${String(at).padStart(5, '0')}`, [emptyPartition(0, 0n), emptyPartition(1, 0n)], {
      id: String(at).padStart(32, '0'),
    }),
  )
  for (const generation of [1, 2]) {
    const created_at = `2026-01-0${generation}T03:04:05.000Z`
    const manifest = draftManifest(topics, { backup_id: MANY, generation, created_at })
    await commitGeneration(storage, { manifest, freshSegments: new Map(), attempt: 1 }, never)
  }
}

const BATCH_RECORDS = 1000

/** A backup of one partition with a million records. The checksum of a batch does not cover its offset, so that one is copied. */
export async function storeManyRecords(storage: Storage): Promise<void> {
  const records = Array.from({ length: BATCH_RECORDS }, (_, at) => ({
    key: Buffer.from(`key-${at}`),
    value: Buffer.from(`{"number":${at},"text":"some text of a record that is not random"}`),
    timestampDelta: BigInt(at),
  }))
  const batch = encodeBatch({ records, codec: 'zstd' })
  const batches = Array.from({ length: LONG_RECORDS / BATCH_RECORDS }, (_, at) => {
    const copy = Buffer.from(batch)
    copy.writeBigInt64BE(BigInt(at * BATCH_RECORDS), 0)
    return copy
  })
  const key = segmentKey({ backupId: LONG, topic: 'long', partition: 0 }, 0n, 'run1', false)
  const writer = await SegmentWriter.open(storage, key, false, never)
  await writer.append(batches, factsOf(batches), never)
  const segment = await writer.finish(never)
  const id = 'f'.repeat(32)
  const topic = topicOf('long', [withSegment(emptyPartition(0, 0n), segment, 0, [])], { id })
  const manifest = draftManifest([topic], { backup_id: LONG })
  await commitGeneration(storage, { manifest, freshSegments: new Map([[`${id}/0`, [segment]]]), attempt: 1 }, never)
}
