import type { RequestListener } from 'node:http'
import { KafkaBackupError } from '../errors.ts'
import { type CertificateSource, type Listener, listenAt, renewCertificate } from '../lib/listen.ts'
import { nodeHttp, nodeHttps } from '../lib/node-http.ts'

/** Answers one path: the status, what it is, and the text. */
export type Page = () => Promise<{ status: number; contentType: string; body: string }>

/** Refuses a request by its `Authorization` header; undefined lets it pass. */
export type Guard = (authorization: string | undefined) => Promise<Awaited<ReturnType<Page>> | undefined>

interface ListenOptions {
  host: string
  port: number
  /** For messages: the field that names the address. */
  field: string
  /** HTTPS with this certificate, which may be renewed. */
  tls?: CertificateSource
  guard?: Guard
}

/** Serves a few pages by GET, such as metrics and health. */
export async function openHttpListener(
  { host, port, field, tls, guard }: ListenOptions,
  pages: Readonly<Record<string, Page>>,
): Promise<Listener> {
  const serve: RequestListener = async (request, response) => {
    const page = pages[request.url?.split('?')[0] ?? '']
    const isRead = request.method === 'GET' || request.method === 'HEAD'
    const refused = await answer(async () => (await guard?.(request.headers.authorization)) ?? passed)
    const allowed = async () => (isRead ? answer(page) : text(405, 'only GET is answered here'))
    const { status, contentType, body } = refused.status === passed.status ? await allowed() : refused
    response.writeHead(status, { 'content-type': contentType, 'content-length': Buffer.byteLength(body) })
    response.end(request.method === 'HEAD' ? '' : body)
  }
  const secured = tls && createSecured(tls, serve, field)
  const server = secured ?? nodeHttp.createServer(serve)
  // A scraper that opens a connection and says nothing must not keep it for ever.
  server.requestTimeout = 10_000
  server.headersTimeout = 10_000
  const help = 'Choose a free port and an address of this machine, or leave the section out.'
  const listener = await listenAt(server, { host, port }, (problem, cause) => {
    return new KafkaBackupError('CONFIG_INVALID', `${field}: ${problem}`, { cause, help })
  })
  const stopRenewing = secured && tls && renewCertificate(secured, tlsOptions, tls)
  return {
    ...listener,
    close: () => {
      stopRenewing?.()
      return listener.close()
    },
  }
}

const tlsOptions = { minVersion: 'TLSv1.2' } as const
/** The guard has no objection. */
const passed = { status: 0, contentType: '', body: '' }

function createSecured({ files }: CertificateSource, serve: RequestListener, field: string) {
  try {
    return nodeHttps.createServer({ ...files, ...tlsOptions }, serve)
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new KafkaBackupError('CONFIG_INVALID', `${field}: the certificate or its key cannot be used: ${reason}`, {
      cause,
      help: 'Use PEM files of a certificate with its chain and of the key that belongs to it.',
    })
  }
}

export function text(status: number, body: string): Awaited<ReturnType<Page>> {
  return { status, contentType: 'text/plain; charset=utf-8', body: `${body}\n` }
}

async function answer(page: Page | undefined): ReturnType<Page> {
  if (!page) return text(404, 'there is nothing here')
  try {
    return await page()
  } catch {
    return text(500, 'this page could not be made')
  }
}
