import { DEFAULT_CONTEXT, isUnset, joinSubject, type RegistrySettings, unset } from '../../archive/registry-model.ts'
import { runPool } from '../../lib/pool.ts'
import { encodeSegment, pathOf } from './address.ts'
import { apicurioNative } from './apicurio.ts'
import type { RegistryClient } from './client.ts'
import { type HiddenContext, type Identity, isHiding } from './flavour.ts'
import { asObject, asRecord } from './parse-answers.ts'
import type { RegistryError } from './registry-error.ts'

/** Settings that count for all subjects, or for those of a context. */
export interface OuterSettings {
  global: RegistrySettings
  contextSettings: ReadonlyMap<string, RegistrySettings>
  warnings: readonly string[]
  /** Contexts whose settings the registry does not show. */
  hidden: readonly HiddenContext[]
}

export interface SubjectSettings {
  subjects: ReadonlyMap<string, RegistrySettings>
  warnings: readonly string[]
}

/** A default of Confluent for all contexts, kept as if it were one. */
const ACROSS_CONTEXTS = '.__GLOBAL'

/** A context that does not exist. AxonOps answers for it all the same, with the defaults that it gives to any. */
const NOWHERE = { context: '.kafka-backup-nowhere', name: '' }

interface AskedSettings {
  subjects: readonly string[]
  /** The mode of the registry; where it has none, subjects have none either. */
  global: RegistrySettings
  /** One that is not asked for is taken as unset. */
  isModeAsked?: (subject: string) => boolean
}

/** What is set, where it is set: nothing is filled in from a wider scope, so unset stays unset. */
export async function readOuterSettings(
  client: RegistryClient,
  identity: Identity,
  signal: AbortSignal,
): Promise<OuterSettings> {
  const denied: string[] = []
  const global = await readGlobal(client, signal, error => {
    denied.push(`modes cannot be read and are left out: ${error.message}`)
  })
  const hasModes = identity.flavour === 'confluent' || identity.flavour === 'axonops'
  if (hasModes && global.mode === null && denied.length === 0) {
    denied.push(`modes cannot be read and are left out: ${client.name} does not answer /mode with a mode`)
  }
  const contexts = [
    ...identity.contexts.filter(context => context !== DEFAULT_CONTEXT),
    ...(identity.flavour === 'confluent' ? [ACROSS_CONTEXTS] : []),
  ]
  const found = await readContextSettings(client, identity, { contexts, global }, signal)
  const across = found.hidden.find(({ context }) => context === ACROSS_CONTEXTS)
  if (across) throw across.error
  return { ...found, global, warnings: [...denied, ...found.warnings] }
}

export async function readContextSettings(
  client: RegistryClient,
  identity: Identity,
  { contexts, global }: { contexts: readonly string[]; global: RegistrySettings },
  signal: AbortSignal,
): Promise<Omit<OuterSettings, 'global'>> {
  const reader = new SettingsReader(client, identity, global)
  const contextSettings = new Map<string, RegistrySettings>()
  const mayFake = identity.flavour !== 'confluent' && contexts.length > 0
  const faked = mayFake ? await reader.ofSubject(joinSubject(NOWHERE), true, signal) : unset
  const hidden: HiddenContext[] = []
  for (const context of contexts) {
    try {
      const found = withoutFaked(await reader.ofSubject(joinSubject({ context, name: '' }), true, signal), faked)
      if (!isUnset(found)) contextSettings.set(context, found)
    } catch (error) {
      if (!isHiding(error)) throw error
      hidden.push({ context, error })
    }
  }
  return { contextSettings, warnings: [...reader.warnings], hidden }
}

export async function readSubjectSettings(
  client: RegistryClient,
  identity: Identity,
  { subjects, global, isModeAsked = () => true }: AskedSettings,
  signal: AbortSignal,
): Promise<SubjectSettings> {
  const reader = new SettingsReader(client, identity, global)
  const own = await runPool(subjects, client.concurrency, subject =>
    reader.ofSubject(subject, isModeAsked(subject), signal),
  )
  const settings = new Map(subjects.map((subject, at) => [subject, own[at] ?? unset]))
  return { subjects: settings, warnings: [...reader.warnings] }
}

async function readGlobal(
  client: RegistryClient,
  signal: AbortSignal,
  onDenied: (error: RegistryError) => void,
): Promise<RegistrySettings> {
  const [config, answer] = await Promise.all([
    client.call({ path: '/config' }, signal),
    client.probe({ path: '/mode' }, signal, onDenied),
  ])
  const mode = asRecord(answer)?.mode
  return { ...parseConfig(config), mode: typeof mode === 'string' ? mode : null }
}

class SettingsReader {
  readonly warnings = new Set<string>()
  readonly #client: RegistryClient
  readonly #identity: Identity
  readonly #global: RegistrySettings

  constructor(client: RegistryClient, identity: Identity, global: RegistrySettings) {
    this.#client = client
    this.#identity = identity
    this.#global = global
  }

  async ofSubject(subject: string, isModeAsked: boolean, signal: AbortSignal): Promise<RegistrySettings> {
    if (subject === '') {
      this.warnings.add('the settings of the subject with an empty name cannot be asked for and are left out')
      return unset
    }
    const config = (await this.#isConfigSet(subject, signal)) ? await this.#ask('config', subject, signal) : undefined
    return { ...parseConfig(config), mode: isModeAsked ? await this.#modeOf(subject, signal) : null }
  }

  #ask(resource: 'config' | 'mode', subject: string, signal: AbortSignal): Promise<unknown> {
    return this.#client.find({ path: pathOf(this.#identity, resource, subject), subject }, signal)
  }

  /**
   * Apicurio answers for every subject, with the level in force or NONE; whether a subject has its own rule is reported
   * only by its native API.
   */
  async #isConfigSet(subject: string, signal: AbortSignal): Promise<boolean> {
    if (this.#identity.flavour !== 'apicurio') return true
    const path = `/groups/default/artifacts/${encodeSegment(subject)}/rules`
    const rules = await this.#client.probe({ path, subject, basePath: apicurioNative('v3') }, signal)
    if (Array.isArray(rules)) return rules.includes('COMPATIBILITY')
    this.warnings.add(
      'the native API of Apicurio does not answer, so levels of single subjects cannot be distinguished from the global ' +
        'one and are left out',
    )
    return false
  }

  /** Karapace and Apicurio answer with the mode of the registry for every subject. */
  async #modeOf(subject: string, signal: AbortSignal): Promise<string | null> {
    const { flavour } = this.#identity
    if (this.#global.mode === null || flavour === 'karapace') return null
    const mode = asRecord(await this.#ask('mode', subject, signal))?.mode
    if (typeof mode !== 'string') return null
    return flavour === 'apicurio' && mode === this.#global.mode ? null : mode
  }
}

/** A config is read as `compatibilityLevel` and written as `compatibility`. */
function parseConfig(value: unknown): RegistrySettings {
  const { compatibilityLevel, compatibility = compatibilityLevel, ...rest } = asRecord(value) ?? {}
  return {
    compatibility: typeof compatibility === 'string' ? compatibility : null,
    mode: null,
    config: asObject(rest),
  }
}

/** What a registry says of a context that does not exist is not set in one that does. */
function withoutFaked(found: RegistrySettings, faked: RegistrySettings): RegistrySettings {
  return {
    compatibility: found.compatibility === faked.compatibility ? null : found.compatibility,
    mode: found.mode === faked.mode ? null : found.mode,
    config: found.config,
  }
}
