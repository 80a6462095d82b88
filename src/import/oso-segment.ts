import { crc32, zstdDecompressSync } from 'node:zlib'
import { decompressLz4Block } from '../batch/lz4.ts'
import { KafkaBackupError } from '../errors.ts'
import { decodeJsonSegment } from './oso-json-segment.ts'
import type { OsoRecord } from './oso-record.ts'

const HEADER_BYTES = 32
const FOOTER_BYTES = 8
/** Segments have 128 MiB by default; no plain segment may need more memory than this. */
const MAX_PLAIN_BYTES = 1 << 30

/**
 * A segment, all numbers little-endian: magic `KBAK`, version INT8 (1), compression INT8 (0 none, 1 zstd, 2 lz4 block with its length),
 * two reserved bytes, record count INT64, first and last offset INT64; the records, compressed together; CRC-32 of all bytes
 * before it, magic `BKAE`.
 *
 * A record: length UINT32 of what follows, timestamp INT64, offset INT64, key and value each INT32 length (-1 for null) and bytes, number of
 * headers UINT16, each with UINT16 length and bytes of its key and INT32 length and bytes of its value.
 *
 * Anything else is read as a segment of the first versions, which were JSON.
 */
export function decodeOsoSegment(bytes: Buffer, key: string): OsoRecord[] {
  const fail = (problem: string): never => {
    throw new KafkaBackupError('ARCHIVE_DAMAGED', `${key}: ${problem}`, { details: { key } })
  }
  if (bytes.toString('latin1', 0, 4) !== 'KBAK') {
    return decodeJsonSegment(bytes, key, MAX_PLAIN_BYTES) ?? fail('it is not a segment of OSO kafka-backup')
  }
  if (bytes.length < HEADER_BYTES + FOOTER_BYTES) return fail('its end is missing')
  if (bytes[4] !== 1) return fail(`its segment version is ${bytes[4]}, and only version 1 is known`)
  const footer = bytes.length - FOOTER_BYTES
  if (bytes.toString('latin1', footer + 4) !== 'BKAE') return fail('its end is missing')
  if (crc32(bytes.subarray(0, footer)) !== bytes.readUInt32LE(footer)) return fail('its checksum is wrong')
  const count = bytes.readBigUInt64LE(8)
  const plain = decompress(bytes.subarray(HEADER_BYTES, footer), bytes[5], fail)
  const records: OsoRecord[] = []
  const reader = new Reader(plain, fail)
  while (!reader.isAtEnd) records.push(readRecord(reader))
  if (BigInt(records.length) !== count) return fail(`it holds ${records.length} records, and its header says ${count}`)
  return records
}

function decompress(bytes: Buffer, codec: number | undefined, fail: (problem: string) => never): Buffer {
  try {
    if (codec === 0) return bytes
    if (codec === 1) return zstdDecompressSync(bytes, { maxOutputLength: MAX_PLAIN_BYTES })
    if (codec === 2) return decompressLz4Block(bytes, MAX_PLAIN_BYTES)
  } catch (error) {
    return fail(`its records cannot be decompressed: ${error instanceof Error ? error.message : error}`)
  }
  return fail(`its compression ${codec} is not known`)
}

function readRecord(reader: Reader): OsoRecord {
  const end = reader.limit(reader.uint32())
  const timestamp = reader.int64()
  const offset = reader.int64()
  const [key, value] = [reader.nullable(), reader.nullable()]
  const headers = Array.from({ length: reader.uint16() }, () => ({
    key: reader.take(reader.uint16()),
    value: reader.nullable(),
  }))
  reader.endAt(end)
  return { offset, timestamp, key, value, headers }
}

class Reader {
  readonly #bytes: Buffer
  readonly #fail: (problem: string) => never
  #at = 0

  constructor(bytes: Buffer, fail: (problem: string) => never) {
    this.#bytes = bytes
    this.#fail = fail
  }

  get isAtEnd(): boolean {
    return this.#at === this.#bytes.length
  }

  take(length: number): Buffer {
    const end = this.limit(length)
    const taken = this.#bytes.subarray(this.#at, end)
    this.#at = end
    return taken
  }

  limit(length: number): number {
    const end = this.#at + length
    return end > this.#bytes.length ? this.#fail(`a record at byte ${this.#at} is cut off`) : end
  }

  endAt(end: number): void {
    if (this.#at !== end) this.#fail(`a record ends at byte ${this.#at}, and its length says ${end}`)
  }

  nullable(): Buffer | null {
    const length = this.take(4).readInt32LE(0)
    if (length < -1) this.#fail(`a length at byte ${this.#at} is negative`)
    return length === -1 ? null : this.take(length)
  }

  uint16 = (): number => this.take(2).readUInt16LE(0)
  uint32 = (): number => this.take(4).readUInt32LE(0)
  int64 = (): bigint => this.take(8).readBigInt64LE(0)
}
