import type { RegistrySettings } from '../model.ts'
import type { Scope } from './restore-step.ts'
import { isSame } from './same-schema.ts'

/** A part of a schema that a registry may drop without an error. */
export type ContractPart = 'metadata' | 'ruleSet'

/**
 * What answers of the target have shown that neither its kind nor its version tells: what it refuses, and what it takes
 * and does not hold. A plan that is made with them asks for none of it again, and reports it as lost.
 */
export interface Lessons {
  drops: readonly ContractPart[]
  /** Registrations that were refused, as `subject@version` with the number of the source. */
  refused: ReadonlyMap<string, string>
  /** The number of the version by which the registry holds another one of the subject; keys as in `refused`. */
  heldAs: ReadonlyMap<string, number>
  /** Versions that cannot be marked as deleted, as `subject@version` of the target, and why. */
  undeletable: ReadonlyMap<string, string>
  settings: readonly RefusedSetting[]
}

/** A level with a configuration, or a mode, that a scope does not take. */
export interface RefusedSetting {
  scope: Scope
  setting: { config: Pick<RegistrySettings, 'compatibility' | 'config'> } | { mode: string | null }
  reason: string
}

export const noLessons: Lessons = {
  drops: [],
  refused: new Map(),
  heldAs: new Map(),
  undeletable: new Map(),
  settings: [],
}

export function mergeLessons(a: Lessons, b: Lessons): Lessons {
  return {
    drops: [...new Set([...a.drops, ...b.drops])],
    refused: new Map([...a.refused, ...b.refused]),
    heldAs: new Map([...a.heldAs, ...b.heldAs]),
    undeletable: new Map([...a.undeletable, ...b.undeletable]),
    settings: [...a.settings, ...b.settings.filter(one => !findRefusal(a, one.scope, one.setting))],
  }
}

export function countLessons({ drops, refused, heldAs, undeletable, settings }: Lessons): number {
  return drops.length + refused.size + heldAs.size + undeletable.size + settings.length
}

/** The reason, where the scope does not take the setting. */
export function findRefusal(
  { settings }: Pick<Lessons, 'settings'>,
  scope: Scope,
  setting: RefusedSetting['setting'],
): string | undefined {
  return settings.find(one => isSame({ ...one.scope }, { ...scope }) && isSame(one.setting, setting))?.reason
}
