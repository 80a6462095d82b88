import { type RegistrySnapshot, type SchemaVersion, splitSubject } from './registry-model.ts'
import type { RegistrySubject } from './registry-section.ts'

/**
 * Pure. The schemas of two snapshots of a registry, one after the other. The later one alone where it has all of the earlier one; else the
 * earlier one with what the later one has in addition. Undefined where the same version or ID is another schema: the
 * registry is not the same any more.
 */
export function joinSnapshots(earlier: RegistrySnapshot, later: RegistrySnapshot): RegistrySnapshot | undefined {
  if (contradict(earlier.versions, later.versions)) return undefined
  const inLater = new Set(later.versions.map(nameOf))
  if (earlier.versions.every(one => inLater.has(nameOf(one)))) return later
  const inEarlier = new Set(earlier.versions.map(nameOf))
  const added = later.versions.filter(one => !inEarlier.has(nameOf(one)))
  return {
    ...earlier,
    contexts: [...new Set([...earlier.contexts, ...later.contexts])],
    versions: [...earlier.versions, ...added],
    subjects: new Map([...later.subjects, ...earlier.subjects]),
    contextSettings: new Map([...later.contextSettings, ...earlier.contextSettings]),
    ...((earlier.leftOut ?? later.leftOut) && { leftOut: [...(earlier.leftOut ?? []), ...(later.leftOut ?? [])] }),
    maxIds: new Map([...later.maxIds, ...highest(earlier.maxIds, later.maxIds)]),
  }
}

/** What tells schemas apart; the hash of a text does as well as the text. */
type Told = Pick<SchemaVersion, 'subject' | 'version' | 'id' | 'schema'>

/** Pure. The same for two manifests, without reading their schemas. */
export function areContradicting(earlier: readonly RegistrySubject[], later: readonly RegistrySubject[]): boolean {
  return contradict(earlier.flatMap(toldOf), later.flatMap(toldOf))
}

function toldOf({ name: subject, versions }: RegistrySubject): Told[] {
  return versions.map(({ version, id, blake3 }) => ({ subject, version, id, schema: blake3 }))
}

function nameOf({ subject, version }: Pick<Told, 'subject' | 'version'>): string {
  return JSON.stringify([subject, version])
}

/** Whether the same version or ID is another schema. */
function contradict(earlier: readonly Told[], later: readonly Told[]): boolean {
  const contents = new Map(earlier.map(one => [nameOf(one), contentOf(one)]))
  const texts = Map.groupBy(earlier, idOf)
  return later.some(one => {
    const isOther = (contents.get(nameOf(one)) ?? contentOf(one)) !== contentOf(one)
    return isOther || texts.get(idOf(one))?.some(({ schema }) => schema === one.schema) === false
  })
}

function contentOf({ id, schema }: Told): string {
  return JSON.stringify([id, schema])
}

/** An ID means a schema within its context only. */
function idOf({ subject, id }: Told): string {
  return JSON.stringify([splitSubject(subject).context, id])
}

function highest(one: ReadonlyMap<string, number>, other: ReadonlyMap<string, number>): [string, number][] {
  return [...one].map(([context, id]) => [context, Math.max(id, other.get(context) ?? id)])
}
