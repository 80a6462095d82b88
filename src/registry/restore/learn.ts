import type { RegistrySnapshot, SchemaVersion } from '../../archive/registry-model.ts'
import { versionKey } from '../../archive/registry-model.ts'
import type { KafkaBackupError } from '../../errors.ts'
import { RegistryError } from '../client/registry-error.ts'
import type { LossKind } from '../loss-kinds.ts'
import {
  type ContractPart,
  type Lessons,
  mergeLessons,
  noLessons,
  printHeld,
  type RefusedSetting,
} from './plan/lessons.ts'
import type { RegisterStep, RestoreStep, Scope } from './plan/restore-step.ts'

/** A write that a run has sent. Without an error the registry said that it took it. */
export interface Attempt {
  step: RestoreStep
  error?: KafkaBackupError
  answeredId?: number
}

export interface Learned {
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
export function reasonOf(error: KafkaBackupError | undefined): string {
  if (error === undefined) return 'it answers with success, and does not change it'
  return error.cause instanceof Error ? error.cause.message : error.message
}
