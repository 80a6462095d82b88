import { fitsAvro } from '../avro/fits-avro.ts'
import { belonging, type KnownSchema, type KnownSchemas } from './known-schemas.ts'
import {
  hasMessageIndexes,
  hasSchemaGuid,
  ID_FRAME_BYTES,
  isPlausiblePayload,
  LONG_BYTES,
  type Part,
  readSchemaGuid,
  readSchemaId,
} from './schema-id.ts'

/** The key or the value of a record that was looked at. */
export interface PartSample {
  offset: bigint
  partition: number
  bytes: Buffer | null
  /** The last header that names its schema; absent where there is none. */
  header?: Buffer | null
  /** The name of a header that holds an id, and is not rewritten. */
  otherHeader?: string
  /** It is not restored: it tells how records of the topic are, and an ID that the target lacks does not matter in it. */
  isLeftOut?: boolean
}

export interface JudgeFacts {
  topic: string
  part: Part
  context: string
  schemas: KnownSchemas
  /** Ids that the target has. */
  isMapped: (id: number) => boolean
  /** GUIDs that are others on the target. */
  isOtherGuid: (guid: string) => boolean
  /** GUIDs that the target does not have. */
  isUnknownGuid: (guid: string, isInHeader: boolean) => boolean
  unknownIds: 'fail' | 'pass'
  /** Nothing is rewritten, so only unknown ids are looked for. */
  isOnlyChecked: boolean
  /** The job says that the part carries ids. */
  isNamed: boolean
}

/**
 * What is to be done with a part of a topic. `search` is to rewrite, though no frame was seen. `leave` is to leave it,
 * unless a record outside the sample shows that it is framed. The caller decides on `unclear` and `unknown`.
 */
type Verdict =
  | { kind: 'rewrite' | 'search' }
  | { kind: 'leave'; areLongs: boolean }
  | { kind: 'unclear'; why: string }
  | UnknownFrame

interface UnknownFrame {
  kind: 'unknown'
  /** A GUID is 32 hex digits. */
  id: number | string
  partition: number
  offset: bigint
  /** A header says that it is one, or sixteen bytes that no others happen to be. */
  isCertain: boolean
}

export interface Judgement {
  verdict: Verdict
  /** Records that were looked at, and those of them with an id that the target does not have. */
  checked: number
  unknown: number
}

/** A value that was typed in for a test must not stop the restore. */
const MAX_UNFRAMED_SHARE = 0.01

/** Pure. What the samples of a part say. Where they show no frames, bytes that begin like an unknown id are none. */
export function judgeSamples(samples: readonly PartSample[], facts: JudgeFacts): Judgement {
  const verdict = judgePart(samples, facts)
  const counts = (look: FrameEvidence) => look.kind === 'unknown' && (verdict.kind !== 'leave' || look.isCertain)
  const unknown = samples.filter(sample => counts(examineFrame(sample, facts))).length
  return { verdict, checked: samples.filter(({ isLeftOut }) => !isLeftOut).length, unknown }
}

/**
 * Pure. Whether ids are to be rewritten in this part, by some of its records. Bytes that begin with 00 and a number need
 * not be a frame: the subjects of the id must belong to the topic, and all that is not empty must be framed. Where that is
 * not so, nothing is guessed. Where none of them is framed, a subject of the part's own name is reason enough to look at
 * every record: frames may come late, or behind tombstones.
 */
