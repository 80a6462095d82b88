import {
  joinSubject,
  type RegistrySettings,
  type RegistrySnapshot,
  resolveReference,
  type SchemaReference,
  type SchemaVersion,
  splitSubject,
} from '../../archive/registry-model.ts'
import { KafkaBackupError } from '../../errors.ts'
import { pathOf } from '../client/address.ts'
import type { RegistryCall, RegistryClient } from '../client/client.ts'
import type { Identity } from '../client/flavour.ts'
import { asRecord, qualify } from '../client/parse-answers.ts'
import { RegistryError } from '../client/registry-error.ts'
import type { RegisterStep, RegistryPlan, Scope } from './plan/restore-step.ts'
import { type TargetTraits, traitsOf } from './plan/target-traits.ts'

/** `keepsConfigs`: configs hold more than a level, and a `PUT` does not remove the rest. */
type WriterTraits = Pick<TargetTraits, 'keepsConfigs' | 'hasContexts'>

/** The writes of a restore. Each may be repeated: what is done already is not an error. */
export class RegistryWriter {
  readonly #client: RegistryClient
  readonly #identity: Identity
  readonly #traits: WriterTraits

  constructor(client: RegistryClient, identity: Identity, traits: WriterTraits) {
    this.#client = client
    this.#identity = identity
    this.#traits = traits
  }

