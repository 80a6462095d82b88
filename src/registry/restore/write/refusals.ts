import { KafkaBackupError } from '../../../errors.ts'
import { RegistryError } from '../../client/registry-error.ts'
import type { RegisterStep, Scope } from '../plan/restore-step.ts'

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
 * Tells what a registry has against one request from what ends a run. A request that it does not understand, or that its
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
