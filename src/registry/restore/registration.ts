import { resolveReference, versionKey } from '../../archive/registry-model.ts'
import { KafkaBackupError } from '../../errors.ts'
import type { Clock } from '../../lib/clock.ts'
import { retry } from '../../lib/retry.ts'
import { Semaphore } from '../../lib/semaphore.ts'
import { RegistryError } from '../client/registry-error.ts'
import { referenceNotFound, registrationFailed } from './plan/messages.ts'
import type { RegisterStep, Scope } from './plan/restore-step.ts'
import type { RegistryWriter } from './registry-writer.ts'

/** A node that lags behind does not know yet what another one has taken a moment ago. */
const LAG = { attempts: 6, baseDelayMs: 100, maxDelayMs: 2000 }
const INVALID_OR_UNRESOLVED = 42201
const NOT_PERMITTED = 42205
/** A registry keeps a schema as one record of Kafka. */
const TOO_LARGE = 42209
const incompatible = new Set([409, 40901])
const refused = new Set([422, 42201, 42202, 42205, 42207, 42208, 42209, 42210, 44302])

/** One registration, with what a refusal of it means to users. */
export async function registerSchema(
  writer: RegistryWriter,
  step: RegisterStep,
  clock: Clock,
  signal: AbortSignal,
): Promise<number> {
  const isLag = (error: unknown) =>
    step.references.length > 0 && error instanceof RegistryError && error.errorCode === INVALID_OR_UNRESOLVED
  try {
    return await retry(() => writer.register(step, signal), LAG, { isRetryable: isLag, clock }, signal)
  } catch (error) {
    if (!(error instanceof RegistryError)) throw error
    if (isLag(error)) await refuseMissing(writer, step, error, signal)
    throw explain(step, error)
  }
}

async function refuseMissing(
  writer: RegistryWriter,
  { subject, version, references }: RegisterStep,
  cause: RegistryError,
  signal: AbortSignal,
): Promise<void> {
  for (const reference of references) {
    const target = resolveReference(reference.subject, subject)
    if (await writer.has(target, reference.version, signal)) continue
    const reason =
      `version ${version} of subject ${subject} refers to its version ${reference.version}, which the target registry ` +
      'had, or was given by this restore, and does not show now'
    const advice = 'Run the command again, and let no other writer delete schemas meanwhile'
    throw new KafkaBackupError('REGISTRY_REFUSED', referenceNotFound(target, reason, advice), {
      cause,
      details: { subject: target, version: reference.version },
    })
  }
}

/** The registry would take it under another level. */
export function isIncompatible(error: unknown): boolean {
  return incompatible.has(codeOf(error) ?? 0)
}

/** The registry would take it in another mode. */
export function isRefusedByMode(error: unknown): boolean {
  return codeOf(error) === NOT_PERMITTED
}

/** What the registry has answered to a registration that failed. */
function codeOf(error: unknown): number | undefined {
  const cause = error instanceof KafkaBackupError ? error.cause : undefined
  return cause instanceof RegistryError ? (cause.errorCode ?? cause.status) : undefined
}

function explain({ subject, version }: RegisterStep, error: RegistryError): KafkaBackupError {
  const code = error.errorCode ?? error.status
  const isJudged = incompatible.has(code) || refused.has(code)
  if (!isJudged) return error
  return new KafkaBackupError('REGISTRY_REFUSED', registrationFailed(subject, `version ${version}: ${error.message}`), {
    details: { subject, version },
    cause: error,
    help: incompatible.has(code)
      ? 'Set enterprise.schema_registry.restore.set_compatibility to NONE, or .force_register to true, and run the command again.'
      : code === TOO_LARGE
        ? 'The Kafka of the registry takes no record of this size: raise max.message.bytes of its topic and max.request.size of ' +
          'the registry, then run the command again, or leave the subject out of the restore.'
        : 'Correct what the registry says, then run the command again: it continues where it stopped.',
  })
}

/** The registry gave a schema another ID than the one that it was sent: it ignores mode IMPORT. */
export class IdsIgnored extends KafkaBackupError {
  readonly step: RegisterStep

  constructor(step: RegisterStep, answered: number) {
    super('REGISTRY_REFUSED', `the target registry ignores IDs: ${describeOtherId(step, answered)}`, {
      help: 'Set enterprise.schema_registry.restore.force_ids to false; rewrite_ids then puts the new IDs into the messages.',
    })
    this.step = step
  }
}

/** A registry that gives IDs as asked has answered with another one: what it has there is another version. */
export function otherId(step: RegisterStep, answered: number): KafkaBackupError {
  const message = `the target registry does not register it: ${describeOtherId(step, answered)}`
  return new KafkaBackupError('REGISTRY_REFUSED', message, {
    help: 'Compare the schemas of both IDs in the registry, or set enterprise.schema_registry.restore.force_ids to false.',
  })
}

function describeOtherId({ subject, version, id }: RegisterStep, answered: number): string {
  return `version ${version} of subject ${subject} should have ID ${id} and has ${answered}`
}

/** A registry may be configured to refuse changes of modes, which no read shows. */
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
 * Distinguishes the refusal of one request from a failure that ends the run. A request that it does not understand, or that its
 * access rules forbid for one subject, is of the first kind; so is one at which it fails again and again, as long as others
 * succeed in between.
 */
export class RefusalJudge {
  #faults = 0
  #hasSucceeded = false

  succeeded(): void {
    this.#faults = 0
    this.#hasSucceeded = true
  }

  isRefusal(error: unknown): error is KafkaBackupError {
    if (!(error instanceof KafkaBackupError)) return false
    if (error.code === 'REGISTRY_REFUSED' || error.code === 'REGISTRY_NOT_FOUND') return true
    if (!(error instanceof RegistryError)) return false
    if (error.status === 403) return this.#hasSucceeded
    return error.status === 500 && this.#hasSucceeded && ++this.#faults <= MAX_FAULTS
  }
}

/** In a row: a server that fails at more requests than this is down. */
const MAX_FAULTS = 3

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
