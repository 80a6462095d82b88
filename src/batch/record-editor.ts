import { type EncodedRecord, exactTime, type RecordCursor, timestampOf } from './record-cursor.ts'
import { type Cursor, readVarint, writeVarint } from './varint.ts'

/** What is to be different; what is absent stays as it is, byte for byte. */
export interface RecordEdit {
  key?: Buffer | null
  value?: Buffer | null
  /** Behind the headers that are there. */
  addHeaders?: readonly (readonly [string, Buffer | null])[]
  timestamp?: bigint
}

export type EditRecord = (record: RecordView) => RecordEdit | undefined | 'drop'

const MAX_VARINT_BYTES = 5

/** Applies an edit to the current record of the cursor. Edited records reuse one buffer. */
export class RecordEditor {
  readonly #edit: EditRecord
  readonly #view: CursorView
  readonly #edited: EncodedRecord
  #scratch = Buffer.allocUnsafe(4096)
  #position = 0

  constructor(cursor: RecordCursor, edit: EditRecord) {
    this.#edit = edit
    this.#view = new CursorView(cursor)
    const nowhere = { buffer: this.#scratch, tailStart: 0, tailEnd: 0 }
    this.#edited = { attributes: 0, time: 0, wideTime: 0n, offsetBase: 0n, offsetDelta: 0, ...nowhere }
  }

  /** The record to write, good until the next call; undefined when it is dropped. */
  apply(): EncodedRecord | undefined {
    const { cursor } = this.#view
    this.#view.renew()
    const edit = this.#edit(this.#view)
    if (edit === 'drop') return undefined
    return edit === undefined ? cursor : this.#write(cursor, edit)
  }

  #write(cursor: RecordCursor, edit: RecordEdit): EncodedRecord {
    const edited = this.#edited
    edited.attributes = cursor.attributes
    edited.time = edit.timestamp === undefined ? cursor.time : exactTime(edit.timestamp)
    edited.wideTime = edit.timestamp ?? cursor.wideTime
    edited.offsetBase = cursor.offsetBase
    edited.offsetDelta = cursor.offsetDelta
    const hasSameTail = edit.key === undefined && edit.value === undefined && !edit.addHeaders?.length
    if (!hasSameTail) this.#writeTail(edit)
    edited.buffer = hasSameTail ? cursor.buffer : this.#scratch
    edited.tailStart = hasSameTail ? cursor.tailStart : 0
    edited.tailEnd = hasSameTail ? cursor.tailEnd : this.#position
    return edited
  }

  #writeTail({ key, value, addHeaders = [] }: RecordEdit): void {
    const { tailStart, tailEnd } = this.#view.cursor
    const { valueAt, headersAt } = this.#view
    this.#position = 0
    if (key === undefined) this.#copy(tailStart, valueAt)
    else this.#writeBytes(key)
    if (value === undefined) this.#copy(valueAt, headersAt)
    else this.#writeBytes(value)
    if (addHeaders.length === 0) this.#copy(headersAt, tailEnd)
    else this.#writeHeaders(addHeaders)
  }

  #writeHeaders(added: readonly (readonly [string, Buffer | null])[]): void {
    const { count, position } = this.#view.headerCount()
    this.#writeNumber(count + added.length)
    this.#copy(position, this.#view.cursor.tailEnd)
    for (const [name, bytes] of added) {
      this.#writeBytes(Buffer.from(name, 'utf8'))
      this.#writeBytes(bytes)
    }
  }

  #copy(start: number, end: number): void {
    this.#reserve(end - start)
    this.#view.cursor.buffer.copy(this.#scratch, this.#position, start, end)
    this.#position += end - start
  }

  #writeBytes(bytes: Buffer | null): void {
    this.#writeNumber(bytes === null ? -1 : bytes.length)
    if (bytes === null) return
    this.#reserve(bytes.length)
    bytes.copy(this.#scratch, this.#position)
    this.#position += bytes.length
  }

  #writeNumber(value: number): void {
    this.#reserve(MAX_VARINT_BYTES)
    this.#position = writeVarint(this.#scratch, this.#position, value)
  }

  #reserve(bytes: number): void {
    const needed = this.#position + bytes
    if (needed <= this.#scratch.length) return
    const larger = Buffer.allocUnsafe(Math.max(needed, 2 * this.#scratch.length))
    this.#scratch.copy(larger, 0, 0, this.#position)
    this.#scratch = larger
  }
}

/** A record as an edit sees it. It is the same object for all of them: good during the call, and so are its bytes. */
interface RecordView {
  readonly offset: bigint
  readonly timestamp: bigint
  readonly key: Buffer | null
  readonly value: Buffer | null
  /** In order, with repeated names and null values; decoded by this call. */
  headers(): [string, Buffer | null][]
}

/** Reads the current record of the cursor. Its tail is parsed on demand. */
class CursorView implements RecordView {
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

  /** The cursor has moved. */
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

  /** The position of the length of the value. */
  get valueAt(): number {
    this.#locate()
    return this.#valueAt
  }

  /** The position of the number of headers. */
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
