import type { EncodedRecord } from '../batch/record-cursor.ts'
import { RecordParts } from '../batch/record-parts.ts'
import { KEY_HEADER, VALUE_HEADER } from '../registry/ids/schema-id.ts'
import { type IdCounts, noCounts } from './id-counts.ts'
import { PartRewriter, type TopicRewrite } from './part-rewriter.ts'

const keyHeader = Buffer.from(KEY_HEADER)
const valueHeader = Buffer.from(VALUE_HEADER)

/** Puts the ids of the target into records, one partition of the source at a time. Only an id's own bytes change. */
export class IdRewriter {
  readonly rewrite: TopicRewrite
  readonly name: string
  readonly #parts = new RecordParts()
  readonly #key: PartRewriter | undefined
  readonly #value: PartRewriter | undefined

  /** The name is `topic/partition`, for messages. */
  constructor(rewrite: TopicRewrite, name: string) {
    this.rewrite = rewrite
    this.name = name
    this.#key = rewrite.parts.includes('key') ? new PartRewriter('key', rewrite, name) : undefined
    this.#value = rewrite.parts.includes('value') ? new PartRewriter('value', rewrite, name) : undefined
  }

  /** In the record's own memory; true where something changed. */
  readonly patch = (record: EncodedRecord): boolean => {
    const found = this.#parts
    found.locate(record)
    if (this.#key) this.#key.hasHeader = false
    if (this.#value) this.#value.hasHeader = false
    if (found.headerCount > 0) this.#findHeaders(record.buffer)
    const isKeyChanged = this.#key?.patch(record, found.keyStart, found.keyEnd) ?? false
    const isValueChanged = this.#value?.patch(record, found.valueStart, found.valueEnd) ?? false
    return isKeyChanged || isValueChanged
  }

  /** Of the records since the last call. */
  takeCounts(): IdCounts {
    const none = noCounts()
    return { key: this.#key?.takeCounts() ?? none.key, value: this.#value?.takeCounts() ?? none.value }
  }

  /** The last record is not one of those that are sent. */
  uncount(): void {
    this.#key?.uncount()
    this.#value?.uncount()
  }

  /** Of several headers with the name the last one counts. */
  #findHeaders(buffer: Buffer): void {
    this.#parts.eachHeader((nameStart, nameEnd, start, end) => {
      const part = this.#partOf(buffer, nameStart, nameEnd)
      if (!part) return
      part.hasHeader = true
      part.headerStart = start
      part.headerEnd = end
    })
  }

  #partOf(buffer: Buffer, start: number, end: number): PartRewriter | undefined {
    const length = end - start
    if (length === keyHeader.length) return keyHeader.compare(buffer, start, end) === 0 ? this.#key : undefined
    if (length === valueHeader.length) return valueHeader.compare(buffer, start, end) === 0 ? this.#value : undefined
    return undefined
  }
}