  /** The ID that the registry answers with. */
  async register(step: RegisterStep, signal: AbortSignal): Promise<number> {
    const { subject, version, id, schemaType, schema, references, metadata, ruleSet, force } = step
    const body = {
      schema,
      // Without one it is Avro, also to registries that know no other type.
      ...(schemaType !== 'AVRO' && { schemaType }),
      ...(references.length > 0 && { references: sentReferences(references, subject, this.#traits) }),
      ...(metadata && { metadata }),
      ...(ruleSet && { ruleSet }),
      ...(id !== null && { id, version }),
    }
    const path = pathOf(this.#identity, 'subjects', subject, '/versions')
    const query = force ? { query: { force: true } } : {}
    const answer = asRecord(await this.#client.call({ method: 'POST', path, subject, body, ...query }, signal))
    if (typeof answer?.id === 'number') return answer.id
    throw new KafkaBackupError('REGISTRY_PROTOCOL', `${this.#client.name} answered without an ID for ${subject}`)
  }

  /** Whether a version is there, live or marked as deleted. */
  async has(subject: string, version: number, signal: AbortSignal): Promise<boolean> {
    return (await this.read(subject, version, signal)) !== undefined
  }

  /** A version as the registry answers with it, live or marked as deleted. */
  async read(subject: string, version: number, signal: AbortSignal): Promise<Record<string, unknown> | undefined> {
    const path = pathOf(this.#identity, 'subjects', subject, `/versions/${version}`)
    return asRecord(await this.#client.find({ path, subject, query: { deleted: true } }, signal))
  }

  /** The numbers of a subject, those of deleted versions included. */
  async versionsOf(subject: string, signal: AbortSignal): Promise<number[]> {
    const path = pathOf(this.#identity, 'subjects', subject, '/versions')
    const found = await this.#client.find({ path, subject, query: { deleted: true } }, signal)
    return Array.isArray(found) ? found.filter(version => typeof version === 'number') : []
  }

  async deleteVersion(subject: string, version: number, permanent: boolean, signal: AbortSignal): Promise<void> {
    const path = pathOf(this.#identity, 'subjects', subject, `/versions/${version}`)
    await this.#remove({ path, subject }, signal)
    if (permanent) await this.#remove({ path, subject, query: { permanent: true } }, signal)
  }

  /** Its versions are marked as deleted before. */
  async deleteSubject(subject: string, signal: AbortSignal): Promise<void> {
    const path = pathOf(this.#identity, 'subjects', subject)
    await this.#remove({ path, subject, query: { permanent: true } }, signal)
  }

  async setMode(scope: Scope, mode: string, force: boolean, signal: AbortSignal): Promise<void> {
    const call = this.#settings('mode', scope)
    await this.#client.call({ ...call, method: 'PUT', body: { mode }, ...(force && { query: { force } }) }, signal)
  }

  async deleteMode(scope: Scope, signal: AbortSignal): Promise<void> {
    await this.#remove(this.#settings('mode', scope), signal)
  }

  /** All that the scope itself says afterwards. `clears`: what is there may be more than what is set. */
  async setConfig(
    scope: Scope,
    { compatibility, config, clears }: Pick<RegistrySettings, 'compatibility' | 'config'> & { clears: boolean },
    signal: AbortSignal,
  ): Promise<void> {
    const call = this.#settings('config', scope)
    // What cannot take a configuration away has none that is more than a level, which is set here.
    if (clears && this.#traits.keepsConfigs) await this.#remove(call, signal).catch(passUnsupported)
    const body = { ...(compatibility !== null && { compatibility }), ...config }
    await this.#client.call({ ...call, method: 'PUT', body }, signal)
  }

  /** If a registry cannot remove a level, the subject gets the one that it would inherit. */
  async deleteConfig(scope: Scope, signal: AbortSignal): Promise<void> {
    const call = this.#settings('config', scope)
    try {
      await this.#remove(call, signal)
    } catch (error) {
      passUnsupported(error)
      const { compatibilityLevel } = asRecord(await this.#client.call({ path: '/config' }, signal)) ?? {}
      await this.#client.call({ ...call, method: 'PUT', body: { compatibility: compatibilityLevel } }, signal)
    }
  }

  #settings(resource: 'config' | 'mode', scope: Scope): RegistryCall {
    if (scope.kind === 'global') return { path: `/${resource}` }
    const subject = scope.kind === 'subject' ? scope.subject : joinSubject({ context: scope.context, name: '' })
    return { path: pathOf(this.#identity, resource, subject), subject }
  }

  /** What the registry says is not there, or marked already, is removed. */
  async #remove(call: RegistryCall, signal: AbortSignal): Promise<void> {
    try {
      await this.#client.find({ ...call, method: 'DELETE' }, signal)
    } catch (error) {
      if (!(error instanceof RegistryError && alreadyDone.has(error.errorCode ?? 0))) throw error
    }
  }
}

/** Only the registry knows which texts are one schema to it. The question changes nothing there, though it is a POST. */
export async function meansTheSame(
  client: RegistryClient,
  target: RegistrySnapshot,
  { subject, version, schema }: RegistryPlan['textsToCompare'][number],
  signal: AbortSignal,
): Promise<boolean> {
  const theirs = target.versions.find(one => one.subject === subject && one.version === version)
  if (!theirs) return false
  const { schemaType, references, metadata, ruleSet } = theirs
  const traits = traitsOf(target.flavour, target.registryVersion)
  const body = {
    schema,
    ...(schemaType !== 'AVRO' && { schemaType }),
    ...(references.length > 0 && { references: sentReferences(references, subject, traits) }),
    ...(metadata && { metadata }),
    ...(ruleSet && { ruleSet }),
  }
  const call = { method: 'POST' as const, path: pathOf(target, 'subjects', subject), subject, body }
  const found = asRecord(await client.probe({ ...call, query: { deleted: true } }, signal))
  const named = found?.subject === undefined ? subject : qualify(String(found.subject), splitSubject(subject).context)
  return found?.version === version && named === subject
}

/** A subject, or a version, that is marked as deleted already; Karapace and others answer with another status than 404. */
const alreadyDone = new Set([40404, 40406])

/** Throws what is not the answer of a server that does not know the request. */
function passUnsupported(error: unknown): void {
  if (!(error instanceof RegistryError) || ![404, 405].includes(error.status)) throw error
}

type Contexts = Pick<TargetTraits, 'hasContexts'>

/** Pure. As a registry understands them: to one without contexts `:.eu:a` is a plain name, and nothing is relative. */
function sentReferences(
  references: readonly SchemaReference[],
  referrer: string,
  { hasContexts }: Contexts,
): readonly SchemaReference[] {
  if (hasContexts) return references
  return references.map(one => ({ ...one, subject: resolveReference(one.subject, referrer) }))
}

/** Pure. The reverse: `a` of such a registry is `a` of the default context, for every referrer. */
export function heldReferences(version: SchemaVersion, { hasContexts }: Contexts): SchemaVersion {
  const { subject, references } = version
  if (hasContexts || references.length === 0 || splitSubject(subject).name === subject) return version
  const absolute = (name: string) => (splitSubject(name).name === name ? `:.:${name}` : name)
  return { ...version, references: references.map(one => ({ ...one, subject: absolute(one.subject) })) }
}
