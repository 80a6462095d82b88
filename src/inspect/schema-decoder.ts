import { DEFAULT_CONTEXT, type SchemaVersion, splitSubject, versionKey } from '../archive/registry-model.ts'
import type { KafkaRecord } from '../batch/records.ts'
import { hasCode } from '../errors.ts'
import { isTooDeep, parseExactJson } from '../lib/json.ts'
import type { AvroSchema } from '../registry/avro/avro-schema.ts'
import { parseAvro } from '../registry/avro/parse-avro.ts'
import { readAvro, textOf } from '../registry/avro/read-avro.ts'
import { referredBy } from '../registry/ids/known-schemas.ts'
import {
  GUID_FRAME_BYTES,
  hasSchemaGuid,
  ID_FRAME_BYTES,
  KEY_HEADER,
  LONG_BYTES,
  type Part,
  readSchemaGuid,
  readSchemaId,
  VALUE_HEADER,
} from '../registry/ids/schema-id.ts'
import type { ProtoFile } from './proto-messages.ts'

/** The key or the value of a record, as far as the schemas of the backup explain it. */
export type Decoded =
  | { kind: 'null' }
  | { kind: 'decoded'; schema: UsedSchema; value: unknown; encoded: EncodedPart }
  /** No schema is named. */
  | { kind: 'plain'; bytes: Buffer }
  /** A schema is named, or seems to be, and does not explain the bytes. */
  | { kind: 'raw'; bytes: Buffer; reason: string }

export interface UsedSchema {
  id: number
  subject: string
  version: number
  type: SchemaVersion['schemaType']
}

/** What was decoded, as a serializer wrote it. */
export interface EncodedPart {
  /** Without what names the schema. */
  payload: Buffer
  writer: WriterSchema
}

export interface WriterSchema {
  text: string
  /** Texts of all that it refers to, directly or not. */
  references: readonly string[]
}

export interface SchemaSource {
  /** Versions that were not returned before: those of the subject with this ID, and of all that they refer to. */
  ofId(context: string, id: number, signal: AbortSignal): Promise<SchemaVersion[]>
  all(signal: AbortSignal): Promise<SchemaVersion[]>
  /** What is wrong with the first schema that could not be read. */
  readonly damage?: string | undefined
}

/** Decodes one payload. */
type Decode = (payload: Buffer) => unknown

/** Made once for a schema. */
interface PayloadDecoder {
  decode: Decode
  writer: WriterSchema
}

/** Decodes with the schemas of a backup. Neither a registry nor Kafka is needed. */
export class SchemaDecoder {
  readonly #source: SchemaSource
  readonly #context: string
  /** Those that were asked for, whether or not they are there. */
  readonly #asked = new Set<number>()
  #hasAll = false
  #damage: string | undefined
  readonly #byPlace = new Map<string, SchemaVersion>()
  readonly #byId = new Map<string, SchemaVersion>()
  readonly #byGuid = new Map<string, SchemaVersion>()
  readonly #decoders = new Map<SchemaVersion, PayloadDecoder | string>()
  /** Loaded with the first such schema: it takes longer than all else that a search loads. */
  #protos: typeof import('./framed-proto.ts') | undefined

  /** In the context of the topic, which is the default one unless it is given. */
  constructor(source: SchemaSource, context = DEFAULT_CONTEXT) {
    this.#source = source
    this.#context = context
  }

  /** Reads the schemas that these parts of a record name, if they were not read before. `decode` needs them. */
  async prepare(
    record: Pick<KafkaRecord, 'key' | 'value' | 'headers'>,
    decoded: readonly Part[],
    signal: AbortSignal,
  ): Promise<void> {
    for (const part of decoded) {
      const frame = frameOf(record, part)
      const id = frame ? readSchemaId(frame, 0, frame.length) : 0
      if (frame && id > 0 && !this.#asked.has(id)) {
        this.#asked.add(id)
        await this.#read(() => this.#source.ofId(this.#context, id, signal))
      } else if (frame && id === 0 && !this.#hasAll && hasSchemaGuid(frame, 0, frame.length)) {
        await this.prepareAll(signal)
      }
    }
  }

