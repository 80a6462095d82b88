import { errorTable } from '../../error-table.ts'
import { type ErrorCode, KafkaBackupError } from '../../errors.ts'

const INTERRUPTED = new Set([130, 143])
const FAILED = 1
const PARTLY_DONE = 4
const HELD_BY_OTHERS = 5

/**
 * Whether running the same command again may succeed without any change. Exit codes
 * are not enough: a wrong password and an unavailable broker both exit with 1.
 */
export function isWorthRetrying(exit: number, reason: KafkaBackupError | ErrorCode | undefined): boolean {
  if (INTERRUPTED.has(exit)) return true
  if (![FAILED, PARTLY_DONE, HELD_BY_OTHERS].includes(exit)) return false
  // A partial result is retryable if its cause is.
  if (reason instanceof KafkaBackupError && reason.code === 'BACKUP_PARTIAL') return mayPass(reason.cause)
  const code = reason instanceof KafkaBackupError ? reason.code : reason
  return code !== undefined && errorTable[code].retryable
}

function mayPass(cause: unknown): boolean {
  return !(cause instanceof KafkaBackupError) || cause.retryable
}
