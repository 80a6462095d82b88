import { DEFAULT_CONTEXT, joinSubject } from '../../archive/registry-model.ts'
import { KafkaBackupError } from '../../errors.ts'
import { pathOf } from '../client/address.ts'
import type { RegistryCall, RegistryClient } from '../client/client.ts'
import type { Identity } from '../client/flavour.ts'
import { asList, asRecord } from '../client/parse-answers.ts'
import { RegistryError } from '../client/registry-error.ts'
import { clearScope, type LeftBehind } from './clear-scope.ts'

interface ProbeAnswer {
  isOk: boolean
  status: number
  errorCode: number | null
  /** Undefined for a refusal. */
  body: unknown
}

interface Schema {
  schema: string
  schemaType?: string
  references?: { name: string; subject: string; version: number }[]
  metadata?: object
  ruleSet?: object
  id?: number
  version?: number
}

/** These come from the network or from a login, and say nothing of a feature. */
const passing = new Set([401, 403, 408, 425, 429, 502, 503, 504])

/** The scope of one probe in a registry: a separate context or, without contexts, a prefix of subjects. */
export class ProbeScope {
  readonly identity: Identity
  /** Whether the corner is a context. */
  readonly hasContexts: boolean
  /** Registrations that got an ID. */
  registrations = 0
  readonly #client: RegistryClient
  readonly #name: string
  readonly #signal: AbortSignal
  /** A subject of this probe that holds a schema and has no settings; undefined before the first registration. */
  ownSample: string | undefined
  /** In the order of their first use. */
  readonly #subjects = new Set<string>()
  /** Subjects whose level the registry took, and the modes that it took. */
  readonly #leveled = new Set<string>()
  readonly #modes = new Map<string, string>()

  constructor(
    client: RegistryClient,
    { identity, hasContexts, name }: { identity: Identity; hasContexts: boolean; name: string },
    signal: AbortSignal,
  ) {
    this.#client = client
    this.identity = identity
    this.hasContexts = hasContexts
    this.#name = name
    this.#signal = signal
  }

  /** For messages: where the probe writes. */
  get place(): string {
    return this.hasContexts ? `the context .${this.#name}` : `subjects that begin with ${this.#name}-`
  }

  get context(): string {
    return this.hasContexts ? `.${this.#name}` : DEFAULT_CONTEXT
  }

  /** A subject of this probe, which is removed in the end. */
  subject(name: string): string {
    const own = this.hasContexts ? name : `${this.#name}-${name}`
    const subject = joinSubject({ context: this.context, name: own })
    this.#subjects.add(subject)
    return subject
  }

  /** A subject that holds a schema: of this probe, or whichever the registry lists first; undefined where it has none. */
  async sample(): Promise<string | undefined> {
    if (this.ownSample !== undefined) return this.ownSample
    const [first] = asList((await this.ask({ path: '/subjects', query: { limit: 1 } })).body) ?? []
    return typeof first === 'string' ? first : undefined
  }

  /** As a reference within this corner has it. */
  plain(name: string): string {
    return this.hasContexts ? name : `${this.#name}-${name}`
  }

  async ask(call: RegistryCall): Promise<ProbeAnswer> {
    try {
      return { isOk: true, status: 200, errorCode: null, body: await this.#client.call(call, this.#signal) }
    } catch (error) {
      if (!(error instanceof RegistryError) || passing.has(error.status)) throw error
      return { isOk: false, status: error.status, errorCode: error.errorCode, body: undefined }
    }
  }

  get(resource: 'subjects' | 'config' | 'mode', subject: string, rest = '', query = {}): Promise<ProbeAnswer> {
    return this.ask({ path: pathOf(this.identity, resource, subject, rest), subject, query })
  }

  async put(resource: 'config' | 'mode', subject: string, body: object, query = {}): Promise<ProbeAnswer> {
    const path = pathOf(this.identity, resource, subject)
    const answer = await this.ask({ method: 'PUT', path, subject, body, query })
    if (answer.isOk && resource === 'config') this.#leveled.add(subject)
    if (answer.isOk && 'mode' in body) this.#modes.set(subject, String(body.mode))
    return answer
  }

  async register(subject: string, schema: Schema, query = {}): Promise<ProbeAnswer & { id: number | undefined }> {
    const path = pathOf(this.identity, 'subjects', subject, '/versions')
    const answer = await this.ask({ method: 'POST', path, subject, body: schema, query })
    const id = asRecord(answer.body)?.id
    if (answer.isOk) {
      this.registrations++
      this.ownSample ??= subject
    }
    return { ...answer, id: typeof id === 'number' ? id : undefined }
  }

  /** Fails where the registry refuses every schema: each feature would be shown as missing then, which is not known. */
  async registerFirst(): Promise<void> {
    const subject = this.subject('first')
    const path = pathOf(this.identity, 'subjects', subject, '/versions')
    const call: RegistryCall = { method: 'POST', path, subject, body: { schema: record('ProbeFirst') } }
    try {
      await this.#client.call(call, this.#signal)
    } catch (error) {
      if (!(error instanceof RegistryError) || passing.has(error.status)) throw error
      const message = `the registry ${this.#client.name} refuses the first test schema, so no feature can be tried: ${error.message}`
      throw new KafkaBackupError('REGISTRY_REFUSED', message, {
        help: 'Check the mode of the registry (READONLY refuses every schema) and what this user may do, or probe without --write.',
      })
    }
    this.registrations++
    this.ownSample = subject
  }

  remove(subject: string, rest = '', query = {}): Promise<ProbeAnswer> {
    const path = pathOf(this.identity, 'subjects', subject, rest)
    return this.ask({ method: 'DELETE', path, subject, query })
  }

  /** The version of a subject as the registry shows it. */
  async version(subject: string, version: number): Promise<Record<string, unknown> | undefined> {
    return asRecord((await this.get('subjects', subject, `/versions/${version}`, { deleted: true })).body)
  }

  /** Removes everything that was written, what refers to others first, and returns what is left. */
  clear(): Promise<LeftBehind[]> {
    const written = [...this.#subjects].reverse().map(subject => ({
      subject,
      hasLevel: this.#leveled.has(subject),
      mode: this.#modes.get(subject),
    }))
    return clearScope(written, { client: this.#client, identity: this.identity })
  }
}

/** An Avro record that no other check registers. */
export function record(name: string, more: object = {}): string {
  return JSON.stringify({ type: 'record', name, ...more, fields: [] })
}

/** What a registry was found to do. `detail` says more where there is more to say. */
interface Verdict {
  has: boolean
  detail?: string
}

/** One feature that a restore relies on or reports as lost, and how to find out whether a registry has it. */
export interface FeatureCheck {
  /** For programs. */
  name: string
  /** For people; short enough for a table. */
  label: string
  /** What becomes of a restore where the registry does not have it. */
  without: string
  /** It registers, sets or deletes something, in separate subjects. */
  isWrite: boolean
  /** Undefined where it cannot be found out on this registry. */
  run(scope: ProbeScope): Promise<Verdict | undefined>
}

/** `has` is null for what was not tried. */
export interface FeatureResult {
  name: string
  label: string
  has: boolean | null
  detail: string
}

export const found = (has: boolean, detail?: string): Verdict => ({ has, ...(detail !== undefined && { detail }) })
