import {
  type RegistrySnapshot,
  resolveReference,
  type SchemaReference,
  type SchemaVersion,
  splitSubject,
  versionKey,
} from '../../../archive/registry-model.ts'
import type { RegistryRestoreOptions } from './restore-options.ts'

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
