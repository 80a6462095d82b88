import {
  joinSubject,
  resolveReference,
  type SchemaVersion,
  splitSubject,
  versionKey,
} from '../../archive/registry-model.ts'
import type { AvroSchema } from '../avro/avro-schema.ts'
import { parseAvro } from '../avro/parse-avro.ts'
import type { Part } from './schema-id.ts'

/** What is known of an id in one context: the subjects that have it, and of which kind its schema is. */
export interface KnownSchema {
  schemaType: SchemaVersion['schemaType']
  /** Without their context. */
  subjects: ReadonlySet<string>
  /** Of the records that the schema describes. */
  recordNames: ReadonlySet<string>
  /** The schema with what it refers to; undefined where it is of another type, or cannot be understood. */
  avro: AvroSchema | undefined
}

/** No registry has longer chains; one that an archive claims may be a circle. */
const MAX_DEPTH = 100

export type KnownVersion = Pick<SchemaVersion, 'subject' | 'version' | 'id' | 'schemaType' | 'schema' | 'references'>

export interface KnownSchemas {
  get(context: string, id: number): KnownSchema | undefined
  /** Whether a subject of the context is that of this part of the topic by its name (TopicName; of values TopicRecordName). */
  hasSubjectOf(context: string, topic: string, part: Part): boolean
  /** The highest id that the source is known to have given. */
  maxId(context: string): number
  /** What it was made of. */
  readonly versions: readonly KnownVersion[]
  readonly maxIds: ReadonlyMap<string, number>
}

/** Deleted versions count like others: records of their time are still there. */
export function indexSchemas(
  all: Iterable<KnownVersion>,
  maxIds: ReadonlyMap<string, number> = new Map(),
): KnownSchemas {
  const versions = [...all]
  const byPlace = new Map(versions.map(one => [versionKey(one.subject, one.version), one]))
  const known = new Map<string, KnownSchema & { subjects: Set<string> }>()
  const names = new Set<string>()
  const highest = new Map(maxIds)
  for (const one of versions) {
    const { context, name } = splitSubject(one.subject)
    const key = `${context}/${one.id}`
    const entry = known.get(key) ?? describe(one, byPlace)
    entry.subjects.add(name)
    known.set(key, entry)
    names.add(joinSubject({ context, name }))
    highest.set(context, Math.max(one.id, highest.get(context) ?? 0))
  }
  return {
    get: (context, id) => known.get(`${context}/${id}`),
    hasSubjectOf: (context, topic, part) =>
      names.has(joinSubject({ context, name: `${topic}-${part}` })) ||
      (part === 'value' && [...known].some(([key, one]) => key.startsWith(`${context}/`) && isOfTopic(one, topic))),
    maxId: context => highest.get(context) ?? 0,
    versions,
    maxIds,
  }
}

function isOfTopic(schema: KnownSchema, topic: string): boolean {
  for (const subject of schema.subjects) {
    if (subject.startsWith(`${topic}-`)) return belonging(schema, topic, 'value') === 'topic'
  }
  return false
}

/** Names and types are computed on demand: most schemas belong to no topic that is restored. */
function describe(
  one: KnownVersion,
  byPlace: ReadonlyMap<string, KnownVersion>,
): KnownSchema & { subjects: Set<string> } {
  const { schemaType, schema } = one
  let names: Set<string> | undefined
  let avro: { parsed: AvroSchema | undefined } | undefined
  return {
    schemaType,
    subjects: new Set<string>(),
    get recordNames() {
      names ??= recordNames(schemaType, schema)
      return names
    },
    get avro() {
      avro ??= { parsed: schemaType === 'AVRO' ? parseWith(one, byPlace) : undefined }
      return avro.parsed
    },
  }
}

function parseWith(one: KnownVersion, byPlace: ReadonlyMap<string, KnownVersion>): AvroSchema | undefined {
  try {
    return parseAvro(
      one.schema,
      referredBy(one, byPlace).map(({ schema }) => schema),
    )
  } catch {
    // What cannot be understood here may be understood by consumers.
    return undefined
  }
}

/** What a schema refers to, directly or not, each after what it needs itself, with the name that it is referred to by. */
export function referredBy(
  one: KnownVersion,
  byPlace: ReadonlyMap<string, KnownVersion>,
): { name: string; schema: string }[] {
  const needed = new Map<string, { name: string; schema: string }>()
  const add = ({ subject, references }: KnownVersion, depth: number) => {
    if (depth > MAX_DEPTH) throw new RangeError('references are nested too deep')
    for (const reference of references) {
      const key = versionKey(resolveReference(reference.subject, subject), reference.version)
      const found = byPlace.get(key)
      if (!found || needed.has(key)) continue
      add(found, depth + 1)
      needed.set(key, { name: reference.name, schema: found.schema })
    }
  }
  add(one, 0)
  return [...needed.values()]
}

/**
 * How a schema belongs to a part of a topic, by the strategies that serializers name subjects with: `topic` where the name
 * of the topic is in the subject (TopicName, TopicRecordName), `record` where only the record's is (RecordName), which any
 * topic may hold.
 */
export function belonging(schema: KnownSchema, topic: string, part: Part): 'topic' | 'record' | 'none' {
  const { subjects, recordNames: names } = schema
  if (subjects.has(`${topic}-${part}`)) return 'topic'
  if ([...names].some(name => subjects.has(`${topic}-${name}`))) return 'topic'
  return [...names].some(name => subjects.has(name)) ? 'record' : 'none'
}

/** The full names of the records that a schema may describe, as serializers put them into subjects. */
export function recordNames(schemaType: SchemaVersion['schemaType'], text: string): Set<string> {
  switch (schemaType) {
    case 'AVRO':
      return avroNames(parseJson(text))
    case 'JSON':
      return titleOf(parseJson(text))
    case 'PROTOBUF':
      return messageNames(text)
    default:
      return schemaType satisfies never
  }
}

/** Of a union every branch may be written. */
function avroNames(schema: unknown): Set<string> {
  if (typeof schema === 'string') return new Set([schema])
  if (Array.isArray(schema)) return new Set(schema.flatMap(branch => [...avroNames(branch)]))
  if (!isObject(schema)) return new Set()
  const { name, namespace, type } = schema
  if (typeof name !== 'string') return typeof type === 'string' ? new Set([type]) : new Set()
  const isQualified = name.includes('.') || typeof namespace !== 'string' || namespace === ''
  return new Set([isQualified ? name : `${namespace}.${name}`])
}

function titleOf(schema: unknown): Set<string> {
  return isObject(schema) && typeof schema.title === 'string' ? new Set([schema.title]) : new Set()
}

/** Any message of the file, also one inside another; found by braces, which a file that a registry took has in pairs. */
function messageNames(text: string): Set<string> {
  const plain = text.replace(/\/\*[\s\S]*?\*\/|\/\/[^\n]*|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'/g, ' ')
  const [, scope] = /(?:^|[;\s])package\s+([\w.]+)\s*;/.exec(plain) ?? []
  const names = new Set<string>()
  const open: (string | undefined)[] = []
  for (const [token, name] of plain.matchAll(/\bmessage\s+(\w+)\s*\{|[{}]/g)) {
    if (token === '}') {
      open.pop()
      continue
    }
    open.push(name)
    if (name === undefined) continue
    names.add([scope, ...open].filter(part => part !== undefined).join('.'))
  }
  return names
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function isObject(value: unknown): value is { [key: string]: unknown } {
  return typeof value === 'object' && value !== null
}
