import {
  type JsonObject,
  type JsonValue,
  joinSubject,
  type SchemaVersion,
  splitSubject,
} from '../../../src/archive/registry-model.ts'
import { RegistryFault } from '../../../src/registry/serve/registry-fault.ts'
import { RegistryStore } from '../../../src/registry/serve/registry-store.ts'
import { readSchemaRequest } from '../../../src/registry/serve/route.ts'
import type { StoredVersion } from '../../../src/registry/serve/version-index.ts'
import { segmentsOfGo } from './go-path.ts'
import { serializing } from './serialized-protobuf.ts'
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

const modes: JsonValue[] = ['READWRITE', 'READONLY', 'IMPORT']

/** AxonOps, main branch of 2026 with storage in memory, as compared with the real one: docs/registries.md. */
export function scriptAxonops({ start, firstId, version = '1.2.0' }: VendorOptions): VendorScript {
  const store = new RegistryStore({ ...(firstId !== undefined && { firstId }) }, start)
  const axonops = new AxonOps(store, version)
  for (const one of start?.versions ?? []) axonops.note(one)
  return { store, answer: serializing(request => axonops.answer(request)) }
}

class AxonOps {
  readonly #store: RegistryStore
  readonly #version: string
  /** By subject, until it is deleted as a whole: numbers never go back. A subject without versions stays listed. */
  readonly #highest = new Map<string, number>()

  constructor(store: RegistryStore, version: string) {
    this.#store = store
    this.#version = version
  }

  note({ subject, version }: Pick<SchemaVersion, 'subject' | 'version'>): void {
    this.#highest.set(subject, Math.max(version, this.#highest.get(subject) ?? 0))
  }

  answer(request: VendorRequest): VendorAnswer {
    let segments = segmentsOfGo(request.path)
    let context = '.'
    if (segments[0] === 'contexts' && segments.length > 2) {
      context = segments[1] ?? '.'
      segments = segments.slice(2)
    }
    try {
      return this.#route(request, context, segments) ?? { status: 404, text: '404 page not found\n' }
    } catch (error) {
      if (error instanceof RegistryFault && error.errorCode === 40901) refuse(409, error.message)
      throw error
    }
  }

