import assert from 'node:assert/strict'
import type { RegistrySnapshot, SchemaVersion } from '../../../../src/archive/registry-model.ts'
import { noLessons } from '../../../../src/registry/restore/plan/lessons.ts'
import { planRegistryRestore } from '../../../../src/registry/restore/plan/plan-restore.ts'
import type { RegistryRestoreOptions } from '../../../../src/registry/restore/plan/restore-options.ts'
import { importKey, type RegistryPlan, type RestoreStep } from '../../../../src/registry/restore/plan/restore-step.ts'
import { traitsOf } from '../../../../src/registry/restore/plan/target-traits.ts'
import { RegistryModel } from '../../../fakes/registry-model.ts'
import { snapshotOf } from '../../../fakes/registry-snapshots.ts'

export const fixed: RegistryRestoreOptions = {
  strategy: 'preserve',
  forceIds: false,
  subjectMapping: new Map(),
  setCompatibility: undefined,
  forceRegister: false,
  schemaTypes: ['AVRO', 'JSON', 'PROTOBUF'],
  acceptLoss: [],
  idOverrides: new Map(),
  traits: traitsOf('confluent', '8.0.0'),
  sameTexts: new Set(),
  modesNotRead: new Set(),
  unfinished: undefined,
  imported: new Set(),
  lessons: noLessons,
}

export const forced = { forceIds: true } as const

export function plan(
  backup: RegistrySnapshot,
  target: RegistrySnapshot = snapshotOf([]),
  options: Partial<RegistryRestoreOptions> = {},
): RegistryPlan {
  return planRegistryRestore(backup, target, { ...fixed, ...options })
}

export interface Restored {
  plan: RegistryPlan
  model: RegistryModel
  /** `subject@version id`, with `-` before what is marked as deleted. */
  versions: string[]
  after: RegistrySnapshot
}

/**
 * Plans, carries the plan out and proves what holds of every restore: no step is refused, a second run has nothing to do,
 * and a run that died before any of its steps is brought to the same end by the next.
 */
export function restore(
  backup: RegistrySnapshot,
  target: RegistrySnapshot = snapshotOf([]),
  options: Partial<RegistryRestoreOptions> = {},
): Restored {
  const first = plan(backup, target, options)
  assert.deepEqual(first.conflicts, [])
  const model = new RegistryModel(target).run(first.steps)
  const after = model.snapshot
  const again = plan(backup, after, { ...options, imported: importedBy(model, options) })
  assert.deepEqual([again.conflicts, again.steps], [[], []], 'a second run has nothing to do')
  first.steps.forEach((_, at) => {
    if (at > 0) assertConverges(backup, target, options, first.steps.slice(0, at), after)
  })
  return { plan: first, model, versions: listVersions(after.versions), after }
}

function assertConverges(
  backup: RegistrySnapshot,
  target: RegistrySnapshot,
  options: Partial<RegistryRestoreOptions>,
  done: readonly RestoreStep[],
  expected: RegistrySnapshot,
): void {
  const model = new RegistryModel(target).run(done)
  const journaled = { unfinished: model.journal, imported: importedBy(model, options) }
  const next = plan(backup, model.snapshot, { ...options, ...journaled })
  const where = `died after step ${done.length}: ${JSON.stringify(done.at(-1))}`
  assert.deepEqual(next.conflicts, [], where)
  model.run(next.steps)
  // Which IDs a registry gives hangs on how often it was asked for some.
  const listed = ({ versions }: RegistrySnapshot) =>
    options.forceIds ? listVersions(versions) : versions.map(({ id: _, ...rest }) => rest)
  assert.deepEqual(listed(model.snapshot), listed(expected), where)
  assert.deepEqual(model.snapshot.subjects, expected.subjects, where)
  assert.deepEqual(model.snapshot.global, expected.global, where)
  assert.deepEqual(model.snapshot.contextSettings, expected.contextSettings, where)
}

/** What earlier runs and that of the model have imported, as their journals say. */
function importedBy({ journal }: RegistryModel, { imported }: Partial<RegistryRestoreOptions>): Set<string> {
  return new Set([...(imported ?? []), ...(journal?.imported ?? [])])
}

/** As a journal lists them. */
export function importedOf(versions: readonly SchemaVersion[]): Set<string> {
  return new Set(versions.map(importKey))
}

export function listVersions(versions: readonly SchemaVersion[]): string[] {
  return versions.map(({ subject, version, id, isDeleted }) => `${isDeleted ? '-' : ''}${subject}@${version} ${id}`)
}

/** What a plan writes, one short line a step. */
export function outline({ steps }: RegistryPlan): string[] {
  return steps.flatMap(step => {
    switch (step.type) {
      case 'register':
        return [`register ${step.subject}@${step.version}${step.id === null ? '' : ` ${step.id}`}`]
      case 'delete-version':
        return [`${step.permanent ? 'remove' : 'delete'} ${step.subject}@${step.version}`]
      case 'set-mode':
        return [`mode ${place(step)} ${step.mode}`]
      case 'delete-mode':
        return [`mode ${place(step)} unset`]
      case 'set-config':
        return [`config ${place(step)} ${step.compatibility}${step.config ? ` ${JSON.stringify(step.config)}` : ''}`]
      case 'delete-config':
        return [`config ${place(step)} unset`]
      default:
        return []
    }
  })
}

function place({ scope }: Extract<RestoreStep, { scope: unknown }>): string {
  return scope.kind === 'global' ? '*' : scope.kind === 'context' ? scope.context : scope.subject
}

export function kinds({ conflicts }: RegistryPlan): string[] {
  return conflicts.map(({ kind }) => kind)
}

export function lossy({ notes }: RegistryPlan): string[] {
  return notes.filter(({ kind }) => kind === 'lossy').map(({ message }) => message)
}
