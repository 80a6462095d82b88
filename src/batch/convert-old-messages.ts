import { compressQuickly } from './compression.ts'
import { frameBatch } from './frame-batch.ts'
import { batchSizeAt, codecNames, LOG_APPEND_TIME, magicAt } from './header.ts'
import { decodeOldBatch, type OldBatch, type OldFormat, type OldRecord } from './old-messages.ts'
import { varintBytes, varlongBytes, writeVarint, writeVarlong } from './varint.ts'

export interface ConvertedLog {
  /** Whole batches of format v2. */
  bytes: Buffer
  /** The old formats that were found, the older one first; empty where only the beginning of a message was there. */
  formats: OldFormat[]
  /** One behind the last record that was converted. */
  endOffset: bigint
}

/**
 * The log in buffer[start, end) with every message of format v0 and v1 as a batch of format v2; undefined where there is
 * none, and the bytes are to be read as they are. Batches of v2 are copied as they are. Every message becomes one batch,
 * also where only one record is in it, so that the batches are the same wherever an answer begins and ends.
 *
 * Records keep offset, key, value, time and the codec of their message; v0 has no times, which is -1, as for Kafka's own
 * readers. Batches of the old formats have no leader epoch, which is -1 too.
 */
export function convertOldMessages(buffer: Buffer, start: number, end: number): ConvertedLog | undefined {
  if (!hasOldMessage(buffer, start, end)) return undefined
  const pieces: Buffer[] = []
  const formats = new Set<OldFormat>()
  let endOffset = -1n
  walkEntries(buffer, start, end, (position, sizeBytes) => {
    if (!isOld(magicAt(buffer, position))) {
      // The walk over the result judges what is not a batch.
      pieces.push(buffer.subarray(position, Math.min(position + sizeBytes, end)))
    } else if (position + sizeBytes <= end) {
      const batch = decodeOldBatch(buffer, position, sizeBytes)
      pieces.push(encodeAsV2(batch))
      formats.add(batch.format)
      endOffset = (batch.records.at(-1)?.offset ?? 0n) + 1n
    }
    return false
  })
  return { bytes: Buffer.concat(pieces), formats: [...formats].sort(), endOffset }
}

function hasOldMessage(buffer: Buffer, start: number, end: number): boolean {
  return walkEntries(buffer, start, end, position => isOld(magicAt(buffer, position)))
}

function isOld(magic: number): boolean {
  return magic === 0 || magic === 1
}

/** Stops where `visit` returns true, which it returns then, and behind an entry whose length cannot be. */
function walkEntries(
  buffer: Buffer,
  start: number,
  end: number,
  visit: (position: number, sizeBytes: number) => boolean,
): boolean {
  for (let position = start; ; ) {
    const sizeBytes = batchSizeAt(buffer, position, end)
    if (sizeBytes === undefined) return false
    if (visit(position, sizeBytes)) return true
    if (sizeBytes <= 0) return false
    position += sizeBytes
  }
}

function encodeAsV2({ codec, isLogAppendTime, records }: OldBatch): Buffer {
  const [first] = records
  const last = records.at(-1)
  if (!first || !last) throw new RangeError('there is no record to convert')
  const body = compressQuickly(codec, encodeRecords(records, first))
  const facts = {
    baseOffset: first.offset,
    attributes: codecNames.indexOf(codec) | (isLogAppendTime ? LOG_APPEND_TIME : 0),
    lastOffsetDelta: Number(last.offset - first.offset),
    firstTimestamp: first.timestamp,
    maxTimestamp: latest(records),
    records: records.length,
  }
  return frameBatch(facts, body)
}

function latest(records: readonly OldRecord[]): bigint {
  return records.reduce((max, { timestamp }) => (timestamp > max ? timestamp : max), -1n)
}

/** The length, attributes, two deltas, two lengths and the number of headers of a record at most. */
const MAX_RECORD_FRAME_BYTES = 5 + 1 + 10 + 5 + 5 + 5 + 1

function encodeRecords(records: readonly OldRecord[], first: OldRecord): Buffer {
  const size = records.reduce((sum, record) => sum + MAX_RECORD_FRAME_BYTES + bytesOf(record), 0)
  const plain = Buffer.allocUnsafe(size)
  let at = 0
  for (const record of records) {
    const timeDelta = BigInt.asIntN(64, record.timestamp - first.timestamp)
    const offsetDelta = Number(record.offset - first.offset)
    const length =
      2 + varlongBytes(timeDelta) + varintBytes(offsetDelta) + fieldBytes(record.key) + fieldBytes(record.value)
    at = writeVarint(plain, at, length)
    plain[at++] = 0
    at = writeVarlong(plain, at, timeDelta)
    at = writeVarint(plain, at, offsetDelta)
    at = writeField(plain, at, record.key)
    at = writeField(plain, at, record.value)
    plain[at++] = 0
  }
  return plain.subarray(0, at)
}

function bytesOf({ key, value }: OldRecord): number {
  return (key?.length ?? 0) + (value?.length ?? 0)
}

function fieldBytes(field: Buffer | null): number {
  return field === null ? 1 : varintBytes(field.length) + field.length
}

function writeField(plain: Buffer, position: number, field: Buffer | null): number {
  const at = writeVarint(plain, position, field?.length ?? -1)
  return field === null ? at : at + field.copy(plain, at)
}
