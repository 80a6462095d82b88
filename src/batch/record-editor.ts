import { type EncodedRecord, exactTime, type RecordCursor } from './record-cursor.ts'
import { CursorView, type RecordView } from './record-view.ts'
import { writeVarint } from './varint.ts'

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

/** Applies an edit to the record that the cursor stands on. Edited records are written into one memory, again and again. */
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
