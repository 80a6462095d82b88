/** What a schema registry holds, as plain data: read from one, kept in an archive, written to another. */

export type SchemaType = 'AVRO' | 'JSON' | 'PROTOBUF'

/** References are by subject and version, never by id. An unqualified subject is one of the referrer's context. */
export interface SchemaReference {
  name: string
  subject: string
  version: number
}

/** One version of a subject. Empty parts are null, so that unset stays unset. */
export interface SchemaVersion {
  /** With its context where that is not the default one: `:.context:name`. */
  subject: string
  version: number
  /** Unique within a context only. */
  id: number
  schemaType: SchemaType
  /** Verbatim, as the registry gave it. */
  schema: string
  references: readonly SchemaReference[]
  metadata: JsonObject | null
  ruleSet: JsonObject | null
  guid: string | null
  isDeleted: boolean
  /** It was not asked for: it is here since another version refers to it. */
  isPulledIn?: true
}

/** Settings of a subject, of a context or of the whole registry; null is not set there. */
export interface RegistrySettings {
  compatibility: string | null
  mode: string | null
  /** Everything else that a config may say: alias, normalize, default and override metadata and rule sets. */
  config: JsonObject | null
}

export const unset: RegistrySettings = { compatibility: null, mode: null, config: null }

export function isUnset({ compatibility, mode, config }: RegistrySettings): boolean {
  return compatibility === null && mode === null && config === null
}

export interface RegistrySnapshot {
  flavour: RegistryFlavour
  /** As the registry tells it; null where it does not. */
  registryVersion: string | null
  takenAt: string
  /** The default one is `.`. */
  contexts: readonly string[]
  /** By subject and version. */
  versions: readonly SchemaVersion[]
  /** Every subject of `versions`; an alias, which has settings but no versions, is here too. */
  subjects: ReadonlyMap<string, RegistrySettings>
  /** By context, if it has its own settings. */
  contextSettings: ReadonlyMap<string, RegistrySettings>
  global: RegistrySettings
  /** The highest id that was ever given, by context, where the registry tells. */
  maxIds: ReadonlyMap<string, number>
  /** Versions that were left out since they are soft-deleted. */
  skippedDeleted: number
  /** Versions of selected subjects that were left out, for whatever reason; absent where it is not known. */
  leftOut?: readonly LeftOutVersion[]
  warnings: readonly string[]
  /** Of a backup: that schemas of its records may be missing, and why. */
  notice?: string
  /** Of a backup whose generation carries the schemas of an earlier one: when the later ones were read that add to them; empty for none. */
  addedAt?: string
}

export type LeftOutVersion = Pick<SchemaVersion, 'subject' | 'version' | 'id'>

export const registryFlavours = ['confluent', 'apicurio', 'karapace', 'redpanda', 'axonops', 'other'] as const
export type RegistryFlavour = (typeof registryFlavours)[number]

export type JsonObject = { [key: string]: JsonValue }
export type JsonValue = string | number | boolean | null | JsonValue[] | JsonObject

export const DEFAULT_CONTEXT = '.'

/** `:.context:name` into its parts; a plain name is of the default context. */
export function splitSubject(subject: string): { context: string; name: string } {
  const qualified = /^:(\.[^:]*):([\s\S]*)$/.exec(subject)
  if (!qualified) return { context: DEFAULT_CONTEXT, name: subject }
  return { context: qualified[1] ?? DEFAULT_CONTEXT, name: qualified[2] ?? '' }
}

export function joinSubject({ context, name }: { context: string; name: string }): string {
  return context === DEFAULT_CONTEXT ? name : `:${context}:${name}`
}

/** The subject that a reference means: a name without a context is one of the context of the schema that refers to it. */
export function resolveReference(subject: string, referrer: string): string {
  if (/^:\.[^:]*:/.test(subject)) return joinSubject(splitSubject(subject))
  return joinSubject({ context: splitSubject(referrer).context, name: subject })
}

/** As keys of maps: a version within a registry. */
export function versionKey(subject: string, version: number): string {
  return `${subject}@${version}`
}

/** Where the level of a subject is set. `default`: nowhere, so that it is the one that the registry was started with. */
export const levelSources = ['subject', 'context', 'global', 'default'] as const
type LevelSource = (typeof levelSources)[number]

/** The name under which Confluent keeps settings of all contexts. */
const EVERY_CONTEXT = '.__GLOBAL'

/**
 * Pure. The compatibility level that the registry applies to a subject: its own, that of its context, or that of the whole
 * registry, which is the one of the default context. Null where none of them is set, because registries do not report
 * the default that they were started with.
 */
export function levelInForce(
  { subjects, contextSettings, global }: Pick<RegistrySnapshot, 'subjects' | 'contextSettings' | 'global'>,
  subject: string,
): { level: string | null; source: LevelSource } {
  const { context } = splitSubject(subject)
  const scopes: { source: LevelSource; settings: RegistrySettings | undefined }[] = [
    { source: 'subject', settings: subjects.get(subject) },
    context === DEFAULT_CONTEXT
      ? { source: 'global', settings: global }
      : { source: 'context', settings: contextSettings.get(context) },
    { source: 'global', settings: contextSettings.get(EVERY_CONTEXT) },
  ]
  for (const { source, settings } of scopes) {
    const level = settings?.compatibility ?? null
    if (level !== null) return { level, source }
  }
  return { level: null, source: 'default' }
}