  #route(request: VendorRequest, context: string, segments: string[]): VendorAnswer | undefined {
    const [first, second, third, ...rest] = segments
    if (first === 'v1') return { json: third === 'id' ? { id: 'axon' } : this.#about() }
    if (first === 'contexts') return pass(this.#store, request)
    if (first === 'config' || first === 'mode') return this.#settings(request, first, scopeOf(context, second))
    if (first === 'compatibility') return this.#judge(request, scopeOf(context, third), rest)
    if (first === 'schemas') return this.#schemas(request, context, segments.slice(1))
    if (first !== 'subjects' || (third ?? 'versions') !== 'versions' || rest.length > 2) return undefined
    if (second === undefined) return { json: this.#subjects(context, isFlag(request.query, 'deleted')) }
    const subject = scopeOf(context, second)
    if (request.method === 'POST') return this.#post(request, subject, third === 'versions')
    if (request.method === 'DELETE') return this.#delete(request, subject, rest[0])
    const path = ['', 'subjects', subject, third, ...rest].filter(part => part !== undefined).map(encodeURIComponent)
    return this.#shape(pass(this.#store, { ...request, path: path.join('/') }), subject)
  }

  #judge(request: VendorRequest, subject: string, rest: string[]): VendorAnswer {
    const path = ['', 'compatibility', 'subjects', subject, ...rest].map(encodeURIComponent).join('/')
    return pass(this.#store, { ...request, path })
  }

  #about(): JsonObject {
    return { version: this.#version, commit: 'abc', build_time: 'then' }
  }

  /** Of one context, under their plain names. A list that is empty is null. */
  #subjects(context: string, isWithDeleted: boolean): string[] | null {
    const including = isWithDeleted ? 'all' : 'live'
    const held = this.#store.subjects({ prefix: ':*:', including, offset: 0, limit: 0 })
    const names = [...new Set([...held, ...(isWithDeleted ? this.#highest.keys() : [])])]
      .map(splitSubject)
      .filter(each => each.context === context)
      .map(({ name }) => name)
    return names.length === 0 ? null : names.sort()
  }

  #schemas(request: VendorRequest, context: string, segments: string[]): VendorAnswer {
    if (segments.length > 0) {
      const below = context === '.' ? '' : `/contexts/${context}`
      const answer = pass(this.#store, { ...request, path: [`${below}/schemas`, ...segments].join('/') })
      return segments[0] === 'ids' && segments.length === 2 ? this.#shape(answer, undefined) : answer
    }
    const including = isFlag(request.query, 'deleted') ? 'all' : 'live'
    const rows = (this.#subjects(context, true) ?? []).flatMap(name => {
      const subject = joinSubject({ context, name })
      return unless([40401], () => this.#store.versions(subject, including)) ?? []
    })
    const shown = rows.map(({ subject, version, id, schemaType, schema }) => ({
      ...{ subject: splitSubject(subject).name, version, id, schemaType, schema },
    }))
    return { json: shown.sort((a, b) => a.id - b.id) }
  }

  #settings(request: VendorRequest, resource: 'config' | 'mode', scope: string): VendorAnswer {
    const isContext = /^:\.[^:]*:$/.test(scope) || scope === ''
    const path = `/${resource}${scope === '' ? '' : `/${encodeURIComponent(scope)}`}`
    const plain = { ...request, path }
    if (request.method === 'GET') {
      const unset = resource === 'config' ? { compatibilityLevel: 'BACKWARD' } : { mode: 'READWRITE' }
      // A context has a level and a mode, whether they are set or not, and also where there is no such context.
      const found = unless(isContext ? [40408, 40409] : [], () => pass(this.#store, plain))
      return found ?? { json: unset }
    }
    if (request.method !== 'PUT') return pass(this.#store, plain)
    const body = readBody(request)
    if (resource === 'mode') {
      return modes.includes(body.mode ?? null) ? pass(this.#store, plain) : refuse(42204, 'Invalid mode')
    }
    const scopeName = scope === '' ? ':.:' : scope
    if (typeof body.compatibility !== 'string') {
      return { json: { compatibility: String(this.#store.config(scopeName, true).compatibilityLevel) } }
    }
    unless([40401], () => this.#store.deleteConfig(scopeName))
    return pass(this.#store, plain)
  }

  #post(request: VendorRequest, subject: string, isRegistration: boolean): VendorAnswer {
    const sent = readSchemaRequest(readBody(request))
    for (const reference of sent.references) this.#checkReference(reference, subject)
    if (!isRegistration) {
      const found = this.#liveTwin(subject, sent, isFlag(request.query, 'deleted') ? 'all' : 'live')
      if (found === undefined) {
        const isThere = unless([40401], () => this.#store.versions(subject, 'live')) !== undefined
        return isThere ? refuse(40403, 'Schema not found') : refuse(40401, `Subject '${subject}' not found.`)
      }
      return this.#shape({ json: render(found) }, subject)
    }
    const id = sent.id === null ? this.#add(subject, sent) : this.#import(subject, { ...sent, id: sent.id })
    return { json: { id } }
  }

  /** Looked up by its name as it stands, in the context of the referrer, among live versions. */
  #checkReference(reference: { subject: string; version: number }, referrer: string): void {
    const { context } = splitSubject(referrer)
    const isPlain = splitSubject(reference.subject).name === reference.subject
    const subject = joinSubject({ context, name: reference.subject })
    const found = isPlain ? unless([40401], () => this.#store.versions(subject, 'live')) : undefined
    if (!found?.some(({ version }) => version === reference.version))
      refuse(42201, `failed to resolve references: ${reference.subject} version ${reference.version} not found`)
  }

  #add(subject: string, sent: Sent): number {
    const known = this.#liveTwin(subject, sent, 'live')
    if (known) return known.id
    const twin = this.#anyTwin(splitSubject(subject).context, sent)
    const stored = this.#store.register(subject, { ...sent, version: 0, schema: twin?.schema ?? sent.schema })
    const number = (this.#highest.get(subject) ?? 0) + 1
    if (stored.version < number) this.#renumber(stored, number)
    this.note({ subject, version: Math.max(number, stored.version) })
    return stored.id
  }

  /** The embedded registry begins again at 1 where all versions are gone. */
  #renumber(stored: StoredVersion, version: number): void {
    const { subject, id } = stored
    const mode = unless([40409], () => this.#store.mode(subject, false))
    this.#store.setMode(subject, 'IMPORT', true)
    this.#store.register(subject, { ...stored, id, version })
    this.#store.deleteVersion(subject, stored.version, false)
    this.#store.deleteVersion(subject, stored.version, true)
    if (mode === undefined) this.#store.deleteMode(subject)
    else this.#store.setMode(subject, mode, true)
  }

  #import(subject: string, sent: Sent & { id: number }): number {
    if (this.#store.mode(subject, true) !== 'IMPORT') refuse(42205, `Subject '${subject}' is not in import mode.`)
    const known = this.#liveTwin(subject, sent, 'live') ?? this.#numbered(subject, sent.version)
    if (known) return known.id
    const { context } = splitSubject(subject)
    const holder = unless([40403], () => this.#store.byId(sent.id, `:${context}:`))
    if (holder && fingerprintOf(holder) !== fingerprintOf(sent))
      refuse(42205, `Overwrite new schema with id ${sent.id} is not permitted.`)
    const content = { ...sent, metadata: null, ruleSet: null, schema: holder?.schema ?? sent.schema }
    const stored = this.#store.register(subject, content)
    this.note(stored)
    return stored.id
  }

  #numbered(subject: string, version: number): StoredVersion | undefined {
    const all = unless([40401], () => this.#store.versions(subject, 'all')) ?? []
    return all.find(one => one.version === version)
  }

  #liveTwin(subject: string, sent: Sent, including: 'live' | 'all'): StoredVersion | undefined {
    const own = unless([40401], () => this.#store.versions(subject, including)) ?? []
    return own.find(one => fingerprintOf(one) === fingerprintOf(sent))
  }

  #anyTwin(context: string, sent: Sent): StoredVersion | undefined {
    const subjects = (this.#subjects(context, true) ?? []).map(name => joinSubject({ context, name }))
    for (const subject of subjects) {
      const found = this.#liveTwin(subject, sent, 'all')
      if (found) return found
    }
    return undefined
  }

  /** The settings of a subject stay until it is deleted for good as a whole. */
  #delete(request: VendorRequest, subject: string, version: string | undefined): VendorAnswer {
    const isPermanent = isFlag(request.query, 'permanent')
    const config = unless([40408], () => this.#store.config(subject, false))
    const mode = unless([40409], () => this.#store.mode(subject, false))
    const below = version === undefined ? '' : `/versions/${version}`
    const answer = pass(this.#store, { ...request, path: `/subjects/${encodeURIComponent(subject)}${below}` })
    if (isPermanent && version === undefined) {
      this.#highest.delete(subject)
      return answer
    }
    if (config) this.#store.updateConfig(subject, config)
    if (mode) this.#store.setMode(subject, mode, true)
    return answer
  }

  /** Plain names, and the number of the version among the properties. */
  #shape(answer: VendorAnswer, subject: string | undefined): VendorAnswer {
    if (!('json' in answer) || typeof answer.json !== 'object' || answer.json === null || Array.isArray(answer.json))
      return answer
    const { guid: _, deleted: __, ...row } = answer.json
    if (subject === undefined || row.version === undefined) return { json: row }
    // The embedded registry looks in other contexts for what it does not find.
    if (row.subject !== subject) refuse(40401, 'Subject not found')
    const metadata = Object(row.metadata ?? {})
    const properties = { ...metadata.properties, 'confluent:version': String(row.version) }
    return { json: { ...row, subject: splitSubject(subject).name, metadata: { ...metadata, properties } } }
  }
}

type Sent = ReturnType<typeof readSchemaRequest>

function scopeOf(context: string, name: string | undefined): string {
  if (name?.startsWith(':.')) return joinSubject(splitSubject(name))
  if (context === '.') return name ?? ''
  return `:${context}:${name ?? ''}`
}

/** Documentation and aliases of Avro are no part of what a schema is. */
function fingerprintOf({ schemaType, schema }: Pick<SchemaVersion, 'schemaType' | 'schema'>): string {
  if (schemaType !== 'AVRO') return `${schemaType} ${schema}`
  return rewriteJson(schema, object =>
    Object.fromEntries(Object.entries(object).filter(([key]) => key !== 'doc' && key !== 'aliases')),
  )
}

function render({
  subject,
  version,
  id,
  schemaType,
  schema,
  references,
  metadata,
  ruleSet,
}: StoredVersion): JsonObject {
  return {
    ...{ subject, version, id, schemaType, schema },
    ...(references.length > 0 && { references: references.map(each => ({ ...each })) }),
    ...(metadata && { metadata }),
    ...(ruleSet && { ruleSet }),
  }
}
