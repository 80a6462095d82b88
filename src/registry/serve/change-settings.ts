import { type JsonObject, splitSubject } from '../../archive/registry-model.ts'
import { faults } from './registry-fault.ts'
import { checkIsWritable, checkMayChange, type RegistryState } from './registry-state.ts'
import { type Config, GLOBAL_SCOPE, isContextScope, type Mode, parseMode } from './settings-store.ts'
import { checkSubjectName } from './subject-name.ts'
import type { StoredVersion } from './version-index.ts'

/** Fields that are left out stay as they are; null takes one away. Throws 42203, 42205, 42208. */
export function updateConfig(state: RegistryState, scope: string, update: JsonObject): void {
  if (!isContextScope(scope)) checkSubjectName(scope)
  checkMayChange(state, scope)
  state.settings.updateConfig(scope, update)
}

/** Throws 40401 for none; that of the registry becomes the default again. */
export function deleteConfig(state: RegistryState, scope: string): Config {
  const config = scope === GLOBAL_SCOPE ? getConfig(state, scope, true) : state.settings.config(scope)
  if (!config) throw faults.subjectNotFound(scope)
  checkMayChange(state, scope)
  state.settings.deleteConfig(scope)
  return config
}

/** Throws 40408 for a subject or a context without one; the registry always has one. */
export function getConfig({ settings }: RegistryState, scope: string, isInherited: boolean): Config {
  if (isInherited || scope === GLOBAL_SCOPE) return settings.configInScope(scope)
  const config = settings.config(scope)
  if (!config) throw faults.configNotSet(scope)
  return config
}

/** Throws 40409 for a subject or a context without one. */
export function getMode({ settings }: RegistryState, scope: string, isInherited: boolean): Mode {
  const mode = isInherited || scope === GLOBAL_SCOPE ? settings.modeInScope(scope) : settings.mode(scope)
  if (mode === undefined) throw faults.modeNotSet(scope)
  return mode
}

/**
 * Sets the mode of a scope. IMPORT without `isForced` wants a scope without live versions and clears it of soft-deleted
 * ones for good. Throws 42204, 42205, 42206.
 */
export function setMode(state: RegistryState, scope: string, text: unknown, isForced: boolean): Mode {
  if (!isContextScope(scope)) checkSubjectName(scope)
  const mode = parseMode(text)
  checkIsWritable(state)
  if (mode === 'IMPORT' && !isForced && state.settings.modeInScope(scope) !== 'IMPORT') clearScope(state, scope)
  state.settings.setMode(scope, mode)
  return mode
}

/** Throws 40401 where none is set. */
export function deleteMode(state: RegistryState, scope: string): Mode {
  const mode = state.settings.mode(scope)
  if (mode === undefined && scope !== GLOBAL_SCOPE) throw faults.subjectNotFound(scope)
  checkIsWritable(state)
  state.settings.deleteMode(scope)
  return mode ?? 'READWRITE'
}

function clearScope({ versions }: RegistryState, scope: string): void {
  const inScope = [...versions.all()].filter(version => isInScope(version, scope))
  if (inScope.some(({ isDeleted }) => !isDeleted))
    throw faults.notPermitted('Cannot import since found existing subjects')
  for (const { subject, version } of inScope) {
    const outside = versions.referrers(subject, version, 'all').filter(referrer => !isInScope(referrer, scope))
    if (outside.length > 0) throw faults.referenceExists(subject, version)
  }
  for (const version of inScope) versions.remove(version)
}

function isInScope({ subject }: StoredVersion, scope: string): boolean {
  if (scope === GLOBAL_SCOPE) return true
  return isContextScope(scope) ? splitSubject(subject).context === splitSubject(scope).context : subject === scope
}
