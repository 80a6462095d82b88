import assert from 'node:assert/strict'
import { generateKeyPairSync, verify } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface GoogleTokens {
  url: string
  /** The ways in which tokens were asked for, in order. */
  readonly requests: readonly ('key' | 'federation' | 'machine')[]
  /** What was shown for them: the claims of a key's signature, or the token of another issuer. */
  readonly shown: readonly unknown[]
  /** Of the next tokens. */
  lifeSeconds: number
  /** What comes instead of a token. */
  refusal: { status: number; body: Record<string, unknown> } | 'silence' | undefined
  /** Tokens that were given out are good no more. */
  withdraw(): void
  isGood(authorization: string | undefined): boolean
  /** JSON of a service account whose signatures this service knows. */
  serviceAccount(): Record<string, string>
  /** JSON of a workload identity federation whose token stands in the file. */
  externalAccount(tokenFile: string): Record<string, unknown>
  close(): Promise<void>
}

const { privateKey, publicKey } = generateKeyPairSync('rsa', {
  modulusLength: 2048,
  publicKeyEncoding: { type: 'spki', format: 'pem' },
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
})

/** What Google has for those who log in: the token endpoint of service accounts, STS, and the metadata of a machine. */
export async function startGoogleTokens(): Promise<GoogleTokens> {
  const requests: GoogleTokens['requests'][number][] = []
  const shown: unknown[] = []
  const good = new Set<string>()
  const server = createServer(async (incoming, answer) => {
    const form = new URLSearchParams(await textOf(incoming))
    const way = wayOf(incoming)
    requests.push(way)
    if (service.refusal === 'silence') return
    if (service.refusal) return send(answer, service.refusal.status, service.refusal.body)
    shown.push(way === 'key' ? claimsOf(form, `${service.url}/token`) : form.get('subject_token'))
    const token = `${way}-token-${requests.length}`
    good.add(`Bearer ${token}`)
    const body = { access_token: token, expires_in: service.lifeSeconds, token_type: 'Bearer' }
    return send(answer, 200, { ...body, issued_token_type: 'urn:ietf:params:oauth:token-type:access_token' })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  server.unref()
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const service: GoogleTokens = {
    url,
    requests,
    shown,
    lifeSeconds: 3600,
    refusal: undefined,
    withdraw: () => good.clear(),
    isGood: authorization => good.has(authorization ?? ''),
    serviceAccount: () => ({
      type: 'service_account',
      project_id: 'acme',
      private_key_id: 'k1',
      private_key: privateKey,
      client_email: 'backup@acme.iam.gserviceaccount.com',
      token_uri: `${url}/token`,
    }),
    externalAccount: tokenFile => ({
      type: 'external_account',
      audience: '//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/pool/providers/provider',
      subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
      token_url: `${url}/v1/token`,
      credential_source: { file: tokenFile },
    }),
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
  return service
}

function wayOf({ url, headers }: IncomingMessage): 'key' | 'federation' | 'machine' {
  if (url === '/token') return 'key'
  if (url === '/v1/token') return 'federation'
  assert.match(url ?? '', /^\/computeMetadata\/v1\/instance\/service-accounts\/default\/token/)
  assert.equal(headers['metadata-flavor'], 'Google')
  return 'machine'
}

/** The claims of an assertion whose signature fits. */
function claimsOf(form: URLSearchParams, audience: string): Record<string, unknown> {
  assert.equal(form.get('grant_type'), 'urn:ietf:params:oauth:grant-type:jwt-bearer')
  const [head = '', body = '', signature = ''] = (form.get('assertion') ?? '').split('.')
  const isSigned = verify('RSA-SHA256', Buffer.from(`${head}.${body}`), publicKey, Buffer.from(signature, 'base64url'))
  assert.ok(isSigned, 'the signature is wrong')
  const claims = JSON.parse(Buffer.from(body, 'base64url').toString())
  assert.equal(claims.aud, audience)
  return claims
}

function send(answer: ServerResponse, status: number, body: Record<string, unknown>): void {
  answer.writeHead(status, { 'content-type': 'application/json', 'metadata-flavor': 'Google' })
  answer.end(JSON.stringify(body))
}

async function textOf(incoming: IncomingMessage): Promise<string> {
  let text = ''
  for await (const chunk of incoming) text += chunk
  return text
}
