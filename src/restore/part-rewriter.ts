import type { EncodedRecord } from '../batch/record-cursor.ts'
import { KafkaBackupError } from '../errors.ts'
import type { IdMap } from '../registry/ids/id-map.ts'
import { type FrameVerdict, type RecordFacts, RecordJudge } from '../registry/ids/judge-frames.ts'
import type { KnownSchemas } from '../registry/ids/known-schemas.ts'
import {
  hasSchemaGuid,
  type Part,
  readSchemaGuid,
  readSchemaId,
  writeSchemaGuid,
  writeSchemaId,
} from '../registry/ids/schema-id.ts'
import type { PartCounts } from './id-counts.ts'

/** What is rewritten, or looked at, of the records of one topic of the source. */
export interface TopicRewrite {
  idMap: IdMap
  schemas: KnownSchemas
  topic: string
  /** That the ids of the topic belong to. */
  context: string
  parts: readonly Part[]
  /** Those of them in which a sample has shown no frames: each record is judged by itself. */
  judged: Readonly<Partial<Record<Part, Pick<RecordFacts, 'areLongs'>>>>
  /** False where ids are only looked for. */
  writes: boolean
  /** A sample has shown that keys change, and a warning says so before the first write. */
  areKeysForeseen?: true
  /** An id that the target does not have ends the restore, or its record goes out as it is. */
  unknownIds: 'fail' | 'pass'
  /** Why the target does not have an id of the context, where that is known. */
  reasons: ReadonlyMap<number, string>
}

/** What a key or value turns out to be, as a number: strings would take longer than all the rest. */
const NOTHING = -1
const REWRITTEN = 0
const SAME = 1
const UNKNOWN = 2
const GUID = 3
const UNFRAMED = 4
const UNCLEAR = 5
const KEPT = 6

/** Puts the ids of the target into the keys, or the values, of records. */
export class PartRewriter {
  /** Where the value of the header that names the schema lies: -1 where that is null. */
  headerStart = NOTHING
  headerEnd = 0
  hasHeader = false
  readonly #part: Part
  readonly #rewrite: TopicRewrite
  readonly #name: string
  readonly #counts = new Float64Array(7)
  readonly #judge: RecordJudge | undefined
  #found = NOTHING
  /** Most records of a batch have the same id. */
  #lastId = 0
  #lastTarget: number | undefined
  #guid = ''

  constructor(part: Part, rewrite: TopicRewrite, name: string) {
    this.#part = part
    this.#rewrite = rewrite
    this.#name = name
    const { topic, context, schemas } = rewrite
    const judged = rewrite.judged[part]
    this.#judge = judged && new RecordJudge({ topic, part, context, schemas, ...judged })
  }

  /** Looks at the header where there is one, else at buffer[start, end) of the record; -1 is null. */
  patch(record: EncodedRecord, start: number, end: number): boolean {
    return this.hasHeader
      ? this.#patchFrame(record, this.headerStart, this.headerEnd)
      : this.#patchFrame(record, start, end)
  }

  takeCounts(): PartCounts {
    const [rewritten = 0, same = 0, unknown = 0, guid = 0, unframed = 0, unclear = 0, kept = 0] = this.#counts
    this.#counts.fill(0)
    return { rewritten, same, unknown, guid, unframed, unclear, kept }
  }

  /** Forgets the last record. */
  uncount(): void {
    if (this.#found !== NOTHING) this.#count(this.#found, -1)
  }

  #patchFrame(record: EncodedRecord, start: number, end: number): boolean {
    this.#found = NOTHING
    if (start < 0) return false
    const id = readSchemaId(record.buffer, start, end)
    const found = id === 0 ? this.#judgeGuid(record, start, end) : this.#judgeId(id, record, start, end)
    this.#found = found
    this.#count(found, 1)
    if (found !== REWRITTEN) return false
    if (id === 0) writeSchemaGuid(record.buffer, start, this.#guid)
    else writeSchemaId(record.buffer, start, this.#lastTarget ?? id)
    return true
  }

  #judgeId(id: number, record: EncodedRecord, start: number, end: number): number {
    if (id !== this.#lastId) {
      this.#lastId = id
      this.#lastTarget = this.#rewrite.idMap.get(this.#rewrite.context, id)
    }
    if (this.#lastTarget === id) return SAME
    // A header names an id and nothing else.
    const judge = this.hasHeader ? undefined : this.#judge
    if (this.#lastTarget !== undefined) {
      if (!this.#rewrite.writes) return KEPT
      return judge ? byVerdict[judge.judge(id, record.buffer, start, end)] : REWRITTEN
    }
    if (judge && !judge.isUnknownId(id, end - start)) return UNFRAMED
    const { unknownIds, reasons } = this.#rewrite
    if (unknownIds === 'pass') return UNKNOWN
    throw unknownId(id, { part: this.#part, name: this.#name, offset: offsetOf(record) }, reasons.get(id))
  }

  #judgeGuid(record: EncodedRecord, start: number, end: number): number {
    if (!hasSchemaGuid(record.buffer, start, end)) return UNFRAMED
    const { idMap, unknownIds, writes } = this.#rewrite
    const guid = readSchemaGuid(record.buffer, start)
    const other = idMap.getGuid(guid)
    if (other !== undefined) {
      this.#guid = other
      return writes ? REWRITTEN : KEPT
    }
    if (!idMap.isUnknownGuid(guid, this.hasHeader)) return GUID
    if (unknownIds === 'pass') return UNKNOWN
    throw unknownId(guid, { part: this.#part, name: this.#name, offset: offsetOf(record) })
  }

  #count(found: number, by: number): void {
    this.#counts[found] = (this.#counts[found] ?? 0) + by
  }
}

function offsetOf({ offsetBase, offsetDelta }: EncodedRecord): bigint {
  return offsetBase + BigInt(offsetDelta)
}

const byVerdict: Record<FrameVerdict, number> = { frame: REWRITTEN, unclear: UNCLEAR, none: UNFRAMED }

/** The first sentence is the one that users look for; the second says where. */
export function unknownId(
  id: number | string,
  { part, name, offset }: { part: Part; name: string; offset: bigint },
  reason = 'no schema of the backup has it',
): KafkaBackupError {
  const what =
    typeof id === 'number'
      ? `Schema ID ${id} not found in target registry: ${reason}`
      : `Schema GUID ${formatGuid(id)} not found in target registry`
  return new KafkaBackupError('SCHEMA_ID_UNKNOWN', `${what}. The ${part} of ${name} at offset ${offset} carries it.`, {
    details: { offset },
  })
}

/** As registries write it. */
function formatGuid(hex: string): string {
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}
