import { DEFAULT_CONTEXT, joinSubject, splitSubject } from '../../archive/registry-model.ts'
import { dependenciesOf, parseSchema, pinReferences } from './parse-schema.ts'
import { faults } from './registry-fault.ts'
import type { RegistryState } from './registry-state.ts'
import { identityOf, type SchemaContent } from './schema-identity.ts'
import { isQualified } from './subject-name.ts'
import { compareVersions, type Including, matching, type StoredVersion } from './version-index.ts'

/** Throws 40401 for none. */
export function getVersions({ versions }: RegistryState, subject: string, including: Including): StoredVersion[] {
  const found = versions.versions(subject, including)
  if (found.length === 0) throw faults.subjectNotFound(subject)
  return found
}

/** A version by its number, -1 being the newest live one. A plain subject that is not there is looked for elsewhere. */
export function getVersion(
  state: RegistryState,
  subject: string,
  version: number,
  including: 'live' | 'all',
): StoredVersion {
  const tried = subjectsToTry(state, subject)
  for (const each of tried) {
    const found = version === -1 ? latestOf(state, each, including) : state.versions.get(each, version)
    if (found && (including === 'all' || !found.isDeleted)) return found
  }
  const exists = tried.some(each => state.versions.versions(each, including).length > 0)
  throw exists ? faults.versionNotFound(version) : faults.subjectNotFound(subject)
}

/** The schema of an id. The context is that of the subject, else the default one. Soft-deleted versions count. */
export function getById(state: RegistryState, id: number, subject: string): StoredVersion {
  const isPlain = !isQualified(subject)
  const { name } = splitSubject(subject)
  for (const each of isPlain && name !== '' ? subjectsToTry(state, subject) : [subject]) {
    const holders = state.versions.withId(splitSubject(each).context, id)
    const [holder] = holders.filter(version => each === subject || version.subject === each)
    if (holder) return holder
  }
  throw faults.schemaNotFound(id)
}

export function getByGuid({ versions }: RegistryState, guid: string): StoredVersion[] {
  const found = [...versions.all()].filter(version => version.guid === guid)
  if (found.length === 0) throw faults.schemaNotFound(guid)
  return found.sort(compareVersions)
}

/** All versions of an id within a context. */
export function getVersionsOfId(
  state: RegistryState,
  id: number,
  subject: string,
  including: Including,
): StoredVersion[] {
  const { context } = splitSubject(getById(state, id, subject).subject)
  return state.versions.withId(context, id).filter(matching(including))
}

/** Ids of the schemas that refer to a version. */
export function getReferrers(state: RegistryState, subject: string, version: number, including: Including): number[] {
  const found = getVersion(state, subject, version, 'all')
  const referrers = state.versions.referrers(found.subject, found.version, including)
  return [...new Set(referrers.map(({ id }) => id))].sort((a, b) => a - b)
}

function latestOf({ versions }: RegistryState, subject: string, including: 'live' | 'all'): StoredVersion | undefined {
  return versions.latest(subject) ?? versions.latest(subject, including)
}

/** The subject itself, and for a plain name that of every other context. */
function subjectsToTry({ ids }: RegistryState, subject: string): string[] {
  if (isQualified(subject)) return [subject]
  const others = ids.contexts().map(context => joinSubject({ context, name: subject }))
  return [...new Set([subject, ...others])]
}

/** The version of a subject that holds a schema, the newest of several. Throws 40401, 40403, or 42201 for no schema. */
export function lookUpSchema(
  state: RegistryState,
  subject: string,
  content: SchemaContent,
  including: 'live' | 'all',
): StoredVersion {
  const subjects = subjectsToTry(state, subject).filter(each => state.versions.versions(each, including).length > 0)
  if (subjects.length === 0) throw faults.subjectNotFound(subject)
  for (const each of subjects) {
    const references = pinReferences(content.references, each, state.versions)
    const pinned = { ...content, references }
    parseSchema(pinned, dependenciesOf(references, each, state.versions), false)
    const found = findContent(state, each, pinned, including) ?? findInherited(state, each, pinned, including)
    if (found) return found
  }
  throw faults.schemaNotFound()
}

export function findContent(
  { versions }: RegistryState,
  subject: string,
  content: SchemaContent,
  including: Including,
): StoredVersion | undefined {
  const identity = identityOf(content)
  return versions
    .versions(subject, including)
    .reverse()
    .find(version => version.identity === identity)
}

/** A schema that is asked for without metadata and rules is found in a version that has inherited some. */
function findInherited(
  { versions }: RegistryState,
  subject: string,
  content: SchemaContent,
  including: Including,
): StoredVersion | undefined {
  if (content.metadata || content.ruleSet) return undefined
  const identity = identityOf(content)
  return versions
    .versions(subject, including)
    .reverse()
    .filter(version => version.metadata || version.ruleSet)
    .find(version => identityOf({ ...version, metadata: null, ruleSet: null }) === identity)
}

/** The most rows of one answer, and their number where none or more is asked for, as in the registry we follow. */
const MAX_SCHEMAS = 1000

interface Page {
  offset: number
  /** 0 or less for the most there is. */
  limit: number
}

export interface SchemaFilter extends Page {
  /** Beginning of a subject of the default context; `:.context:` or `:*:` before it for another or for all. */
  prefix: string
  including: Including
  latestOnly: boolean
}

export function listSubjects(
  { versions }: RegistryState,
  { prefix, including, offset, limit }: Omit<SchemaFilter, 'latestOnly'>,
): string[] {
  // With deleted versions alone: a subject that has live ones as well is not a deleted subject.
  const isListed = (subject: string) => including !== 'deleted' || versions.versions(subject, 'live').length === 0
  const names = versions.subjects(including).filter(hasPrefix(prefix)).filter(isListed)
  return names.slice(offset, limit > 0 ? offset + limit : undefined)
}

/** By subject and version. */
export function listSchemas({ versions }: RegistryState, filter: SchemaFilter): StoredVersion[] {
  const { prefix, including, latestOnly, offset, limit } = filter
  const rows = versions
    .subjects(including)
    .filter(hasPrefix(prefix))
    .flatMap(subject => versions.versions(subject, including).slice(latestOnly ? -1 : 0))
  return rows.slice(offset, offset + (limit > 0 && limit <= MAX_SCHEMAS ? limit : MAX_SCHEMAS))
}

function hasPrefix(prefix: string): (subject: string) => boolean {
  const anywhere = /^:\*:([\s\S]*)$/.exec(prefix)
  if (anywhere) return subject => splitSubject(subject).name.startsWith(anywhere[1] ?? '')
  const wanted = prefix.startsWith(':.') ? splitSubject(prefix) : { context: DEFAULT_CONTEXT, name: prefix }
  return subject => {
    const { context, name } = splitSubject(subject)
    return context === wanted.context && name.startsWith(wanted.name)
  }
}
