import { createHash } from 'node:crypto'
import { createRequire } from 'node:module'
import { crc32, zstdCompressSync } from 'node:zlib'
import type { OsoRecord } from '../../src/import/oso-record.ts'
import type { Storage } from '../../src/storage/storage.ts'

/** Writes archives as the source of OSO kafka-backup 0.25.2 does (`segment/format.rs`, `segment/writer.rs`, `manifest.rs`). */

export type OsoCodec = 'none' | 'zstd' | 'lz4'

const never = new AbortController().signal

export function osoRecord(offset: number, changes: Partial<OsoRecord> = {}): OsoRecord {
  return {
    ...{ offset: BigInt(offset), timestamp: 1_700_000_000_000n + BigInt(offset) },
    ...{ key: Buffer.from(`k${offset}`), value: Buffer.from(`value ${offset}`), headers: [] },
    ...changes,
  }
}

/** The headers that the program adds to each record by default. */
export function addedHeaders({ offset, timestamp }: OsoRecord): OsoRecord['headers'] {
  const int64 = (value: bigint) => {
    const bytes = Buffer.alloc(8)
    bytes.writeBigInt64LE(value)
    return bytes
  }
  return [
    { key: Buffer.from('x-original-offset'), value: int64(offset) },
    { key: Buffer.from('x-original-timestamp'), value: int64(timestamp) },
  ]
}

export function encodeOsoSegment(records: readonly OsoRecord[], codec: OsoCodec = 'zstd'): Buffer {
  const plain = Buffer.concat(records.map(encodeRecord))
  const head = Buffer.alloc(32)
  head.write('KBAK', 0, 'latin1')
  head[4] = 1
  head[5] = { none: 0, zstd: 1, lz4: 2 }[codec]
  head.writeBigUInt64LE(BigInt(records.length), 8)
  head.writeBigInt64LE(records[0]?.offset ?? -1n, 16)
  head.writeBigInt64LE(records.at(-1)?.offset ?? -1n, 24)
  const body = codec === 'none' ? plain : codec === 'zstd' ? zstdCompressSync(plain) : lz4().compressSync(plain)
  const signed = Buffer.concat([head, body])
  const foot = Buffer.alloc(8)
  foot.writeUInt32LE(crc32(signed), 0)
  foot.write('BKAE', 4, 'latin1')
  return Buffer.concat([signed, foot])
}

/** It puts the plain length in front of a block, as `lz4_flex::compress_prepend_size` does. */
function lz4(): typeof import('lz4-napi') {
  return createRequire(import.meta.url)('lz4-napi')
}

function encodeRecord({ offset, timestamp, key, value, headers }: OsoRecord): Buffer {
  const parts: Buffer[] = []
  const int = (bytes: number, number: bigint | number) => {
    const part = Buffer.alloc(bytes)
    if (bytes === 8) part.writeBigInt64LE(BigInt(number))
    else part.writeIntLE(Number(number), 0, bytes)
    parts.push(part)
  }
  const nullable = (part: Buffer | null) => {
    int(4, part?.length ?? -1)
    if (part) parts.push(part)
  }
  int(8, timestamp)
  int(8, offset)
  nullable(key)
  nullable(value)
  int(2, headers.length)
  for (const header of headers) {
    int(2, header.key.length)
    parts.push(header.key)
    nullable(header.value)
  }
  const body = Buffer.concat(parts)
  const length = Buffer.alloc(4)
  length.writeUInt32LE(body.length)
  return Buffer.concat([length, body])
}

export interface OsoPartitionSpec {
  segments: OsoRecord[][]
  gaps?: object[]
  pruned?: object[]
}

/** An archive `b1` with one topic. */
export async function storeOsoArchive(
  storage: Storage,
  partitions: OsoPartitionSpec[],
  { codec = 'zstd', topic = {}, manifest = {} }: { codec?: OsoCodec; topic?: object; manifest?: object } = {},
): Promise<void> {
  const stored = []
  for (const [id, { segments, ...rest }] of partitions.entries()) {
    const entries = []
    for (const records of segments) {
      const [first, last] = [records[0]?.offset ?? 0n, records.at(-1)?.offset ?? 0n]
      const key = `b1/topics/orders/partition=${id}/segment-${String(first).padStart(20, '0')}.bin.zst`
      const bytes = encodeOsoSegment(records, codec)
      await storage.create(key, bytes, never)
      const sha256 = createHash('sha256').update(bytes).digest('hex')
      const offsets = { start_offset: Number(first), end_offset: Number(last) }
      const times = { start_timestamp: 0, end_timestamp: 0, uncompressed_size: 0, compressed_size: bytes.length }
      entries.push({ key, ...offsets, ...times, record_count: records.length, sha256, uploaded_at: 0 })
    }
    stored.push({ partition_id: id, segments: entries, ...rest })
  }
  const document = {
    ...{ backup_id: 'b1', created_at: 1_700_000_000_000, source_cluster_id: 'c1', source_brokers: ['kafka:9092'] },
    ...{ compression: 'zstd', topics: [{ name: 'orders', partitions: stored, ...topic }], ...manifest },
  }
  await storage.create('b1/manifest.json', Buffer.from(JSON.stringify(document)), never)
}
