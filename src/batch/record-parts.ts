import type { EncodedRecord } from './record-cursor.ts'
import { type Cursor, readVarint } from './varint.ts'

/** Where key, value and headers of a record lie in its buffer. It is the same object for all records: none is allocated. */
export class RecordParts {
  /** Of what is null the start is -1. */
  keyStart = -1
  keyEnd = -1
  valueStart = -1
  valueEnd = -1
  headerCount = 0
  readonly #reader: Cursor = { buffer: Buffer.alloc(0), position: 0 }
  #end = 0

  locate({ buffer, tailStart, tailEnd }: EncodedRecord): void {
    const reader = this.#reader
    reader.buffer = buffer
    reader.position = tailStart
    this.#end = tailEnd
    const keyBytes = this.#readLength()
    this.keyStart = keyBytes < 0 ? -1 : reader.position
    reader.position += Math.max(keyBytes, 0)
    this.keyEnd = reader.position
    const valueBytes = this.#readLength()
    this.valueStart = valueBytes < 0 ? -1 : reader.position
    reader.position += Math.max(valueBytes, 0)
    this.valueEnd = reader.position
    this.headerCount = readVarint(reader)
    if (this.headerCount < 0 || this.headerCount * 2 > tailEnd - reader.position) {
      throw new RangeError(`a number of ${this.headerCount} headers is impossible`)
    }
  }

  /** Calls for each header with where its name and its value lie; of a null value the start is -1. */
  eachHeader(visit: (nameStart: number, nameEnd: number, start: number, end: number) => void): void {
    const reader = this.#reader
    const first = reader.position
    for (let i = 0; i < this.headerCount; i++) {
      const nameBytes = this.#readLength()
      if (nameBytes < 0) throw new RangeError('a header has no name')
      const nameStart = reader.position
      const nameEnd = nameStart + nameBytes
      reader.position = nameEnd
      const valueBytes = this.#readLength()
      const start = reader.position
      reader.position += Math.max(valueBytes, 0)
      visit(nameStart, nameEnd, valueBytes < 0 ? -1 : start, reader.position)
    }
    if (reader.position !== this.#end) throw new RangeError('a record has a wrong length')
    reader.position = first
  }

  #readLength(): number {
    const bytes = readVarint(this.#reader)
    if (this.#reader.position + Math.max(bytes, 0) > this.#end) throw new RangeError('a field ends beyond its record')
    return bytes
  }
}
