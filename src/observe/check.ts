import { KafkaBackupError, toKafkaBackupError } from '../errors.ts'

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
