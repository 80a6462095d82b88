import {
  resolveReference,
  type SchemaReference,
  type SchemaVersion,
  splitSubject,
} from '../../../archive/registry-model.ts'
import type { TargetTraits } from '../plan/target-traits.ts'

type Contexts = Pick<TargetTraits, 'hasContexts'>

/** Pure. As a registry understands them: to one without contexts `:.eu:a` is a plain name, and nothing is relative. */
export function sentReferences(
  references: readonly SchemaReference[],
  referrer: string,
  { hasContexts }: Contexts,
): readonly SchemaReference[] {
  if (hasContexts) return references
  return references.map(one => ({ ...one, subject: resolveReference(one.subject, referrer) }))
}

/** Pure. The other way: what such a registry calls `a` is `a` of the default context, whoever refers to it. */
export function heldReferences(version: SchemaVersion, { hasContexts }: Contexts): SchemaVersion {
  const { subject, references } = version
  if (hasContexts || references.length === 0 || splitSubject(subject).name === subject) return version
  const absolute = (name: string) => (splitSubject(name).name === name ? `:.:${name}` : name)
  return { ...version, references: references.map(one => ({ ...one, subject: absolute(one.subject) })) }
}
