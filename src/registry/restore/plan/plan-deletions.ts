import {
  type RegistrySnapshot,
  resolveReference,
  type SchemaVersion,
  versionKey,
} from '../../../archive/registry-model.ts'
import { type Decision, isMade } from './decide-versions.ts'
import { nodeOf, orderVersions } from './order-versions.ts'
import { deletionOf } from './plan-registrations.ts'
import { type PlannedSettings, subjectScope } from './planned-settings.ts'
import type { RegistryRestoreOptions } from './restore-options.ts'
import { lossNote, type Note, type RegisterStep, type RestoreStep } from './restore-step.ts'
import type { TargetTraits } from './target-traits.ts'

/** Pure. What has to go from the target, referrers before what they refer to. */
export function planRemovals(
  deleted: readonly SchemaVersion[],
  emptied: ReadonlySet<string>,
  { numbersRestart }: Pick<TargetTraits, 'numbersRestart'>,
): RestoreStep[] {
  // Where numbers start again with the subject alone, its last versions go with it.
  const isWhole = (subject: string) => numbersRestart === 'subject' && emptied.has(subject)
  const nodes = deleted.map(one => nodeOf(one, placesOf(one)))
  const { order, circular } = orderVersions(nodes)
  return [
    ...[...circular, ...order.reverse()].map(({ subject, version }) => deletionOf(subject, version, !isWhole(subject))),
    ...[...emptied].filter(isWhole).map((subject): RestoreStep => ({ type: 'delete-subject', subject })),
  ]
}

/**
 * Pure. Registrations in their order, then what ends up as deleted, referrers first. What live versions refer to is marked
 * at once, before they come: it could not be afterwards, and IMPORT takes references to what is marked.
 */
export function interleaveForced(
  all: readonly Decision[],
  registrations: ReadonlyMap<Decision, readonly RegisterStep[]>,
  softDeletes: readonly Decision[],
): RestoreStep[] {
  const live = new Set(all.filter(({ wanted }) => !wanted.source.isDeleted).flatMap(referencesOf))
  const early = new Set(softDeletes.filter(decision => live.has(placeOf(decision))))
  const late = softDeletes.filter(decision => !early.has(decision)).reverse()
  return [
    ...all.flatMap(decision => [
      ...(registrations.get(decision) ?? []),
      ...(early.has(decision) ? [softDeletionOf(decision)] : []),
    ]),
    ...late.map(softDeletionOf),
  ]
}

function softDeletionOf({ wanted, version }: Decision): RestoreStep {
  return deletionOf(wanted.subject, version ?? wanted.source.version, false)
}

interface PlainDeletions {
  steps: RestoreStep[]
  notes: Note[]
}

/** Pure. Without IMPORT a version that another one refers to cannot be deleted: it stays, and the plan reports that. */
export function planSoftDeletes(
  all: readonly Decision[],
  softDeletes: readonly Decision[],
  target: RegistrySnapshot,
  removed: readonly SchemaVersion[],
  options: Pick<RegistryRestoreOptions, 'traits' | 'forceIds' | 'lessons'>,
): PlainDeletions {
  const { traits, forceIds } = options
  const gone = new Set(removed)
  const due = new Set(softDeletes)
  const duePlaces = new Set(softDeletes.map(placeOf))
  // To some registries what is marked as deleted refers as well.
  const counts = (isDeleted: boolean) => !isDeleted || !traits.deletesReferredByDeleted
  const livePlaces = new Set([
    ...all.filter(one => isMade(one) && counts(due.has(one))).flatMap(referencesOf),
    ...target.versions
      .filter(one => !gone.has(one) && counts(one.isDeleted || duePlaces.has(versionKey(one.subject, one.version))))
      .flatMap(placesOf),
  ])
  const found: PlainDeletions = { steps: [], notes: [] }
  const describeReferred = ({ wanted, version }: Decision) => {
    const message =
      `version ${version} of subject ${wanted.subject} is deleted at the source, but another version refers to it, so that ` +
      `the target registry keeps it live${forceIds || !traits.canImport ? '' : '; with restore.force_ids it can be as it was'}`
    found.notes.push(lossNote('deleted_version_live', wanted.subject, message))
  }
  for (const decision of softDeletes.toReversed()) {
    const { wanted, version } = decision
    if (version === null) continue
    if (!livePlaces.has(placeOf(decision))) {
      found.steps.push(deletionOf(wanted.subject, version, false))
      continue
    }
    // What it refers to has a live referrer now.
    for (const place of referencesOf(decision)) livePlaces.add(place)
    describeReferred(decision)
  }
  // It was there before this run, or an earlier one could not delete it.
  for (const decision of all.filter(one => !due.has(one) && isAlive(one) && !isUndeletable(one, options))) {
    if (livePlaces.has(placeOf(decision))) describeReferred(decision)
    else found.notes.push(describeAlive(decision))
  }
  return found
}

