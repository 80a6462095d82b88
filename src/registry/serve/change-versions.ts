import { type JsonObject, type JsonValue, splitSubject } from '../../archive/registry-model.ts'
import { findContent } from './find-versions.ts'
import { judgeCompatibility } from './judge-compatibility.ts'
import { dependenciesOf, parseSchema, pinReferences } from './parse-schema.ts'
import { faults } from './registry-fault.ts'
import { checkMayChange, type RegistryState } from './registry-state.ts'
import { identityOf, type SchemaContent } from './schema-identity.ts'
import type { Config } from './settings-store.ts'
import { checkSubjectName } from './subject-name.ts'
import type { StoredVersion } from './version-index.ts'

export interface RegisterRequest extends SchemaContent {
  /** Null for whatever id the registry gives; a number only in IMPORT. */
  id: number | null
  /** 0 for the next one. */
  version: number
}

/**
 * Registers a version. What the subject holds already is answered as it is, in every mode. With `isForced` the
 * compatibility is not asked about.
 */
export function registerSchema(
  state: RegistryState,
  subject: string,
  request: RegisterRequest,
  isForced = false,
): StoredVersion {
  checkSubjectName(subject)
  const known = findSame(state, subject, request)
  if (known) return known
  checkRegisterMode(state, subject, request)
  return isImport(state, subject)
    ? importVersion(state, subject, request)
    : addVersion(state, subject, request, isForced)
}

/** The same schema, live in the subject, and not asked for by another id or number. */
function findSame({ versions }: RegistryState, subject: string, request: RegisterRequest): StoredVersion | undefined {
  const live = versions.versions(subject, 'live').reverse()
  const identity = live.length > 0 ? identityOf(request) : ''
  return live.find(
    version =>
      (request.id === null || request.id === version.id) &&
      (request.version <= 0 || request.version === version.version) &&
      version.identity === identity,
  )
}

function checkRegisterMode(state: RegistryState, subject: string, { id }: RegisterRequest): void {
  checkMayChange(state, subject)
  const mode = state.settings.modeInScope(subject)
  if (id !== null && mode !== 'IMPORT') throw faults.notPermitted(`Subject ${subject} is not in import mode`)
  if (id === null && mode !== 'READWRITE') throw faults.notPermitted(`Subject ${subject} is not in read-write mode`)
}

function isImport({ settings }: RegistryState, subject: string): boolean {
  return settings.modeInScope(subject) === 'IMPORT'
}

/** As it is sent: only its references must be there, soft-deleted ones too, and its text be a schema. */
function importVersion(state: RegistryState, subject: string, request: RegisterRequest): StoredVersion {
  const references = pinReferences(request.references, subject, state.versions)
  const content = { ...request, references }
  parseSchema(content, dependenciesOf(references, subject, state.versions), false)
  const id = request.id ?? 0
  checkId(state, subject, id, content)
  return store(state, subject, content, id, request.version > 0 ? request.version : nextVersion(state, subject))
}

function addVersion(state: RegistryState, subject: string, request: RegisterRequest, isForced: boolean): StoredVersion {
  const { versions, settings } = state
  const earlier = versions.versions(subject, 'live')
  const version = nextVersion(state, subject)
  const pinned = { ...request, references: pinReferences(request.references, subject, versions) }
  const content = completeContract(pinned, {
    config: settings.configInScope(subject),
    previous: earlier.at(-1),
    askedVersion: request.version,
    nextVersion: version,
  })
  const avro = parseSchema(content, dependenciesOf(content.references, subject, versions), true)
  const known = request.version === 0 ? findContent(state, subject, content, 'live') : undefined
  if (known) return known
  if (request.version > 0 && request.version !== version)
    throw faults.invalidSchema('Version is not one more than previous version')
  const reasons = isForced ? [] : judgeCompatibility(state, subject, { schemaType: content.schemaType, avro }, earlier)
  if (reasons.length > 0) throw faults.incompatible(reasons)
  const { context } = splitSubject(subject)
  const [id = state.ids.next(context)] = versions.idsOf(context, content)
  return store(state, subject, content, id, version)
}

/** Numbers of soft-deleted versions are taken; those of hard-deleted ones at the end are given again. */
function nextVersion({ versions }: RegistryState, subject: string): number {
  return (versions.latest(subject, 'all')?.version ?? 0) + 1
}

/** One id is one content within a context. */
function checkId({ versions }: RegistryState, subject: string, id: number, content: SchemaContent): void {
  const { context } = splitSubject(subject)
  const [holder] = versions.withId(context, id)
  if (!holder || holder.identity === identityOf(content)) return
  throw faults.notPermitted(`Overwrite new schema with id ${id} in context ${context} is not permitted.`)
}

/** A version of the same number is replaced: so an import un-deletes one, and may lose another. */
function store(
  { versions, ids }: RegistryState,
  subject: string,
  { schemaType, schema, references, metadata, ruleSet }: SchemaContent,
  id: number,
  version: number,
): StoredVersion {
  // A soft-deleted version with the id is replaced by the higher one, unless another schema refers to it.
  for (const deleted of versions.versions(subject, 'deleted')) {
    const isReferenced = versions.referrers(subject, deleted.version, 'all').length > 0
    if (deleted.id === id && deleted.version < version && !isReferenced) versions.remove(deleted)
  }
  ids.note(splitSubject(subject).context, id)
  const content = { schemaType, schema, references, metadata, ruleSet }
  return versions.put({ subject, version, id, ...content, guid: null, isDeleted: false })
}

