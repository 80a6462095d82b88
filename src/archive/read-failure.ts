import { type ErrorCode, KafkaBackupError } from '../errors.ts'

export type ReadFailure = 'encrypted, no key' | 'access denied' | 'too new' | 'damaged' | 'unreachable' | 'unreadable'

const failures: Partial<Record<ErrorCode, ReadFailure>> = {
  ENCRYPTION_KEY: 'encrypted, no key',
  STORAGE_DENIED: 'access denied',
  ARCHIVE_TOO_NEW: 'too new',
  ARCHIVE_DAMAGED: 'damaged',
  STORAGE_SHORT: 'damaged',
  STORAGE_UNAVAILABLE: 'unreachable',
  STORAGE_PROTOCOL: 'unreachable',
  KMS_UNREACHABLE: 'unreachable',
  CREDENTIALS_UNREACHABLE: 'unreachable',
}

/** Pure. Why a backup or generation could not be read: only damage says that it cannot be restored. */
export function readFailureOf(code: ErrorCode): ReadFailure {
  return failures[code] ?? 'unreadable'
}

/** Pure. The code of why something could not be read. A key that a service did not give just now is not a missing one. */
export function failureCodeOf({ code, retryable, cause }: KafkaBackupError): ErrorCode {
  return code === 'ENCRYPTION_KEY' && retryable && cause instanceof KafkaBackupError ? cause.code : code
}
