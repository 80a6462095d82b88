import { type FieldPath, isMap, type Problem } from '../../config/problem.ts'
import type { ResourceSpec } from '../crd/resource.ts'

/** A section of a spec that another object has. */
export interface ReferredSection {
  value: Record<string, unknown>
  /** What messages call the section instead of `spec.storage`. */
  at: FieldPath
}

/** The sections of a spec that come from other objects, by their names in the spec. */
export type References = Partial<Record<'storage' | 'kafkaCluster', ReferredSection>>

/** An object that a spec refers to, and whether it can be used. */
export interface ReferenceState {
  name: string
  status: 'True' | 'False' | 'Unknown'
  reason: string
  message: string
  /** Undefined where the object does not have it. */
  section?: ReferredSection
}

/** The section as the spec or the object that it refers to has it, and where a reader finds it. */
export function sectionOf(name: string, spec: ResourceSpec, references: References): { value: unknown; at: FieldPath } {
  const referred = name === 'storage' || name === 'kafkaCluster' ? references[name] : undefined
  return referred ?? { value: spec[name], at: ['spec', name] }
}

/** The API server checks the same; a resource may be older than the rule. */
export function checkReferences(spec: ResourceSpec): Problem[] {
  const both = (name: 'storage' | 'kafkaCluster', ref: 'storageRef' | 'clusterRef'): Problem[] => {
    if (spec[name] === undefined || spec[ref] === undefined) return []
    return [about(ref, `cannot be used together with spec.${name}; remove one of them`)]
  }
  const isAlone = spec.kafkaUserRef !== undefined && spec.clusterRef === undefined
  return [
    ...both('storage', 'storageRef'),
    ...both('kafkaCluster', 'clusterRef'),
    ...(isAlone ? [about('kafkaUserRef', 'is for spec.clusterRef; use spec.kafkaCluster.security')] : []),
  ]
}

function about(name: string, wrong: string): Problem {
  return { path: ['spec', name], about: 'field', wrong }
}

/** The section of a KafkaBackupStorage. */
export function storageSection(name: string, spec: ResourceSpec): ReferredSection {
  const { storage } = spec
  return { value: isMap(storage) ? storage : {}, at: [`KafkaBackupStorage ${name}: spec`, 'storage'] }
}
