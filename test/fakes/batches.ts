import { gzipSync, zstdCompressSync } from 'node:zlib'
import { compressFrameSync } from 'lz4-napi'
import { compressSync } from 'snappy'
import { computeCrc } from '../../src/batch/crc.ts'
import { type Codec, codecNames, HEADER_BYTES } from '../../src/batch/header.ts'

/** Written from Kafka's description of the format, apart from the reader under test. */
export interface RecordSpec {
  key?: Buffer | null
  value?: Buffer | null
  headers?: [string, Buffer | null][]
  timestampDelta?: bigint
  offsetDelta?: number
}

export interface BatchSpec {
  baseOffset?: bigint
  records?: RecordSpec[]
  codec?: Codec
  leaderEpoch?: number
  baseTimestamp?: bigint
  maxTimestamp?: bigint
  producerId?: bigint
  transactional?: boolean
  control?: boolean
  logAppendTime?: boolean
  lastOffsetDelta?: number
  /** What the header claims, where that is not the truth. */
  recordCount?: number
  magic?: number
  /** The bytes behind the header, instead of the records. */
  body?: Buffer
}

export function encodeBatch(spec: BatchSpec = {}): Buffer {
  const { records = [{ value: Buffer.from('v') }], codec = 'none', baseTimestamp = 1_700_000_000_000n } = spec
  const body = spec.body ?? encodeBody(records, codec)
  const batch = Buffer.alloc(HEADER_BYTES + body.length)
  batch.writeBigInt64BE(spec.baseOffset ?? 0n, 0)
  batch.writeInt32BE(batch.length - 12, 8)
  batch.writeInt32BE(spec.leaderEpoch ?? 0, 12)
  batch.writeInt8(spec.magic ?? 2, 16)
  batch.writeInt16BE(attributesOf(spec, codec), 21)
  batch.writeInt32BE(spec.lastOffsetDelta ?? records.at(-1)?.offsetDelta ?? records.length - 1, 23)
  batch.writeBigInt64BE(baseTimestamp, 27)
  batch.writeBigInt64BE(spec.maxTimestamp ?? baseTimestamp + maxDelta(records), 35)
  batch.writeBigInt64BE(spec.producerId ?? -1n, 43)
  batch.writeInt16BE(spec.producerId === undefined ? -1 : 0, 51)
  batch.writeInt32BE(spec.producerId === undefined ? -1 : 0, 53)
  batch.writeInt32BE(spec.recordCount ?? records.length, 57)
  body.copy(batch, HEADER_BYTES)
  return withCrc(batch)
}

/** Sets the checksum right after something was changed. */
export function withCrc(batch: Buffer): Buffer {
  batch.writeUInt32BE(computeCrc(batch), 17)
  return batch
}

/** A batch of `count` records in `bytes` bytes or a few more. */
export function encodeRun(baseOffset: bigint, count: number, spec: BatchSpec & { valueBytes?: number } = {}): Buffer {
  const { valueBytes = 10, codec = 'none' } = spec
  const value = Buffer.alloc(valueBytes, 'value ')
  const records = Array.from({ length: count }, () => ({ value }))
  const body = spec.body ?? bodyOfRun(records, codec, valueBytes)
  return encodeBatch({ ...spec, baseOffset, records, body })
}

/** Tests make the same small runs many thousand times, at other offsets. */
const bodies = new Map<string, Buffer>()
const SMALL_BYTES = 4096

function bodyOfRun(records: readonly RecordSpec[], codec: Codec, valueBytes: number): Buffer {
  const key = `${codec} ${records.length} ${valueBytes}`
  const body = bodies.get(key) ?? encodeBody(records, codec)
  if (body.length <= SMALL_BYTES) bodies.set(key, body)
  return body
}

function encodeBody(records: readonly RecordSpec[], codec: Codec): Buffer {
  return compress(codec, Buffer.concat(records.map((record, i) => encodeRecord(record, i))))
}

export function encodeMarker(baseOffset: bigint, producerId: bigint, type: 'abort' | 'commit' | number): Buffer {
  const key = Buffer.alloc(4)
  key.writeInt16BE(typeof type === 'number' ? type : type === 'abort' ? 0 : 1, 2)
  const records = [{ key, value: Buffer.alloc(6) }]
  return encodeBatch({ baseOffset, producerId, transactional: true, control: true, records })
}

export function encodeVarint(value: number | bigint): Buffer {
  const signed = BigInt(value)
  return encodeUnsigned(BigInt.asUintN(64, (signed << 1n) ^ (signed >> 63n)))
}

export function encodeRecord(record: RecordSpec, index: number): Buffer {
  const headers = record.headers ?? []
  const content = Buffer.concat([
    Buffer.from([0]),
    encodeVarint(record.timestampDelta ?? 0n),
    encodeVarint(record.offsetDelta ?? index),
    encodeBytes(record.key ?? null),
    encodeBytes(record.value ?? null),
    encodeVarint(headers.length),
    ...headers.flatMap(([name, value]) => [encodeBytes(Buffer.from(name)), encodeBytes(value)]),
  ])
  return Buffer.concat([encodeVarint(content.length), content])
}

export function compress(codec: Codec, plain: Buffer): Buffer {
  switch (codec) {
    case 'none':
      return plain
    case 'gzip':
      return gzipSync(plain)
    case 'snappy':
      return Buffer.from(compressSync(plain))
    case 'lz4':
      return Buffer.from(compressFrameSync(plain))
    case 'zstd':
      return zstdCompressSync(plain)
    default:
      return codec satisfies never
  }
}

function attributesOf({ logAppendTime, transactional, control }: BatchSpec, codec: Codec): number {
  const flags = (logAppendTime ? 8 : 0) | (transactional ? 16 : 0) | (control ? 32 : 0)
  return codecNames.indexOf(codec) | flags
}

function maxDelta(records: readonly RecordSpec[]): bigint {
  let max = 0n
  for (const { timestampDelta = 0n } of records) if (timestampDelta > max) max = timestampDelta
  return max
}

function encodeBytes(bytes: Buffer | null): Buffer {
  return bytes === null ? encodeVarint(-1) : Buffer.concat([encodeVarint(bytes.length), bytes])
}

function encodeUnsigned(value: bigint): Buffer {
  const bytes: number[] = []
  let rest = value
  for (; rest >= 0x80n; rest >>= 7n) bytes.push(Number(rest & 0x7fn) | 0x80)
  return Buffer.from([...bytes, Number(rest)])
}
