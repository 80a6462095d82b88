import type { EncodedRecord } from '../batch/record-cursor.ts'
import { KafkaBackupError } from '../errors.ts'
import type { IdMap } from '../registry/ids/id-map.ts'
import {
  hasSchemaGuid,
  type Part,
  readSchemaGuid,
  readSchemaId,
  writeSchemaGuid,
  writeSchemaId,
} from '../registry/ids/schema-id.ts'
import type { PartCounts } from './id-counts.ts'

/** What is rewritten of the records of one topic. */
export interface TopicRewrite {
  idMap: IdMap
  /** That the ids of the topic belong to. */
  context: string
  parts: readonly Part[]
  /** An id that the target does not have ends the restore, or its record goes out as it is. */
  unknownIds: 'fail' | 'pass'
}

/** What a key or value turns out to be, as a number: strings would take longer than all the rest. */
const NOTHING = -1
const REWRITTEN = 0
const SAME = 1
const UNKNOWN = 2
const GUID = 3
const UNFRAMED = 4

/** Puts the ids of the target into the keys, or the values, of records. */
export class PartRewriter {
  /** Where the value of the header that names the schema lies: -1 where that is null. */
  headerStart = NOTHING
  headerEnd = 0
  hasHeader = false
  readonly #part: Part
  readonly #rewrite: TopicRewrite
  readonly #name: string
  readonly #counts = new Float64Array(5)
  #found = NOTHING
  /** Most records of a batch have the same id. */
  #lastId = 0
  #lastTarget: number | undefined
  #guid = ''

  constructor(part: Part, rewrite: TopicRewrite, name: string) {
    this.#part = part
    this.#rewrite = rewrite
    this.#name = name
  }

  /** Looks at the header where there is one, else at buffer[start, end) of the record; -1 is null. */
  patch(record: EncodedRecord, start: number, end: number): boolean {
    return this.hasHeader
      ? this.#patchFrame(record, this.headerStart, this.headerEnd)
      : this.#patchFrame(record, start, end)
  }

  takeCounts(): PartCounts {
    const [rewritten = 0, same = 0, unknown = 0, guid = 0, unframed = 0] = this.#counts
    this.#counts.fill(0)
    return { rewritten, same, unknown, guid, unframed }
  }

  /** Forgets the last record. */
  uncount(): void {
    if (this.#found !== NOTHING) this.#count(this.#found, -1)
  }

  #patchFrame(record: EncodedRecord, start: number, end: number): boolean {
    this.#found = NOTHING
    if (start < 0) return false
    const id = readSchemaId(record.buffer, start, end)
    const found = id === 0 ? this.#judgeGuid(record, start, end) : this.#judgeId(id, record)
    this.#found = found
    this.#count(found, 1)
    if (found !== REWRITTEN) return false
    if (id === 0) writeSchemaGuid(record.buffer, start, this.#guid)
    else writeSchemaId(record.buffer, start, this.#lastTarget ?? id)
    return true
  }

  #judgeId(id: number, record: EncodedRecord): number {
    if (id !== this.#lastId) {
      this.#lastId = id
      this.#lastTarget = this.#rewrite.idMap.get(this.#rewrite.context, id)
    }
    if (this.#lastTarget === id) return SAME
    if (this.#lastTarget !== undefined) return REWRITTEN
    if (this.#rewrite.unknownIds === 'fail') throw unknownId(id, this.#part, this.#name, offsetOf(record))
    return UNKNOWN
  }

  #judgeGuid(record: EncodedRecord, start: number, end: number): number {
    if (!hasSchemaGuid(record.buffer, start, end)) return UNFRAMED
    const { idMap, unknownIds } = this.#rewrite
    const guid = readSchemaGuid(record.buffer, start)
    const other = idMap.getGuid(guid)
    if (other !== undefined) {
      this.#guid = other
      return REWRITTEN
    }
    if (!idMap.isUnknownGuid(guid, this.hasHeader)) return GUID
    if (unknownIds === 'fail') throw unknownId(guid, this.#part, this.#name, offsetOf(record))
    return UNKNOWN
  }

  #count(found: number, by: number): void {
    this.#counts[found] = (this.#counts[found] ?? 0) + by
  }
}

function offsetOf({ offsetBase, offsetDelta }: EncodedRecord): bigint {
  return offsetBase + BigInt(offsetDelta)
}

/** The first sentence is the one that users look for; the second says where. */
export function unknownId(id: number | string, part: Part, name: string, offset: bigint): KafkaBackupError {
  const what = typeof id === 'number' ? `Schema ID ${id}` : `Schema GUID ${formatGuid(id)}`
  const message = `${what} not found in target registry. The ${part} of ${name} at offset ${offset} carries it.`
  return new KafkaBackupError('SCHEMA_ID_UNKNOWN', message)
}

/** As registries write it. */
function formatGuid(hex: string): string {
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}
