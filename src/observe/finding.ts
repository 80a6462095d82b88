import { type ErrorCode, type ErrorDetails, KafkaBackupError, toKafkaBackupError } from '../errors.ts'

/** A blocker of a restore, or something to know before the first write. */
export interface Finding {
  severity: 'error' | 'warning'
  /** What it is about: `topic orders`, `group …`, `object …`. */
  subject: string
  problem: string
  /** Empty where the problem says it. */
  remedy: string
  /** Given if it is more than a target that does not fit. */
  code?: Extract<ErrorCode, 'ARCHIVE_DAMAGED' | 'KAFKA_DENIED' | 'KAFKA_NOT_READY'>
  /** What it is about, as data. */
  details?: ErrorDetails
}

export function topicError(topic: string, problem: string, remedy: string): Finding {
  return { severity: 'error', subject: `topic ${topic}`, problem, remedy, details: { topic } }
}

export function topicWarning(topic: string, problem: string, remedy: string): Finding {
  return { severity: 'warning', subject: `topic ${topic}`, problem, remedy, details: { topic } }
}

/** For a damaged or missing object of a backup. */
export const DAMAGE_REMEDY =
  'restore another generation (restore.generation), or leave the partition or topic out (restore.partitions, ' +
  'restore.topics.exclude); `verify` shows the full extent'

export function describeFinding({ subject, problem, remedy }: Finding): string {
  return remedy === '' ? `${subject}: ${problem}` : `${subject}: ${problem} (${remedy})`
}

/** What a look at everything that a job needs has found. */
export interface CheckReport {
  ok: boolean
  clusterId: string | null
  brokers: number
  checks: Check[]
  warnings: string[]
}

/** Something that the job needs, and whether it is there. */
export interface Check {
  subject: string
  action: string
  allowed: boolean
  detail: string
}

/** A call that tells in words what is there; what it fails with is a finding like any other. */
export async function attempt(
  subject: string,
  action: string,
  signal: AbortSignal,
  call: () => Promise<string>,
): Promise<Check> {
  try {
    return { subject, action, allowed: true, detail: await call() }
  } catch (error) {
    signal.throwIfAborted()
    if (!(error instanceof KafkaBackupError)) throw error
    return failedCheck(subject, action, error)
  }
}

export function failedCheck(subject: string, action: string, error: KafkaBackupError): Check {
  const { message, help } = toKafkaBackupError(error)
  return { subject, action, allowed: false, detail: `${message}. ${help}` }
}
