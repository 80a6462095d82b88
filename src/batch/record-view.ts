import { type RecordCursor, timestampOf } from './record-cursor.ts'
import { type Cursor, readVarint } from './varint.ts'

/** A record as an edit sees it. It is the same object for all of them: good during the call, and so are its bytes. */
export interface RecordView {
  readonly offset: bigint
  readonly timestamp: bigint
  readonly key: Buffer | null
  readonly value: Buffer | null
  /** In order, with repeated names and null values; decoded by this call. */
  headers(): [string, Buffer | null][]
}

/** Looks at the record that the cursor stands on. Its tail is taken apart when something of it is asked for. */
export class CursorView implements RecordView {
  readonly cursor: RecordCursor
  readonly #reader: Cursor = { buffer: Buffer.alloc(0), position: 0 }
  #isLocated = false
  #key: Buffer | null = null
  #value: Buffer | null = null
  #valueAt = 0
  #headersAt = 0

  constructor(cursor: RecordCursor) {
    this.cursor = cursor
  }

  /** The cursor has gone on. */
  renew(): void {
    this.#isLocated = false
  }

  get offset(): bigint {
    return this.cursor.offsetBase + BigInt(this.cursor.offsetDelta)
  }

  get timestamp(): bigint {
    return timestampOf(this.cursor)
  }

  get key(): Buffer | null {
    this.#locate()
    return this.#key
  }

  get value(): Buffer | null {
    this.#locate()
    return this.#value
  }

  /** Where the length of the value stands. */
  get valueAt(): number {
    this.#locate()
    return this.#valueAt
  }

  /** Where the number of headers stands. */
  get headersAt(): number {
    this.#locate()
    return this.#headersAt
  }

  headers(): [string, Buffer | null][] {
    return this.#reading(this.headersAt, reader => {
      const count = this.#readCount(reader)
      const headers: [string, Buffer | null][] = []
      for (let i = 0; i < count; i++) {
        const name = this.#readBytes(reader)
        if (name === null) throw new RangeError('a header has no name')
        headers.push([name.toString('utf8'), this.#readBytes(reader)])
      }
      if (reader.position !== this.cursor.tailEnd) throw new RangeError('a record has a wrong length')
      return headers
    })
  }

  /** How many headers there are, and where the first begins. */
  headerCount(): { count: number; position: number } {
    return this.#reading(this.headersAt, reader => {
      const count = this.#readCount(reader)
      return { count, position: reader.position }
    })
  }

  #locate(): void {
    if (this.#isLocated) return
    this.#reading(this.cursor.tailStart, reader => {
      this.#key = this.#readBytes(reader)
      this.#valueAt = reader.position
      this.#value = this.#readBytes(reader)
      this.#headersAt = reader.position
    })
    this.#isLocated = true
  }

  #reading<T>(position: number, read: (reader: Cursor) => T): T {
    this.#reader.buffer = this.cursor.buffer
    this.#reader.position = position
    try {
      return read(this.#reader)
    } catch (cause) {
      throw this.cursor.refusal(cause)
    }
  }

  /** A header takes two bytes at least, so that no claim makes room for more than there can be. */
  #readCount(reader: Cursor): number {
    const count = readVarint(reader)
    if (count < 0 || count * 2 > this.cursor.tailEnd - reader.position) {
      throw new RangeError(`a number of ${count} headers is impossible`)
    }
    return count
  }

  #readBytes(reader: Cursor): Buffer | null {
    const length = readVarint(reader)
    const end = reader.position + Math.max(length, 0)
    if (end > this.cursor.tailEnd) throw new RangeError('a field ends beyond its record')
    const bytes = length < 0 ? null : reader.buffer.subarray(reader.position, end)
    reader.position = end
    return bytes
  }
}
