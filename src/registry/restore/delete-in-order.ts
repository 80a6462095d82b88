import { resolveReference, type SchemaVersion, versionKey } from '../../archive/registry-model.ts'
import { Semaphore } from '../../lib/semaphore.ts'
import type { RestoreStep } from './plan/restore-step.ts'

export type Deletion = Extract<RestoreStep, { type: 'delete-version' | 'delete-subject' }>

/** By subject: the keys of its versions, and the keys that each version refers to. */
export type ReferenceIndex = ReadonlyMap<string, ReadonlyMap<string, readonly string[]>>

/** Pure. Of the subjects that the steps delete from: the versions of the target, and those that the steps register. */
export function indexReferences(
  versions: readonly Pick<SchemaVersion, 'subject' | 'version' | 'references'>[],
  steps: readonly RestoreStep[],
): ReferenceIndex {
  const index = new Map<string, Map<string, string[]>>()
  for (const step of steps) if (isDeletion(step)) index.set(step.subject, new Map())
  const registered = steps.filter(step => step.type === 'register')
  for (const { subject, version, references } of [...versions, ...registered]) {
    const keys = references.map(one => versionKey(resolveReference(one.subject, subject), one.version))
    index.get(subject)?.set(versionKey(subject, version), keys)
  }
  return index
}

export function isDeletion(step: RestoreStep | undefined): step is Deletion {
  return step?.type === 'delete-version' || step?.type === 'delete-subject'
}

/**
 * Runs deletions side by side. Those of one subject keep their order, and so do two of which one removes what the other
 * refers to. One that the registry refuses does not keep the others from being tried. After the first failure that is
 * thrown nothing new is begun; what runs is waited for, then that failure is thrown.
 */
export async function deleteInOrder(
  steps: readonly Deletion[],
  width: number,
  index: ReferenceIndex,
  remove: (step: Deletion) => Promise<void>,
): Promise<void> {
  const gate = new Semaphore(width)
  const lastOf = new Map<string, Promise<void>>()
  const removals = new Map<string, Promise<void>>()
  const referrers = new Map<string, Promise<void>[]>()
  let failure: { error: unknown } | undefined
  const run = async (step: Deletion, before: readonly (Promise<void> | undefined)[]) => {
    await Promise.all(before)
    await gate.run(async () => {
      if (failure) return
      await remove(step).catch(error => {
        failure ??= { error }
      })
    })
  }
  for (const step of steps) {
    const { keys, references } = affectedBy(step, index)
    const task = run(step, [
      lastOf.get(step.subject),
      ...keys.flatMap(key => referrers.get(key) ?? []),
      ...references.map(key => removals.get(key)),
    ])
    lastOf.set(step.subject, task)
    for (const key of keys) removals.set(key, task)
    for (const key of references) {
      const known = referrers.get(key)
      if (known) known.push(task)
      else referrers.set(key, [task])
    }
  }
  await Promise.all(lastOf.values())
  if (failure) throw failure.error
}

/** The versions that a deletion removes, and what they refer to. */
function affectedBy(step: Deletion, index: ReferenceIndex): { keys: string[]; references: string[] } {
  const versions = index.get(step.subject) ?? new Map<string, readonly string[]>()
  const keys = step.type === 'delete-version' ? [versionKey(step.subject, step.version)] : [...versions.keys()]
  return { keys, references: keys.flatMap(key => versions.get(key) ?? []) }
}
