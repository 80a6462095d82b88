import { splitSubject } from '../../archive/registry-model.ts'
import { completeContract } from './data-contract.ts'
import { judgeCompatibility } from './judge-compatibility.ts'
import { findContent } from './look-up.ts'
import { parseSchema } from './parse-schema.ts'
import { faults } from './registry-fault.ts'
import { checkMayChange, type RegistryState } from './registry-state.ts'
import { identityOf, type SchemaContent } from './schema-identity.ts'
import { dependenciesOf, pinReferences } from './schema-references.ts'
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
  // A soft-deleted version that has the id gives way to the higher one, unless somebody refers to it.
  for (const deleted of versions.versions(subject, 'deleted')) {
    const isReferenced = versions.referrers(subject, deleted.version, 'all').length > 0
    if (deleted.id === id && deleted.version < version && !isReferenced) versions.remove(deleted)
  }
  ids.note(splitSubject(subject).context, id)
  const content = { schemaType, schema, references, metadata, ruleSet }
  return versions.put({ subject, version, id, ...content, guid: null, isDeleted: false })
}
