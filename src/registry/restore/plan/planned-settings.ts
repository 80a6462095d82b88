import {
  DEFAULT_CONTEXT,
  type RegistrySettings,
  type RegistrySnapshot,
  splitSubject,
  unset,
} from '../../../archive/registry-model.ts'
import type { RestoreJournal, RestoreStep, Scope } from './restore-step.ts'
import { isSame } from './same-schema.ts'
import type { TargetTraits } from './target-traits.ts'

export const globalScope: Scope = { kind: 'global' }
/** The name of the scope whose settings apply to all contexts. */
export const EVERY_CONTEXT = '.__GLOBAL'

/**
 * The settings of a registry while a plan is made: as they were before the restore, and as they are after the steps so
 * far. Steps that would change nothing are not made.
 */
export class PlannedSettings {
  readonly #original = new Map<string, RegistrySettings>()
  readonly #found: ReadonlyMap<string, RegistrySettings>
  readonly #present = new Map<string, RegistrySettings>()
  readonly #touched = new Map<string, Scope>()
  /** What the registry may have dropped on its own account. */
  readonly #doubtful = new Set<string>()
  readonly #traits: Pick<TargetTraits, 'canDeleteModes' | 'fillsLevels'>

  constructor(
    target: RegistrySnapshot,
    unfinished: RestoreJournal | undefined,
    traits: Pick<TargetTraits, 'canDeleteModes' | 'fillsLevels'>,
  ) {
    this.#traits = traits
    this.#present.set(keyOf(globalScope), target.global)
    for (const [context, settings] of target.contextSettings) this.#present.set(keyOf(contextScope(context)), settings)
    for (const [subject, settings] of target.subjects) this.#present.set(keyOf(subjectScope(subject)), settings)
    for (const [key, settings] of this.#present) this.#original.set(key, settings)
    this.#found = new Map(this.#present)
    const notRead = new Set(unfinished?.modesNotRead?.map(subject => keyOf(subjectScope(subject))))
    for (const { scope, compatibility, mode, config } of unfinished?.settings ?? []) {
      const found = notRead.has(keyOf(scope)) ? this.present(scope).mode : null
      this.#original.set(keyOf(scope), { compatibility, mode: mode ?? found, config })
      this.#touched.set(keyOf(scope), scope)
    }
  }

  original(scope: Scope): RegistrySettings {
    return this.#original.get(keyOf(scope)) ?? unset
  }

  /** As the registry was read, before any step. */
  found(scope: Scope): RegistrySettings {
    return this.#found.get(keyOf(scope)) ?? unset
  }

  present(scope: Scope): RegistrySettings {
    return this.#present.get(keyOf(scope)) ?? unset
  }

  /** The mode that counts for a subject; its own where it has one. */
  effectiveMode(subject: string): { mode: string; scope: Scope } {
    for (const scope of [subjectScope(subject), ...outerScopes(subject)]) {
      const { mode } = this.present(scope)
      if (mode !== null) return { mode, scope }
    }
    return { mode: 'READWRITE', scope: globalScope }
  }

  /** The level that counts for a subject before the restore; null where it is the registry's own default. */
  effectiveLevel(subject: string): string | null {
    const scopes = [subjectScope(subject), ...outerScopes(subject)]
    return scopes.map(scope => this.original(scope).compatibility).find(level => level !== null) ?? null
  }

  setMode(scope: Scope, mode: string | null, force: boolean): RestoreStep[] {
    const present = this.present(scope)
    const isDoubtful = this.#doubtful.delete(`mode of ${keyOf(scope)}`) && present.mode !== null
    if (present.mode === mode && !isDoubtful) return []
    // A registry always has a mode, and old registries cannot unset any mode.
    const isDeleted = mode === null && scope.kind !== 'global' && this.#traits.canDeleteModes
    this.#change(scope, { ...present, mode: isDeleted ? null : (mode ?? 'READWRITE') })
    if (isDeleted) return [{ type: 'delete-mode', scope }]
    return present.mode === (mode ?? 'READWRITE') && !isDoubtful
      ? []
      : [{ type: 'set-mode', scope, mode: mode ?? 'READWRITE', force }]
  }

  setConfig(
    scope: Scope,
    { compatibility, config }: Pick<RegistrySettings, 'compatibility' | 'config'>,
  ): RestoreStep[] {
    const present = this.present(scope)
    const isSet = present.compatibility !== null || present.config !== null
    const isDoubtful = this.#doubtful.delete(`config of ${keyOf(scope)}`) && isSet
    const isFilled = this.#traits.fillsLevels && compatibility === null && config !== null
    const isLevelSame = present.compatibility === compatibility || (isFilled && present.compatibility !== null)
    if (isLevelSame && isSame(present.config, config) && !isDoubtful) return []
    this.#change(scope, { ...present, compatibility, config })
    if (compatibility === null && config === null) return [{ type: 'delete-config', scope }]
    const isDropped = Object.keys(present.config ?? {}).some(name => config?.[name] === undefined)
    const clears = isDropped || (present.compatibility !== null && compatibility === null)
    return [{ type: 'set-config', scope, compatibility, config, clears }]
  }

  /** A step may change it that is not planned for certain: the journal has it as it was. */
  mark(scope: Scope): void {
    this.#touched.set(keyOf(scope), scope)
  }

  /** The settings of a subject may be gone or not: the next step that says what they are is made in any case. */
  doubt(subject: string): void {
    for (const kind of ['config', 'mode']) this.#doubtful.add(`${kind} of ${keyOf(subjectScope(subject))}`)
  }

  /** A registry drops the settings of a subject with its last version. */
  drop(subject: string): void {
    const scope = subjectScope(subject)
    if (this.#present.has(keyOf(scope))) this.#change(scope, unset)
  }

  /** Every scope that steps have changed, those of an unfinished run included. */
  get touched(): readonly Scope[] {
    return [...this.#touched.values()]
  }

  /** These, as they were. */
  get journal(): RestoreJournal['settings'] {
    return [...this.#touched.values()].map(scope => ({ scope, ...this.original(scope) }))
  }

  #change(scope: Scope, settings: RegistrySettings): void {
    this.#touched.set(keyOf(scope), scope)
    this.#present.set(keyOf(scope), settings)
  }
}

/** What a registry has for a scope itself. */
export function settingsOf({ global, contextSettings, subjects }: RegistrySnapshot, scope: Scope): RegistrySettings {
  switch (scope.kind) {
    case 'global':
      return global
    case 'context':
      return contextSettings.get(scope.context) ?? unset
    case 'subject':
      return subjects.get(scope.subject) ?? unset
    default:
      return scope satisfies never
  }
}

export function subjectScope(subject: string): Scope {
  return { kind: 'subject', subject }
}

export function contextScope(context: string): Scope {
  return context === DEFAULT_CONTEXT ? globalScope : { kind: 'context', context }
}

/**
 * Where a subject without settings has them from, the nearest first. Those of the registry are of the default context; the
 * other ones have their own, and `.__GLOBAL` comes last.
 */
export function outerScopes(subject: string): Scope[] {
  return [contextScope(splitSubject(subject).context), contextScope(EVERY_CONTEXT)]
}

function keyOf(scope: Scope): string {
  return scope.kind === 'global'
    ? 'global'
    : scope.kind === 'context'
      ? `context ${scope.context}`
      : `subject ${scope.subject}`
}
