import { timingSafeEqual } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { KafkaBackupError } from '../../errors.ts'
import { type CertificateSource, listenAt, renewCertificate, type TlsFiles } from '../../lib/listen.ts'
import { RegistryFault } from './registry-fault.ts'
import type { RegistryStore } from './registry-store.ts'
import type { Answer } from './route.ts'
import { answerRequest } from './router.ts'

export interface RegistryServerOptions {
  store: RegistryStore
  host: string
  /** 0 for any free one. */
  port: number
  /** Required with every request if it is set. */
  basicAuth?: { username: string; password: string }
  /** PEM. With `ca`, clients must show a certificate that it has signed. */
  tls?: TlsFiles
  /** Reads the files again, for certificates that are renewed. */
  tlsSource?: Omit<CertificateSource, 'files'>
  /** Called with every request before it is answered. */
  onRequest?: (request: { method: string; target: string }) => void
}

export interface RegistryServer {
  /** Without a slash at its end. */
  url: string
  close(): Promise<void>
}

/** A larger body cannot be a schema. */
const MAX_BODY_BYTES = 32 * 1024 * 1024

/** Serves a store over HTTP until it is closed. */
export async function openRegistryServer(options: RegistryServerOptions): Promise<RegistryServer> {
  const { host, port, tls, tlsSource } = options
  const onRequest = (request: IncomingMessage, response: ServerResponse) => void serve(options, request, response)
  const secured =
    tls && createTlsServer({ ...tls, ...(tls.ca ? { requestCert: true, rejectUnauthorized: true } : {}) }, onRequest)
  const server = secured ?? createServer(onRequest)
  const help = 'Choose a free port and an address of this machine.'
  const { address, close } = await listenAt(server, { host, port }, (problem, cause) => {
    return new KafkaBackupError('USAGE', `the registry ${problem}`, { cause, help })
  })
  const stopRenewing = secured && tlsSource && renewCertificate(secured, {}, { files: tls, ...tlsSource })
  return {
    url: `${tls ? 'https' : 'http'}://${address}`,
    close: () => {
      stopRenewing?.()
      return close()
    },
  }
}

async function serve(options: RegistryServerOptions, request: IncomingMessage, response: ServerResponse) {
  const { method = 'GET', url: target = '/' } = request
  try {
    options.onRequest?.({ method, target })
    checkAuth(options, request)
    const body = await readBody(request)
    send(response, 200, answerRequest(options.store, { method, target, body }))
  } catch (error) {
    const { status, errorCode, message } = toFault(error)
    if (status === 401) response.setHeader('www-authenticate', 'Basic realm="schema registry"')
    send(response, status, { json: { error_code: errorCode, message } })
  }
}

function checkAuth({ basicAuth }: RegistryServerOptions, { headers }: IncomingMessage): void {
  if (!basicAuth) return
  const expected = Buffer.from(`${basicAuth.username}:${basicAuth.password}`)
  const [scheme = '', encoded = ''] = (headers.authorization ?? '').split(' ')
  const given = Buffer.from(encoded, 'base64')
  const isRight =
    scheme.toLowerCase() === 'basic' && given.length === expected.length && timingSafeEqual(given, expected)
  if (!isRight) throw new RegistryFault(401, 'Unauthorized')
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of request) {
    size += chunk.length
    if (size > MAX_BODY_BYTES) throw new RegistryFault(413, `The body is larger than ${MAX_BODY_BYTES} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

function toFault(error: unknown): RegistryFault {
  if (error instanceof RegistryFault) return error
  return new RegistryFault(500, error instanceof Error ? error.message : String(error))
}

function send(response: ServerResponse, status: number, answer: Answer): void {
  const body = 'text' in answer ? answer.text : JSON.stringify(answer.json)
  response.writeHead(status, {
    'content-type': 'application/vnd.schemaregistry.v1+json',
    'content-length': Buffer.byteLength(body),
  })
  response.end(body)
}
