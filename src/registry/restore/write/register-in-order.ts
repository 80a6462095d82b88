import { resolveReference, versionKey } from '../../../archive/registry-model.ts'
import { Semaphore } from '../../../lib/semaphore.ts'
import type { RegisterStep } from '../plan/restore-step.ts'

/**
 * Runs registrations side by side, each after those that it refers to and after the one before it in its subject.
 * `register` answers whether the version is there; what needs one that is not is left out, and so is, where the registry
 * numbers versions, what comes after it in its subject. After the first failure that is thrown nothing new is begun; what
 * runs is waited for, then that failure is thrown.
 */
export async function registerInOrder(
  steps: readonly RegisterStep[],
  width: number,
  register: (step: RegisterStep) => Promise<boolean>,
): Promise<void> {
  const gate = new Semaphore(width)
  const made = new Map<string, Promise<boolean>>()
  const last = new Map<string, Promise<boolean>>()
  let failure: { error: unknown } | undefined
  const run = async (step: RegisterStep, before: Promise<boolean> | undefined, needs: readonly Promise<boolean>[]) => {
    const isNext = (await before) ?? true
    const isMet = (await Promise.all(needs)).every(Boolean) && (isNext || step.id !== null)
    if (!isMet) return false
    return gate.run(async () => {
      if (failure) return false
      return register(step).catch(error => {
        failure ??= { error }
        return false
      })
    })
  }
  for (const step of steps) {
    const { subject, version, references } = step
    const keys = references.map(one => versionKey(resolveReference(one.subject, subject), one.version))
    const needs = keys.map(key => made.get(key)).filter(one => one !== undefined)
    const task = run(step, last.get(subject), needs)
    made.set(versionKey(subject, version), task)
    last.set(subject, task)
  }
  await Promise.all(last.values())
  await Promise.all(made.values())
  if (failure) throw failure.error
}
