import { request as ask, createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface ProxiedCall {
  method: string
  /** Path and query, as they came. */
  target: string
  body: string
}

/** What becomes of a request. `cut` after it took effect, or before; `answer` comes instead; `send` is another body, and `edit` changes the answer. */
export type Treatment =
  | { kind: 'pass' }
  | { kind: 'cut-before' | 'cut-after' }
  | { kind: 'answer'; status: number; json: unknown }
  | { kind: 'send'; body: string }
  | { kind: 'edit'; edit: (answer: string) => string }

/** Stands before a registry, and does to requests what networks and vendors do. `nth` counts from 1. */
export async function startRegistryProxy(
  upstream: string,
  treat: (call: ProxiedCall, nth: number) => Treatment | Promise<Treatment>,
): Promise<{ url: string; close(): Promise<void> }> {
  let count = 0
  const server = createServer(async (incoming, answer) => {
    const call = { method: incoming.method ?? 'GET', target: incoming.url ?? '/', body: await textOf(incoming) }
    const treatment = await treat(call, ++count)
    if (treatment.kind === 'cut-before') return incoming.socket.destroy()
    if (treatment.kind === 'answer') {
      answer.writeHead(treatment.status, { 'content-type': 'application/json' })
      return answer.end(JSON.stringify(treatment.json))
    }
    const sent = treatment.kind === 'send' ? { ...call, body: treatment.body } : call
    const { status, body } = await forward(upstream, sent)
    if (treatment.kind === 'cut-after') return incoming.socket.destroy()
    answer.writeHead(status, { 'content-type': 'application/vnd.schemaregistry.v1+json' })
    return answer.end(treatment.kind === 'edit' ? treatment.edit(body) : body)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

/** All that changes a registry: a POST to a subject itself only asks whether it has a schema. */
export function isWrite({ method, target }: Pick<ProxiedCall, 'method' | 'target'>): boolean {
  const [path = ''] = target.split('?')
  const isLookup = method === 'POST' && /^\/subjects\/[^/]+$/.test(path)
  return method !== 'GET' && !isLookup
}

function forward(upstream: string, { method, target, body }: ProxiedCall): Promise<{ status: number; body: string }> {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }
    const onward = ask(upstream, { method, path: target, headers }, async reply =>
      resolve({ status: reply.statusCode ?? 502, body: await textOf(reply) }),
    )
    onward.once('error', reject)
    onward.end(body)
  })
}

async function textOf(message: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of message) chunks.push(chunk)
  return Buffer.concat(chunks).toString('utf8')
}
