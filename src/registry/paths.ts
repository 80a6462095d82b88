import { encodeSegment } from './address.ts'
import type { Identity } from './flavour.ts'
import { DEFAULT_CONTEXT, joinSubject, splitSubject } from './model.ts'

/** The path of something of a subject, or of a context where its name is that of no subject: `:.context:`. */
export function pathOf(
  { flavour }: Pick<Identity, 'flavour'>,
  resource: 'subjects' | 'config' | 'mode',
  subject: string,
  rest = '',
): string {
  const { context, name } = splitSubject(subject)
  // AxonOps has the settings of a context there alone.
  if (flavour === 'axonops' && context !== DEFAULT_CONTEXT) {
    const below = name === '' ? '' : `/${encodeSegment(name)}`
    return `/contexts/${encodeSegment(context)}/${resource}${below}${rest}`
  }
  return `/${resource}/${encodeSegment(subject)}${rest}`
}

/** No subject holds a line break. */
export function versionKey(subject: string, version: number): string {
  return `${subject}\n${version}`
}

/** A name without a context is one of the context of the schema that refers to it. */
export function resolveReference(from: string, subject: string): string {
  const target = splitSubject(subject)
  if (target.name !== subject) return joinSubject(target)
  return joinSubject({ context: splitSubject(from).context, name: subject })
}
