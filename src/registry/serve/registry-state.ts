import { IdCounters } from './id-counters.ts'
import { faults } from './registry-fault.ts'
import { SettingsBook } from './settings-book.ts'
import { VersionIndex } from './version-index.ts'

export interface RegistryOptions {
  /** The id of the first schema of each context: two registries that begin elsewhere have no id in common. */
  firstId?: number
  /** Serves what was loaded and takes no change. */
  isReadOnly?: boolean
  /** False refuses every change of a mode, as a registry with `mode.mutability=false` does. */
  areModesMutable?: boolean
}

/** All that a registry holds. */
export interface RegistryState {
  readonly versions: VersionIndex
  readonly settings: SettingsBook
  readonly ids: IdCounters
  readonly isReadOnly: boolean
  readonly areModesMutable: boolean
}

export function emptyState({
  firstId = 1,
  isReadOnly = false,
  areModesMutable = true,
}: RegistryOptions): RegistryState {
  return {
    versions: new VersionIndex(),
    settings: new SettingsBook(),
    ids: new IdCounters(firstId),
    isReadOnly,
    areModesMutable,
  }
}

/** Throws 42205 where nothing may be changed at all. */
export function checkIsWritable({ isReadOnly }: RegistryState): void {
  if (isReadOnly) throw faults.notPermitted('This registry serves a backup and is read-only')
}

/** Throws 42205 where a subject, its context or the registry is read-only. */
export function checkMayChange(state: RegistryState, scope: string): void {
  checkIsWritable(state)
  const mode = state.settings.modeInScope(scope)
  if (mode === 'READONLY' || mode === 'READONLY_OVERRIDE')
    throw faults.notPermitted(`Subject ${scope} is in read-only mode`)
}
