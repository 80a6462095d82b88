import type { RegistrySnapshot } from '../../../archive/registry-model.ts'
import {
  checkAbilities,
  checkContextReferences,
  checkMapping,
  checkNames,
  checkReferrers,
  describeDeleted,
  describeUndecodable,
  listLosses,
} from './check-target.ts'
import { type Decision, type Decisions, decideVersions, isMade } from './decide-versions.ts'
import { describeCircular, listNotRestored, orderWanted } from './order-versions.ts'
import { checkForcedIds, knownId, listFreed, planIds } from './plan-ids.ts'
import { levelDuring } from './plan-settings.ts'
import { planSteps } from './plan-steps.ts'
import { PlannedSettings } from './planned-settings.ts'
import type { RegistryRestoreOptions } from './restore-options.ts'
import type { Conflict, Note, PlannedVersion, RegistryPlan } from './restore-step.ts'
import { keptParts, TargetIndex } from './target-index.ts'
import { listWanted, mergeTwins, type Wanted } from './wanted-version.ts'

/**
 * Pure. All writes that bring the schemas of a backup to a registry, in order; or all conflicts that block the
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
  const book = new PlannedSettings(target, options.unfinished, options.traits)
  const index = new TargetIndex(target, options)
  const isMerged = !options.forceIds || !options.traits.keepsImportedTwins
  const twins = isMerged
    ? mergeTwins(wanted, keptParts(options), options.traits.ignoresDocs)
    : new Map<Wanted, Wanted>()
  const { order, circular } = orderWanted(wanted, twins, options.forceIds)
  const canFill = (subject: string) =>
    options.forceRegister || levelDuring(subject, index.isFresh(subject), book, options) === 'NONE'
  const notRestored = listNotRestored(backup, circular, options)
  const decisions = decideVersions(order, twins, index, { ...options, canFill, notRestored })
  const ids = planIds(decisions.all, target, options)
  const removing = { ...decisions, deleted: [...decisions.deleted, ...listFreed(decisions.all, target, options)] }
  const [inUse, others] = partitionConflicts(checkWrites(removing, target, options))
  const conflicts = [...inUse, ...decisions.conflicts, ...ids.conflicts, ...others]
  const planned =
    options.strategy === 'lookup'
      ? { steps: [], conflicts: [], notes: [] }
      : planSteps({ backup, target, decisions: removing, index, book }, options)
  const all = dropIfIdle([...conflicts, ...planned.conflicts], planned.steps)
  return {
    conflicts: all,
    steps: all.length === 0 ? planned.steps : [],
    versions: decisions.all.map(one => describe(one, options.forceIds)),
    notes: [
      ...circular.map(describeCircular),
      ...decisions.notes,
      ...ids.notes,
      ...describeDeleted(decisions, index, options),
      ...describeWrites(decisions, target, options),
      ...planned.notes,
    ],
    knownIds: ids.known,
    unmappedIds: ids.unmapped,
    textsToCompare: index.textsToCompare,
  }
}

/** That the registry is in use comes first: it is why other things do not fit. */
function partitionConflicts(conflicts: readonly Conflict[]): [Conflict[], Conflict[]] {
  const isInUse = ({ kind }: Conflict) => kind === 'not-empty'
  return [conflicts.filter(isInUse), conflicts.filter(one => !isInUse(one))]
}

/** A registry in use keeps force_ids from writing. Where everything is there already, nothing is written. */
function dropIfIdle(conflicts: readonly Conflict[], steps: RegistryPlan['steps']): Conflict[] {
  const isIdle = steps.length === 0 && conflicts.every(({ kind }) => kind === 'not-empty')
  return isIdle ? [] : [...conflicts]
}

function checkWrites(
  { all, deleted }: Decisions,
  target: RegistrySnapshot,
  options: RegistryRestoreOptions,
): Conflict[] {
  return [
    ...checkAbilities(all.filter(isMade), options),
    ...checkNames(all.filter(isMade), options),
    ...checkContextReferences(all.filter(isMade), options),
    ...checkForcedIds(all, target, deleted, options),
    ...checkReferrers(target, deleted),
  ]
}

function describeWrites(
  { all, deleted }: Decisions,
  target: RegistrySnapshot,
  options: RegistryRestoreOptions,
): Note[] {
  const held = all.filter(({ action }) => action !== 'leave' && action !== 'conflict')
  return [...describeUndecodable(target, deleted, all, options.forceIds), ...listLosses(held, options)]
}

function describe(decision: Decision, forceIds: boolean): PlannedVersion {
  const { wanted, action, version } = decision
  const { subject, version: number, id } = wanted.source
  return {
    source: { subject, version: number, id },
    subject: wanted.subject,
    version,
    id: knownId(decision, forceIds) ?? null,
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
    unmappedIds: new Map(),
    textsToCompare: [],
  }
}
