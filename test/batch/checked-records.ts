import assert from 'node:assert/strict'
import type { RebuiltBatch } from '../../src/batch/batch-builder.ts'
import type { SourceBatch } from '../../src/batch/compression.ts'
import { hasValidCrc } from '../../src/batch/crc.ts'
import { isDense } from '../../src/batch/needs.ts'
import { decodeRecords, type KafkaRecord } from '../../src/batch/records.ts'
import { walkBatches } from '../../src/batch/walk.ts'

export function sourcesOf(batches: readonly Buffer[]): SourceBatch[] {
  const bytes = Buffer.concat(batches)
  return walkBatches(bytes, 0, bytes.length).map(header => ({ bytes, header }))
}

export function visibleRecords(sources: readonly SourceBatch[]): KafkaRecord[] {
  return sources.flatMap(({ bytes, header }) => decodeRecords(bytes, header))
}

/** The records of the batches with their offsets in the source, after all that a broker checks and more. */
export function checkedRecords(batches: readonly RebuiltBatch[]): KafkaRecord[] {
  return batches.flatMap(batch => {
    const headers = walkBatches(batch.bytes, 0, batch.bytes.length)
    const [header] = headers
    assert.ok(header && headers.length === 1 && header.sizeBytes === batch.bytes.length)
    assert.ok(hasValidCrc(batch.bytes, 0, batch.bytes.length) && isDense(header))
    assert.deepEqual(
      [header.baseOffset, header.leaderEpoch, header.producerId, header.attributes & ~7],
      [0n, -1, -1n, 0],
    )
    assert.deepEqual([batch.bytes.readInt16BE(51), batch.bytes.readInt32BE(53)], [-1, -1])
    const records = decodeRecords(batch.bytes, header)
    const offsets = batch.runs.flatMap(run => Array.from({ length: run.count }, (_, i) => run.sourceOffset + BigInt(i)))
    const max = records.map(record => record.timestamp).toSorted((a, b) => (a < b ? 1 : -1))[0]
    assert.deepEqual(
      [records.length, offsets.length, header.baseTimestamp, header.maxTimestamp],
      [batch.recordCount, batch.recordCount, records[0]?.timestamp, max],
    )
    assert.deepEqual([batch.firstTimestamp, batch.maxTimestamp], [records[0]?.timestamp, max])
    assert.deepEqual(
      records.map(record => record.offset),
      records.map((_, i) => BigInt(i)),
    )
    return records.map((record, i) => ({ ...record, offset: offsets[i] ?? -1n }))
  })
}
