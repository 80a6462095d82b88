import type { JsonObject, JsonValue } from '../../archive/registry-model.ts'
import { faults, RegistryFault } from './registry-fault.ts'
import type { RegistryStore } from './registry-store.ts'
import { scopeOf } from './settings-book.ts'
import { normalizeSubject } from './subject-name.ts'
import type { Including } from './version-index.ts'

/** What a handler answers: JSON, or a schema's text as it is. */
export type Answer = { json: JsonValue } | { text: string }

export interface Route {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** Below the base, with `{names}` for what differs: `/subjects/{subject}/versions`. */
  path: string
  handle(call: Call): Answer
}

export interface CallParts {
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

  /** Throws 400 for what is no JSON object. */
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
