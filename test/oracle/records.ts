import { AssertionError } from 'node:assert'
import { createHash } from 'node:crypto'
import { findDifferences } from './differences.ts'

/** What a user sees of a record: two topics hold the same data when these are the same, in the same order. */
export interface OracleRecord {
  key: Buffer | null
  value: Buffer | null
  /** In order; names may repeat. */
  headers: [string, Buffer | null][]
  timestamp: bigint
  /** Where it was read; used in messages only, never compared. */
  offset?: bigint
}

/**
 * The canonical bytes of a record, the same as in test/servers/java/RecordCodec.java:
 *
 *   record => timestamp INT64, key BYTES, value BYTES, header count INT32, then per header: name BYTES, value BYTES
 *   BYTES  => length INT32 (-1 is null), the bytes
 *
 * Nothing in it is ambiguous, so a row of records has exactly one concatenation.
 */
export function encodeRecord(record: OracleRecord): Buffer {
  const head = Buffer.allocUnsafe(8)
  head.writeBigInt64BE(record.timestamp)
  const parts = [head, ...encodeBytes(record.key), ...encodeBytes(record.value), encodeInt32(record.headers.length)]
  for (const [name, value] of record.headers) parts.push(...encodeBytes(Buffer.from(name)), ...encodeBytes(value))
  return Buffer.concat(parts)
}

/** Reads the record at a position of the bytes and returns it with the position after it. */
export function decodeRecord(bytes: Buffer, start: number): { record: OracleRecord; end: number } {
  let at = start + 8
  const next = (): Buffer | null => {
    const length = bytes.readInt32BE(at)
    at += 4
    if (length < 0) return null
    at += length
    return bytes.subarray(at - length, at)
  }
  const timestamp = bytes.readBigInt64BE(start)
  const key = next()
  const value = next()
  const headers: OracleRecord['headers'] = []
  let left = bytes.readInt32BE(at)
  at += 4
  for (; left > 0; left--) headers.push([String(next() ?? ''), next()])
  return { record: { key, value, headers, timestamp }, end: at }
}

/** SHA-256 in hex over the canonical bytes of the records in their order. */
export function hashChain(records: Iterable<OracleRecord>): string {
  const hash = createHash('sha256')
  for (const record of records) hash.update(encodeRecord(record))
  return hash.digest('hex')
}

/** Both are indexed by partition. Fails with the first differences of each partition. */
export function assertSameRecords(expected: OracleRecord[][], actual: OracleRecord[][], linesPerPartition = 5): void {
  const lines: string[] = []
  if (expected.length !== actual.length) lines.push(`${expected.length} partitions expected, ${actual.length} found`)
  for (let partition = 0; partition < Math.max(expected.length, actual.length); partition++) {
    const found = findDifferences(expected[partition] ?? [], actual[partition] ?? [], linesPerPartition)
    lines.push(...found.map(line => `partition ${partition}, ${line}`))
  }
  if (lines.length > 0)
    throw new AssertionError({ message: `the records differ:\n${lines.join('\n')}`, stackStartFn: assertSameRecords })
}

function encodeBytes(bytes: Buffer | null): Buffer[] {
  return bytes === null ? [encodeInt32(-1)] : [encodeInt32(bytes.length), bytes]
}

function encodeInt32(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(4)
  bytes.writeInt32BE(value)
  return bytes
}
