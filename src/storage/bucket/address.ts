import { KafkaBackupError } from '../../errors.ts'
import { parsePrefix } from '../key.ts'
import type { Environment } from './agents.ts'

/** What is specific to the addresses of one store. */
export interface AddressKind {
  scheme: 's3' | 'az' | 'gs'
  /** What the first part of the address names. */
  noun: 'bucket' | 'container'
  isName(text: string): boolean
  /** The names that may follow `?`. */
  settings: readonly string[]
  /** Where credentials belong, because an address takes none. */
  credentials: string
  help: string
}

interface BucketAddress {
  name: string
  prefix: string
  settings: Map<string, string>
}

/** `scheme://name/prefix?setting=value&…` */
export function parseAddress(text: string, kind: AddressKind): BucketAddress {
  const form = new RegExp(`^${kind.scheme}://([^/?#]*)(/[^?#]*)?(?:\\?([^#]*))?$`, 'i')
  const [, name = '', path = '', query = ''] = form.exec(text) ?? []
  // The part before an @ may be a secret, so the message leaves it out.
  if (/@/.test(name)) throw invalidAddress(kind, 'takes no credentials', kind.credentials)
  if (name === '') throw invalidAddress(kind, `names no ${kind.noun}`)
  if (!kind.isName(name)) {
    throw invalidAddress(kind, `names ${JSON.stringify(name)}, which is not a valid ${kind.noun} name`)
  }
  return { name, prefix: parsePrefix(decodePath(path, kind).replace(/^\//, '')), settings: parseSettings(query, kind) }
}

/** The text that `parseAddress` reads back. Settings without a value are left out. */
export function formatAddress(
  kind: AddressKind,
  { name, prefix = '' }: { name: string; prefix: string | undefined },
  settings: Record<string, string | undefined>,
): string {
  const path = prefix === '' ? '' : `/${prefix.replace(/[%?#]/g, encodeURIComponent)}`
  const given = Object.entries(settings).filter(([, value]) => value !== undefined)
  const query = given.map(([setting, value]) => `${setting}=${value}`).join('&')
  return `${kind.scheme}://${name}${path}${query === '' ? '' : `?${query}`}`
}

/** A file name as the value of a setting. */
export function formatFileSetting(path: string | undefined): string | undefined {
  return path && encodeURI(path).replace(/[?#&+]/g, encodeURIComponent)
}

export function parseEndpoint(text: string, kind: AddressKind): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || !/^https?:\/\//i.test(text)) {
    throw invalidAddress(kind, 'has an `endpoint` that is not an `https://` or `http://` URL')
  }
  if (url.username !== '' || url.password !== '') {
    throw invalidAddress(kind, 'has an `endpoint` with credentials', kind.credentials)
  }
  return text.replace(/\/+$/, '')
}

/** The first of these variables that is set. It is shown as part of the location, so it must contain no login. */
export function endpointIn(env: Environment, variables: readonly string[], kind: AddressKind): string | undefined {
  const variable = variables.find(one => env[one])
  const endpoint = variable === undefined ? undefined : env[variable]
  if (!endpoint || !/[@?#]/.test(endpoint)) return endpoint
  throw new KafkaBackupError('LOCATION_INVALID', `${variable} contains more than an address`, {
    help: `It takes no credentials. ${kind.credentials}`,
  })
}

export function parseFlag(name: string, value: string, kind: AddressKind): boolean {
  if (value === 'true' || value === 'false') return value === 'true'
  throw invalidAddress(kind, `has a \`${name}\` that is neither true nor false`)
}

export function invalidAddress({ scheme, help }: AddressKind, fault: string, otherHelp = help): KafkaBackupError {
  return new KafkaBackupError('LOCATION_INVALID', `the \`${scheme}:\` address ${fault}`, { help: otherHelp })
}

function parseSettings(query: string, kind: AddressKind): Map<string, string> {
  const settings = new Map<string, string>()
  for (const [name, value] of new URLSearchParams(query.replaceAll('+', '%2B'))) {
    if (!kind.settings.includes(name)) {
      throw invalidAddress(kind, `has the unknown setting \`${name}\`; known: ${kind.settings.join(', ')}`)
    }
    if (value === '') throw invalidAddress(kind, `has no value for \`${name}\``)
    settings.set(name, value)
  }
  return settings
}

function decodePath(path: string, kind: AddressKind): string {
  try {
    return decodeURIComponent(path)
  } catch {
    throw invalidAddress(kind, 'contains an invalid % escape', 'Write a literal % as %25.')
  }
}
