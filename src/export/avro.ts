import type { FoundRecord } from '../inspect/found-record.ts'
import type { ShownRecord } from '../inspect/print-format.ts'
import type { EncodedPart, UsedSchema, WriterSchema } from '../inspect/schema-decoder.ts'
import type { ShownPart } from '../inspect/show-record.ts'
import { formatJson } from '../lib/json.ts'
import { avroFile, bytesOf, long, optional } from './avro-file.ts'
import { inlineSchema } from './avro-schema-text.ts'
import type { ChooseFile, FileChoice } from './export-topics.ts'
import { partText } from './part-text.ts'

/**
 * One file for each Avro schema of the values, whose `value` has that very schema and the bytes that the serializer wrote. All other values, with
 * tombstones, are in a file of bytes, with their text where they have one.
 */
export function avroChooser(): ChooseFile {
  const files = new SchemaFiles()
  return ({ record, value }) => {
    const { schema, encoded } = value
    const file = schema && encoded && schema.type === 'AVRO' ? files.of(schema, encoded.writer) : undefined
    return schema && file ? schemaChoice(record.topic, schema, file) : bytesChoice(record.topic)
  }
}

interface SchemaFile {
  suffix: string
  /** In one piece. */
  writer: unknown
}

/** IDs count in their context only, and a GUID names a schema of any: another schema with the same ID has another file. */
class SchemaFiles {
  /** Undefined where it is not a schema. */
  readonly #known = new Map<WriterSchema, SchemaFile | undefined>()
  /** The texts of the schemas with an ID. */
  readonly #texts = new Map<number, string[]>()

  of({ id }: UsedSchema, writer: WriterSchema): SchemaFile | undefined {
    if (!this.#known.has(writer)) this.#known.set(writer, this.#make(id, unwrap(inlineSchema(writer))))
    return this.#known.get(writer)
  }

  #make(id: number, writer: unknown): SchemaFile | undefined {
    if (writer === undefined) return undefined
    const texts = this.#texts.get(id) ?? []
    this.#texts.set(id, texts)
    const text = formatJson(writer)
    if (!texts.includes(text)) texts.push(text)
    const number = texts.indexOf(text) + 1
    return { suffix: `.schema-${id}${number === 1 ? '' : `-${number}`}.avro`, writer }
  }
}

/** A schema may be an object that has another one as its type, which most readers refuse. */
function unwrap(schema: unknown): unknown {
  const isWrapped = typeof schema === 'object' && schema !== null && 'type' in schema && isObject(schema.type)
  return isWrapped ? unwrap(schema.type) : schema
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function schemaChoice(topic: string, { id, subject, version }: UsedSchema, { suffix, writer }: SchemaFile): FileChoice {
  return {
    suffix,
    open: () =>
      avroFile(
        recordSchema(writer, []),
        {
          ...metadataOf(topic),
          'kafka_backup.schema_id': String(id),
          'kafka_backup.subject': subject,
          'kafka_backup.version': String(version),
        },
        ({ record, key, value }) => [
          ...placeOf(record, key),
          ...(value.encoded ? encodedValue(value.encoded, writer) : []),
        ],
      ),
  }
}

function bytesChoice(topic: string): FileChoice {
  return {
    suffix: '.bytes.avro',
    open: () =>
      avroFile(
        recordSchema(['null', 'bytes'], describedFields('value')),
        metadataOf(topic),
        ({ record, key, value }) => [...placeOf(record, key), ...optional(record.value, bytesOf), ...described(value)],
      ),
  }
}

/** Serializers write plain bytes without the length that Avro puts before them. */
function encodedValue({ payload }: EncodedPart, writer: unknown): Buffer[] {
  const type = typeof writer === 'object' && writer !== null && 'type' in writer ? writer.type : writer
  return type === 'bytes' ? bytesOf(payload) : [payload]
}

function metadataOf(topic: string): Record<string, string> {
  return { 'kafka_backup.topic': topic }
}

function describedFields(part: 'key' | 'value'): object[] {
  return [
    { name: `${part}_text`, type: ['null', 'string'], doc: 'decoded as JSON, or the text that the bytes are' },
    { name: `${part}_schema_id`, type: ['null', 'int'] },
    {
      name: `${part}_not_decoded`,
      type: ['null', 'string'],
      doc: 'why a schema that the bytes name did not decode them',
    },
  ]
}

function described(part: ShownPart): Buffer[] {
  return [
    ...optional(partText(part), bytesOf),
    ...optional(part.schema?.id, id => [long(id)]),
    ...optional(part.reason, bytesOf),
  ]
}

/** Without a namespace: names in the writer's schema that have none keep none. */
function recordSchema(value: unknown, more: readonly object[]): object {
  const text = JSON.stringify(value, (_key, one) => (typeof one === 'bigint' ? String(one) : one))
  const named = (name: string): string => (text.includes(name) ? named(`${name}_`) : name)
  const header = {
    type: 'record',
    name: named('KafkaBackupHeader'),
    fields: [
      { name: 'name', type: 'string' },
      { name: 'value', type: ['null', 'bytes'] },
    ],
  }
  return {
    type: 'record',
    name: named('KafkaBackupRecord'),
    fields: [
      { name: 'partition', type: 'int' },
      { name: 'offset', type: 'long' },
      { name: 'timestamp', type: 'long', doc: 'milliseconds since 1970' },
      { name: 'transaction', type: 'string' },
      { name: 'key', type: ['null', 'bytes'], doc: 'as it is stored' },
      ...describedFields('key'),
      { name: 'headers', type: { type: 'array', items: header } },
      { name: 'value', type: value },
      ...more,
    ],
  }
}

function placeOf(
  { partition, offset, timestamp, transaction, key, headers }: FoundRecord,
  shown: ShownRecord['key'],
): Buffer[] {
  return [
    ...[long(partition), long(offset), long(timestamp), ...bytesOf(transaction)],
    ...optional(key, bytesOf),
    ...described(shown),
    ...(headers.length > 0 ? [long(headers.length)] : []),
    ...headers.flatMap(([name, bytes]) => [...bytesOf(name), ...optional(bytes, bytesOf)]),
    long(0),
  ]
}
