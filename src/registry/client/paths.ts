import { DEFAULT_CONTEXT, splitSubject } from '../model.ts'
import { encodeSegment } from './address.ts'
import type { Identity } from './flavour.ts'

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
