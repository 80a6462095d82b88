import { readFile } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { Identity } from '../servers/certificates.ts'

export interface FakeEntra {
  /** `https://localhost:port`, as authority and as the endpoint of managed identities. */
  url: string
  /** The requests for tokens: their paths and what they proved themselves with. */
  readonly requests: readonly { path: string; proof: Record<string, string> }[]
  /** What comes instead of tokens. */
  refusal: { status: number; error: string } | 'silence' | undefined
  close(): Promise<void>
}

export const tenant = '11111111-2222-3333-4444-555555555555'
export const clientSecret = 'the-secret-of-the-client'
export const federatedToken = 'a-token-of-the-cluster'
export const identityHeader = 'a-header-of-the-platform'

/**
 * What of Entra the login of a service principal, of a workload and of a managed identity (as in App Service) needs. Its
 * tokens are unsigned, which Azurite does not look at: it checks issuer, audience and times.
 */
export async function startFakeEntra(identity: Identity): Promise<FakeEntra> {
  const requests: FakeEntra['requests'][number][] = []
  const [key, cert] = await Promise.all([readFile(identity.key), readFile(identity.cert)])
  const server = createServer({ key, cert }, async (incoming, answer) => {
    let body = ''
    for await (const chunk of incoming) body += chunk
    const url = new URL(incoming.url ?? '', state.url)
    if (url.pathname.endsWith('/openid-configuration')) return send(answer, 200, discovery(state.url))
    const proof = proofOf(incoming, new URLSearchParams(body))
    requests.push({ path: url.pathname, proof })
    if (state.refusal === 'silence') return
    if (state.refusal !== undefined) return send(answer, state.refusal.status, { error: state.refusal.error })
    if (!isWelcome(proof)) return send(answer, 401, { error: 'invalid_client', error_description: 'wrong secret' })
    return send(answer, 200, tokenAnswer())
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  server.unref()
  const state: FakeEntra = {
    url: `https://localhost:${(server.address() as AddressInfo).port}`,
    requests,
    refusal: undefined,
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
  return state
}

function proofOf(incoming: IncomingMessage, form: URLSearchParams): Record<string, string> {
  const header = incoming.headers['x-identity-header']
  const named = ['client_id', 'client_secret', 'client_assertion'].flatMap(name => {
    const value = form.get(name)
    return value === null ? [] : [[name, value]]
  })
  return { ...Object.fromEntries(named), ...(header !== undefined && { header: String(header) }) }
}

function isWelcome({ client_secret, client_assertion, header }: Record<string, string>): boolean {
  return client_secret === clientSecret || client_assertion === federatedToken || header === identityHeader
}

function discovery(url: string): Record<string, unknown> {
  const at = `${url}/${tenant}`
  return {
    token_endpoint: `${at}/oauth2/v2.0/token`,
    authorization_endpoint: `${at}/oauth2/v2.0/authorize`,
    issuer: `${at}/v2.0`,
    jwks_uri: `${at}/keys`,
  }
}

function tokenAnswer(): Record<string, unknown> {
  const now = Math.floor(Date.now() / 1000)
  const claims = {
    iss: `https://sts.windows.net/${tenant}/`,
    aud: 'https://storage.azure.com',
    iat: now,
    nbf: now - 60,
  }
  const parts = [{ alg: 'none', typ: 'JWT' }, { ...claims, exp: now + 3600 }, 'unsigned']
  const token = parts.map(part => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')
  return { token_type: 'Bearer', expires_in: 3600, expires_on: String(now + 3600), access_token: token }
}

function send(answer: ServerResponse, status: number, body: unknown): void {
  answer.writeHead(status, { 'content-type': 'application/json' })
  answer.end(JSON.stringify(body))
}
