import { KafkaBackupError } from '../errors.ts'
import { openBody, undecodable } from './compression.ts'
import { type BatchHeader, hasDeleteHorizon, isLogAppendTime } from './header.ts'
import { type Cursor, readVarint, readVarlong } from './varint.ts'

export interface KafkaRecord {
  offset: bigint
  timestamp: bigint
  key: Buffer | null
  value: Buffer | null
  /** In order, with repeated names and null values, as the producer wrote them. */
  headers: [string, Buffer | null][]
}

/**
 * The records of one batch:
 *
 *   length VARINT, attributes INT8, timestampDelta VARLONG, offsetDelta VARINT, key, value, headers
 *   key and value: length VARINT (-1 is null), bytes; headers: count VARINT, each a name and a value likewise
 */
export function decodeRecords(buffer: Buffer, header: BatchHeader): KafkaRecord[] {
  const cursor: Cursor = { buffer: openBody(buffer, header), position: 0 }
  try {
    const records = readMany(cursor, header.recordCount, () => decodeRecord(cursor, header))
    if (cursor.position !== cursor.buffer.length) throw new RangeError('bytes are left over after the last record')
    return records
  } catch (cause) {
    throw undecodable(header, cause)
  }
}

/** One after the other, of a batch that is unpacked already: a few bytes can stand for millions of records. */
export function* eachRecord(body: Buffer, header: BatchHeader): Generator<KafkaRecord> {
  const cursor: Cursor = { buffer: body, position: 0 }
  try {
    for (let i = 0; i < header.recordCount; i++) yield decodeRecord(cursor, header)
    if (cursor.position !== body.length) throw new RangeError('bytes are left over after the last record')
  } catch (cause) {
    throw undecodable(header, cause)
  }
}

/** Of a batch that DeleteRecords cut, only the records from the log start on count; only then is it opened. */
export function countRecordsFrom(buffer: Buffer, header: BatchHeader, startOffset: bigint): number {
  if (header.baseOffset >= startOffset) return header.recordCount
  return decodeRecords(buffer, header).filter(record => record.offset >= startOffset).length
}

/** The first record's time, which the header holds unless a delete horizon has taken its place; null without records. */
export function firstTimestamp(buffer: Buffer, header: BatchHeader): bigint | null {
  if (header.recordCount === 0) return null
  if (!hasDeleteHorizon(header.attributes)) return header.baseTimestamp
  return decodeRecords(buffer, header)[0]?.timestamp ?? null
}

function decodeRecord(cursor: Cursor, header: BatchHeader): KafkaRecord {
  const length = readVarint(cursor)
  const end = cursor.position + length
  cursor.position += 1
  // Clients add with 64 bits: the distance of two far-off times may wrap around.
  const timestamp = BigInt.asIntN(64, header.baseTimestamp + readVarlong(cursor))
  const record: KafkaRecord = {
    offset: header.baseOffset + readVarlong(cursor),
    timestamp: isLogAppendTime(header.attributes) ? header.maxTimestamp : timestamp,
    key: readBytes(cursor),
    value: readBytes(cursor),
    headers: readMany(cursor, readVarint(cursor), () => {
      const name = readBytes(cursor)
      if (name === null) throw new RangeError('a header has no name')
      return [name.toString('utf8'), readBytes(cursor)] satisfies [string, Buffer | null]
    }),
  }
  if (cursor.position !== end) throw new RangeError(`the record at offset ${record.offset} has a wrong length`)
  return record
}

/** Whatever is counted takes a byte at least, so that no claim makes room for more than there can be. */
function readMany<T>(cursor: Cursor, count: number, read: () => T): T[] {
  if (count < 0 || count > cursor.buffer.length) throw new RangeError(`a number of items of ${count} is impossible`)
  const items: T[] = []
  for (let i = 0; i < count; i++) items.push(read())
  return items
}

function readBytes(cursor: Cursor): Buffer | null {
  const length = readVarint(cursor)
  if (length < 0) return null
  const end = cursor.position + length
  if (end > cursor.buffer.length) throw new RangeError('a record ends beyond its batch')
  const bytes = cursor.buffer.subarray(cursor.position, end)
  cursor.position = end
  return bytes
}

type Marker = 'abort' | 'commit' | 'other'

/**
 * What a control batch says. Its one record has a key of version INT16 and type INT16: 0 aborts and 1 commits the
 * transaction of the batch's producer; other types (a KRaft leader change, say) end no transaction.
 */
export function decodeMarker(buffer: Buffer, header: BatchHeader): Marker {
  // Compaction may empty a marker's batch once it is of no use to any reader.
  if (header.recordCount === 0) return 'other'
  const key = decodeRecords(buffer, header)[0]?.key
  if (!key || key.length < 4) {
    throw new KafkaBackupError('BATCH_INVALID', `the control batch at offset ${header.baseOffset} has no type`)
  }
  const type = key.readInt16BE(2)
  return type === 0 ? 'abort' : type === 1 ? 'commit' : 'other'
}
