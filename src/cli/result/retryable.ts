import { errorTable } from '../../error-table.ts'
import { type ErrorCode, KafkaBackupError } from '../../errors.ts'

const INTERRUPTED = new Set([130, 143])
const FAILED = 1
const PARTLY_DONE = 4
const HELD_BY_OTHERS = 5

/**
 * Whether the same command may succeed when it is run again as it is, without anybody having changed anything. Exit codes
 * alone do not tell: a wrong password and a broker that is down both end with 1.
 */
export function isWorthRetrying(exit: number, reason: KafkaBackupError | ErrorCode | undefined): boolean {
  if (INTERRUPTED.has(exit)) return true
  if (![FAILED, PARTLY_DONE, HELD_BY_OTHERS].includes(exit)) return false
  // What was done in part is judged by what ended it.
  if (reason instanceof KafkaBackupError && reason.code === 'BACKUP_PARTIAL') return mayPass(reason.cause)
  const code = reason instanceof KafkaBackupError ? reason.code : reason
  return code !== undefined && errorTable[code].retryable
}

function mayPass(cause: unknown): boolean {
  return !(cause instanceof KafkaBackupError) || cause.retryable
}
