import type { EncodedRecord } from '../batch/record-cursor.ts'
import { RecordParts } from '../batch/record-parts.ts'
import { KafkaBackupError } from '../errors.ts'
import type { IdMap } from '../registry/id-map.ts'
import {
  hasSchemaGuid,
  KEY_HEADER,
  type Part,
  parts,
  readSchemaGuid,
  readSchemaId,
  VALUE_HEADER,
  writeSchemaGuid,
  writeSchemaId,
} from '../registry/schema-id.ts'

/** What is rewritten of the records of one topic. */
export interface TopicRewrite {
  idMap: IdMap
  /** That the ids of the topic belong to. */
  context: string
  parts: readonly Part[]
  /** An id that the target does not have ends the restore, or its record goes out as it is. */
  unknownIds: 'fail' | 'pass'
}

/** Of the keys or values that are not null. */
export interface PartCounts {
  /** Another id or GUID. */
  rewritten: number
  /** The same id on the target. */
  same: number
  /** An id that the target does not have. */
  unknown: number
  /** Named by a GUID that is the same on the target. */
  guid: number
  /** Without a frame. */
  unframed: number
}

export type IdCounts = Record<Part, PartCounts>

export function noCounts(): IdCounts {
  const none = () => ({ rewritten: 0, same: 0, unknown: 0, guid: 0, unframed: 0 })
  return { key: none(), value: none() }
}

export function addCounts(sum: IdCounts, more: IdCounts): void {
  for (const part of parts) {
    const into = sum[part]
    for (const kind of Object.keys(into) as (keyof PartCounts)[]) into[kind] += more[part][kind]
  }
}

const NOWHERE = -1
const headerNames = { key: Buffer.from(KEY_HEADER), value: Buffer.from(VALUE_HEADER) }

/** Puts the ids of the target into records, one partition of the source at a time. Only an id's four bytes change. */
export class IdRewriter {
  readonly #rewrite: TopicRewrite
  readonly #name: string
  readonly #parts = new RecordParts()
  /** By part: where its header's value lies; -2 where it has no such header, -1 where the last one is null. */
  readonly #headers = { key: { start: -2, end: 0 }, value: { start: -2, end: 0 } }
  /** Most records of a batch have the same id. */
  readonly #last = { id: NOWHERE, target: undefined as number | undefined }
  readonly #wants: Readonly<Record<Part, boolean>>
  /** Of the last record. */
  readonly #found: Record<Part, keyof PartCounts | undefined> = { key: undefined, value: undefined }
  /** Of the part that is being looked at: its GUID on the target, where that is another one. */
  #guid: string | undefined
  #counts = noCounts()

  /** The name is `topic/partition`, for messages. */
  constructor(rewrite: TopicRewrite, name: string) {
    this.#rewrite = rewrite
    this.#name = name
    this.#wants = { key: rewrite.parts.includes('key'), value: rewrite.parts.includes('value') }
  }

  /** Of the records since the last call. */
  takeCounts(): IdCounts {
    const counts = this.#counts
    this.#counts = noCounts()
    return counts
  }

  /** The last record is not one of those that are sent. */
  uncount(): void {
    for (const part of parts) {
      const kind = this.#found[part]
      if (kind) this.#counts[part][kind]--
    }
  }

  /** In the record's own memory; true where something changed. */
  readonly patch = (record: EncodedRecord): boolean => {
    const found = this.#parts
    found.locate(record)
    const hasHeaders = found.headerCount > 0
    if (hasHeaders) this.#findHeaders(record.buffer)
    const { key, value } = this.#headers
    let isChanged = false
    if (this.#wants.key) {
      const isFramed = hasHeaders && key.start !== -2
      isChanged = isFramed
        ? this.#patchFrame(record, 'key', key.start, key.end)
        : this.#patchFrame(record, 'key', found.keyStart, found.keyEnd)
    }
    if (this.#wants.value) {
      const isFramed = hasHeaders && value.start !== -2
      const isOther = isFramed
        ? this.#patchFrame(record, 'value', value.start, value.end)
        : this.#patchFrame(record, 'value', found.valueStart, found.valueEnd)
      isChanged ||= isOther
    }
    return isChanged
  }

  /** Of several headers with the name the last one counts. */
  #findHeaders(buffer: Buffer): void {
    const { key, value } = this.#headers
    key.start = -2
    value.start = -2
    this.#parts.eachHeader((nameStart, nameEnd, start, end) => {
      const part = partOfHeader(buffer, nameStart, nameEnd)
      if (part === undefined) return
      this.#headers[part].start = start
      this.#headers[part].end = end
    })
  }

  #patchFrame(record: EncodedRecord, part: Part, start: number, end: number): boolean {
    const found = start < 0 ? undefined : this.#judge(record, part, start, end)
    this.#found[part] = found
    if (found === undefined) return false
    this.#counts[part][found]++
    if (found !== 'rewritten') return false
    if (this.#guid === undefined) writeSchemaId(record.buffer, start, this.#last.target ?? 0)
    else writeSchemaGuid(record.buffer, start, this.#guid)
    return true
  }

  #judge(record: EncodedRecord, part: Part, start: number, end: number): keyof PartCounts {
    const id = readSchemaId(record.buffer, start, end)
    this.#guid = undefined
    if (id === 0) return this.#judgeGuid(record.buffer, start, end)
    const target = this.#targetOf(id)
    if (target !== undefined) return target === id ? 'same' : 'rewritten'
    if (this.#rewrite.unknownIds === 'fail') throw unknownId(id, part, this.#name, offsetOf(record))
    return 'unknown'
  }

  #judgeGuid(buffer: Buffer, start: number, end: number): keyof PartCounts {
    if (!hasSchemaGuid(buffer, start, end)) return 'unframed'
    this.#guid = this.#rewrite.idMap.getGuid(readSchemaGuid(buffer, start))
    return this.#guid === undefined ? 'guid' : 'rewritten'
  }

  #targetOf(id: number): number | undefined {
    const last = this.#last
    if (id !== last.id) {
      last.id = id
      last.target = this.#rewrite.idMap.get(this.#rewrite.context, id)
    }
    return last.target
  }
}

function partOfHeader(buffer: Buffer, start: number, end: number): Part | undefined {
  const length = end - start
  if (length !== headerNames.key.length && length !== headerNames.value.length) return undefined
  const part: Part = length === headerNames.key.length ? 'key' : 'value'
  return headerNames[part].compare(buffer, start, end) === 0 ? part : undefined
}

function offsetOf({ offsetBase, offsetDelta }: EncodedRecord): bigint {
  return offsetBase + BigInt(offsetDelta)
}

/** The first sentence is the one that users look for; the second says where. */
export function unknownId(id: number, part: Part, name: string, offset: bigint): KafkaBackupError {
  const message = `Schema ID ${id} not found in target registry. The ${part} of ${name} at offset ${offset} carries it.`
  return new KafkaBackupError('SCHEMA_ID_UNKNOWN', message)
}