export function isUndeletable(decision: Decision, { lessons }: Pick<RegistryRestoreOptions, 'lessons'>): boolean {
  return lessons.undeletable.has(placeOf(decision))
}

/** What the registry has refused to mark as deleted. */
export function describeUndeletable(
  all: readonly Decision[],
  { lessons }: Pick<RegistryRestoreOptions, 'lessons'>,
): Note[] {
  return all.flatMap(decision => {
    const { wanted, theirs } = decision
    const reason = lessons.undeletable.get(placeOf(decision))
    if (reason === undefined || !wanted.source.isDeleted || theirs?.isDeleted) return []
    const message =
      `version ${decision.version} of subject ${wanted.subject} is deleted at the source, and the target registry keeps it ` +
      `live: ${reason}`
    return [lossNote('deleted_version_live', wanted.subject, message)]
  })
}

function isAlive({ wanted, action, theirs }: Decision): boolean {
  return action === 'keep' && wanted.source.isDeleted && theirs?.isDeleted === false
}

function describeAlive({ wanted: { subject }, version }: Decision): Note {
  const message = `version ${version} of subject ${subject} is deleted at the source, and live on the target, where it stays so`
  return lossNote('deleted_version_live', subject, message)
}

function placeOf({ wanted, version }: Decision): string {
  return versionKey(wanted.subject, version ?? 0)
}

/** What a version refers to on the target. */
function referencesOf({ wanted, references }: Decision): string[] {
  return references.map(({ version }, at) => versionKey(wanted.references[at]?.target ?? '', version))
}

function placesOf(one: SchemaVersion): string[] {
  return one.references.map(({ subject, version }) => versionKey(resolveReference(subject, one.subject), version))
}

/**
 * Pure but for `book`. Confluent drops the config and the mode of a subject together with its last live version, others keep
 * them. So a subject that is still to be imported to is put into IMPORT again, and what its settings are in the end is
 * written in any case.
 */
export function keepSettings(
  steps: readonly RestoreStep[],
  before: readonly SchemaVersion[],
  book: PlannedSettings,
): RestoreStep[] {
  const live = new Map<string, Set<number>>()
  const liveOf = (subject: string) => {
    const known = live.get(subject) ?? new Set()
    live.set(subject, known)
    return known
  }
  for (const { subject, version, isDeleted } of before) if (!isDeleted) liveOf(subject).add(version)
  const lastImports = new Map<string, number>()
  for (const [at, step] of steps.entries()) if (step.type === 'register') lastImports.set(step.subject, at)
  return steps.flatMap((step, at) => {
    if (step.type === 'register') liveOf(step.subject).add(step.version)
    if (step.type !== 'delete-version' || !liveOf(step.subject).delete(step.version)) return [step]
    if (liveOf(step.subject).size > 0) return [step]
    book.doubt(step.subject)
    const scope = subjectScope(step.subject)
    const isImporting = (lastImports.get(step.subject) ?? 0) > at && book.present(scope).mode === 'IMPORT'
    return isImporting ? [step, { type: 'set-mode', scope, mode: 'IMPORT', force: true }] : [step]
  })
}
