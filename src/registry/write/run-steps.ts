import { KafkaBackupError } from '../../errors.ts'
import type { Clock } from '../../lib/clock.ts'
import { RegistryError } from '../client/registry-error.ts'
import type { RegisterStep, RestoreJournal, RestoreStep, Scope } from '../plan/restore-step.ts'
import { registerInOrder } from './register-in-order.ts'
import { registerSchema } from './registration.ts'
import type { RegistryWriter } from './requests.ts'

export interface StepParts {
  writer: RegistryWriter
  clock: Clock
  /** Registrations under way at a time. */
  concurrency: number
  /** Resolves when the journal is durable. */
  keepJournal: (journal: RestoreJournal) => Promise<void>
  /** Compares the registry with the plan, of which these steps are still to come; throws where they differ. */
  verify: (rest: readonly RestoreStep[]) => Promise<void>
  onRegistered: (step: RegisterStep) => void
  /** After every step that has changed the registry. */
  onWritten: () => void
}

/** The registry gave a schema another ID than the one it was told: it does not do what IMPORT means. */
export class IdsIgnored extends KafkaBackupError {
  readonly step: RegisterStep

  constructor(step: RegisterStep, answered: number) {
    const { subject, version, id } = step
    const message = `the target registry ignores IDs: version ${version} of subject ${subject} was to be ${id} and is ${answered}`
    super('REGISTRY_REFUSED', message, {
      help: 'Set enterprise.schema_registry.restore.force_ids to false; rewrite_ids then puts the new IDs into the messages.',
    })
    this.step = step
  }
}

/** A registry may be told not to let modes be changed, which cannot be seen by reading. */
export class ModeRefused extends KafkaBackupError {
  constructor(scope: Scope, mode: string, cause: RegistryError) {
    const what =
      scope.kind === 'global'
        ? 'itself'
        : scope.kind === 'context'
          ? `context ${scope.context}`
          : `subject ${scope.subject}`
    super('REGISTRY_REFUSED', `the target registry does not put ${what} into mode ${mode}: ${cause.message}`, {
      cause,
      help:
        mode === 'IMPORT'
          ? 'Let the registry change modes (Confluent: mode.mutability), or set enterprise.schema_registry.restore.force_ids ' +
            'to false; rewrite_ids then puts the new IDs into the messages.'
          : 'Let the registry change modes (Confluent: mode.mutability), or set the mode by hand.',
    })
  }
}

/** Carries a plan out. Registrations that follow one another run side by side as far as they do not need each other. */
export async function runSteps(steps: readonly RestoreStep[], parts: StepParts, signal: AbortSignal): Promise<void> {
  let isFirst = true
  for (let at = 0; at < steps.length; ) {
    signal.throwIfAborted()
    const row = registrationsFrom(steps, at)
    if (row.length > 0) {
      // Whether a registry heeds IDs is seen at the first one, before there are others to take back.
      const alone = isFirst && row[0]?.id !== null ? 1 : row.length
      await registerInOrder(row.slice(0, alone), parts.concurrency, step => register(step, parts, signal))
      isFirst = false
      at += alone
      continue
    }
    const step = steps[at++]
    if (!step || step.type === 'register') continue
    await runStep(step, steps.slice(at), parts, signal)
    if (step.type !== 'journal' && step.type !== 'verify') parts.onWritten()
  }
}

function registrationsFrom(steps: readonly RestoreStep[], start: number): RegisterStep[] {
  const row: RegisterStep[] = []
  for (let at = start; ; at++) {
    const step = steps[at]
    if (step?.type !== 'register') return row
    row.push(step)
  }
}

async function register(step: RegisterStep, parts: StepParts, signal: AbortSignal): Promise<void> {
  const id = await registerSchema(parts.writer, step, parts.clock, signal)
  if (step.id !== null && id !== step.id) throw new IdsIgnored(step, id)
  parts.onWritten()
  parts.onRegistered(step)
}

async function runStep(
  step: Exclude<RestoreStep, RegisterStep>,
  rest: readonly RestoreStep[],
  { writer, keepJournal, verify }: StepParts,
  signal: AbortSignal,
): Promise<void> {
  switch (step.type) {
    case 'journal':
      return keepJournal(step.journal)
    case 'set-mode':
      return writer.setMode(step.scope, step.mode, step.force, signal).catch(error => {
        throw isRefusal(error) ? new ModeRefused(step.scope, step.mode, error) : error
      })
    case 'delete-mode':
      return writer.deleteMode(step.scope, signal)
    case 'set-config':
      return writer.setConfig(step.scope, step, signal)
    case 'delete-config':
      return writer.deleteConfig(step.scope, signal)
    case 'delete-version':
      return writer.deleteVersion(step.subject, step.version, step.permanent, signal)
    case 'verify':
      return verify(rest)
    default:
      return step satisfies never
  }
}

/** 404 and 405 are those of a registry that has no modes to set. */
function isRefusal(error: unknown): error is RegistryError {
  return error instanceof RegistryError && [404, 405, 422].includes(error.status)
}
