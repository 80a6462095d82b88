import { createHash, timingSafeEqual } from 'node:crypto'
import { isIP } from 'node:net'

/** Who may talk to the console. */
export interface GateOptions {
  /** Required with every request where it is set. */
  token?: string | undefined
  /** Names under which the console is reached, with or without a port, besides those of this machine; any name where it does not listen on loopback only. */
  allowedHosts: readonly string[]
  isLoopback: boolean
}

/** What of a request decides whether it is answered. */
interface GateRequest {
  method: string
  headers: Readonly<Record<string, string | string[] | undefined>>
}

export interface Refusal {
  status: 400 | 401 | 403 | 405
  message: string
}

/** Pure. Why a request is not answered; undefined where it is. */
export function refuseRequest(options: GateOptions, { method, headers }: GateRequest): Refusal | undefined {
  if (method !== 'GET' && method !== 'HEAD') return { status: 405, message: 'This console only reads: use GET.' }
  if (!isKnownHost(options, textOf(headers.host))) {
    const message = 'This host name is not one of this console. Start it with --allowed-host to use this name.'
    return { status: 403, message }
  }
  if (isEmbedded(headers)) return { status: 403, message: 'Another site may link to this console, but not load it.' }
  if (options.token !== undefined && !hasToken(options.token, textOf(headers.authorization))) {
    return { status: 401, message: 'This console needs its token: leave the user name empty, and give it as password.' }
  }
  return undefined
}

export function isLoopbackHost(host: string): boolean {
  const name = host.toLowerCase()
  if (name === 'localhost' || name === '::1') return true
  return isIP(name) === 4 && name.startsWith('127.')
}

/** A page elsewhere can make its own name mean this machine (DNS rebinding), but cannot change the Host header of a browser. */
function isKnownHost({ allowedHosts, isLoopback }: GateOptions, header: string | undefined): boolean {
  const host = parseHost(header ?? '')
  if (!host) return false
  if (isLoopbackHost(host.name) || allowedHosts.some(one => isAllowed(parseHost(one), host))) return true
  return !isLoopback && allowedHosts.length === 0
}

interface HostName {
  name: string
  port: number | undefined
}

/** Pure. `name`, `name:port`, `[::1]` or `[::1]:port`, as in a Host header; undefined for anything else. */
export function parseHost(text: string): HostName | undefined {
  const [, bracketed, plain, port] =
    /^(?:\[([0-9a-fA-F:.]+)\]|([^:@/\s[\]]+))(?::(\d{1,5}))?$/.exec(isIP(text) === 6 ? `[${text}]` : text) ?? []
  const name = (bracketed ?? plain)?.toLowerCase()
  return name === undefined ? undefined : { name, port: port === undefined ? undefined : Number(port) }
}

/** Without a port, every port counts. Browsers leave out that of the protocol, which a proxy may have changed. */
function isAllowed(allowed: HostName | undefined, host: HostName): boolean {
  if (!allowed || allowed.name !== host.name) return false
  if (allowed.port === undefined || allowed.port === host.port) return true
  return host.port === undefined && (allowed.port === 443 || allowed.port === 80)
}

/** Whether another site loads it as a part of its page, as browsers report it. A link to it is fine. */
function isEmbedded(headers: GateRequest['headers']): boolean {
  const site = textOf(headers['sec-fetch-site'])
  const isForeign = site === 'cross-site' || site === 'same-site'
  const isLink = textOf(headers['sec-fetch-mode']) === 'navigate' && textOf(headers['sec-fetch-dest']) === 'document'
  return isForeign && !isLink
}

/** `Bearer` for programs; `Basic` with any user name, for which browsers ask by themselves. */
function hasToken(token: string, header: string | undefined): boolean {
  const [, scheme = '', content = ''] = /^(\S+) +(\S+) *$/.exec(header ?? '') ?? []
  if (scheme.toLowerCase() === 'bearer') return isEqual(content, token)
  if (scheme.toLowerCase() !== 'basic') return false
  const login = Buffer.from(content, 'base64').toString('utf8')
  return isEqual(login.slice(login.indexOf(':') + 1), token)
}

/** In the same time for every text: hashes have one length. */
function isEqual(given: string, expected: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest()
  return timingSafeEqual(digest(given), digest(expected))
}

function textOf(header: string | string[] | undefined): string | undefined {
  return typeof header === 'string' ? header : undefined
}
