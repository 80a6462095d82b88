import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { systemClock } from '../../src/lib/clock.ts'
import { openRegistryClient } from '../../src/registry/client/client.ts'
import type { RegistryOptions } from '../../src/registry/client/client-options.ts'
import { readSnapshot } from '../../src/registry/client/read-snapshot.ts'
import { JournalBook } from '../../src/registry/restore/journal.ts'
import { restoreSchemas, surveySchemas } from '../../src/registry/restore/restore-schemas.ts'
import { openMemoryStorage } from '../fakes/memory-storage.ts'
import { snapshotOf, versionOf } from '../fakes/registry-snapshots.ts'
import { never, usual } from '../registry/restore/schema-stage.ts'
import type { Apicurio } from '../servers/apicurio.ts'
import { brokerNames, type Identity, makeIdentity } from '../servers/certificates.ts'
import { makeGuardedFolder } from '../servers/guard.ts'
import { type Nginx, startNginx } from '../servers/nginx.ts'
import { shareApicurio } from '../servers/shared-apicurio.ts'
import { startTokenServer, type TokenServer } from '../servers/token-server.ts'

const login = { username: 'backup', password: 'p:ä%' }
const subjects = ['geo/a b%+?#.proto', 'plain']
const backup = snapshotOf(subjects.map((subject, at) => versionOf(subject, 1, at + 40)))

/** A real registry, a real proxy before it, and a base path that neither of them knows of the other. */
describe('a registry behind nginx', () => {
  let folder: Awaited<ReturnType<typeof makeGuardedFolder>>
  let apicurio: Apicurio
  let ca: Identity
  let user: Identity
  let stranger: Identity
  let basic: Nginx
  let mutual: Nginx
  let tokens: TokenServer

  before(async () => {
    folder = await makeGuardedFolder('registry-nginx')
    ca = await makeIdentity(folder.path, 'ca')
    user = await makeIdentity(folder.path, 'user', { signedBy: ca, names: 'DNS:user' })
    stranger = await makeIdentity(folder.path, 'stranger', { names: 'DNS:stranger' })
    const server = await makeIdentity(folder.path, 'server', { signedBy: ca, names: brokerNames })
    apicurio = await shareApicurio()
    const shared = { upstream: apicurio.url, basePath: '/team/registry' }
    basic = await startNginx({ ...shared, login })
    mutual = await startNginx({ ...shared, tls: { server, clientCa: ca } })
    tokens = await startTokenServer(server, join(folder.path, 'jwks.json'))
  })

  after(async () => {
    await tokens.stop()
    await Promise.all([basic.stop(), mutual.stop()])
    await apicurio.stop()
    await folder.remove()
  })

  test('registers and returns schemas under a base path with a login, for any subject name', async () => {
    const options = { urls: [`${basic.url}/`], auth: { type: 'basic', ...login } } as const
    await restore(options)
    const { versions } = await read(options)
    assert.deepEqual(
      versions.map(({ subject, schema }) => [subject, schema]),
      backup.versions.map(({ subject, schema }) => [subject, schema]),
    )
    const seen = (await basic.requests()).map(({ line }) => line)
    assert.ok(seen.includes('200 POST /team/registry/subjects/geo%2Fa%20b%25%2B%3F%23.proto/versions'))
    assert.deepEqual(
      seen.filter(line => line.startsWith('401')),
      [],
    )
  })

  test('registers and returns schemas with a client certificate', async () => {
    const tls = { caCert: ca.cert, clientCert: user.cert, clientKey: user.key }
    const options = { urls: [mutual.url], auth: { type: 'mtls' }, tls } as const
    assert.equal((await restore(options)).report.versions.keep, 2)
    assert.equal((await read(options)).versions.length, 2)
  })

  test('refuses a wrong login, which is not retried', async () => {
    const before = (await basic.requests()).length
    const auth = { type: 'basic', username: login.username, password: 'wrong' } as const
    await assert.rejects(read({ urls: [basic.url], auth }), (error: Error & { code?: string }) => {
      assert.equal(error.code, 'REGISTRY_AUTH')
      assert.doesNotMatch(error.message, /wrong/)
      return true
    })
    assert.equal((await basic.requests()).length, before + 1)
  })

  test('refuses a client without a certificate, or with one of another authority', async () => {
    const none = { urls: [mutual.url], tls: { caCert: ca.cert } }
    await assert.rejects(
      read(none),
      /answered 400: a page of HTML with the title "400 No required SSL certificate was sent"/,
    )
    const tls = { caCert: ca.cert, clientCert: stranger.cert, clientKey: stranger.key }
    await assert.rejects(read({ urls: [mutual.url], auth: { type: 'mtls' }, tls }), /400 The SSL certificate error/)
  })

  test('gets no request from a client that does not trust its certificate', async () => {
    await assert.rejects(read({ urls: [mutual.url] }), { code: 'REGISTRY_TLS' })
  })

  test('is reported with its path if the base path is wrong', async () => {
    const urls = [basic.url.replace('/team/registry', '/team/other')]
    await assert.rejects(read({ urls, auth: { type: 'basic', ...login } }), {
      code: 'REGISTRY_NOT_FOUND',
      message: /\/team\/other\/subjects\?limit=1 answered 404: a page of HTML/,
    })
  })

  test('gets the token of a token server with every request', async () => {
    const before = (await mutual.requests()).length
    const oauth = {
      type: 'oauth',
      tokenUrl: tokens.tokenUrl,
      clientId: 'backup',
      clientSecret: 's',
      scope: 'registry',
    } as const
    const tls = { caCert: ca.cert, clientCert: user.cert, clientKey: user.key }
    assert.equal((await read({ urls: [mutual.url], auth: oauth, tls })).versions.length, 2)
    const seen = (await mutual.requests()).slice(before)
    assert.ok(seen.length > 10)
    assert.deepEqual(new Set(seen.map(({ scheme }) => scheme)), new Set(['Bearer']))
    assert.equal(tokens.requests.length, 1)
    assert.deepEqual(tokens.requests[0]?.form, { grant_type: 'client_credentials', scope: 'registry' })
  })
})

async function read(options: RegistryOptions) {
  const client = await openRegistryClient({ attempts: 1, ...options })
  try {
    return await readSnapshot(client, {}, never)
  } finally {
    client.close()
  }
}

async function restore(options: RegistryOptions) {
  const client = await openRegistryClient({ attempts: 1, ...options })
  const parts = { storage: openMemoryStorage(), clock: systemClock, newRun: () => 'run' }
  const journal = new JournalBook(parts, { backupId: 'b', registry: client.name })
  try {
    const survey = await surveySchemas(backup, usual, { client, journal }, never)
    return await restoreSchemas(
      backup,
      survey,
      { client, journal, clock: systemClock, onProgress: () => undefined },
      never,
    )
  } finally {
    client.close()
  }
}
