import type { RegistryFlavour } from '../../archive/registry-model.ts'
import type { Finding } from '../../observe/finding.ts'
import { type LossKind, lossKindNames, lossKinds } from '../loss-kinds.ts'
import { idPairsOf } from './id-map-of.ts'
import type { Conflict, LossNote, Note, PlannedVersion, RegistryPlan, RestoreStep } from './plan/restore-step.ts'
import type { Survey } from './survey-target.ts'

export interface SchemaReport {
  flavour: RegistryFlavour
  registryVersion: string | null
  /** Nothing had to be written: all was there. */
  wasComplete: boolean
  /** How many versions of the backup were registered, kept as they were there, replaced, and so on. */
  versions: Record<PlannedVersion['action'], number>
  subjects: number
  /** What became of each ID of the backup; `context` is `.` for the default one. */
  ids: { context: string; source: number; target: number }[]
  /** IDs of the backup without a counterpart on the target. */
  unmappedIds: string[]
  notes: Note[]
  /** The kinds of loss that the job accepts. */
  acceptLoss: readonly LossKind[]
  requests: number
  durationMs: number
}

/** `plan` says what was to be done, `after` what the registry holds now. */
export function reportSchemas(
  plan: RegistryPlan,
  after: Survey,
  { requests, durationMs }: Pick<SchemaReport, 'requests' | 'durationMs'>,
): SchemaReport {
  return {
    flavour: after.target.flavour,
    registryVersion: after.target.registryVersion,
    wasComplete: plan.steps.length === 0,
    versions: countActions(plan.versions),
    subjects: new Set(plan.versions.map(({ subject }) => subject)).size,
    ids: idPairsOf(after.plan).sort((a, b) => compareText(a.context, b.context) || a.source - b.source),
    unmappedIds: [...after.plan.unmappedIds.keys()],
    notes: [...plan.notes.filter(isOfWrite), ...after.plan.notes.filter(note => !isOfWrite(note))],
    acceptLoss: after.options.acceptLoss,
    requests,
    durationMs,
  }
}

/** What is lost by a write is in its plan alone: afterwards the registry shows nothing of it. */
export function isOfWrite(note: Note): boolean {
  if (note.kind !== 'lossy') return note.kind === 'undecodable'
  return note.loss === 'target_version_deleted' || note.loss === 'reference_outside'
}

function countActions(versions: readonly PlannedVersion[]): SchemaReport['versions'] {
  const counts = { register: 0, keep: 0, replace: 0, merge: 0, leave: 0, conflict: 0 }
  for (const { action } of versions) counts[action]++
  return counts
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

/** What a restore would do to a registry. */
export interface SchemaDryRun {
  flavour: RegistryFlavour
  registryVersion: string | null
  versions: PlannedVersion[]
  counts: SchemaReport['versions']
  /** Writes by their kind. */
  writes: Partial<Record<RestoreStep['type'], number>>
  conflicts: Conflict[]
  notes: Note[]
  /** The kinds of loss that the job accepts. */
  acceptLoss: readonly LossKind[]
}

export function describeSchemaPlan({ plan, target, options }: Survey): SchemaDryRun {
  const writes: SchemaDryRun['writes'] = {}
  for (const { type } of plan.steps) {
    if (type !== 'journal' && type !== 'verify') writes[type] = (writes[type] ?? 0) + 1
  }
  return {
    flavour: target.flavour,
    registryVersion: target.registryVersion,
    versions: plan.versions,
    counts: countActions(plan.versions),
    writes,
    conflicts: plan.conflicts,
    notes: plan.notes,
    acceptLoss: options.acceptLoss,
  }
}

/** What a plan has found, as what is shown before the first write. */
export function findingsOf({ conflicts, notes }: Pick<RegistryPlan, 'conflicts' | 'notes'>): Finding[] {
  return [...conflicts.map(refuse), ...notes.map(warn)]
}

function refuse({ subject, version, message }: Conflict): Finding {
  const details = subject !== null && { details: { subject, ...(version !== null && { version }) } }
  return { severity: 'error', subject: nameOf(subject), problem: message, remedy: '', ...details }
}

function warn({ subject, message }: Note): Finding {
  const details = subject !== null && { details: { subject } }
  return { severity: 'warning', subject: nameOf(subject), problem: message, remedy: '', ...details }
}

function nameOf(subject: string | null): string {
  return subject === null ? 'schema registry' : `schema subject ${subject}`
}

/** What the target does not keep, of one kind. */
export interface Loss {
  kind: LossKind
  /** In a sentence. */
  meaning: string
  /** Those that it is about; none where it is about the registry as a whole. */
  subjects: string[]
  notes: LossNote[]
  /** The job lists it in `restore.accept_loss`. */
  isAccepted: boolean
}

export interface Losses {
  notes: readonly Note[]
  acceptLoss: readonly LossKind[]
}

/** Pure. By kind, in the order of the list of kinds. */
export function lossesOf({ notes, acceptLoss }: Losses): Loss[] {
  const lossy = notes.filter(note => note.kind === 'lossy')
  return lossKindNames.flatMap(kind => {
    const some = lossy.filter(({ loss }) => loss === kind)
    if (some.length === 0) return []
    const subjects = [...new Set(some.flatMap(({ subject }) => subject ?? []))]
    return [{ kind, meaning: lossKinds[kind], subjects, notes: some, isAccepted: acceptLoss.includes(kind) }]
  })
}

/** The kinds of loss that make a restore end with exit code 4. */
export function openLosses(losses: Losses): LossKind[] {
  return lossesOf(losses)
    .filter(({ isAccepted }) => !isAccepted)
    .map(({ kind }) => kind)
}
