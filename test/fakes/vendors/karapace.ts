import type { JsonObject, JsonValue, RegistrySnapshot } from '../../../src/archive/registry-model.ts'
import { RegistryFault } from '../../../src/registry/serve/registry-fault.ts'
import { RegistryStore } from '../../../src/registry/serve/registry-store.ts'
import { ignoringFormat } from './serialized-protobuf.ts'
import {
  isFlag,
  pass,
  readBody,
  refuse,
  rewriteJson,
  unless,
  type VendorAnswer,
  type VendorOptions,
  type VendorRequest,
  type VendorScript,
} from './vendor-script.ts'

/** Contexts are unknown here, so that `:.eu:a` is a plain name. The store, which knows them, sees another first character. */
const HIDDEN_COLON = '\ue000'

/** Karapace, main branch of 2026, as compared with the real one: docs/registries.md. */
export function scriptKarapace({ start, firstId, version = '6.2.0' }: VendorOptions): VendorScript {
  const store = new RegistryStore({ ...(firstId !== undefined && { firstId }) }, start && hideContexts(start))
  const karapace = new Karapace(store, version)
  return { store, answer: request => karapace.answer(ignoringFormat(request)) }
}

class Karapace {
  readonly #store: RegistryStore
  readonly #version: string
  /** Subjects that have had a level: they stay listed without any version. */
  readonly #configured = new Set<string>()

  constructor(store: RegistryStore, version: string) {
    this.#store = store
    this.#version = version
  }

  answer(request: VendorRequest): VendorAnswer {
    const segments = request.path.split('/').slice(1).map(decode)
    const hidden = segments.map((each, at) => (at === 1 ? hide(each) : each))
    try {
      const answer = this.#route({ ...request, path: `/${hidden.map(encodeURIComponent).join('/')}` }, hidden)
      return JSON.parse(JSON.stringify(answer).replaceAll(HIDDEN_COLON, ':'))
    } catch (error) {
      if (error instanceof RegistryFault && error.errorCode === 40901) refuse(409, error.message)
      throw error
    }
  }

