import { type RegistrySnapshot, splitSubject, versionKey } from '../../archive/registry-model.ts'
import type { GuidPair, IdPair } from '../ids/id-map.ts'
import { createIdMap, type IdMap } from '../ids/id-map.ts'
import type { RegistryPlan } from './plan/restore-step.ts'

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
  return createIdMap(idPairsOf(plan), guidPairsOf(plan, backup, target, 'none'))
}

/** The same before schemas are registered: what gets an ID then has one that no record can have by chance. */
export function provisionalIdMap(plan: RegistryPlan, backup: RegistrySnapshot, target: RegistrySnapshot): IdMap {
  const coming = plan.versions
    .filter(({ id, version }) => id === null && version !== null)
    .map(({ source }) => ({ context: splitSubject(source.subject).context, source: source.id, target: NOT_GIVEN_YET }))
  return createIdMap(
    [...coming, ...idPairsOf(plan)],
    guidPairsOf(plan, backup, target, givesGuids(target) ? 'same' : 'none'),
  )
}

/** An empty registry does not show it: what it gives is known when the schemas are registered, before any record is written. */
function givesGuids({ versions }: RegistrySnapshot): boolean {
  return versions.length === 0 || versions.some(({ guid }) => guid !== null)
}

/**
 * Every GUID that the target has, and for those of the backup which one stands for it: null is none, undefined is one that
 * is not registered yet.
 */
function guidPairsOf(
  { versions }: RegistryPlan,
  backup: RegistrySnapshot,
  target: RegistrySnapshot,
  notYet: 'same' | 'none',
): GuidPair[] {
  const theirs = new Map(target.versions.map(one => [versionKey(one.subject, one.version), one.guid]))
  const ours = new Map(backup.versions.map(one => [versionKey(one.subject, one.version), one.guid]))
  const present = target.versions.flatMap(({ guid }) => (guid ? [{ source: guid, target: guid }] : []))
  const carried = versions.flatMap(({ source, subject, version }): GuidPair[] => {
    const guid = ours.get(versionKey(source.subject, source.version))
    if (!guid) return []
    const found = version === null ? null : theirs.get(versionKey(subject, version))
    return [{ source: guid, target: found === undefined && notYet === 'same' ? guid : (found ?? null) }]
  })
  return [...present, ...carried]
}
