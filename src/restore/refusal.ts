import { KafkaBackupError } from '../errors.ts'
import { describeFinding, type Finding } from '../observe/finding.ts'

/** The target or the backup is not fit for the restore, and nothing was written. Its message has all that was found. */
export class RestoreRefusal extends KafkaBackupError {
  readonly findings: readonly Finding[]

  constructor(findings: readonly Finding[]) {
    const errors = findings.filter(({ severity }) => severity === 'error')
    const [first] = errors
    const message = errors.map(describeFinding).join('; ')
    super(refusalCode(findings), message, first && { help: helpFor(errors.length, first) })
    this.findings = findings
  }
}

/** Damage is graver than a target that does not fit, and has an exit code of its own. */
export function refusalCode(findings: readonly Finding[]): 'ARCHIVE_DAMAGED' | 'RESTORE_REFUSED' {
  return findings.some(({ code }) => code === 'ARCHIVE_DAMAGED') ? 'ARCHIVE_DAMAGED' : 'RESTORE_REFUSED'
}

function helpFor(count: number, { remedy }: Finding): string {
  if (count > 1) return 'Nothing was written. Do what is said of each, then run the command again.'
  return remedy === ''
    ? 'Nothing was written. Do what is said, then run the command again.'
    : `Nothing was written. To continue: ${remedy}.`
}
