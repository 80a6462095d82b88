import {
  DEFAULT_CONTEXT,
  type RegistrySettings,
  type RegistrySnapshot,
  splitSubject,
} from '../../archive/registry-model.ts'
import { compatibilityLevels } from '../avro/compatibility.ts'
import { faults } from './registry-fault.ts'
import { GLOBAL_SCOPE, modes, SettingsStore } from './settings-store.ts'
import { VersionIndex } from './version-index.ts'

export interface StoreOptions {
  /** The id of the first schema of each context: two registries that begin elsewhere have no id in common. */
  firstId?: number
  /** Serves what was loaded and takes no change. */
  isReadOnly?: boolean
}

/** All that a registry holds. */
export interface RegistryState {
  readonly versions: VersionIndex
  readonly settings: SettingsStore
  readonly ids: IdCounters
  readonly isReadOnly: boolean
}

function emptyState({ firstId = 1, isReadOnly = false }: StoreOptions): RegistryState {
  return {
    versions: new VersionIndex(),
    settings: new SettingsStore(),
    ids: new IdCounters(firstId),
    isReadOnly,
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

/** The ids that were given, by context: each context counts for itself, and no id is given twice, even after a delete. */
class IdCounters {
  readonly #firstId: number
  readonly #maxIds = new Map<string, number>()

  constructor(firstId: number) {
    this.#firstId = firstId
    this.note(DEFAULT_CONTEXT, 0)
  }

  next(context: string): number {
    return Math.max(this.#firstId, this.max(context) + 1)
  }

  /** The context exists from here on. */
  note(context: string, id: number): void {
    this.#maxIds.set(context, Math.max(this.max(context), id))
  }

  max(context: string): number {
    return this.#maxIds.get(context) ?? 0
  }

  /** The default one first. */
  contexts(): string[] {
    return [...this.#maxIds.keys()].sort()
  }
}

/** An empty registry, or one that holds what a snapshot holds, ids, numbers and settings and all, unjudged. */
export function createState(options: StoreOptions, snapshot: RegistrySnapshot | undefined): RegistryState {
  const state = emptyState(options)
  if (snapshot) load(state, snapshot)
  return state
}

function load(state: RegistryState, snapshot: RegistrySnapshot): void {
  for (const version of snapshot.versions) {
    state.versions.put(version)
    state.ids.note(splitSubject(version.subject).context, version.id)
  }
  for (const context of snapshot.contexts) state.ids.note(context, 0)
  for (const [context, maxId] of snapshot.maxIds) state.ids.note(context, maxId)
  applySettings(state, GLOBAL_SCOPE, snapshot.global)
  for (const [context, settings] of snapshot.contextSettings) applySettings(state, `:${context}:`, settings)
  for (const [subject, settings] of snapshot.subjects) applySettings(state, subject, settings)
}

/** What is not set stays so. A level or a mode that this registry does not know is left out. */
function applySettings(
  { settings }: RegistryState,
  scope: string,
  { compatibility, mode, config }: RegistrySettings,
): void {
  const { compatibility: _, compatibilityLevel: __, ...rest } = config ?? {}
  const level = compatibilityLevels.find(each => each === compatibility)
  const fields = level === undefined ? rest : { ...rest, compatibility: level }
  if (Object.keys(fields).length > 0) settings.updateConfig(scope, fields)
  const known = modes.find(each => each === mode)
  if (known !== undefined) settings.setMode(scope, known)
}
