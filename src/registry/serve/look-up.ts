import { subjectsToTry } from './find-versions.ts'
import { parseSchema } from './parse-schema.ts'
import { faults } from './registry-fault.ts'
import type { RegistryState } from './registry-state.ts'
import { identityOf, type SchemaContent } from './schema-identity.ts'
import { dependenciesOf, pinReferences } from './schema-references.ts'
import type { Including, StoredVersion } from './version-index.ts'

/** The version of a subject that holds a schema, the newest of several. Throws 40401, 40403, or 42201 for no schema. */
export function lookUpSchema(
  state: RegistryState,
  subject: string,
  content: SchemaContent,
  including: 'live' | 'all',
): StoredVersion {
  const subjects = subjectsToTry(state, subject).filter(each => state.versions.versions(each, including).length > 0)
  if (subjects.length === 0) throw faults.subjectNotFound(subject)
  for (const each of subjects) {
    const references = pinReferences(content.references, each, state.versions)
    const pinned = { ...content, references }
    parseSchema(pinned, dependenciesOf(references, each, state.versions), false)
    const found = findContent(state, each, pinned, including) ?? findInherited(state, each, pinned, including)
    if (found) return found
  }
  throw faults.schemaNotFound()
}

export function findContent(
  { versions }: RegistryState,
  subject: string,
  content: SchemaContent,
  including: Including,
): StoredVersion | undefined {
  const identity = identityOf(content)
  return versions
    .versions(subject, including)
    .reverse()
    .find(version => version.identity === identity)
}

/** A schema that is asked for without metadata and rules is found in a version that has inherited some. */
function findInherited(
  { versions }: RegistryState,
  subject: string,
  content: SchemaContent,
  including: Including,
): StoredVersion | undefined {
  if (content.metadata || content.ruleSet) return undefined
  const identity = identityOf(content)
  return versions
    .versions(subject, including)
    .reverse()
    .filter(version => version.metadata || version.ruleSet)
    .find(version => identityOf({ ...version, metadata: null, ruleSet: null }) === identity)
}
