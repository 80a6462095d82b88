import { type RegistrySnapshot, resolveReference, type SchemaVersion, versionKey } from '../model.ts'
import { type Decision, isMade } from './decide-versions.ts'
import { nodeOf, orderVersions } from './order-versions.ts'
import { deletionOf } from './plan-registrations.ts'
import { lossNote, type Note, type RegisterStep, type RestoreStep } from './restore-step.ts'

/** Pure. What has to go from the target, referrers before what they refer to. */
export function planRemovals(deleted: readonly SchemaVersion[]): RestoreStep[] {
  const nodes = deleted.map(one => nodeOf(one, placesOf(one)))
  const { order, circular } = orderVersions(nodes)
  return [...circular, ...order.reverse()].map(({ subject, version }) => deletionOf(subject, version, true))
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

export interface PlainDeletions {
  steps: RestoreStep[]
  notes: Note[]
}

/** Pure. Without IMPORT a version that a live one refers to cannot be deleted: it stays, and that is told. */
export function planSoftDeletes(
  all: readonly Decision[],
  softDeletes: readonly Decision[],
  target: RegistrySnapshot,
  removed: readonly SchemaVersion[],
): PlainDeletions {
  const gone = new Set(removed)
  const due = new Set(softDeletes)
  const duePlaces = new Set(softDeletes.map(placeOf))
  const livePlaces = new Set([
    ...all.filter(one => isMade(one) && !due.has(one)).flatMap(referencesOf),
    ...target.versions
      .filter(one => !one.isDeleted && !gone.has(one) && !duePlaces.has(versionKey(one.subject, one.version)))
      .flatMap(placesOf),
  ])
  const found: PlainDeletions = { steps: [], notes: [] }
  for (const decision of softDeletes.toReversed()) {
    const { wanted, version } = decision
    if (version === null) continue
    if (!livePlaces.has(placeOf(decision))) {
      found.steps.push(deletionOf(wanted.subject, version, false))
      continue
    }
    // What it refers to has a live referrer now.
    for (const place of referencesOf(decision)) livePlaces.add(place)
    const message =
      `version ${version} of subject ${wanted.subject} is deleted at the source, but a live version refers to it, so that ` +
      'the target keeps it live; with restore.force_ids it can be as it was'
    found.notes.push(lossNote('deleted_version_live', wanted.subject, message))
  }
  found.notes.push(...all.filter(one => !due.has(one)).flatMap(tellAlive))
  return found
}

/** It was there before this run, or an earlier one could not delete it. */
function tellAlive({ wanted, action, theirs }: Decision): Note[] {
  if (action !== 'keep' || !wanted.source.isDeleted || !theirs || theirs.isDeleted) return []
  const { subject, version } = theirs
  const message = `version ${version} of subject ${subject} is deleted at the source, and live on the target, where it stays so`
  return [lossNote('deleted_version_live', subject, message)]
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
