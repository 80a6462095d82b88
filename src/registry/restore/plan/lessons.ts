import { createHash } from 'node:crypto'
import type { RegistrySettings, SchemaVersion } from '../../../archive/registry-model.ts'
import type { Scope } from './restore-step.ts'
import { canonical, isSame } from './same-schema.ts'

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
  /** The version by which the registry holds another one of the subject; keys as in `refused`. */
  heldAs: ReadonlyMap<string, HeldAs>
  /** Versions that cannot be marked as deleted, as `subject@version` of the target, and why. */
  undeletable: ReadonlyMap<string, string>
  settings: readonly RefusedSetting[]
}

export interface HeldAs {
  version: number
  /** Of both schemas: a later run may find others under these names, as when the registry was set up again. */
  print: string
}

/** A level with a configuration, or a mode, that a scope does not take. */
export interface RefusedSetting {
  scope: Scope
  setting: { config: Pick<RegistrySettings, 'compatibility' | 'config'> } | { mode: string | null }
  reason: string
  /** The registry answered with success, and did not change it. */
  isIgnored: boolean
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

/** What is known of it, where the scope does not take the setting. */
export function findRefusal(
  { settings }: Pick<Lessons, 'settings'>,
  scope: Scope,
  setting: RefusedSetting['setting'],
): RefusedSetting | undefined {
  return settings.find(one => isSame({ ...one.scope }, { ...scope }) && isSame(one.setting, setting))
}

type Content = Pick<SchemaVersion, 'schemaType' | 'schema' | 'references'>

/** Pure. The same for the same two schemas, the one of the backup and the one by which the registry holds it. */
export function printHeld(ours: Content, theirs: Content): string {
  const parts = [ours, theirs].map(({ schemaType, schema, references }) => [
    ...[schemaType, schema],
    references.map(({ name, subject, version }) => [name, subject, version]),
  ])
  return createHash('sha256').update(canonical(parts)).digest('hex').slice(0, 16)
}
