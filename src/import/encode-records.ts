import { frameBatch } from '../batch/frame-batch.ts'
import { varintBytes, varlongBytes, writeVarint, writeVarlong } from '../batch/varint.ts'
import type { OsoHeader, OsoRecord } from './oso-record.ts'

const BATCH_BYTES = 1 << 20
const MAX_DELTA = 2n ** 31n - 1n

/** Pure. Batches of format v2 with the records at their offsets: holes between them stay. They are in ascending order. */
export function encodeRecords(records: readonly OsoRecord[]): Buffer[] {
  const batches: Buffer[] = []
  let [first] = records
  let encoded: Buffer[] = []
  let size = 0
  let start = 0
  const close = (end: number) => {
    if (first && end > start) batches.push(frame(records.slice(start, end), first, encoded))
    first = records[end]
    encoded = []
    size = 0
    start = end
  }
  for (const [at, record] of records.entries()) {
    if (first && (size >= BATCH_BYTES || record.offset - first.offset > MAX_DELTA)) close(at)
    const bytes = encodeRecord(record, first ?? record)
    encoded.push(bytes)
    size += bytes.length
  }
  close(records.length)
  return batches
}

function frame(records: readonly OsoRecord[], first: OsoRecord, encoded: readonly Buffer[]): Buffer {
  const last = records.at(-1) ?? first
  const maxTimestamp = records.reduce((max, { timestamp }) => (timestamp > max ? timestamp : max), first.timestamp)
  const facts = {
    ...{ baseOffset: first.offset, attributes: 0, lastOffsetDelta: Number(last.offset - first.offset) },
    ...{ firstTimestamp: first.timestamp, maxTimestamp, records: records.length },
  }
  return frameBatch(facts, Buffer.concat(encoded))
}

function encodeRecord(record: OsoRecord, first: OsoRecord): Buffer {
  const timeDelta = record.timestamp - first.timestamp
  const offsetDelta = Number(record.offset - first.offset)
  const length =
    1 +
    varlongBytes(timeDelta) +
    varintBytes(offsetDelta) +
    sizeOf(record.key) +
    sizeOf(record.value) +
    varintBytes(record.headers.length) +
    record.headers.reduce((sum, { key, value }) => sum + sizeOf(key) + sizeOf(value), 0)
  const bytes = Buffer.alloc(varintBytes(length) + length)
  let at = writeVarint(bytes, 0, length) + 1
  at = writeVarlong(bytes, at, timeDelta)
  at = writeVarint(bytes, at, offsetDelta)
  at = writePart(bytes, at, record.key)
  at = writePart(bytes, at, record.value)
  at = writeVarint(bytes, at, record.headers.length)
  for (const { key, value } of record.headers) at = writePart(bytes, writePart(bytes, at, key), value)
  return bytes
}

function sizeOf(part: Buffer | null): number {
  return part ? varintBytes(part.length) + part.length : varintBytes(-1)
}

function writePart(bytes: Buffer, at: number, part: Buffer | null): number {
  const next = writeVarint(bytes, at, part ? part.length : -1)
  return part ? next + part.copy(bytes, next) : next
}

/** Pure. The record without the headers that OSO kafka-backup added to it: only those whose values are its own offset and time. */
export function withoutAddedHeaders(record: OsoRecord): { record: OsoRecord; removed: number } {
  const kept = record.headers.filter(header => !isAdded(header, record))
  return { record: { ...record, headers: kept }, removed: record.headers.length - kept.length }
}

function isAdded({ key, value }: OsoHeader, { offset, timestamp }: OsoRecord): boolean {
  const name = key.toString('latin1')
  if (value?.length !== 8) return false
  if (name === 'x-original-offset') return value.readBigInt64LE(0) === offset
  return name === 'x-original-timestamp' && value.readBigInt64LE(0) === timestamp
}
