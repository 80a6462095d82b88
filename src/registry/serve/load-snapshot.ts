import type { RegistrySettings, RegistrySnapshot } from '../../archive/registry-model.ts'
import { splitSubject } from '../../archive/registry-model.ts'
import { compatibilityLevels } from '../avro/compatibility.ts'
import { emptyState, type RegistryOptions, type RegistryState } from './registry-state.ts'
import { GLOBAL_SCOPE, modes } from './settings-book.ts'

/** An empty registry, or one that holds what a snapshot holds, ids, numbers and settings and all, unjudged. */
export function createState(options: RegistryOptions, snapshot: RegistrySnapshot | undefined): RegistryState {
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