export function judgePart(samples: readonly PartSample[], facts: JudgeFacts): Verdict {
  const held = samples.filter(({ bytes, header }) => header !== undefined || (bytes !== null && bytes.length > 0))
  const evidence = held.map(sample => examineFrame(sample, facts))
  const count = (kind: FrameEvidence['kind']) => evidence.filter(look => look.kind === kind).length
  const framed = held.length - count('unframed')
  const unknown = evidence.find(look => look.kind === 'unknown')
  const certain = evidence.find(look => look.kind === 'unknown' && look.isCertain)
  if (certain?.kind === 'unknown' && facts.unknownIds === 'fail') return certain
  const known = framed - count('unknown') - count('guid') - count('left out')
  const isLong = held.length > 0 && areLongs(held)
  const leave: Verdict = { kind: 'leave', areLongs: isLong }
  if (facts.isNamed) return unknown && facts.unknownIds === 'fail' ? unknown : { kind: 'rewrite' }
  if (framed === 0) return mayHoldFrames(held, samples.length, facts) ? { kind: 'search' } : leave
  // Frames of records that are not restored show that selected ones have frames, too.
  const isNoneUnknown = !unknown && count('left out') === 0
  if (known === 0 && (isNoneUnknown || framed * 2 < held.length || isLong)) return leave
  if (facts.isOnlyChecked) {
    const isShown = count('certain') > 0 || (!isLong && (count('likely') > 0 || framed * 2 >= held.length))
    if (!isShown) return leave
  } else if (known > 0) {
    const why = findDoubt(held, evidence, facts)
    if (why !== undefined) return { kind: 'unclear', why }
  }
  if (unknown && facts.unknownIds === 'fail') return unknown
  if (known > 0) return { kind: 'rewrite' }
  return mayHoldFrames(held, samples.length, facts) ? { kind: 'search' } : leave
}

/** What speaks against frames, though there are some of known ids. */
function findDoubt(
  held: readonly PartSample[],
  evidence: readonly FrameEvidence[],
  { part }: JudgeFacts,
): string | undefined {
  const count = (kind: FrameEvidence['kind']) => evidence.filter(look => look.kind === kind).length
  const what = `${held.length} ${part}s were checked`
  const foreign = evidence.find(look => look.kind === 'foreign')
  if (foreign) return `${what}, of which ${count('foreign')} ${describeForeign(foreign)}`
  if (count('certain') === 0 && areLongs(held)) return `${what}, all of them ${LONG_BYTES} bytes long, as numbers are`
  if (count('unframed') > held.length * MAX_UNFRAMED_SHARE) {
    return `${what}, of which only ${held.length - count('unframed')} begin with a schema ID`
  }
  return undefined
}

/**
 * Some have no frame that can be rewritten, or no bytes at all, but the part has its own subject: others, which were
 * not looked at, may have one. Without one they stay as they are.
 */
function mayHoldFrames(held: readonly PartSample[], count: number, { schemas, context, topic, part }: JudgeFacts) {
  const areNumbers = held.length > 0 && areLongs(held)
  return count > 0 && !areNumbers && schemas.hasSubjectOf(context, topic, part)
}

type FrameEvidence =
  /** `guid` is a frame with one that the target has; `left out` is one that the target lacks, of a record that is not restored. */
  | { kind: 'unframed' | 'guid' | 'left out' }
  /** The subject, or a header, says that it is one; or the record's name does, which any topic may hold. */
  | { kind: 'certain' | 'likely' }
  | UnknownFrame
  | { kind: 'foreign'; id: number; subjects: readonly string[]; isPayloadOdd: boolean }

function examineFrame(sample: PartSample, facts: JudgeFacts): FrameEvidence {
  const found = examineAny(sample, facts)
  return sample.isLeftOut && found.kind === 'unknown' ? { kind: 'left out' } : found
}

function examineAny({ bytes, header, partition, offset }: PartSample, facts: JudgeFacts): FrameEvidence {
  const { schemas, context, topic, part } = facts
  const frame = header === undefined ? bytes : header
  if (frame === null) return { kind: 'unframed' }
  const id = readSchemaId(frame, 0, frame.length)
  if (id === 0) {
    if (!hasSchemaGuid(frame, 0, frame.length)) return { kind: 'unframed' }
    const guid = readSchemaGuid(frame, 0)
    const isUnknown = facts.isUnknownGuid(guid, header !== undefined)
    if (isUnknown) return { kind: 'unknown', id: guid, partition, offset, isCertain: true }
    // No other bytes happen to be those sixteen.
    return { kind: facts.isOtherGuid(guid) ? 'certain' : 'guid' }
  }
  const schema = schemas.get(context, id)
  if (!facts.isMapped(id)) return { kind: 'unknown', id, partition, offset, isCertain: header !== undefined }
  if (header !== undefined) return { kind: 'certain' }
  const how = schema ? belonging(schema, topic, part) : 'none'
  const isPayloadOdd = schema !== undefined && !isPlausiblePayload(frame, schema.schemaType)
  if (how === 'none' || isPayloadOdd) {
    return { kind: 'foreign', id, subjects: [...(schema?.subjects ?? [])], isPayloadOdd }
  }
  return { kind: how === 'topic' ? 'certain' : 'likely' }
}

