import type { BatchHeader } from '../batch/header.ts'
import { HeaderCursor } from '../batch/header-cursor.ts'
import { RecordCursor } from '../batch/record-cursor.ts'
import { RecordParts } from '../batch/record-parts.ts'
import { ZstdReader } from '../batch/zstd-reader.ts'
import { ByteSearch } from '../lib/byte-search.ts'
import {
  hasSchemaGuid,
  KEY_HEADER,
  LONG_BYTES,
  type Part,
  readSchemaId,
  VALUE_HEADER,
} from '../registry/ids/schema-id.ts'
import { openIntact } from './open-intact.ts'
import { type FrameIds, scanFrames } from './scan-frames.ts'
import { type PartFrames, packVerdict, type Verdict } from './verdicts.ts'

/** Bytes that a batch must hold, so that a record of it can meet a condition. */
export interface Needle {
  /** Which a schema may give another form; undefined for headers, which are searched as they are. */
  part: Part | undefined
  bytes: Uint8Array
  /** Text in JSON, which may be written with escapes. */
  isJson: boolean
}

/** Sorts out batches without decoding their records. It knows no schemas, so that any thread can do it. */
export class Sieve {
  readonly #needles: readonly Needle[]
  readonly #search: ByteSearch
  readonly #cursor = new RecordCursor()
  readonly #parts = new RecordParts()
  readonly #zstd: ZstdReader

  constructor(needles: readonly Needle[]) {
    this.#needles = needles
    const search = new ByteSearch(needles.map(({ bytes }) => Buffer.from(bytes)))
    this.#search = search
    this.#zstd = new ZstdReader(bytes => search.allocate(bytes))
  }

  /** The verdicts on the batches at these positions, packed. */
  siftAll(bytes: Buffer, positions: readonly number[]): number[] {
    const header = new HeaderCursor(bytes)
    const packed: number[] = []
    for (const position of positions) packVerdict(this.siftBatch(bytes, header.moveTo(position)), packed)
    return packed
  }

  /** Undefined for a batch that is damaged, cannot be opened, or is too large: opening it in the usual way tells more. */
  siftBatch(bytes: Buffer, header: BatchHeader): Verdict | undefined {
    try {
      const body = openIntact(bytes, header, this.#zstd)
      return body && this.sift(body, header)
    } catch {
      return undefined
    }
  }

  /** `body` is what the batch holds, unpacked. */
  sift(body: Buffer, header: BatchHeader): Verdict {
    const missing = this.#needles.filter(
      ({ isJson }, number) => !this.#search.has(body, number) && !(isJson && body.includes('\\')),
    )
    if (missing.length === 0) return 'maybe'
    if (missing.some(({ part }) => part === undefined)) return 'none'
    const parts = new Set(missing.flatMap(({ part }) => part ?? []))
    const found: PartFrames[] = []
    for (const part of parts) {
      const ids = scanFrames(body, header.recordCount, part) ?? this.#findFrames(body, header, part)
      if (ids?.size === 0) return 'none'
      if (ids) found.push({ part, ids })
    }
    return found.length === 0 ? 'maybe' : found
  }

  /** Undefined where a header or a GUID names a schema. */
  #findFrames(body: Buffer, header: BatchHeader, part: Part): FrameIds | undefined {
    const cursor = this.#cursor
    const parts = this.#parts
    const ids: FrameIds = new Map()
    let [lastId, last] = [0, { frames: 0, longs: 0 }]
    cursor.openBody(body, header)
    while (cursor.next()) {
      if (this.#hasSchemaHeader(body, part)) return undefined
      const start = part === 'key' ? parts.keyStart : parts.valueStart
      const end = part === 'key' ? parts.keyEnd : parts.valueEnd
      // Frames begin with the byte 0 or 1.
      if (start < 0 || (body[start] ?? 2) > 1) continue
      const id = readSchemaId(body, start, end)
      if (id === 0) {
        if (hasSchemaGuid(body, start, end)) return undefined
        continue
      }
      if (id !== lastId) {
        lastId = id
        last = ids.get(id) ?? { frames: 0, longs: 0 }
        ids.set(id, last)
      }
      if (end - start === LONG_BYTES) last.longs++
      else last.frames++
    }
    return ids
  }

  /** Finds the parts of the record at the cursor. */
  #hasSchemaHeader(body: Buffer, part: Part): boolean {
    const name = part === 'key' ? KEY_HEADER : VALUE_HEADER
    let has = false
    try {
      this.#parts.locate(this.#cursor)
      if (this.#parts.headerCount === 0) return false
      this.#parts.eachHeader((start, end) => {
        has ||= end - start === name.length && body.toString('latin1', start, end) === name
      })
    } catch (cause) {
      throw this.#cursor.refusal(cause)
    }
    return has
  }
}
