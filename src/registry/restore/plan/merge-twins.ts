import { withoutDocs } from './avro-docs.ts'
import { canonical, type KeptParts } from './same-schema.ts'
import type { Wanted } from './wanted-version.ts'

/**
 * Pure. Versions of a subject that are one schema: a registry that numbers what it registers keeps it once. Each maps to the
 * one that stands for it: the highest that is live, else the highest.
 */
export function mergeTwins(wanted: readonly Wanted[], kept: KeptParts, ignoresDocs: boolean): Map<Wanted, Wanted> {
  const twins = new Map<Wanted, Wanted>()
  const groups = Map.groupBy(wanted, ({ subject, source, references }) =>
    canonical([
      subject,
      source.schemaType,
      ignoresDocs ? withoutDocs(source) : source.schema,
      references.map(({ name, key }) => [name, key]),
      kept.metadata ? source.metadata : null,
      kept.ruleSet ? source.ruleSet : null,
    ]),
  )
  for (const group of groups.values()) {
    const standIn = group.reduce((best, one) => (isBetter(one, best) ? one : best))
    for (const one of group) if (one !== standIn) twins.set(one, standIn)
  }
  return twins
}

function isBetter({ source: a }: Wanted, { source: b }: Wanted): boolean {
  if (a.isDeleted !== b.isDeleted) return b.isDeleted
  return a.version > b.version
}
