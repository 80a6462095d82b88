import type { RegistrySnapshot } from '../model.ts'
import { checkAbilities, checkMapping, checkReferrers, tellLosses, tellUndecodable } from './check-target.ts'
import { type Decision, type Decisions, decideVersions, isMade } from './decide-versions.ts'
import { mergeTwins } from './merge-twins.ts'
import { orderVersions } from './order-versions.ts'
import { checkForcedIds, planIds } from './plan-ids.ts'
import { passingLevel } from './plan-settings.ts'
import { planSteps } from './plan-steps.ts'
import type { RegistryRestoreOptions } from './restore-options.ts'
import type { Conflict, Note, PlannedVersion, RegistryPlan } from './restore-step.ts'
import { SettingsBook } from './settings-book.ts'
import { TargetIndex } from './target-index.ts'
import { listWanted, type Wanted } from './wanted-version.ts'

/**
 * Pure. All that has to be written to a registry to bring the schemas of a backup there, in order; or all that stands in the
 * way of it. `target` is an inventory of the registry, with what is marked as deleted there.
 */
export function planRegistryRestore(
  backup: RegistrySnapshot,
  target: RegistrySnapshot,
  options: RegistryRestoreOptions,
): RegistryPlan {
  const wanted = listWanted(backup, options)
  const mixed = checkMapping(wanted)
  if (mixed.length > 0) return { ...emptyPlan(), conflicts: mixed }
  const book = new SettingsBook(target, options.unfinished, options.traits.canDeleteModes)
  const index = new TargetIndex(target, options)
  const twins = options.forceIds ? new Map<Wanted, Wanted>() : mergeTwins(wanted)
  const { order, notes: circular } = orderWanted(wanted, twins, options.forceIds)
  const canFill = (subject: string) =>
    options.forceRegister || (passingLevel(options) ?? book.effectiveLevel(subject)) === 'NONE'
  const decisions = decideVersions(order, twins, index, { ...options, canFill })
  const ids = planIds(decisions.all, target, options)
  const conflicts = [...decisions.conflicts, ...ids.conflicts, ...checkWrites(decisions, target, options)]
  const planned =
    options.strategy === 'lookup'
      ? { steps: [], conflicts: [], notes: [] }
      : planSteps({ backup, target, decisions, index, book }, options)
  const all = [...conflicts, ...planned.conflicts]
  return {
    conflicts: all,
    steps: all.length === 0 ? planned.steps : [],
    versions: decisions.all.map(one => describe(one, options.forceIds)),
    notes: [...circular, ...decisions.notes, ...ids.notes, ...tellWrites(decisions, target, options), ...planned.notes],
    knownIds: ids.known,
    unmappedIds: ids.unmapped,
    textsToCompare: index.textsToCompare,
  }
}

/** What cannot be brought in any order is left out, and told: a registry cannot have come to hold it by itself. */
function orderWanted(
  wanted: readonly Wanted[],
  twins: ReadonlyMap<Wanted, Wanted>,
  forceIds: boolean,
): { order: Wanted[]; notes: Note[] } {
  const standIns = new Map([...twins].map(([twin, standIn]) => [twin.key, standIn.key]))
  const laterTwins = forceIds ? findLaterTwins(wanted) : new Map<string, string[]>()
  const nodes = wanted
    .filter(one => !twins.has(one))
    .map(one => ({
      wanted: one,
      key: one.key,
      subject: one.subject,
      version: one.source.version,
      id: one.source.id,
      needs: [...one.references.map(({ key }) => standIns.get(key) ?? key), ...(laterTwins.get(one.key) ?? [])],
    }))
  const { order, circular } = orderVersions(nodes)
  return {
    order: order.map(node => node.wanted),
    notes: circular.map(({ subject, version }) => {
      const message = `version ${version} of subject ${subject} refers to itself by way of others, and is not restored`
      return { kind: 'lossy', subject, message }
    }),
  }
}

/**
 * By deleted version that live ones refer to: the later ones of its subject with its ID. To register one of them removes
 * what is marked as deleted before it with the same ID. It is marked as soon as it is there, so that they come first.
 */
function findLaterTwins(wanted: readonly Wanted[]): Map<string, string[]> {
  const live = new Set(
    wanted.filter(({ source }) => !source.isDeleted).flatMap(({ references }) => references.map(({ key }) => key)),
  )
  const later = new Map<string, string[]>()
  for (const group of Map.groupBy(wanted, ({ subject, source }) => `${source.id} ${subject}`).values()) {
    for (const one of group.filter(({ key, source }) => source.isDeleted && live.has(key))) {
      const keys = group.filter(({ source }) => source.version > one.source.version).map(({ key }) => key)
      if (keys.length > 0) later.set(one.key, keys)
    }
  }
  return later
}

function checkWrites(
  { all, deleted }: Decisions,
  target: RegistrySnapshot,
  options: RegistryRestoreOptions,
): Conflict[] {
  return [
    ...checkAbilities(all.filter(isMade), options),
    ...checkForcedIds(all, target, deleted, options),
    ...checkReferrers(target, deleted),
  ]
}

function tellWrites({ all, deleted }: Decisions, target: RegistrySnapshot, options: RegistryRestoreOptions): Note[] {
  const held = all.filter(({ action }) => action !== 'leave' && action !== 'conflict')
  return [...tellUndecodable(target, deleted, all, options.forceIds), ...tellLosses(held, options)]
}

function describe({ wanted, action, version, theirs }: Decision, forceIds: boolean): PlannedVersion {
  const { subject, version: number, id } = wanted.source
  return {
    source: { subject, version: number, id },
    subject: wanted.subject,
    version,
    id: theirs?.id ?? (forceIds && isMade({ action }) ? id : null),
    action,
  }
}

function emptyPlan(): RegistryPlan {
  return {
    conflicts: [],
    steps: [],
    versions: [],
    notes: [],
    knownIds: new Map(),
    unmappedIds: [],
    textsToCompare: [],
  }
}
