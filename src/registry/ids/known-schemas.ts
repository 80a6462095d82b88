import { joinSubject, type SchemaVersion, splitSubject } from '../model.ts'
import { recordNames } from './record-names.ts'
import type { Part } from './schema-id.ts'

/** What is known of an id in one context: the subjects that have it, and of which kind its schema is. */
export interface KnownSchema {
  schemaType: SchemaVersion['schemaType']
  /** Without their context. */
  subjects: ReadonlySet<string>
  /** Of the records that the schema describes. */
  recordNames: ReadonlySet<string>
}

export interface KnownSchemas {
  get(context: string, id: number): KnownSchema | undefined
  /** Whether a subject of the context is that of this part of the topic by its name (TopicName; of values TopicRecordName). */
  hasSubjectOf(context: string, topic: string, part: Part): boolean
}

/** Deleted versions count like others: records of their time are still there. */
export function indexSchemas(versions: Iterable<SchemaVersion>): KnownSchemas {
  const known = new Map<string, KnownSchema & { subjects: Set<string> }>()
  const names = new Set<string>()
  for (const { subject, id, schemaType, schema } of versions) {
    const { context, name } = splitSubject(subject)
    const key = `${context}/${id}`
    const entry = known.get(key) ?? describe(schemaType, schema)
    entry.subjects.add(name)
    known.set(key, entry)
    names.add(joinSubject({ context, name }))
  }
  return {
    get: (context, id) => known.get(`${context}/${id}`),
    hasSubjectOf: (context, topic, part) =>
      names.has(joinSubject({ context, name: `${topic}-${part}` })) ||
      (part === 'value' && [...known].some(([key, one]) => key.startsWith(`${context}/`) && isOfTopic(one, topic))),
  }
}

function isOfTopic(schema: KnownSchema, topic: string): boolean {
  for (const subject of schema.subjects) {
    if (subject.startsWith(`${topic}-`)) return belonging(schema, topic, 'value') === 'topic'
  }
  return false
}

/** Names are looked for when somebody asks: most schemas are of no topic that is restored. */
function describe(schemaType: SchemaVersion['schemaType'], text: string): KnownSchema & { subjects: Set<string> } {
  let names: Set<string> | undefined
  return {
    schemaType,
    subjects: new Set<string>(),
    get recordNames() {
      names ??= recordNames(schemaType, text)
      return names
    },
  }
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
