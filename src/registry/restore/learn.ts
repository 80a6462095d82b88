import { type RegistrySnapshot, type SchemaVersion, versionKey } from '../../archive/registry-model.ts'
import { KafkaBackupError } from '../../errors.ts'
import type { OnProgress } from '../../observe/progress.ts'
import { RegistryError } from '../client/registry-error.ts'
import type { LossKind } from '../loss-kinds.ts'
import { mergeLessons, noLessons, printHeld } from './plan/lessons.ts'
import { describeStep } from './plan/messages.ts'
import type {
  ContractPart,
  Lessons,
  RefusedSetting,
  RegisterStep,
  RegistryPlan,
  RestoreStep,
  Scope,
} from './plan/restore-step.ts'

/** A write that a run has sent. Without an error the registry said that it took it. */
export interface Attempt {
  step: RestoreStep
  error?: KafkaBackupError
  answeredId?: number
}

interface Learned {
  lessons: Lessons
  /** Nothing can be learned from these: a version is not there, or one that had to go still is. */
  unexplained: Attempt[]
}

/** Pure. What it means that a plan asks for writes again that were sent: the registry refuses them, or takes and drops them. */
export function learn(repeated: readonly Attempt[], { versions }: RegistrySnapshot): Learned {
  let lessons = noLessons
  const unexplained: Attempt[] = []
  const bySubject = Map.groupBy(versions, ({ subject }) => subject)
  for (const attempt of repeated) {
    const found = lessonOf(attempt, bySubject)
    if (found === undefined) unexplained.push(attempt)
    else lessons = mergeLessons(lessons, { ...noLessons, ...found })
  }
  return { lessons, unexplained }
}

function lessonOf(
  attempt: Attempt,
  bySubject: ReadonlyMap<string, readonly SchemaVersion[]>,
): Partial<Lessons> | undefined {
  const { step, error } = attempt
  switch (step.type) {
    case 'register':
      return ofRegistration(step, attempt, bySubject.get(step.subject) ?? [])
    case 'delete-version': {
      if (step.permanent) return undefined
      return { undeletable: new Map([[versionKey(step.subject, step.version), reasonOf(error)]]) }
    }
    case 'set-config':
    case 'delete-config': {
      const { compatibility = null, config = null } = step.type === 'set-config' ? step : {}
      return ofSetting(step.scope, { config: { compatibility, config } }, error)
    }
    case 'set-mode':
      return ofSetting(step.scope, { mode: step.mode }, error)
    case 'delete-mode':
      return ofSetting(step.scope, { mode: null }, error)
    case 'delete-subject':
    case 'journal':
    case 'verify':
      return undefined
    default:
      return step satisfies never
  }
}

function ofSetting(scope: Scope, setting: RefusedSetting['setting'], error: KafkaBackupError | undefined) {
  return { settings: [{ scope, setting, reason: reasonOf(error), isIgnored: error === undefined }] }
}

function ofRegistration(
  step: RegisterStep,
  { error, answeredId }: Attempt,
  theirs: readonly SchemaVersion[],
): Partial<Lessons> | undefined {
  if (step.key === null) return undefined
  if (error) return { refused: new Map([[step.key, reasonOf(error)]]) }
  const answered = theirs.filter(({ id }) => id === answeredId)
  const here = answered.find(({ version }) => version === step.version)
  if (here) {
    const drops = droppedParts(step, here)
    return drops.length > 0 ? { drops } : undefined
  }
  const [other] = answered
  if (!other) return undefined
  if (step.id === null || step.id === other.id) {
    return { heldAs: new Map([[step.key, { version: other.version, print: printHeld(step, other) }]]) }
  }
  const reason = `it answers with ID ${other.id}, that of version ${other.version} of the subject, in place of ${step.id}`
  return { refused: new Map([[step.key, reason]]) }
}

function droppedParts(step: RegisterStep, here: SchemaVersion): ContractPart[] {
  return (['metadata', 'ruleSet'] as const).filter(part => step[part] !== null && here[part] === null)
}

/**
 * A setting or a deletion that is still to be done: a fault of the server may be gone the next time, and so may an access
 * rule, unless the job accepts what is lost by it.
 */
export function isOwed({ step, error }: Attempt, acceptLoss: readonly LossKind[]): boolean {
  const cause = error instanceof RegistryError ? error : error?.cause
  if (!(cause instanceof RegistryError) || step.type === 'register') return false
  if (cause.status === 429 || cause.status >= 500) return true
  return [401, 403].includes(cause.status) && !acceptLoss.includes(lossOf(step))
}

function lossOf(step: RestoreStep): LossKind {
  if (step.type === 'delete-version') return 'deleted_version_live'
  if (step.type === 'set-mode' || step.type === 'delete-mode') return 'mode'
  return step.type === 'set-config' && step.config !== null ? 'config' : 'compatibility'
}

/** The registry's own message, without our advice. */
function reasonOf(error: KafkaBackupError | undefined): string {
  if (error === undefined) return 'it answers with success, and does not change it'
  return error.cause instanceof Error ? error.cause.message : error.message
}

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
