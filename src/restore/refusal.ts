import { KafkaBackupError } from '../errors.ts'
import { describeFinding, type Finding } from '../observe/finding.ts'

/** The target or the backup is not fit for the restore, and no record was written. Its message has all that was found. */
export class RestoreRefusal extends KafkaBackupError {
  readonly findings: readonly Finding[]
  /** What the restore had written by then; undefined for nothing. */
  readonly written: string | undefined

  constructor(findings: readonly Finding[], written?: string) {
    const errors = findings.filter(({ severity }) => severity === 'error')
    const code = refusalCode(findings)
    const first = errors.find(error => error.code === code) ?? errors[0]
    const message = errors.map(describeFinding).join('; ')
    super(
      code,
      message,
      first && {
        help: `${written ?? 'Nothing was written.'} ${helpFor(errors.length, first)}`,
        details: first.details,
      },
    )
    this.findings = findings
    this.written = written
  }
}

/** Throws where a finding is a blocker, with all findings at once. */
export function refuseBlocked(findings: readonly Finding[], written?: string): void {
  if (findings.some(({ severity }) => severity === 'error')) throw new RestoreRefusal(findings, written)
}

/**
 * Damage takes precedence over an unsuitable target, and has a separate exit code. Where only leaders or coordinators are missing, the same
 * command may succeed later.
 */
export function refusalCode(findings: readonly Finding[]): 'ARCHIVE_DAMAGED' | 'RESTORE_REFUSED' | 'KAFKA_NOT_READY' {
  if (findings.some(({ code }) => code === 'ARCHIVE_DAMAGED')) return 'ARCHIVE_DAMAGED'
  const errors = findings.filter(({ severity }) => severity === 'error')
  const mayPass = errors.length > 0 && errors.every(({ code }) => code === 'KAFKA_NOT_READY')
  return mayPass ? 'KAFKA_NOT_READY' : 'RESTORE_REFUSED'
}

function helpFor(count: number, { remedy }: Finding): string {
  if (count > 1) return 'Resolve every problem listed, then run the command again.'
  return remedy === '' ? 'Resolve the problem, then run the command again.' : `To continue: ${remedy}.`
}
