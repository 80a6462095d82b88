import { mkdtemp, readFile, rm } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TLSSocket } from 'node:tls'
import type { KubeCredentials } from '../../src/operator/kube/credentials.ts'
import { brokerNames, type Identity, makeIdentity } from '../servers/certificates.ts'

export interface KubeCall {
  method: string
  /** With the query. */
  url: string
  headers: IncomingMessage['headers']
  body: string
  /** The common name of the client's certificate. */
  client: string | undefined
  /** Which of the server's connections it came over, from 0. */
  connection: number
}

export interface KubeScript {
  access: KubeCredentials
  folder: string
  authority: Identity
  calls: KubeCall[]
  close(): Promise<void>
}

/** An API server of 127.0.0.1 over TLS that answers as the function says; without an answer the call hangs. */
export async function startKubeScript(
  answer: (call: KubeCall, response: ServerResponse) => void | Promise<void>,
): Promise<KubeScript> {
  const folder = await mkdtemp(join(tmpdir(), 'kube-script-'))
  const authority = await makeIdentity(folder, 'authority')
  const server = await makeIdentity(folder, 'server', { signedBy: authority, names: brokerNames })
  const [cert, key, ca] = await Promise.all([server.cert, server.key, authority.cert].map(file => readFile(file)))
  const calls: KubeCall[] = []
  const sockets: unknown[] = []
  const listener = createServer({ cert, key, ca, requestCert: true, rejectUnauthorized: false } as object)
  listener.on('secureConnection', socket => sockets.push(socket))
  listener.on('request', async (incoming: IncomingMessage, response: ServerResponse) => {
    let body = ''
    for await (const chunk of incoming) body += chunk
    const { method = '', url = '', headers } = incoming
    const client = (incoming.socket as TLSSocket).getPeerCertificate().subject?.CN
    const name = Array.isArray(client) ? client[0] : client
    const call = { method, url, headers, body, client: name, connection: sockets.indexOf(incoming.socket) }
    calls.push(call)
    await answer(call, response)
  })
  await new Promise<void>(resolve => listener.listen(0, '127.0.0.1', resolve))
  const url = `https://127.0.0.1:${(listener.address() as AddressInfo).port}`
  return {
    access: { server: url, ca: { file: authority.cert }, token: { text: 'a-token' } },
    folder,
    authority,
    calls,
    close: async () => {
      await new Promise<void>(resolve => {
        listener.close(() => resolve())
        listener.closeAllConnections()
      })
      await rm(folder, { recursive: true })
    },
  }
}

export function sendJson(response: ServerResponse, status: number, body: unknown, headers: object = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers })
  response.end(JSON.stringify(body))
}

/** As the API server refuses. */
export function statusObject(code: number, reason: string, message: string, causes: unknown[] = []): object {
  const details = causes.length === 0 ? {} : { details: { causes } }
  return { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', code, reason, message, ...details }
}
