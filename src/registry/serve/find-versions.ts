import { joinSubject, splitSubject } from '../../archive/registry-model.ts'
import { faults } from './registry-fault.ts'
import type { RegistryState } from './registry-state.ts'
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

/** What an id stands for. The context is that of the subject, else the default one. Soft-deleted versions count. */
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
export function subjectsToTry({ ids }: RegistryState, subject: string): string[] {
  if (isQualified(subject)) return [subject]
  const others = ids.contexts().map(context => joinSubject({ context, name: subject }))
  return [...new Set([subject, ...others])]
}
