import { joinSubject, splitSubject } from '../../archive/registry-model.ts'
import { faults } from './registry-fault.ts'

export function isQualified(subject: string): boolean {
  return /^:\.[^:]*:/.test(subject)
}

/** A plain name is one of the context of the subject that names it. */
export function qualifySubject(subject: string, namedBy: string): string {
  return normalizeSubject(subject, splitSubject(namedBy).context)
}

/** `:.:name` is the plain name; a plain name below the path of a context is one of it. */
export function normalizeSubject(subject: string, pathContext: string | undefined): string {
  if (isQualified(subject) || pathContext === undefined) return joinSubject(splitSubject(subject))
  return joinSubject({ context: pathContext, name: subject })
}

/** Throws 42208 for names that no registry takes. */
export function checkSubjectName(subject: string): void {
  const { name } = splitSubject(subject)
  const hasControl = [...name].some(character => character < ' ' || (character >= '\u007f' && character <= '\u009f'))
  if (hasControl || name === '__GLOBAL' || name === '__EMPTY') throw faults.invalidSubject(subject)
}
