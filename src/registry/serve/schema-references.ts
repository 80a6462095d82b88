import { DEFAULT_CONTEXT, type SchemaReference, splitSubject } from '../../archive/registry-model.ts'
import { faults } from './registry-fault.ts'
import { qualifySubject } from './subject-name.ts'
import type { StoredVersion, VersionIndex } from './version-index.ts'

const LATEST = -1

/**
 * With the number in place of -1, which is the newest live version. A number may be that of a version that is marked as
 * deleted. Throws 42201 for what is not there.
 */
export function pinReferences(
  references: readonly SchemaReference[],
  referrer: string,
  index: VersionIndex,
): SchemaReference[] {
  return references.map(reference => {
    const { version } = findReference(reference, referrer, index)
    return { ...reference, version }
  })
}

/** The texts that a schema needs, each after those that it needs itself and none twice. */
export function dependenciesOf(
  references: readonly SchemaReference[],
  referrer: string,
  index: VersionIndex,
): string[] {
  const found = new Set<StoredVersion>()
  const visit = (each: readonly SchemaReference[], from: string) => {
    for (const reference of each) {
      const version = findReference(reference, from, index)
      if (found.has(version)) continue
      visit(version.references, version.subject)
      found.add(version)
    }
  }
  visit(references, referrer)
  return [...found].map(({ schema }) => schema)
}

function findReference({ subject, version }: SchemaReference, referrer: string, index: VersionIndex): StoredVersion {
  // Out of another context the default one has no name: `:.:a` is read as a name of the referrer's context.
  const isLost = subject.startsWith(':.:') && splitSubject(referrer).context !== DEFAULT_CONTEXT
  if (isLost) throw faults.referenceNotFound(`:${splitSubject(referrer).context}:${subject}`, version)
  const qualified = qualifySubject(subject, referrer)
  const found = version === LATEST ? index.latest(qualified) : index.get(qualified, version)
  if (!found) throw faults.referenceNotFound(subject, version)
  return found
}
