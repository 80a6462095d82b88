import { type FieldPath, isMap, type Problem } from '../../config/problem.ts'
import type { ResourceSpec } from '../crd/resource.ts'

/** A section of a spec that another object has. */
export interface ReferredSection {
  value: Record<string, unknown>
  /** What messages call the section instead of `spec.storage`. */
  at: FieldPath
}

/** The sections of a spec that come from other objects, by their names in the spec. */
export type References = Partial<Record<'storage', ReferredSection>>

/** The section as the spec or the object that it refers to has it, and where a reader finds it. */
export function sectionOf(name: string, spec: ResourceSpec, references: References): { value: unknown; at: FieldPath } {
  const referred = name === 'storage' ? references.storage : undefined
  return referred ?? { value: spec[name], at: ['spec', name] }
}

/** The API server checks the same; a resource may be older than the rule. */
export function checkReferences({ storage, storageRef }: ResourceSpec): Problem[] {
  if (storage === undefined || storageRef === undefined) return []
  const wrong = 'cannot be used together with spec.storage; remove one of them'
  return [{ path: ['spec', 'storageRef'], about: 'field', wrong }]
}

/** The section of a KafkaBackupStorage. */
export function storageSection(name: string, spec: ResourceSpec): ReferredSection {
  const { storage } = spec
  return { value: isMap(storage) ? storage : {}, at: [`KafkaBackupStorage ${name}: spec`, 'storage'] }
}
