import type { EncodedRecord } from './record-cursor.ts'
import { type Cursor, readVarint } from './varint.ts'

/**
 * Tells of each record which of so many partitions Kafka's default partitioner chooses for its key; undefined without a
 * key. An empty key is one. It allocates nothing, because it runs for every record and partition.
 */
export function keyPlacer(partitions: number): (record: EncodedRecord) => number | undefined {
  const reader: Cursor = { buffer: Buffer.alloc(0), position: 0 }
  return ({ buffer, tailStart, tailEnd }) => {
    reader.buffer = buffer
    reader.position = tailStart
    const length = readVarint(reader)
    if (length < 0) return undefined
    const end = reader.position + length
    if (end > tailEnd) throw new RangeError('a field ends beyond its record')
    return partitionForKey(buffer, partitions, reader.position, end)
  }
}

/** The partition that Kafka's default partitioner chooses for a record with this key: the bytes of [start, end). */
export function partitionForKey(bytes: Buffer, partitions: number, start = 0, end = bytes.length): number {
  return (murmur2(bytes, start, end) & 0x7fffffff) % partitions
}

const SEED = 0x9747b28c
const M = 0x5bd1e995
const R = 24

/** The signed 32-bit murmur2 of Kafka's clients: four bytes at a time, little-endian, then the rest. */
export function murmur2(bytes: Buffer, start = 0, end = bytes.length): number {
  const whole = start + ((end - start) & ~3)
  let hash = SEED ^ (end - start)
  for (let i = start; i < whole; i += 4) {
    const k = Math.imul(bytes.readInt32LE(i), M)
    hash = Math.imul(hash, M) ^ Math.imul(k ^ (k >>> R), M)
  }
  for (let i = end - 1; i >= whole; i--) hash ^= bytes.readUInt8(i) << (8 * (i - whole))
  if (whole < end) hash = Math.imul(hash, M)
  hash = Math.imul(hash ^ (hash >>> 13), M)
  return hash ^ (hash >>> 15)
}
