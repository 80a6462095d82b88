import { KafkaBackupError } from '../../errors.ts'
import { oneLine } from '../../lib/one-line.ts'
import { type Meaning, nameTable, proxyLogin, statusTable } from './error-table.ts'
import { findLoginMeaning } from './login-error.ts'

export interface AzureErrorContext {
  /** What was tried, to follow "cannot": `read`, `create`. */
  action: string
  key: string
  container: string
  location: string
  /** To tell by its dates why it is refused. */
  sasToken: string | undefined
}

/** The error of a request as one of the table; what is no error of a store or its network is returned as it is. */
export function mapAzureError(error: unknown, context: AzureErrorContext): unknown {
  if (!(error instanceof Error) || error instanceof KafkaBackupError) return error
  const facts = readFacts(error)
  const found = findMeaning(facts, error, context)
  if (found === undefined) return error
  const said = facts.status === undefined ? (facts.errno ?? error.name) : `${facts.name ?? ''} ${facts.status}`.trim()
  const what = context.key === '' ? '' : ` ${JSON.stringify(context.key)}`
  const where =
    facts.name === 'ContainerNotFound' ? `${JSON.stringify(context.container)} of ${context.location}` : undefined
  const message = `cannot ${context.action}${what} in ${where ?? context.location}: ${found.meaning}`
  return new KafkaBackupError(found.code, `${message} (${said})${quote(error)}`, {
    cause: error,
    ...(found.help !== undefined && { help: found.help }),
  })
}

/** The name that the service gave the error, also where an answer has no body. */
export function errorNameOf(error: unknown): string | undefined {
  return error instanceof Error ? readFacts(error).name : undefined
}

interface Facts {
  /** As the service calls it. */
  name: string | undefined
  status: number | undefined
  /** Of the system, of OpenSSL or of the HTTP parser. */
  errno: string | undefined
  isProxyLogin: boolean
  /** By the clock of the service, and by ours when the request was signed. */
  answeredMs: number | undefined
  signedMs: number | undefined
}

interface HeadersLike {
  get(name: string): string | undefined
}

function readFacts(error: Error): Facts {
  const { code, statusCode, details, request, response } = error as Error & {
    code?: unknown
    statusCode?: unknown
    details?: { errorCode?: unknown }
    request?: { headers?: HeadersLike }
    response?: { headers?: HeadersLike }
  }
  const isTunnel = code === 'ERR_PROXY_TUNNEL'
  const status = typeof statusCode === 'number' && !isTunnel ? statusCode : undefined
  const named = [details?.errorCode, code].find(each => typeof each === 'string') as string | undefined
  return {
    name: status === undefined ? undefined : named,
    status,
    errno: status === undefined && typeof code === 'string' ? code : undefined,
    isProxyLogin: (isTunnel && statusCode === 407) || status === 407,
    answeredMs: timeOf(response?.headers?.get('date')),
    signedMs: timeOf(request?.headers?.get('x-ms-date')),
  }
}

function findMeaning(facts: Facts, error: Error, context: AzureErrorContext): Meaning | undefined {
  const { name, status, errno } = facts
  if (facts.isProxyLogin) return proxyLogin
  const login = findLoginMeaning(error)
  if (login !== undefined) return login
  if (status === undefined) return errno === undefined ? undefined : findNetworkMeaning(errno)
  if (status === 401 || status === 403) {
    const dated = findDatedMeaning(facts, context.sasToken)
    if (dated !== undefined) return dated
  }
  const named = name !== undefined && Object.hasOwn(nameTable, name) ? nameTable[name] : undefined
  if (named !== undefined) return forAction(context.action, named)
  if (statusTable[status] !== undefined) return statusTable[status]
  if (status >= 500) return { code: 'STORAGE_UNAVAILABLE', meaning: 'the service failed' }
  const isAzure = status >= 400
  return { code: 'STORAGE_REFUSED', meaning: isAzure ? 'the service refused it' : 'the answer is not one of Azure' }
}

function forAction(action: string, named: Meaning): Meaning {
  const isTaken = named.isTaken === true && (action === 'create' || action === 'write')
  return isTaken ? { code: 'STORAGE_EXISTS', meaning: 'it is there already' } : named
}

const skewMs = 15 * 60_000

/** The service refuses what is out of date as it refuses a wrong signature; the dates tell which it is. */
function findDatedMeaning({ answeredMs, signedMs }: Facts, sasToken: string | undefined): Meaning | undefined {
  if (answeredMs === undefined) return undefined
  const dates = new URLSearchParams(sasToken ?? '')
  const [start, expiry] = [dates.get('st') ?? undefined, dates.get('se') ?? undefined]
  if ((timeOf(expiry) ?? Number.POSITIVE_INFINITY) <= answeredMs) {
    return { code: 'STORAGE_DENIED', meaning: `the SAS token expired at ${expiry}`, help: 'Make a new SAS token.' }
  }
  if ((timeOf(start) ?? 0) > answeredMs) {
    return {
      code: 'STORAGE_DENIED',
      meaning: `the SAS token is not valid before ${start}`,
      help: 'Wait, or make one without a start; clocks differ by some minutes.',
    }
  }
  if (signedMs === undefined || Math.abs(answeredMs - signedMs) < skewMs) return undefined
  const minutes = Math.round(Math.abs(answeredMs - signedMs) / 60_000)
  return {
    code: 'STORAGE_DENIED',
    meaning: `the clock of this machine differs from the service’s by ${minutes} minutes`,
    help: 'Set the clock; signatures are refused from 15 minutes on.',
  }
}

function findNetworkMeaning(errno: string): Meaning | undefined {
  if (/^(UNABLE_TO_|SELF_SIGNED|DEPTH_ZERO|CERT_|ERR_TLS_CERT|HOSTNAME_MISMATCH|INVALID_CA)/.test(errno)) {
    return {
      code: 'LOCATION_INVALID',
      meaning: 'the certificate of the endpoint is not trusted',
      help: 'Name the CA of a private store in `storage.ca_cert`; certificates are always checked.',
    }
  }
  if (/^(EPROTO|ERR_SSL_|HPE_)/.test(errno)) {
    return {
      code: 'LOCATION_INVALID',
      meaning: 'the endpoint speaks another protocol',
      help: 'Check scheme and port of the endpoint: `https://`, or `http://` for one without TLS.',
    }
  }
  if (errno === 'ENOTFOUND') {
    return {
      code: 'STORAGE_UNAVAILABLE',
      meaning: 'the host is not known',
      help: 'Check the name of the storage account and the endpoint, then DNS.',
    }
  }
  if (errno === 'ETIMEDOUT') return { code: 'STORAGE_UNAVAILABLE', meaning: 'no answer came in time' }
  const isNetwork = /^(E[A-Z]+|ERR_PROXY_TUNNEL|ERR_STREAM_\w+|PARSE_ERROR|REQUEST_SEND_ERROR)$/.test(errno)
  return isNetwork ? { code: 'STORAGE_UNAVAILABLE', meaning: 'the connection failed' } : undefined
}

function timeOf(text: string | undefined): number | undefined {
  const time = Date.parse(text ?? '')
  return Number.isNaN(time) ? undefined : time
}

/** The first line of what the service or the system adds to its refusal; ids and times follow it. */
function quote(error: Error): string {
  const text = firstLine(error.message)
  return text === '' ? '' : `: ${text}`
}

function firstLine(text: string): string {
  return oneLine(text.split('\n', 1)[0] ?? '')
}
