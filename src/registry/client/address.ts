import { DEFAULT_CONTEXT, type RegistryFlavour, splitSubject } from '../../archive/registry-model.ts'
import { KafkaBackupError } from '../../errors.ts'

/** One address of a registry. */
export interface Address {
  origin: string
  /** Without a slash at its end: '' or `/apis/ccompat/v7`. */
  basePath: string
  /** The header of a login that is part of the address. It is sent to this address only. */
  authorization?: string
}

export function parseAddress(url: string): Address {
  let parsed: URL
  try {
    parsed = new URL(url.trim())
  } catch {
    throw invalid('is not an address')
  }
  if (parsed.protocol !== 'http:' && parsed.protocol !== 'https:') throw invalid('is not http or https')
  if (parsed.search !== '' || parsed.hash !== '') throw invalid('has a query or a fragment, which cannot be kept')
  const basePath = parsed.pathname.replace(/\/+$/, '')
  if (parsed.username === '') return { origin: parsed.origin, basePath }
  const login = `${decodeURIComponent(parsed.username)}:${decodeURIComponent(parsed.password)}`
  return { origin: parsed.origin, basePath, authorization: formatBasic(login) }
}

export function formatBasic(login: string): string {
  return `Basic ${Buffer.from(login).toString('base64')}`
}

/** One segment of a path: a subject may hold slashes, spaces, `%`, or be nothing but dots. */
export function encodeSegment(text: string): string {
  return /^\.{1,2}$/.test(text) ? text.replaceAll('.', '%2E') : encodeText(text)
}

/** Fails for half a surrogate pair, which no address can name. */
function encodeText(text: string): string {
  if (text.isWellFormed()) return encodeURIComponent(text)
  const shown = JSON.stringify(text.slice(0, 100))
  throw new KafkaBackupError('REGISTRY_PROTOCOL', `the name ${shown} is not valid Unicode, so no request can name it`)
}

/**
 * The same for a server whose router is written in Go and compares a path as it came, unless it is encoded exactly as Go's
 * `net/url` does it. Others cannot be asked in this way: to Karapace, a plus that is not encoded is a space.
 */
export function encodeSegmentLikeGo(text: string): string {
  const encoded = encodeText(text).replace(/%(?:24|26|2B|2C|3A|3B|3D|40)/g, decodeURIComponent)
  return encoded.replace(/[!'()*]/g, character => `%${character.charCodeAt(0).toString(16).toUpperCase()}`)
}

export function formatQuery(query: Record<string, string | number | boolean> | undefined): string {
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query ?? {})) search.set(name, String(value))
  return search.size === 0 ? '' : `?${search}`
}

/** The address itself is not shown: it may hold a password. */
function invalid(why: string): KafkaBackupError {
  return new KafkaBackupError('CONFIG_INVALID', `enterprise.schema_registry.url ${why}`)
}

interface Flavoured {
  flavour: RegistryFlavour
}

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
