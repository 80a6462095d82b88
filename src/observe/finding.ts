import type { ErrorCode, ErrorDetails } from '../errors.ts'

/** A blocker of a restore, or something to know before the first write. */
export interface Finding {
  severity: 'error' | 'warning'
  /** What it is about: `topic orders`, `group …`, `object …`. */
  subject: string
  problem: string
  /** Empty where the problem says it. */
  remedy: string
  /** Given if it is more than a target that does not fit. */
  code?: Extract<ErrorCode, 'ARCHIVE_DAMAGED' | 'KAFKA_DENIED'>
  /** What it is about, as data. */
  details?: ErrorDetails
}

export function topicError(topic: string, problem: string, remedy: string): Finding {
  return { severity: 'error', subject: `topic ${topic}`, problem, remedy, details: { topic } }
}

export function topicWarning(topic: string, problem: string, remedy: string): Finding {
  return { severity: 'warning', subject: `topic ${topic}`, problem, remedy, details: { topic } }
}

export function describeFinding({ subject, problem, remedy }: Finding): string {
  return remedy === '' ? `${subject}: ${problem}` : `${subject}: ${problem} (${remedy})`
}
