import { writeFile } from 'node:fs/promises'
import { pathToFileURL } from 'node:url'
import { OAuth2Server } from 'oauth2-mock-server'
import type { Identity } from './certificates.ts'

export interface TokenServer {
  tokenUrl: string
  /** Where a broker finds the keys that tokens are signed with: a file. */
  jwksUrl: string
  /** The requests for tokens so far. */
  requests: { authorization: string | undefined; form: Record<string, string> }[]
  /** What the next tokens are like. */
  lifeSeconds: number
  subject: string
  /** What comes instead of a token. */
  refusal: { statusCode: number; body: Record<string, unknown> } | undefined
  stop(): Promise<void>
}

/** A token endpoint over TLS. It believes every client; the test looks at what was sent. */
export async function startTokenServer(identity: Identity, jwksFile: string): Promise<TokenServer> {
  const server = new OAuth2Server(identity.key, identity.cert)
  const jwk = await server.issuer.keys.generate('RS256')
  await writeFile(jwksFile, JSON.stringify({ keys: [publicPart(jwk)] }))
  await server.start(0, 'localhost')
  const state: TokenServer = {
    tokenUrl: `${server.issuer.url}/token`,
    jwksUrl: pathToFileURL(jwksFile).href,
    requests: [],
    lifeSeconds: 3600,
    subject: 'backup',
    refusal: undefined,
    stop: () => server.stop(),
  }
  server.service.on('beforeTokenSigning', (token, request) => {
    token.payload.sub = state.subject
    token.payload.exp = token.payload.iat + state.lifeSeconds
    state.requests.push({ authorization: request.headers.authorization, form: { ...request.body } })
  })
  server.service.on('beforeResponse', response => {
    if (state.refusal) Object.assign(response, state.refusal)
    else response.body = { ...response.body, expires_in: state.lifeSeconds }
  })
  return state
}

function publicPart(jwk: object): Record<string, unknown> {
  const secret = new Set(['d', 'p', 'q', 'dp', 'dq', 'qi'])
  return Object.fromEntries(Object.entries(jwk).filter(([name]) => !secret.has(name)))
}
