import type { ErrorCode } from '../../errors.ts'
import type { EndedAttempt } from './attempt.ts'

/**
 * What happens to a continuous backup whose pod failed with the code. `restart`: the Job starts another pod, with growing
 * delays of at most ten minutes, because the cause may pass or is being corrected elsewhere, such as a password that is
 * being rotated. `stall`: nothing but a change of the spec, the keys or the archive helps, so the backup stops and says so.
 */
type RestartPolicy = 'restart' | 'stall'

/** Every code of src/errors.ts has a row; a new code does not compile until it is sorted in. */
export const restartPolicies = {
  // Bad input: the spec or the image has to change.
  USAGE: 'stall',
  CONFIG_UNREADABLE: 'stall',
  CONFIG_INVALID: 'stall',
  LOCATION_INVALID: 'stall',
  STORAGE_UNFIT: 'stall',
  BACKUP_PRUNED: 'stall',
  ARCHIVE_TOO_NEW: 'stall',
  RESTORE_REFUSED: 'stall',
  KUBE_CONFIG: 'stall',

  // Another writer.
  WRITER_CONFLICT: 'stall',
  RESTORE_CONFLICT: 'stall',

  // A truncated source, a damaged archive.
  SOURCE_TRUNCATED: 'stall',
  ARCHIVE_DAMAGED: 'stall',
  STORAGE_SHORT: 'stall',
  BATCH_INVALID: 'stall',
  REGISTRY_UNFAITHFUL: 'stall',

  // Wrong keys.
  ENCRYPTION_KEY: 'stall',
  ENCRYPTION_MISMATCH: 'stall',

  KMS_UNREACHABLE: 'restart',
  CREDENTIALS_UNREACHABLE: 'restart',
  CREDENTIALS_REFUSED: 'restart',
  STORAGE_NOT_FOUND: 'restart',
  STORAGE_EXISTS: 'restart',
  STORAGE_DENIED: 'restart',
  STORAGE_FULL: 'restart',
  STORAGE_RETAINED: 'restart',
  STORAGE_REFUSED: 'restart',
  STORAGE_PROTOCOL: 'restart',
  STORAGE_UNAVAILABLE: 'restart',
  BACKUP_NOT_FOUND: 'restart',
  GENERATION_NOT_FOUND: 'restart',
  BACKUP_HELD: 'restart',
  BACKUP_IN_USE: 'restart',
  NO_MATCH: 'restart',
  SCHEMAS_NOT_FOUND: 'restart',
  SHARDS_INCOMPLETE: 'restart',
  SCHEMA_ID_UNKNOWN: 'restart',
  KAFKA_UNREACHABLE: 'restart',
  KAFKA_DISCONNECTED: 'restart',
  KAFKA_TIMEOUT: 'restart',
  KAFKA_NOT_READY: 'restart',
  KAFKA_TLS: 'restart',
  KAFKA_AUTH: 'restart',
  KAFKA_DENIED: 'restart',
  KAFKA_NO_AUTHORIZER: 'restart',
  KAFKA_UNSUPPORTED: 'restart',
  KAFKA_REFUSED: 'restart',
  KAFKA_PROTOCOL: 'restart',
  TOPIC_NOT_FOUND: 'restart',
  GROUP_ACTIVE: 'restart',
  GROUP_NOT_FOUND: 'restart',
  OFFSETS_REFUSED: 'restart',
  OFFSETS_DIFFER: 'restart',
  OFFSET_OUT_OF_RANGE: 'restart',
  SOURCE_REPLACED: 'restart',
  SOURCE_CORRUPT: 'restart',
  SOURCE_UNREADABLE: 'restart',
  BATCH_OLD_FORMAT: 'restart',
  REGISTRY_UNREACHABLE: 'restart',
  REGISTRY_TLS: 'restart',
  REGISTRY_AUTH: 'restart',
  REGISTRY_NOT_FOUND: 'restart',
  REGISTRY_REFUSED: 'restart',
  REGISTRY_PROTOCOL: 'restart',
  REGISTRY_CHANGING: 'restart',
  KUBE_UNREACHABLE: 'restart',
  KUBE_TLS: 'restart',
  KUBE_AUTH: 'restart',
  KUBE_DENIED: 'restart',
  KUBE_NOT_FOUND: 'restart',
  KUBE_EXISTS: 'restart',
  KUBE_CONFLICT: 'restart',
  KUBE_INVALID: 'restart',
  KUBE_GONE: 'restart',
  KUBE_PROTOCOL: 'restart',
  GAP_FOUND: 'restart',
  BACKUP_PARTIAL: 'restart',
  INTERRUPTED: 'restart',
  TERMINATED: 'restart',
  INTERNAL: 'restart',
} as const satisfies Record<ErrorCode, RestartPolicy>

/**
 * A pod without a result was killed, or ran another version: it is restarted. So is one whose error is retryable although its code
 * is final: an `ENCRYPTION_KEY` whose cause is a key service that did not answer.
 */
export function isStalling({ isSuccess, result }: EndedAttempt['ended']): boolean {
  const code = result?.code
  if (isSuccess || result?.isRetryable || code === undefined || !Object.hasOwn(restartPolicies, code)) return false
  return restartPolicies[code as ErrorCode] === 'stall'
}
