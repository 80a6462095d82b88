import { KafkaBackupError } from '../errors.ts'
import { type Listener, listenAt } from '../lib/listen.ts'
import { nodeHttp } from '../lib/node-http.ts'

/** Answers one path: the status, what it is, and the text. */
export type Page = () => Promise<{ status: number; contentType: string; body: string }>

interface ListenOptions {
  host: string
  port: number
  /** For messages: the field that names the address. */
  field: string
}

/** Serves a few pages by GET, such as metrics and health. */
export async function openHttpListener(
  { host, port, field }: ListenOptions,
  pages: Readonly<Record<string, Page>>,
): Promise<Listener> {
  const server = nodeHttp.createServer(async (request, response) => {
    const page = pages[request.url?.split('?')[0] ?? '']
    const isRead = request.method === 'GET' || request.method === 'HEAD'
    const { status, contentType, body } = isRead ? await answer(page) : text(405, 'only GET is answered here')
    response.writeHead(status, { 'content-type': contentType, 'content-length': Buffer.byteLength(body) })
    response.end(request.method === 'HEAD' ? '' : body)
  })
  // A scraper that opens a connection and says nothing must not keep it for ever.
  server.requestTimeout = 10_000
  server.headersTimeout = 10_000
  const help = 'Choose a free port and an address of this machine, or leave the section out.'
  return listenAt(server, { host, port }, (problem, cause) => {
    return new KafkaBackupError('CONFIG_INVALID', `${field}: ${problem}`, { cause, help })
  })
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
