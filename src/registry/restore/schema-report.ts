import type { RegistryFlavour } from '../../archive/registry-model.ts'
import type { LossKind } from '../loss-kinds.ts'
import { idPairsOf } from './id-map-of.ts'
import type { Note, PlannedVersion, RegistryPlan } from './plan/restore-step.ts'
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
  /** IDs of the backup that nothing on the target stands for. */
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
    notes: [
      ...plan.notes.filter(({ kind }) => kind === 'undecodable'),
      ...after.plan.notes.filter(({ kind }) => kind !== 'undecodable'),
    ],
    acceptLoss: after.options.acceptLoss,
    requests,
    durationMs,
  }
}

export function countActions(versions: readonly PlannedVersion[]): SchemaReport['versions'] {
  const counts = { register: 0, keep: 0, replace: 0, merge: 0, leave: 0, conflict: 0 }
  for (const { action } of versions) counts[action]++
  return counts
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
