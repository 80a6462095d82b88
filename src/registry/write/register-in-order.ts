import { Semaphore } from '../../lib/semaphore.ts'
import { resolveReference, versionKey } from '../model.ts'
import type { RegisterStep } from '../plan/restore-step.ts'

/**
 * Runs registrations side by side, each after those that it refers to and after the one before it in its subject. After
 * the first failure nothing new is begun; what runs is waited for, then that failure is thrown.
 */
export async function registerInOrder(
  steps: readonly RegisterStep[],
  width: number,
  register: (step: RegisterStep) => Promise<void>,
): Promise<void> {
  const gate = new Semaphore(width)
  const made = new Map<string, Promise<void>>()
  const last = new Map<string, Promise<void>>()
  let failure: { error: unknown } | undefined
  const run = async (step: RegisterStep, needs: readonly Promise<void>[]) => {
    await Promise.all(needs)
    await gate.run(async () => {
      if (failure) return
      await register(step).catch(error => {
        failure ??= { error }
      })
    })
  }
  for (const step of steps) {
    const { subject, version, references } = step
    const keys = references.map(one => versionKey(resolveReference(one.subject, subject), one.version))
    const needs = [last.get(subject), ...keys.map(key => made.get(key))].filter(one => one !== undefined)
    const task = run(step, needs)
    made.set(versionKey(subject, version), task)
    last.set(subject, task)
  }
  await Promise.all(last.values())
  await Promise.all(made.values())
  if (failure) throw failure.error
}
