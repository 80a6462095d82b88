import type { Finding } from '../../observe/finding.ts'
import type { Conflict, Note, RegistryPlan } from './plan/restore-step.ts'

/** What a plan has found, as what is shown before the first write. */
export function findingsOf({ conflicts, notes }: Pick<RegistryPlan, 'conflicts' | 'notes'>): Finding[] {
  return [...conflicts.map(refuse), ...notes.map(warn)]
}

function refuse({ subject, message }: Conflict): Finding {
  return { severity: 'error', subject: nameOf(subject), problem: message, remedy: '' }
}

function warn({ subject, message }: Note): Finding {
  return { severity: 'warning', subject: nameOf(subject), problem: message, remedy: '' }
}

function nameOf(subject: string | null): string {
  return subject === null ? 'schema registry' : `schema subject ${subject}`
}
