import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import type { TLSSocket } from 'node:tls'
import { openRegistryClient } from '../../src/registry/client/client.ts'
import type { RegistryOptions } from '../../src/registry/client/client-options.ts'
import { brokerNames, type Identity, makeIdentity } from '../servers/certificates.ts'
import { makeGuardedFolder } from '../servers/guard.ts'
import { startTokenServer, type TokenServer } from '../servers/token-server.ts'

const never = new AbortController().signal

describe('a registry behind TLS', () => {
  let folder: Awaited<ReturnType<typeof makeGuardedFolder>>
  let ca: Identity
  let otherCa: Identity
  let user: Identity
  let strangers: Identity
  let tokens: TokenServer
  let mutual: Server
  let plain: Server

  before(async () => {
    folder = await makeGuardedFolder('registry-tls')
    ca = await makeIdentity(folder.path, 'ca')
    otherCa = await makeIdentity(folder.path, 'other-ca')
    user = await makeIdentity(folder.path, 'user', { signedBy: ca, names: 'DNS:user' })
    strangers = await makeIdentity(folder.path, 'stranger', { signedBy: otherCa, names: 'DNS:user' })
    const server = await makeIdentity(folder.path, 'server', { signedBy: ca, names: brokerNames })
    tokens = await startTokenServer(server, join(folder.path, 'jwks.json'))
    mutual = await serve(server, ca, true)
    plain = await serve(server, ca, false)
  })

  after(async () => {
    mutual.close()
    plain.close()
    await tokens.stop()
    await folder.remove()
  })

  test('accepts a client certificate', async () => {
    assert.deepEqual(await ask(mutual, { auth: { type: 'mtls' }, tls: files(ca, user) }), ['user'])
  })

  test('gets no request without the right certificate on either side', async () => {
    await assert.rejects(ask(mutual, { tls: { caCert: ca.cert } }), { code: 'REGISTRY_TLS' })
    // Node's server hangs up on a certificate that it does not trust, without saying so.
    await assert.rejects(ask(mutual, { auth: { type: 'mtls' }, tls: files(ca, strangers) }), /ECONNRESET|CERTIFICATE/)
    await assert.rejects(ask(mutual, { auth: { type: 'mtls' }, tls: files(otherCa, user) }), { code: 'REGISTRY_TLS' })
    await assert.rejects(ask(plain, {}), { code: 'REGISTRY_TLS', message: /\/subjects failed: / })
  })

  test('gets the token of a token server with a certificate of the same CA', async () => {
    const auth = { type: 'oauth', clientId: 'backup', clientSecret: 's', scope: 'registry' } as const
    const options = { auth: { ...auth, tokenUrl: tokens.tokenUrl }, tls: { caCert: ca.cert } }
    const [header = ''] = (await ask(plain, options)) as string[]
    assert.match(header, /^Bearer [\w-]+\.[\w-]+\.[\w-]+$/)
    assert.equal(tokens.requests.at(-1)?.form.grant_type, 'client_credentials')
    assert.equal(tokens.requests.at(-1)?.form.scope, 'registry')
  })
})

function files(ca: Identity, own: Identity) {
  return { caCert: ca.cert, clientCert: own.cert, clientKey: own.key }
}

/** Answers with who is asking: the name of the certificate, or the login. */
async function serve(own: Identity, ca: Identity, isMutual: boolean): Promise<Server> {
  const [cert, key, authority] = await Promise.all([own.cert, own.key, ca.cert].map(file => readFile(file, 'utf8')))
  const options = { cert, key, ca: authority, requestCert: isMutual, rejectUnauthorized: isMutual }
  const server = createServer(options as object, (request, response) => {
    const shown = (request.socket as TLSSocket).getPeerCertificate().subject?.CN
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify([shown ?? request.headers.authorization]))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return server
}

async function ask(server: Server, options: Partial<RegistryOptions>): Promise<unknown> {
  const url = `https://localhost:${(server.address() as AddressInfo).port}`
  const client = await openRegistryClient({ urls: [url], attempts: 1, ...options })
  try {
    return await client.call({ path: '/subjects' }, never)
  } finally {
    client.close()
  }
}