  /** The same for the values of headers. IDs are not remembered: the first bytes of binary headers may be millions of numbers. */
  async prepareHeaders({ headers }: Pick<KafkaRecord, 'headers'>, signal: AbortSignal): Promise<void> {
    for (const [name, bytes] of headers) {
      if (bytes === null || !mayBeFramed(name, bytes)) continue
      const id = readSchemaId(bytes, 0, bytes.length)
      if (id > 0 && !this.#find(id)) await this.#read(() => this.#source.ofId(this.#context, id, signal))
      else if (id === 0 && !this.#hasAll && hasSchemaGuid(bytes, 0, bytes.length)) await this.prepareAll(signal)
    }
  }

  /** Reads all schemas: `decode` then needs no `prepare`. */
  async prepareAll(signal: AbortSignal): Promise<void> {
    this.#hasAll = true
    await this.#read(() => this.#source.all(signal))
  }

  /** What is wrong with schemas that could not be read. Records that name them are shown as they are. */
  get damage(): string | undefined {
    return this.#damage ?? this.#source.damage
  }

  async #read(read: () => Promise<SchemaVersion[]>): Promise<void> {
    try {
      const versions = await read()
      if (versions.some(({ schemaType }) => schemaType === 'PROTOBUF'))
        this.#protos ??= await import('./framed-proto.ts')
      this.#learn(versions)
    } catch (error) {
      if (!hasCode(error, 'ARCHIVE_DAMAGED')) throw error
      this.#damage = messageOf(error)
    }
  }

  #learn(versions: readonly SchemaVersion[]): void {
    for (const one of versions) {
      const place = versionKey(one.subject, one.version)
      if (!this.#byPlace.has(place)) this.#byPlace.set(place, one)
      const key = `${splitSubject(one.subject).context}/${one.id}`
      if (!this.#byId.has(key)) this.#byId.set(key, one)
      const guid = one.guid?.replaceAll('-', '').toLowerCase()
      if (guid !== undefined && !this.#byGuid.has(guid)) this.#byGuid.set(guid, one)
    }
  }

  /**
   * What decoding makes of bytes that name this ID, by the schemas that were read so far: another form, the text that they are
   * where it is a JSON schema, `unknown` where there is no such schema. A schema that was not asked for may be any.
   */
  formOf(id: number): 'json' | 'decoded' | 'unknown' {
    if (!this.#asked.has(id)) return 'decoded'
    const found = this.#find(id)
    if (!found || typeof this.#decoderOf(found) === 'string') return 'unknown'
    return found.schemaType === 'JSON' ? 'json' : 'decoded'
  }

  decode(record: Pick<KafkaRecord, 'key' | 'value' | 'headers'>, part: Part): Decoded {
    const bytes = record[part]
    if (bytes === null) return { kind: 'null' }
    const header = headerOf(record, part)
    return header ? this.#explain(header, bytes, bytes) : this.#decodeFrame(bytes)
  }

  /** The value of a header, where a program has written it with the serializer of keys and values. */
  decodeHeader(name: string, bytes: Buffer | null): Decoded {
    if (bytes === null) return { kind: 'null' }
    return mayBeFramed(name, bytes) ? this.#decodeFrame(bytes) : { kind: 'plain', bytes }
  }

  #decodeFrame(bytes: Buffer): Decoded {
    const id = readSchemaId(bytes, 0, bytes.length)
    if (id > 0) {
      const found = this.#explain(bytes, bytes.subarray(ID_FRAME_BYTES), bytes)
      // Numbers of eight bytes begin like a frame, too.
      return found.kind === 'raw' && bytes.length === LONG_BYTES ? { kind: 'plain', bytes } : found
    }
    if (hasSchemaGuid(bytes, 0, bytes.length)) return this.#explain(bytes, bytes.subarray(GUID_FRAME_BYTES), bytes)
    return { kind: 'plain', bytes }
  }

  #explain(frame: Buffer, payload: Buffer, bytes: Buffer): Decoded {
    const id = readSchemaId(frame, 0, frame.length)
    const isGuid = id === 0 && hasSchemaGuid(frame, 0, frame.length)
    const named = isGuid ? `schema GUID ${readSchemaGuid(frame, 0)}` : `schema ID ${id}`
    const found = isGuid ? this.#byGuid.get(readSchemaGuid(frame, 0)) : this.#find(id)
    if (!found) {
      const reason = this.damage ? `${named} cannot be read: ${this.damage}` : `the backup has no ${named}`
      return { kind: 'raw', bytes, reason }
    }
    const { subject, version, schemaType } = found
    const decoder = this.#decoderOf(found)
    if (typeof decoder === 'string') {
      return { kind: 'raw', bytes, reason: `${named} (${subject} version ${version}) cannot be understood: ${decoder}` }
    }
    try {
      const schema = { id: found.id, subject, version, type: schemaType }
      const encoded = { payload, writer: decoder.writer }
      return { kind: 'decoded', schema, value: decoder.decode(payload), encoded }
    } catch (error) {
      return {
        kind: 'raw',
        bytes,
        reason: `${named} (${subject} version ${version}) does not fit: ${messageOf(error)}`,
      }
    }
  }

  #find(id: number): SchemaVersion | undefined {
    return this.#byId.get(`${this.#context}/${id}`)
  }

  /** Or why there is none. Both are remembered: there may be millions of records. */
  #decoderOf(version: SchemaVersion): PayloadDecoder | string {
    const known = this.#decoders.get(version)
    if (known !== undefined) return known
    let made: PayloadDecoder | string
    try {
      made = this.#make(version)
    } catch (error) {
      made = messageOf(error)
    }
    this.#decoders.set(version, made)
    return made
  }

  #make(version: SchemaVersion): PayloadDecoder {
    const imports = referredBy(version, this.#byPlace).map(one => ({ name: one.name, text: one.schema }))
    const references = imports.map(({ text }) => text)
    return { decode: this.#decodeFor(version, imports), writer: { text: version.schema, references } }
  }

  #decodeFor({ schemaType, schema }: SchemaVersion, imports: readonly ProtoFile[]): Decode {
    switch (schemaType) {
      case 'AVRO':
        return avroDecoder(
          parseAvro(
            schema,
            imports.map(({ text }) => text),
          ),
        )
      case 'JSON':
        return decodeJson
      case 'PROTOBUF':
        if (!this.#protos) throw new Error('a Protobuf schema was read without its decoder')
        return this.#protos.protoDecoder(schema, imports)
      default:
        return schemaType satisfies never
    }
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

function decodeJson(payload: Buffer): unknown {
  const value = parseExactJson(textOf(payload))
  if (isTooDeep(value)) throw new RangeError('it is nested too deep')
  return value
}

/** The bytes that name the schema, if any do. */
function frameOf(record: Pick<KafkaRecord, 'key' | 'value' | 'headers'>, part: Part): Buffer | undefined {
  return headerOf(record, part) ?? record[part] ?? undefined
}

/**
 * The schema ID in `__key_schema_id` and `__value_schema_id` belongs to the key or the value. Eight bytes are a number: Connect's LongConverter, Apicurio's
 * serializers and dead-letter handlers write such headers, and those of a time begin like a frame. Confluent's converters write no headers.
 */
function mayBeFramed(header: string, bytes: Buffer): boolean {
  return header !== KEY_HEADER && header !== VALUE_HEADER && bytes.length !== LONG_BYTES
}

/** The last header of the name that serializers use, unless it is empty. */
function headerOf({ headers }: Pick<KafkaRecord, 'headers'>, part: Part): Buffer | undefined {
  const name = part === 'key' ? KEY_HEADER : VALUE_HEADER
  const found = headers.findLast(([each]) => each === name)?.[1]
  return found && found.length > 0 ? found : undefined
}

/** Serializers write plain bytes as they are, without the length that Avro puts before them. */
function avroDecoder(schema: AvroSchema): Decode {
  if (schema.type === 'bytes') return payload => payload.toString('latin1')
  return payload => readAvro(schema, payload, 0, payload.length)
}
