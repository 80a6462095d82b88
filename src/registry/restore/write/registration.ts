import { resolveReference } from '../../../archive/registry-model.ts'
import { KafkaBackupError } from '../../../errors.ts'
import type { Clock } from '../../../lib/clock.ts'
import { retry } from '../../../lib/retry.ts'
import { RegistryError } from '../../client/registry-error.ts'
import { referenceNotFound, registrationFailed } from '../plan/restore-messages.ts'
import type { RegisterStep } from '../plan/restore-step.ts'
import type { RegistryWriter } from './requests.ts'

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
    throw new KafkaBackupError('REGISTRY_REFUSED', referenceNotFound(target, reason, advice), { cause })
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
    cause: error,
    help: incompatible.has(code)
      ? 'Set enterprise.schema_registry.restore.set_compatibility to NONE, or .force_register to true, and run the command again.'
      : code === TOO_LARGE
        ? 'The Kafka of the registry takes no record of this size: raise max.message.bytes of its topic and max.request.size of ' +
          'the registry, then run the command again, or leave the subject out of the restore.'
        : 'Correct what the registry says, then run the command again: it continues where it stopped.',
  })
}
