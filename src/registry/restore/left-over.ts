import { KafkaBackupError } from '../../errors.ts'
import type { OnProgress } from '../../observe/progress.ts'
import { type Attempt, reasonOf } from './learn.ts'
import { describeStep } from './plan/describe-step.ts'
import type { Lessons } from './plan/lessons.ts'
import type { RegistryPlan } from './plan/restore-step.ts'

/** Throws the first refusal of a version, where there is one; the others are warnings. Everything else is done. */
export function refuseLeft(
  { versions }: Pick<RegistryPlan, 'versions'>,
  { lessons, attempts }: { lessons: Lessons; attempts: ReadonlyMap<string, Attempt> },
  onProgress: OnProgress,
): void {
  const [first, ...others] = lessons.refused
  if (!first) return
  for (const [key, why] of others) {
    onProgress({ type: 'warning', message: `the target registry refuses ${nameOf(key)}: ${why}` })
  }
  const left = versions.filter(({ action }) => action === 'leave').length
  const rest = `everything else is restored; ${left} ${left === 1 ? 'version is' : 'versions are'} not`
  onProgress({ type: 'warning', message: rest })
  const [key, why] = first
  throw (
    attempts.get(`register ${key}`)?.error ??
    new KafkaBackupError('REGISTRY_REFUSED', `the target registry refuses ${nameOf(key)}: ${why}`)
  )
}

/** Throws the first setting or deletion that is still to be done; the others are warnings. The journal stays open for them. */
export function refuseOwed(
  { client: { name }, owed }: { client: { name: string }; owed: readonly Attempt[] },
  onProgress: OnProgress,
): void {
  const [first, ...others] = owed
  if (!first) return
  for (const one of others) onProgress({ type: 'warning', message: explain(name, [one]).message })
  onProgress({ type: 'warning', message: 'everything else is restored' })
  const { message, cause } = explain(name, [first])
  const help =
    'Correct what the registry says, or allow it to this user, then run the command again: it writes what is missing. ' +
    'To accept what access rules forbid for good, list it in enterprise.schema_registry.restore.accept_loss.'
  throw new KafkaBackupError('REGISTRY_REFUSED', message, { cause, help })
}

/** `subject@version`, as a message names it. */
function nameOf(key: string): string {
  const at = key.lastIndexOf('@')
  return `version ${key.slice(at + 1)} of subject ${key.slice(0, at)}`
}

/** What a registry was asked to do, and does not do. */
export function explain(name: string, [first, ...more]: readonly Attempt[]): KafkaBackupError {
  if (first?.error) {
    const message = `the target registry refuses to ${describeStep(first.step)}: ${reasonOf(first.error)}`
    return new KafkaBackupError('REGISTRY_REFUSED', message, { cause: first.error })
  }
  const what = first === undefined ? 'follow the plan' : describeStep(first.step)
  const others = more.length === 0 ? '' : `, and ${more.length} more of that kind`
  return unfaithful(name, `it was asked to ${what}, answered with success, and does not show the change${others}`)
}

export function unfaithful(name: string, why: string): KafkaBackupError {
  const message = `${name} accepted the schemas, but does not contain what it was given: ${why}`
  return new KafkaBackupError('REGISTRY_UNFAITHFUL', message)
}
