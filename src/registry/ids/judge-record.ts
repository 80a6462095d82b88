import { fitsAvro } from '../avro/fits-avro.ts'
import { belonging, type KnownSchema, type KnownSchemas } from './known-schemas.ts'
import { hasMessageIndexes, ID_FRAME_BYTES, LONG_BYTES, type Part } from './schema-id.ts'

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

  /** Whether an id that the target lacks is one of the source's registry, as far as such bytes tell. */
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
