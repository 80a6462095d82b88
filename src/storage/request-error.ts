import { type ErrorCode, KafkaBackupError } from '../errors.ts'
import { oneLine } from '../lib/one-line.ts'

/** What the error of a store means here. */
export interface ErrorMeaning {
  code: ErrorCode
  meaning: string
  help?: string
}

export interface FailedRequest {
  /** What was tried, to follow "cannot": `read`, `create`. */
  action: string
  key: string
  location: string
}

/** The error of a request in the words of the table. `reported` is the store's own name for it. */
export function requestError(
  error: unknown,
  { action, key, location }: FailedRequest,
  { code, meaning, help }: ErrorMeaning,
  reported: string | undefined,
  quoted = '',
): KafkaBackupError {
  const object = key === '' ? '' : ` ${JSON.stringify(key)}`
  const message = `cannot ${action}${object} in ${location}: ${meaning} (${reported})${quoted === '' ? '' : `: ${oneLine(quoted)}`}`
  const details = { location, key: key === '' ? undefined : key, operation: action }
  return new KafkaBackupError(code, message, { cause: error, help, details })
}

/** A proxy, a captive portal or a load balancer answered in place of the store: nothing follows from what it said. */
export const foreignAnswer: ErrorMeaning = { code: 'STORAGE_PROTOCOL', meaning: 'the answer is not from the store' }

/** An answer that lacks what every store of its kind gives. It never means that something is stored, empty or missing. */
export class ForeignAnswer extends Error {
  readonly status: number

  /** `fault` says what is wrong with it: `it has no ETag`. */
  constructor(status: number, fault: string) {
    super(fault)
    this.name = 'ForeignAnswer'
    this.status = status
  }
}

/** The error of a request that something else answered; undefined for any other error. */
export function foreignError(error: unknown, failed: FailedRequest): KafkaBackupError | undefined {
  if (!(error instanceof ForeignAnswer)) return undefined
  return requestError(error, failed, foreignAnswer, String(error.status), error.message)
}

export const proxyLogin: ErrorMeaning = {
  code: 'STORAGE_DENIED',
  meaning: 'the proxy requires a login',
  help: 'Give it in `storage.proxy`: `http://user:password@proxy:3128`.',
}

/** The system errors that only a change of the configuration can fix. */
export function endpointMeaning(errno: string): ErrorMeaning | undefined {
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
  return undefined
}
