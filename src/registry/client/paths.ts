import { DEFAULT_CONTEXT, splitSubject } from '../../archive/registry-model.ts'
import { encodeSegment, encodeSegmentLikeGo } from './address.ts'
import type { Identity } from './flavour.ts'

type Flavoured = Pick<Identity, 'flavour'>

/** The path of something of a subject, or of a context where its name is that of no subject: `:.context:`. */
export function pathOf(
  identity: Flavoured,
  resource: 'subjects' | 'config' | 'mode',
  subject: string,
  rest = '',
): string {
  const { context, name } = splitSubject(subject)
  // AxonOps has the settings of a context there alone.
  if (identity.flavour === 'axonops') {
    const below = name === '' && context !== DEFAULT_CONTEXT ? '' : `/${segment(identity, name)}`
    return `${contextPath(identity, context)}/${resource}${below}${rest}`
  }
  return `/${resource}/${segment(identity, subject)}${rest}`
}

/** What a path begins with that is about one context: nothing for the default one. */
export function contextPath(identity: Flavoured, context: string): string {
  return context === DEFAULT_CONTEXT ? '' : `/contexts/${segment(identity, context)}`
}

function segment({ flavour }: Flavoured, text: string): string {
  return flavour === 'axonops' ? encodeSegmentLikeGo(text) : encodeSegment(text)
}
