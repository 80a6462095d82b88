import { request as httpRequest } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { KafkaBackupError } from '../../errors.ts'
import type { Clock } from '../../lib/clock.ts'
import { classifyTlsError } from '../wire/tls-error.ts'

export interface FormRequest {
  url: string
  form: string
  authorization: string | undefined
  /** PEM; undefined for the authorities that Node.js knows. */
  ca: string | undefined
  timeoutMs: number
}

export interface FormAnswer {
  status: number
  body: string
}

const MAX_BODY_BYTES = 1 << 20

/** Posts a form over verified TLS (or to this machine itself) and follows no redirect. */
export function postForm({ url, form, authorization, ca, timeoutMs }: FormRequest, clock: Clock): Promise<FormAnswer> {
  const isTls = new URL(url).protocol === 'https:'
  const open = isTls ? httpsRequest : httpRequest
  return new Promise((resolve, reject) => {
    const request = open(url, {
      method: 'POST',
      headers: {
        accept: 'application/json',
        'content-type': 'application/x-www-form-urlencoded',
        'content-length': Buffer.byteLength(form),
        ...(authorization !== undefined && { authorization }),
      },
      agent: false,
      ...(isTls && { rejectUnauthorized: true, minVersion: 'TLSv1.2', ...(ca !== undefined && { ca }) }),
    })
    const fail = (error: NodeJS.ErrnoException) => {
      cancel()
      request.destroy()
      reject(classify(error, url, ca !== undefined))
    }
    const cancel = clock.after(timeoutMs, () => fail(new Error(`no answer within ${timeoutMs} ms`)))
    request.on('error', fail)
    request.on('response', response => {
      const chunks: Buffer[] = []
      let bytes = 0
      response.on('error', fail)
      response.on('data', (chunk: Buffer) => {
        chunks.push(chunk)
        bytes += chunk.length
        if (bytes > MAX_BODY_BYTES) fail(new Error('its answer is too long'))
      })
      response.on('end', () => {
        cancel()
        resolve({ status: response.statusCode ?? 0, body: Buffer.concat(chunks).toString() })
      })
    })
    request.end(form)
  })
}

function classify(error: NodeJS.ErrnoException, url: string, hasOwnCa: boolean): KafkaBackupError {
  const { origin, pathname, host } = new URL(url)
  const ofTls = classifyTlsError(error, { name: `the token endpoint ${host}`, hasOwnCa })
  if (ofTls) {
    const help = 'Set `security.sasl.oauth.ca_cert` to the file of the CA that signed the certificate.'
    return new KafkaBackupError('KAFKA_TLS', ofTls.message, { cause: error, help })
  }
  const message = `the token endpoint ${origin}${pathname} cannot be reached: ${error.code ?? error.message}`
  return new KafkaBackupError('KAFKA_UNREACHABLE', message, {
    cause: error,
    help: 'Check the token endpoint and the network, then run the command again.',
  })
}
