import { KafkaBackupError } from '../errors.ts'
import type { Finding } from './preflight.ts'

/** The target is not fit for the restore, and nothing was written. Its message has all that was found. */
export class RestoreRefusal extends KafkaBackupError {
  readonly findings: readonly Finding[]

  constructor(findings: readonly Finding[]) {
    const errors = findings.filter(({ severity }) => severity === 'error')
    const [first] = errors
    super('RESTORE_REFUSED', errors.map(describeFinding).join('; '), first && { help: helpFor(errors.length, first) })
    this.findings = findings
  }
}

export function describeFinding({ topic, problem, remedy }: Finding): string {
  return `${topic}: ${problem} (${remedy})`
}

function helpFor(count: number, { remedy }: Finding): string {
  if (count > 1) return 'Nothing was written. Do what is said of each topic, then run the command again.'
  return `Nothing was written. To go on: ${remedy}.`
}
