import {
  type RegistrySnapshot,
  resolveReference,
  type SchemaReference,
  type SchemaVersion,
  splitSubject,
  versionKey,
} from '../../../archive/registry-model.ts'
import type { RegistryRestoreOptions } from './restore-options.ts'
import { canonical, type KeptParts, withoutDocs } from './same-schema.ts'

/** A version of the backup under the names that it has on the target, still with the numbers of the source. */
export interface Wanted {
  source: SchemaVersion
  /** `subject@version` with the target's name and the source's number. */
  key: string
  subject: string
  references: readonly WantedReference[]
}

export interface WantedReference extends SchemaReference {
  /** As `Wanted.key`, with the context. */
  key: string
  /** The subject it is on the target, with the context. */
  target: string
}

/** Pure. What is to be on the target, in no order. References follow the mapping of subjects. */
export function listWanted(
  backup: RegistrySnapshot,
  { subjectMapping, schemaTypes }: Pick<RegistryRestoreOptions, 'subjectMapping' | 'schemaTypes'>,
): Wanted[] {
  const rename = (subject: string) => subjectMapping.get(subject) ?? subject
  return backup.versions
    .filter(({ schemaType }) => schemaTypes.includes(schemaType))
    .map(source => {
      const subject = rename(source.subject)
      const references = source.references.map(one => followReference(one, source.subject, subject, rename))
      return { source, key: versionKey(subject, source.version), subject, references }
    })
}

/** A name without a context is one of the referrer's context. It is put as it was where the mapping leaves it alone. */
function followReference(
  reference: SchemaReference,
  from: string,
  to: string,
  rename: (subject: string) => string,
): WantedReference {
  const source = resolveReference(reference.subject, from)
  const target = rename(source)
  const key = versionKey(target, reference.version)
  const { context, name } = splitSubject(target)
  const isMoved = splitSubject(from).context !== splitSubject(to).context
  if (target === source && !isMoved) return { ...reference, key, target }
  const subject = context === splitSubject(to).context ? name : `:${context}:${name}`
  return { ...reference, subject, key, target }
}

/** Pure. What a job restores of a snapshot, under the names that it gets there; references and aliases follow. */
export function asOnTarget(
  snapshot: RegistrySnapshot,
  options: Pick<RegistryRestoreOptions, 'subjectMapping' | 'schemaTypes'>,
): RegistrySnapshot {
  const rename = (subject: string) => options.subjectMapping.get(subject) ?? subject
  const wanted = listWanted(snapshot, options)
  const kept = new Set(wanted.map(({ source }) => source.subject))
  const left = new Set(snapshot.versions.map(({ subject }) => subject).filter(subject => !kept.has(subject)))
  return {
    ...snapshot,
    versions: wanted.map(({ source, subject, references }) => ({
      ...source,
      subject,
      references: references.map(one => ({ name: one.name, subject: one.subject, version: one.version })),
    })),
    subjects: new Map(
      [...snapshot.subjects]
        .filter(([subject]) => !left.has(subject))
        .map(([subject, settings]) => {
          const { config } = settings
          if (typeof config?.alias !== 'string') return [rename(subject), settings]
          return [rename(subject), { ...settings, config: { ...config, alias: rename(config.alias) } }]
        }),
    ),
  }
}

/**
 * Pure. Versions of a subject that are one schema: a registry that numbers what it registers keeps it once. Each maps to the
 * one that represents it: the highest that is live, else the highest.
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