const VERSION_PROPERTY = 'confluent:version'

interface ContractScope {
  config: Config
  /** The newest live version of the subject. */
  previous: SchemaContent | undefined
  /** What the request asks for; 0 for none. */
  askedVersion: number
  nextVersion: number
}

/**
 * Metadata and rules of a version that is registered the normal way: what it brings, else what the previous version has,
 * between the defaults and the overrides of the config in scope.
 */
function completeContract(content: SchemaContent, scope: ContractScope): SchemaContent {
  const { config, previous } = scope
  const merged = mergeAll(
    mergeMetadata,
    asObject(config.defaultMetadata),
    content.metadata ?? previous?.metadata ?? null,
    asObject(config.overrideMetadata),
  )
  const ruleSet = mergeAll(
    mergeRules,
    asObject(config.defaultRuleSet),
    content.ruleSet ?? previous?.ruleSet ?? null,
    asObject(config.overrideRuleSet),
  )
  return { ...content, metadata: withVersion(merged, scope), ruleSet }
}

/** A version that is asked for by number is noted in the metadata, and is kept right once it is there. */
function withVersion(metadata: JsonObject | null, { askedVersion, nextVersion }: ContractScope): JsonObject | null {
  const hasVersion = asObject(metadata?.properties)?.[VERSION_PROPERTY] !== undefined
  if (askedVersion === 0 && !hasVersion) return metadata
  return mergeMetadata(metadata ?? {}, { properties: { [VERSION_PROPERTY]: String(nextVersion) } })
}

type Merge = (lower: JsonObject, upper: JsonObject) => JsonObject

function mergeAll(merge: Merge, ...layers: (JsonObject | null)[]): JsonObject | null {
  return layers.reduce((lower, upper) => (lower === null ? upper : upper === null ? lower : merge(lower, upper)), null)
}

function mergeMetadata(lower: JsonObject, upper: JsonObject): JsonObject {
  const merged: JsonObject = { ...lower, ...upper }
  for (const part of ['tags', 'properties']) {
    const [below, above] = [asObject(lower[part]), asObject(upper[part])]
    if (below && above) merged[part] = { ...below, ...above }
  }
  const [below, above] = [lower.sensitive, upper.sensitive]
  if (Array.isArray(below) && Array.isArray(above)) merged.sensitive = [...new Set([...below, ...above])].sort()
  return merged
}

/** Rules of the same name replace each other. */
function mergeRules(lower: JsonObject, upper: JsonObject): JsonObject {
  const merged: JsonObject = { ...lower, ...upper }
  for (const part of ['migrationRules', 'domainRules', 'encodingRules']) {
    const [below, above] = [lower[part], upper[part]]
    if (!Array.isArray(below) || !Array.isArray(above)) continue
    const replaced = new Set(above.map(nameOf))
    merged[part] = [...below.filter(rule => !replaced.has(nameOf(rule))), ...above]
  }
  return merged
}

function nameOf(rule: JsonValue): JsonValue | undefined {
  return asObject(rule)?.name
}

function asObject(value: JsonValue | undefined): JsonObject | null {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : null
}

/** Deletes a version: first softly, then for good. Throws 40401, 40402, 40406, 40407, 42205, 42206. */
export function deleteVersion(state: RegistryState, subject: string, version: number, isPermanent: boolean): number {
  const { versions } = state
  if (versions.versions(subject, 'all').length === 0) throw faults.subjectNotFound(subject)
  const found = version === -1 ? versions.latest(subject) : versions.get(subject, version)
  if (!found) throw faults.versionNotFound(version === -1 ? 'latest' : version)
  if (found.isDeleted && !isPermanent) throw faults.versionSoftDeleted(subject, found.version)
  checkMayChange(state, subject)
  checkIsUnreferenced(state, found, isPermanent)
  if (!found.isDeleted && isPermanent) throw faults.versionNotSoftDeleted(subject, found.version)
  drop(state, found, isPermanent)
  return found.version
}

/** Deletes all live versions softly, or all of them for good. Answers with their numbers. */
export function deleteSubject(state: RegistryState, subject: string, isPermanent: boolean): number[] {
  const { versions } = state
  if (versions.versions(subject, 'all').length === 0) throw faults.subjectNotFound(subject)
  if (!isPermanent && versions.versions(subject, 'live').length === 0) throw faults.subjectSoftDeleted(subject)
  checkMayChange(state, subject)
  const doomed = versions.versions(subject, isPermanent ? 'all' : 'live')
  for (const version of doomed) checkIsUnreferenced(state, version, isPermanent)
  if (isPermanent && doomed.some(({ isDeleted }) => !isDeleted)) throw faults.subjectNotSoftDeleted(subject)
  for (const version of doomed) drop(state, version, isPermanent)
  return doomed.map(({ version }) => version)
}

/** A soft delete asks for live referrers only, a hard one for any. */
function checkIsUnreferenced({ versions }: RegistryState, { subject, version }: StoredVersion, isHard: boolean): void {
  const referrers = versions.referrers(subject, version, isHard ? 'all' : 'live')
  if (referrers.length > 0) throw faults.referenceExists(subject, version)
}

/** With its last live version a subject loses its settings, also where that is only marked as deleted. */
function drop({ versions, settings }: RegistryState, version: StoredVersion, isPermanent: boolean): void {
  if (isPermanent) versions.remove(version)
  else version.isDeleted = true
  if (versions.versions(version.subject, isPermanent ? 'all' : 'live').length > 0) return
  settings.deleteConfig(version.subject)
  settings.deleteMode(version.subject)
}
