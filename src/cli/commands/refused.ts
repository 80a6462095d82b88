import { type ErrorCode, KafkaBackupError } from '../../errors.ts'
import type { RestoreRefusal } from '../../restore/refusal.ts'
import type { Session } from '../session.ts'
import { plural } from '../text.ts'
import { formatFindings } from './finding-table.ts'

const problems: Partial<Record<ErrorCode, string>> = {
  ARCHIVE_DAMAGED: 'the backup is damaged',
  KAFKA_NOT_READY: 'the target is not ready for this restore',
}

/** Prints findings as a table with a short error; with JSON output the error message contains all findings. */
export function showRefusal(session: Session, refusal: RestoreRefusal): KafkaBackupError {
  const { findings, code, help, written, details } = refusal
  const title = written === undefined ? 'Preflight findings' : 'Findings before the first record was written'
  session.outcome.note({ problem: { code, message: refusal.message, details } })
  const isShown = session.tell(style => formatFindings(title, findings, style).slice(1))
  if (!isShown || session.options.format === 'json') return refusal
  const errors = findings.filter(({ severity }) => severity === 'error')
  const message = `${problems[code] ?? 'the target is not suitable for this restore'}: ${plural(errors.length, 'problem')}`
  return new KafkaBackupError(code, message, { cause: refusal, help })
}
