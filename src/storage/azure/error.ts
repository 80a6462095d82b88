import { KafkaBackupError } from '../../errors.ts'
import {
  type ErrorMeaning,
  endpointMeaning,
  type FailedRequest,
  foreignAnswer,
  foreignError,
  proxyLogin,
  requestError,
} from '../request-error.ts'
import { type AzureMeaning, findLoginMeaning, nameTable, statusTable } from './error-table.ts'

interface AzureErrorContext extends FailedRequest {
  container: string
  /** Its dates explain why the service refuses it. */
  sasToken: string | undefined
}

/** Classifies the error of a request. Errors that come from neither the store nor the network are returned unchanged. */
export function mapAzureError(error: unknown, context: AzureErrorContext): unknown {
  if (!(error instanceof Error) || error instanceof KafkaBackupError) return error
  const foreign = foreignError(error, context)
  if (foreign !== undefined) return foreign
  const facts = readFacts(error)
  const found = findMeaning(facts, error, context)
  if (found === undefined) return error
  const reported =
    facts.status === undefined ? (facts.errno ?? error.name) : `${facts.name ?? ''} ${facts.status}`.trim()
  const { container, location } = context
  const where = facts.name === 'ContainerNotFound' ? `${JSON.stringify(container)} of ${location}` : location
  return requestError(error, { ...context, location: where }, found, reported, firstLine(error.message))
}

/** The service's name for the error, also if the response has no body. */
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
  /** By the clock of the service, and by the local clock when the request was signed. */
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

function findMeaning(facts: Facts, error: Error, context: AzureErrorContext): ErrorMeaning | undefined {
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
  return status < 400 ? foreignAnswer : { code: 'STORAGE_REFUSED', meaning: 'the service refused it' }
}

function forAction(action: string, named: AzureMeaning): ErrorMeaning {
  const isTaken = named.isTaken === true && (action === 'create' || action === 'write')
  return isTaken ? { code: 'STORAGE_EXISTS', meaning: 'it already exists' } : named
}

const skewMs = 15 * 60_000

/** The service answers an expired token like a wrong signature; the dates distinguish them. */
function findDatedMeaning({ answeredMs, signedMs }: Facts, sasToken: string | undefined): ErrorMeaning | undefined {
  if (answeredMs === undefined) return undefined
  const dates = new URLSearchParams(sasToken ?? '')
  const [start, expiry] = [dates.get('st') ?? undefined, dates.get('se') ?? undefined]
  if ((timeOf(expiry) ?? Number.POSITIVE_INFINITY) <= answeredMs) {
    return { code: 'STORAGE_DENIED', meaning: `the SAS token expired at ${expiry}`, help: 'Create a new SAS token.' }
  }
  if ((timeOf(start) ?? 0) > answeredMs) {
    return {
      code: 'STORAGE_DENIED',
      meaning: `the SAS token is not valid before ${start}`,
      help: 'Wait, or create one without a start; clocks differ by some minutes.',
    }
  }
  if (signedMs === undefined || Math.abs(answeredMs - signedMs) < skewMs) return undefined
  const minutes = Math.round(Math.abs(answeredMs - signedMs) / 60_000)
  return {
    code: 'STORAGE_DENIED',
    meaning: `the clock of this machine differs from the service’s by ${minutes} minutes`,
    help: 'Set the clock; the service rejects signatures that are 15 minutes off.',
  }
}

function findNetworkMeaning(errno: string): ErrorMeaning | undefined {
  const endpoint = endpointMeaning(errno)
  if (endpoint !== undefined) return endpoint
  if (errno === 'ENOTFOUND') {
    return {
      code: 'STORAGE_UNAVAILABLE',
      meaning: 'unknown host',
      help: 'Check the name of the storage account and the endpoint, then DNS.',
    }
  }
  if (errno === 'ETIMEDOUT') return { code: 'STORAGE_UNAVAILABLE', meaning: 'no response in time' }
  const isNetwork = /^(E[A-Z]+|ERR_PROXY_TUNNEL|ERR_STREAM_\w+|PARSE_ERROR|REQUEST_SEND_ERROR)$/.test(errno)
  return isNetwork ? { code: 'STORAGE_UNAVAILABLE', meaning: 'the connection failed' } : undefined
}

function timeOf(text: string | undefined): number | undefined {
  const time = Date.parse(text ?? '')
  return Number.isNaN(time) ? undefined : time
}

/** Ids and times follow the first line. */
function firstLine(text: string): string {
  return text.split('\n', 1)[0] ?? ''
}