function areLongs(held: readonly PartSample[]): boolean {
  return held.every(({ bytes, header }) => header === undefined && bytes?.length === LONG_BYTES)
}

function describeForeign({ id, subjects, isPayloadOdd }: FrameEvidence & { kind: 'foreign' }): string {
  if (subjects.length === 0) return `begin like schema ID ${id}, of which the backup knows no subject`
  const some = `${subjects.slice(0, 3).join(', ')}${subjects.length > 3 ? ', …' : ''}`
  const why = isPayloadOdd ? 'but continue like none of its records' : 'which does not belong to the topic'
  return `begin like schema ID ${id} of the subject ${some}, ${why}`
}

export interface RecordFacts {
  topic: string
  part: Part
  context: string
  schemas: KnownSchemas
  /** All keys, or values, that were sampled are as long as numbers are. */
  areLongs: boolean
}

/**
 * Whether bytes that begin with 00 and an id that the backup knows carry that id. `unclear` are those for which something
 * speaks, but not enough to change them.
 */
export type FrameVerdict = 'frame' | 'unclear' | 'none'

/** Judges records one by one, in a part of a topic of which a sample has shown no frames. */
export class RecordJudge {
  readonly #facts: RecordFacts
  readonly #maxId: number
  readonly #belongs = new Map<KnownSchema, boolean>()

  constructor(facts: RecordFacts) {
    this.#facts = facts
    this.#maxId = facts.schemas.maxId(facts.context)
  }

  /** By the payload, and by the subjects of the schema: buffer[start, end) begins with the id. */
  judge(id: number, buffer: Buffer, start: number, end: number): FrameVerdict {
    const { schemas, context, areLongs } = this.#facts
    const schema = schemas.get(context, id)
    if (!schema) return 'unclear'
    const fit = fitOf(schema, buffer, start + ID_FRAME_BYTES, end)
    const mayBeLong = end - start === LONG_BYTES
    if (fit === 'no') return this.#isOfTopic(schema) && !mayBeLong ? 'unclear' : 'none'
    if (mayBeLong && (areLongs || fit === 'unknown')) return 'unclear'
    return this.#isOfTopic(schema) ? 'frame' : 'unclear'
  }

  /** Whether an id that the target lacks is probably one of the source's registry. */
  isUnknownId(id: number, bytes: number): boolean {
    return bytes !== LONG_BYTES && id <= this.#maxId
  }

  #isOfTopic(schema: KnownSchema): boolean {
    const known = this.#belongs.get(schema)
    if (known !== undefined) return known
    const found = belonging(schema, this.#facts.topic, this.#facts.part) !== 'none'
    this.#belongs.set(schema, found)
    return found
  }
}

/** Whether the payload is one of the schema, to its last byte. */
function fitOf(schema: KnownSchema, buffer: Buffer, start: number, end: number): 'yes' | 'no' | 'unknown' {
  switch (schema.schemaType) {
    case 'AVRO': {
      const { avro } = schema
      // Serializers write bytes as they are, without the length that Avro puts before them.
      if (!avro || avro.type === 'bytes') return 'unknown'
      return fitsAvro(avro, buffer, start, end) ? 'yes' : 'no'
    }
    case 'JSON':
      return isJson(buffer.toString('utf8', start, end)) ? 'yes' : 'no'
    case 'PROTOBUF':
      return hasMessageIndexes(buffer.subarray(start, end)) ? 'yes' : 'no'
    default:
      return schema.schemaType satisfies never
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
