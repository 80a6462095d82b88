import {
  DEFAULT_CONTEXT,
  type JsonObject,
  joinSubject,
  type SchemaReference,
  type SchemaType,
  type SchemaVersion,
  splitSubject,
} from '../../archive/registry-model.ts'
import { KafkaBackupError } from '../../errors.ts'
import { numberOf } from '../../lib/json.ts'

/** A row of `GET /schemas` or one version of a subject; undefined where parts are missing without which it is of no use. */
export function parseVersion(value: unknown, context: string): SchemaVersion | undefined {
  const row = asRecord(value)
  if (row === undefined) return undefined
  const { subject, version, id, schema } = row
  if (typeof subject !== 'string' || typeof schema !== 'string') return undefined
  const references = parseReferences(row.references)
  if (!isWhole(version) || !isWhole(id) || references === undefined) return undefined
  return {
    subject: qualify(subject, context),
    version,
    id,
    schemaType: parseType(row.schemaType, `version ${version} of subject ${subject}`),
    schema,
    references,
    metadata: asObject(row.metadata),
    ruleSet: asObject(row.ruleSet),
    guid: typeof row.guid === 'string' ? row.guid : null,
    isDeleted: row.deleted === true,
  }
}

/** The numbers of the versions of a subject; none if the registry does not have the subject. */
export function parseNumbers(answer: unknown, subject: string): number[] {
  const list = (answer === undefined ? [] : asList(answer))?.map(numberOf)
  if (list?.every(isWhole)) return list.filter(version => version > 0)
  const what = `the registry does not answer with the versions of subject ${JSON.stringify(subject)}`
  throw new KafkaBackupError('REGISTRY_PROTOCOL', what)
}

/** Some servers leave the context out in answers below `/contexts/<context>`; some name the default one. */
export function qualify(subject: string, context: string): string {
  const parts = splitSubject(subject)
  if (parts.context !== DEFAULT_CONTEXT || subject !== parts.name) return joinSubject(parts)
  return joinSubject({ context, name: subject })
}

/** What is not said is Avro. */
function parseType(type: unknown, what: string): SchemaType {
  if (type === undefined || type === null || type === '') return 'AVRO'
  if (type === 'AVRO' || type === 'JSON' || type === 'PROTOBUF') return type
  throw new KafkaBackupError('REGISTRY_REFUSED', `${what} is of the type ${JSON.stringify(type)}, which is not known`, {
    help: 'To back up without the subject, add it to `enterprise.schema_registry.backup.exclude`.',
  })
}

function parseReferences(value: unknown): SchemaReference[] | undefined {
  const references = asList(value ?? null)?.map(parseReference)
  return references?.every(each => each !== undefined) ? references : undefined
}

function parseReference(value: unknown): SchemaReference | undefined {
  const { name, subject, version } = asRecord(value) ?? {}
  if (typeof name !== 'string' || typeof subject !== 'string' || !isWhole(version)) return undefined
  return { name, subject, version }
}

/**
 * AxonOps and, where a version was asked for by number, Confluent write the number of the version into the properties.
 * AxonOps does so in every answer, whatever was registered; the read of that registry takes it out again.
 */
export function withoutInjectedVersion(metadata: JsonObject | null): JsonObject | null {
  const properties = asObject(metadata?.properties)
  if (metadata === null || properties === null) return metadata
  const { 'confluent:version': _, ...own } = properties
  const { properties: __, ...rest } = metadata
  return asObject({ ...rest, ...(Object.keys(own).length > 0 && { properties: own }) })
}

function isWhole(value: unknown): value is number {
  return Number.isSafeInteger(value)
}

/** The items of a list; undefined for anything else. AxonOps writes `null` for a list that is empty. */
export function asList(value: unknown): readonly unknown[] | undefined {
  if (value === null) return []
  return Array.isArray(value) ? value : undefined
}

/** A copy of an object; undefined for a list and for anything else. */
export function asRecord(value: unknown): Record<string, unknown> | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : undefined
}

/** Null for what is not an object, or an empty one. */
export function asObject(value: unknown): JsonObject | null {
  const record = asRecord(value)
  if (record === undefined) return null
  const entries = Object.entries(record).filter(([, each]) => each !== null && each !== undefined)
  return entries.length === 0 ? null : (Object.fromEntries(entries) as JsonObject)
}