  #route(request: VendorRequest, [first = '', second = '', ...rest]: string[]): VendorAnswer {
    const { method, query } = request
    if (first === '_health') {
      return { json: { status: { schema_registry_ready: true }, karapace_version: this.#version, healthy: true } }
    }
    if (first === 'contexts' || first === 'v1') refuse(404, 'Not Found')
    if (first === 'mode') return method === 'GET' ? { json: { mode: 'READWRITE' } } : refuse(405, 'Method Not Allowed')
    if (first === 'config') return this.#config(request, second)
    if (first === 'schemas' && second === '') return { json: this.#schemas(query) }
    if (first === 'subjects' && second === '') return { json: this.#subjects(isFlag(query, 'deleted')) }
    if (first !== 'subjects') return shape(pass(this.#store, request))
    if (method === 'POST') return this.#post(request, rest.length > 0)
    if (method === 'DELETE') this.#checkReferrers(second, rest[1], isFlag(query, 'permanent'))
    return shape(pass(this.#store, request))
  }

  #subjects(isWithDeleted: boolean): string[] {
    const filter = { prefix: ':*:', including: isWithDeleted ? 'all' : 'live', offset: 0, limit: 0 } as const
    const names = this.#store.subjects(filter)
    return isWithDeleted ? [...new Set([...names, ...this.#configured])] : names
  }

  /** No pages, and `deleted` the wrong way round. */
  #schemas(query: URLSearchParams): JsonValue[] {
    const including = isFlag(query, 'deleted') ? 'live' : 'all'
    return this.#subjects(true).flatMap(subject => {
      const versions = unless([40401], () => this.#store.versions(subject, including)) ?? []
      return versions
        .slice(isFlag(query, 'latestOnly') ? -1 : 0)
        .map(({ version, id, schema, schemaType, references }) => ({
          ...{ subject, version, id, schema, schemaType },
          references: references.length === 0 ? null : references.map(each => ({ ...each })),
        }))
    })
  }

  #post(request: VendorRequest, isRegistration: boolean): VendorAnswer {
    // `id`, `version`, metadata and rule sets are unknown fields, which are ignored.
    const { schema, schemaType = 'AVRO', references } = readBody(request)
    const refs = Array.isArray(references) ? references.map(each => hideSubject(Object(each))) : []
    if (schemaType === 'JSON' && refs.length > 0) refuse(44302, 'Schema references are not supported for JSON Schema')
    for (const reference of refs) this.#checkReference(reference)
    const text = schemaType === 'PROTOBUF' ? String(schema) : sortKeys(String(schema))
    const known = new URLSearchParams(isFlag(request.query, 'deleted') ? { deleted: 'true' } : {})
    const body = JSON.stringify({ schema: text, schemaType, references: refs })
    const answer = pass(this.#store, { ...request, query: known }, body)
    if (!isRegistration) return shape(answer)
    return 'json' in answer ? { json: { id: Object(answer.json).id } } : answer
  }

  #checkReference({ subject, version }: JsonObject): void {
    const found = unless([40401, 40402], () => this.#store.version(String(subject), Number(version), 'live'))
    if (found === undefined) refuse(42201, `Reference to subject "${subject}" version ${version} not found`)
  }

  /** Also a referrer that is itself marked as deleted keeps a version from being marked. */
  #checkReferrers(subject: string, version: string | undefined, isPermanent: boolean): void {
    if (isPermanent) return
    const latest = unless([40401, 40402], () => this.#store.version(subject, Number(version ?? -1), 'live'))
    if (latest === undefined) return
    const referrers = this.#store.referencedBy(subject, latest.version, 'all')
    if (referrers.length > 0)
      refuse(42206, `One or more references exist to the schema {magic=1,keytype=SCHEMA,subject=${subject}}.`)
  }

  /** A level and nothing else; there is no way to delete that of the whole registry. */
  #config(request: VendorRequest, subject: string): VendorAnswer {
    if (request.method === 'GET') {
      const isKnown = subject === '' || this.#subjects(true).includes(subject)
      return isKnown ? pass(this.#store, request) : refuse(40401, `Subject '${subject}' not found.`)
    }
    if (request.method === 'DELETE') {
      if (subject === '') refuse(405, 'Method Not Allowed')
      unless([40401], () => this.#store.deleteConfig(subject))
      return { json: { compatibility: String(this.#store.config(':.:', true).compatibilityLevel) } }
    }
    const { compatibility } = readBody(request)
    if (compatibility === undefined) refuse(422, 'compatibility: Field required')
    if (subject !== '') this.#configured.add(subject)
    return pass(this.#store, request, JSON.stringify({ compatibility }))
  }
}

/** A plus is a space here. */
function decode(segment: string): string {
  return decodeURIComponent(segment.replaceAll('+', ' '))
}

/** No guid, no mark of deletion, and no type where it is Avro. */
function shape(answer: VendorAnswer): VendorAnswer {
  if (!('json' in answer) || typeof answer.json !== 'object' || answer.json === null || Array.isArray(answer.json))
    return answer
  const { guid: _, deleted: __, schemaType, ...rest } = answer.json
  return { json: { ...rest, ...(schemaType !== undefined && schemaType !== 'AVRO' && { schemaType }) } }
}

function sortKeys(text: string): string {
  return rewriteJson(text, object => Object.fromEntries(Object.entries(object).sort(([a], [b]) => (a < b ? -1 : 1))))
}

function hide(subject: string): string {
  return subject.startsWith(':') ? `${HIDDEN_COLON}${subject.slice(1)}` : subject
}

function hideSubject(reference: JsonObject): JsonObject {
  return { ...reference, subject: hide(String(reference.subject)) }
}

function hideContexts(snapshot: RegistrySnapshot): RegistrySnapshot {
  return {
    ...snapshot,
    contexts: ['.'],
    contextSettings: new Map(),
    versions: snapshot.versions.map(one => ({
      ...one,
      subject: hide(one.subject),
      references: one.references.map(each => ({ ...each, subject: hide(each.subject) })),
    })),
    subjects: new Map([...snapshot.subjects].map(([subject, settings]) => [hide(subject), settings])),
  }
}
