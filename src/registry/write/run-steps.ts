import { KafkaBackupError } from '../../errors.ts'
import type { Clock } from '../../lib/clock.ts'
import { runPool } from '../../lib/pool.ts'
import { RegistryError } from '../client/registry-error.ts'
import type { Lift, RegisterStep, RestoreJournal, RestoreStep, Scope } from '../plan/restore-step.ts'
import { registerInOrder } from './register-in-order.ts'
import { isIncompatible, registerSchema } from './registration.ts'
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
  /** After every write: the scope whose settings it may have changed, if any. */
  onWritten: (touched: Scope | null) => void
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

/**
 * Carries a plan out. Registrations that follow one another run side by side as far as they do not need each other, and so
 * do settings of different subjects.
 */
export async function runSteps(steps: readonly RestoreStep[], parts: StepParts, signal: AbortSignal): Promise<void> {
  let isFirst = true
  for (let at = 0; at < steps.length; ) {
    signal.throwIfAborted()
    const row = registrationsFrom(steps, at)
    if (row.length > 0) {
      // Whether a registry heeds IDs is seen at the first one, before there are others to take back.
      const alone = isFirst && row[0]?.id !== null ? 1 : row.length
      await registerRow(row.slice(0, alone), parts, signal)
      isFirst = false
      at += alone
      continue
    }
    const settings = subjectSettingsFrom(steps, at)
    if (settings.length > 0) {
      const bySubject = Map.groupBy(settings, ({ scope }) => JSON.stringify(scope))
      await runPool(bySubject.values(), parts.concurrency, async some => {
        for (const step of some) await runStep(step, [], parts, signal)
      })
      at += settings.length
      continue
    }
    const step = steps[at++]
    if (step && step.type !== 'register') await runStep(step, steps.slice(at), parts, signal)
  }
}

type SettingsStep = Extract<RestoreStep, { scope: unknown }>

/** Of single subjects: those of a context or of the registry count for others, and are set alone. */
function subjectSettingsFrom(steps: readonly RestoreStep[], start: number): SettingsStep[] {
  const row: SettingsStep[] = []
  for (let at = start; ; at++) {
    const step = steps[at]
    if (!step || !('scope' in step) || step.scope.kind !== 'subject') return row
    row.push(step)
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

/** Subjects whose level had to be lifted have their own again afterwards, also where a registration failed. */
async function registerRow(row: readonly RegisterStep[], parts: StepParts, signal: AbortSignal): Promise<void> {
  const lifted = new Map<string, Lift>()
  const settleAll = () =>
    runPool(lifted, parts.concurrency, ([subject, { after }]) => settle(subject, after, parts.writer, signal))
  await registerInOrder(row, parts.concurrency, step => register(step, lifted, parts, signal)).catch(async error => {
    // The journal has these levels, so that the next run sets what this one cannot.
    if (!signal.aborted) await settleAll().catch(() => undefined)
    throw error
  })
  await settleAll()
}

async function settle(
  subject: string,
  { compatibility, config }: Lift['after'],
  writer: RegistryWriter,
  signal: AbortSignal,
): Promise<void> {
  const scope: Scope = { kind: 'subject', subject }
  if (compatibility === null && config === null) return writer.deleteConfig(scope, signal)
  return writer.setConfig(scope, { compatibility, config, clears: compatibility === null }, signal)
}

async function register(
  step: RegisterStep,
  lifted: Map<string, Lift>,
  parts: StepParts,
  signal: AbortSignal,
): Promise<void> {
  const { writer, clock } = parts
  const { subject, lift } = step
  const id = await registerSchema(writer, step, clock, signal).catch(async error => {
    if (lift === null || lifted.has(subject) || !isIncompatible(error)) throw error
    const scope: Scope = { kind: 'subject', subject }
    lifted.set(subject, lift)
    parts.onWritten(scope)
    await writer.setConfig(scope, { ...lift.during, clears: false }, signal)
    return registerSchema(writer, step, clock, signal)
  })
  if (step.id !== null && id !== step.id) throw new IdsIgnored(step, id)
  parts.onWritten(null)
  parts.onRegistered(step)
}

async function runStep(
  step: Exclude<RestoreStep, RegisterStep>,
  rest: readonly RestoreStep[],
  parts: StepParts,
  signal: AbortSignal,
): Promise<void> {
  await send(step, rest, parts, signal)
  if ('scope' in step) parts.onWritten(step.scope)
  // With its last version a subject may lose its settings.
  if (step.type === 'delete-version') parts.onWritten({ kind: 'subject', subject: step.subject })
}

async function send(
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
