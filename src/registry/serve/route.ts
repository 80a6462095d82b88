import type { JsonObject, JsonValue, SchemaReference, SchemaType } from '../../archive/registry-model.ts'
import type { RegisterRequest } from './change-versions.ts'
import { schemaTypes } from './parse-schema.ts'
import { faults, RegistryFault } from './registry-fault.ts'
import type { RegistryStore } from './registry-store.ts'
import { scopeOf } from './settings-store.ts'
import { normalizeSubject } from './subject-name.ts'
import type { Including, StoredVersion } from './version-index.ts'

/** What a handler answers: JSON, or a schema's text as it is. */
export type Answer = { json: JsonValue } | { text: string }

export interface Route {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** Below the base, with `{names}` for what differs: `/subjects/{subject}/versions`. */
  path: string
  handle(call: Call): Answer
}

interface CallParts {
  store: RegistryStore
  params: Readonly<Record<string, string>>
  query: URLSearchParams
  body: string
  /** Of `/contexts/{context}/…`. */
  context: string | undefined
}

/** One request, read as handlers need it. */
export class Call {
  readonly store: RegistryStore
  readonly query: URLSearchParams
  readonly context: string | undefined
  readonly #params: Readonly<Record<string, string>>
  readonly #body: string

  constructor({ store, params, query, body, context }: CallParts) {
    this.store = store
    this.query = query
    this.context = context
    this.#params = params
    this.#body = body
  }

  param(name: string): string {
    return this.#params[name] ?? ''
  }

  /** With its context where that is not the default one. */
  get subject(): string {
    return normalizeSubject(this.param('subject'), this.context)
  }

  /** Whose settings a path names: those of a subject, of a context or of the registry. */
  get scope(): string {
    const name = this.#params.subject ?? ''
    const isWhole = name === '' || /^:\.[^:]*:$/.test(name)
    if (!isWhole) return this.subject
    return scopeOf(name !== '' || this.context === undefined ? name : `:${this.context}:`)
  }

  /** -1 is the newest. Throws 42202. */
  get version(): number {
    const text = this.param('version')
    if (text === 'latest' || text === '-1') return -1
    const number = /^\d{1,10}$/.test(text) ? Number(text) : 0
    if (number < 1 || number > 2 ** 31 - 1) throw faults.invalidVersion(text)
    return number
  }

  get id(): number {
    const text = this.param('id')
    if (!/^\d{1,10}$/.test(text)) throw new RegistryFault(404, 'HTTP 404 Not Found')
    return Number(text)
  }

  /** The subject that says the context of an id. */
  get idSubject(): string {
    return normalizeSubject(this.query.get('subject') ?? '', this.context)
  }

  flag(name: string): boolean {
    return this.query.get(name) === 'true'
  }

  number(name: string, fallback: number): number {
    const value = Number(this.query.get(name) ?? fallback)
    return Number.isInteger(value) ? value : fallback
  }

  /** Of the flags `deleted` and `deletedOnly`. */
  get including(): Including {
    if (this.flag('deletedOnly')) return 'deleted'
    return this.flag('deleted') ? 'all' : 'live'
  }

  /** Throws 422 for a representation that this server does not make; clients would take the text for it. */
  inFormat(version: StoredVersion): StoredVersion {
    const isSerialized = this.query.get('format') === 'serialized'
    if (isSerialized && version.schemaType === 'PROTOBUF') throw faults.formatUnsupported()
    return version
  }

  /** Throws 400 where the body is not a JSON object. */
  get body(): JsonObject {
    let body: JsonValue
    try {
      body = JSON.parse(this.#body)
    } catch {
      throw faults.badRequest('The body is not JSON')
    }
    if (typeof body !== 'object' || body === null || Array.isArray(body))
      throw faults.badRequest('The body is not a JSON object')
    return body
  }
}

/** A version as `/schemas` and `/subjects/…/versions/…` show it. */
export function renderVersion(version: StoredVersion): JsonObject {
  return {
    subject: version.subject,
    version: version.version,
    id: version.id,
    ...renderSchema(version),
    deleted: version.isDeleted,
  }
}

/** The schema of an id. Empty parts are left out. */
export function renderSchema({ guid, schemaType, references, metadata, ruleSet, schema }: StoredVersion): JsonObject {
  return {
    guid,
    schemaType,
    ...(references.length > 0 ? { references: references.map(renderReference) } : {}),
    ...(metadata ? { metadata } : {}),
    ...(ruleSet ? { ruleSet } : {}),
    schema,
  }
}

function renderReference({ name, subject, version }: SchemaReference): JsonObject {
  return { name, subject, version }
}

/** Reads the body of a registration, a look-up or a check. Throws 42201 for what makes no schema. */
export function readSchemaRequest(body: JsonObject): RegisterRequest {
  const { schema, id, version } = body
  if (typeof schema !== 'string') throw faults.invalidSchema('it is empty')
  return {
    schema,
    schemaType: readType(body.schemaType),
    references: readReferences(body.references),
    metadata: readObject(body.metadata, 'metadata'),
    ruleSet: readObject(body.ruleSet ?? body.ruleset, 'ruleSet'),
    id: typeof id === 'number' && id >= 0 ? id : null,
    version: typeof version === 'number' ? version : 0,
  }
}

function readType(value: JsonValue | undefined): SchemaType {
  if (value === undefined || value === null) return 'AVRO'
  const type = schemaTypes.find(each => each === value)
  if (!type) throw faults.invalidSchema(`the type ${JSON.stringify(value)} is none of ${schemaTypes.join(', ')}`)
  return type
}

function readReferences(value: JsonValue | undefined): SchemaReference[] {
  if (value === undefined || value === null) return []
  if (!Array.isArray(value)) throw faults.invalidSchema('the references are not a list')
  return value.map(item => {
    const reference = readObject(item, 'a reference')
    const { name, subject, version } = reference ?? {}
    if (typeof name !== 'string' || typeof subject !== 'string' || typeof version !== 'number')
      throw faults.invalidSchema('a reference needs a name, a subject and a version')
    return { name, subject, version }
  })
}

function readObject(value: JsonValue | undefined, what: string): JsonObject | null {
  if (value === undefined || value === null) return null
  if (typeof value !== 'object' || Array.isArray(value)) throw faults.invalidSchema(`${what} is not an object`)
  return value
}
