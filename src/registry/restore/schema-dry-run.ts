import type { RegistryFlavour } from '../../archive/registry-model.ts'
import type { LossKind } from '../loss-kinds.ts'
import type { Conflict, Note, PlannedVersion, RestoreStep } from './plan/restore-step.ts'
import { countActions, type SchemaReport } from './schema-report.ts'
import type { Survey } from './survey-target.ts'

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
