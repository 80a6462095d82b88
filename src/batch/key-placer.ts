import { partitionForKey } from './murmur2.ts'
import type { EncodedRecord } from './record-cursor.ts'
import { type Cursor, readVarint } from './varint.ts'

/**
 * Tells of each record which of so many partitions Kafka's default partitioner chooses for its key; undefined without a
 * key. An empty key is one. Nothing is allocated for it: whoever fills many partitions looks at every record many times.
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
