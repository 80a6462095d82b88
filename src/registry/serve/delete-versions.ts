import { faults } from './registry-fault.ts'
import { checkMayChange, type RegistryState } from './registry-state.ts'
import type { StoredVersion } from './version-index.ts'

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
