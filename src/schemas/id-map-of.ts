import type { GuidPair, IdPair } from '../registry/ids/id-map.ts'
import { createIdMap, type IdMap } from '../registry/ids/id-map.ts'
import { type RegistrySnapshot, splitSubject, versionKey } from '../registry/model.ts'
import type { RegistryPlan } from '../registry/plan/restore-step.ts'

/** An ID above all that registries give: it stands for those that are not given yet. */
const NOT_GIVEN_YET = 0x7fff_ffff

/** Which ID of the target stands for which of the source, as a plan against the target knows it. */
export function idPairsOf({ knownIds }: Pick<RegistryPlan, 'knownIds'>): IdPair[] {
  return [...knownIds].map(([key, target]) => {
    const { context, name } = splitSubject(key)
    return { context, source: Number(name), target }
  })
}

/** The map by which records are rewritten: every ID has been seen in the target. */
export function idMapOf(plan: RegistryPlan, backup: RegistrySnapshot, target: RegistrySnapshot): IdMap {
  return createIdMap(idPairsOf(plan), guidPairsOf(plan, backup, target))
}

/** The same before schemas are registered: what gets an ID then has one that no record can have by chance. */
export function provisionalIdMap(plan: RegistryPlan, backup: RegistrySnapshot, target: RegistrySnapshot): IdMap {
  const coming = plan.versions
    .filter(({ id, version }) => id === null && version !== null)
    .map(({ source }) => ({ context: splitSubject(source.subject).context, source: source.id, target: NOT_GIVEN_YET }))
  return createIdMap([...coming, ...idPairsOf(plan)], guidPairsOf(plan, backup, target))
}

function guidPairsOf({ versions }: RegistryPlan, backup: RegistrySnapshot, target: RegistrySnapshot): GuidPair[] {
  const theirs = new Map(target.versions.map(one => [versionKey(one.subject, one.version), one.guid]))
  const ours = new Map(backup.versions.map(one => [versionKey(one.subject, one.version), one.guid]))
  return versions.flatMap(({ source, subject, version }) => {
    const guid = ours.get(versionKey(source.subject, source.version))
    const other = version === null ? null : theirs.get(versionKey(subject, version))
    return guid && other ? [{ source: guid, target: other }] : []
  })
}
