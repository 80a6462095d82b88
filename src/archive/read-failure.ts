import type { ErrorCode } from '../errors.ts'

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
}

/** Pure. Why a backup or generation could not be read: only damage says that it cannot be restored. */
export function readFailureOf(code: ErrorCode): ReadFailure {
  return failures[code] ?? 'unreadable'
}
