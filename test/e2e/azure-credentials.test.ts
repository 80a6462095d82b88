import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, afterEach, before, describe, test } from 'node:test'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import {
  ContainerSASPermissions,
  generateBlobSASQueryParameters,
  SASProtocol,
  StorageSharedKeyCredential,
} from '@azure/storage-blob'
import type { AzureOptions } from '../../src/storage/azure/azure-options.ts'
import { openStorage } from '../../src/storage/open-storage.ts'
import type { Storage } from '../../src/storage/storage.ts'
import { clientSecret, type FakeEntra, federatedToken, identityHeader, startFakeEntra, tenant } from '../fakes/entra.ts'
import { startHttpProxy } from '../fakes/http-proxy.ts'
import { type AzureServer, startAzure } from '../servers/azurite.ts'
import { makeIdentity } from '../servers/certificates.ts'
import { makeGuardedFolder } from '../servers/guard.ts'

const never = new AbortController().signal
const retryPolicy = { attempts: 3, baseDelayMs: 5, maxDelayMs: 5 }

const earlier = { ...process.env }
const trusted = getCACertificates('default')
let server: AzureServer
/** Without any credentials. */
let container: AzureOptions
let folder: Awaited<ReturnType<typeof makeGuardedFolder>>
let entra: FakeEntra

before(async () => {
  folder = await makeGuardedFolder('credentials')
  server = await startAzure({ tls: true })
  const { accountKey: _, ...rest } = await server.makeContainer('chain')
  container = rest
  const ca = await makeIdentity(folder.path, 'ca')
  entra = await startFakeEntra(await makeIdentity(folder.path, 'entra', { signedBy: ca, names: 'DNS:localhost' }))
  await writeFile(join(folder.path, 'token'), federatedToken)
  // As NODE_EXTRA_CA_CERTS does at the start of a process.
  setDefaultCACertificates([...trusted, await readFile(ca.cert, 'utf8')])
})
after(async () => {
  setDefaultCACertificates(trusted)
  await entra.close()
  await server.stop()
  await folder.remove()
})
afterEach(() => {
  process.env = { ...earlier }
  entra.refusal = undefined
})

/** The environment of a machine that has nothing of Azure but what is given. */
function setEnvironment(variables: Record<string, string>): void {
  const ours = Object.entries(earlier).filter(([name]) => !name.startsWith('AZURE_'))
  process.env = { ...Object.fromEntries(ours), ...variables }
}

async function using<T>(options: Partial<AzureOptions>, work: (storage: Storage) => Promise<T>): Promise<T> {
  const storage = openStorage({ backend: 'azure', ...container, ...options }, { retryPolicy })
  try {
    return await work(storage)
  } finally {
    await storage.close()
  }
}

const newKey = () => `a/${Math.random()}`
const put = (options: Partial<AzureOptions> = {}) =>
  using(options, storage => storage.create(newKey(), Buffer.from('x'), never))

/** A SAS token of the container; hours from now on. */
function sasOf(permissions: string, startsIn = -1, expiresIn = 1): string {
  const values = {
    containerName: container.container,
    permissions: ContainerSASPermissions.parse(permissions),
    startsOn: new Date(Date.now() + startsIn * 3_600_000),
    expiresOn: new Date(Date.now() + expiresIn * 3_600_000),
    protocol: SASProtocol.Https,
  }
  return generateBlobSASQueryParameters(
    values,
    new StorageSharedKeyCredential(server.account, server.accountKey),
  ).toString()
}

describe('the key of an account', () => {
  test('is refused if it is wrong, and is not shown', async () => {
    const refusal = { code: 'STORAGE_DENIED', message: /^(?!.*wrong-key).*does not accept the credentials/ }
    await assert.rejects(put({ accountKey: Buffer.from('wrong-key').toString('base64') }), refusal)
  })

  test('comes from environment variables, for the account that they name', async () => {
    const key = server.accountKey
    setEnvironment({ AZURE_STORAGE_ACCOUNT: server.account, AZURE_STORAGE_KEY: key })
    await put()
    setEnvironment({ AZURE_STORAGE_KEY: key })
    await put()
    const { account: _, endpoint = '', ...rest } = container
    const text = `DefaultEndpointsProtocol=https;AccountName=${server.account};AccountKey=${key};BlobEndpoint=${endpoint};`
    setEnvironment({ AZURE_STORAGE_CONNECTION_STRING: text })
    const storage = openStorage({ backend: 'azure', ...rest }, { retryPolicy })
    await storage.create(newKey(), Buffer.from('x'), never)
    assert.equal(storage.location, `az://chain?account=testaccount&endpoint=${endpoint}&ca_cert=${rest.caCert}`)
    await storage.close()
  })
})

describe('a SAS token', () => {
  const steps: Record<string, (storage: Storage) => Promise<unknown>> = {
    create: storage => storage.create(newKey(), Buffer.from('x'), never),
    replace: storage => storage.replace('sas/copy', Buffer.from('x'), never),
    write: async storage => {
      const writer = await storage.openWriter(newKey(), never)
      await writer.write([Buffer.alloc(2_500_000)], never)
      await writer.commit(never)
    },
    read: storage => storage.read('sas/there', never),
    stat: storage => storage.stat('sas/there', never),
    list: storage => storage.list('', never)[Symbol.asyncIterator]().next(),
    remove: storage => storage.remove('sas/there', never),
  }

  async function allowed(permissions: string): Promise<string[]> {
    await using({ accountKey: server.accountKey }, storage => storage.replace('sas/there', Buffer.from('x'), never))
    return using({ sasToken: sasOf(permissions), partSizeBytes: 2 ** 20 }, async storage => {
      const done: string[] = []
      for (const [name, step] of Object.entries(steps)) {
        try {
          await step(storage)
          done.push(name)
        } catch (error) {
          assert.equal((error as { code?: string }).code, 'STORAGE_DENIED', String(error))
          assert.doesNotMatch(String(error), /sig=/)
        }
      }
      return done
    })
  }

  const backup = ['create', 'replace', 'write', 'read', 'stat', 'list']
  const cases: [permissions: string, steps: string[]][] = [
    ['rwl', backup],
    ['rwdl', [...backup, 'remove']],
    ['rl', ['read', 'stat', 'list']],
    ['wl', ['create', 'replace', 'write', 'list']],
    ['rw', ['create', 'replace', 'write', 'read', 'stat']],
  ]
  for (const [permissions, expected] of cases) {
    test(`with sp=${permissions} allows to ${expected.join(', ')}`, async () => {
      assert.deepEqual(await allowed(permissions), expected)
    })
  }

  test('comes from an environment variable, with or without a question mark', async () => {
    setEnvironment({ AZURE_STORAGE_SAS_TOKEN: `?${sasOf('rwl')}` })
    await put()
    await put({ sasToken: sasOf('rwl') })
  })

  test('that has expired or is not valid yet is reported with its date', async () => {
    const expired = { code: 'STORAGE_DENIED', message: /the SAS token expired at \d{4}-\d\d-\d\dT/ }
    await assert.rejects(put({ sasToken: sasOf('rwl', -3, -2) }), expired)
    const early = { code: 'STORAGE_DENIED', message: /the SAS token is not valid before \d{4}-/ }
    await assert.rejects(put({ sasToken: sasOf('rwl', 2, 3) }), early)
  })
})

describe('an identity of Entra', () => {
  const principal = { tenantId: tenant, clientId: 'the-client' }
  const tokenFile = () => join(folder.path, 'token')

  test('is a service principal with a secret: one token serves many requests, also through a proxy', async () => {
    const proxy = await startHttpProxy('user', 'pa%20ss')
    const asked = entra.requests.length
    const options = { ...principal, clientSecret, authorityHost: entra.url }
    await using(options, async storage => {
      for (let i = 0; i < 3; i++) await storage.create(newKey(), Buffer.from('x'), never)
    })
    assert.deepEqual(entra.requests.slice(asked), [
      { path: `/${tenant}/oauth2/v2.0/token`, proof: { client_id: 'the-client', client_secret: clientSecret } },
    ])
    await put({ ...options, proxy: proxy.url })
    const hosts = [new URL(entra.url).host, `127.0.0.1:${server.port}`].map(host => `CONNECT ${host}`)
    assert.deepEqual(new Set(proxy.requests), new Set(hosts))
    await proxy.close()
  })

  test('is a workload with a federated token, from the job or the variables of its pod', async () => {
    const asked = entra.requests.length
    await put({ ...principal, federatedTokenFile: tokenFile(), authorityHost: entra.url })
    setEnvironment({
      AZURE_TENANT_ID: tenant,
      AZURE_CLIENT_ID: 'the-client',
      AZURE_FEDERATED_TOKEN_FILE: tokenFile(),
      AZURE_AUTHORITY_HOST: entra.url,
    })
    await put()
    await put({ clientId: 'another-client' })
    assert.deepEqual(
      entra.requests.slice(asked).map(({ proof }) => proof),
      ['the-client', 'the-client', 'another-client'].map(name => ({
        client_id: name,
        client_assertion: federatedToken,
      })),
    )
  })

  test('is a managed identity if the platform has one', async () => {
    setEnvironment({ IDENTITY_ENDPOINT: `${entra.url}/msi/token`, IDENTITY_HEADER: identityHeader })
    const asked = entra.requests.length
    await put()
    assert.deepEqual(entra.requests.slice(asked), [{ path: '/msi/token', proof: { header: identityHeader } }])
  })

  test('that Entra refuses is denied at once', async () => {
    const asked = entra.requests.length
    const refusal = { code: 'CREDENTIALS_REFUSED', message: /Entra refused a token to the identity .*invalid_client/ }
    await assert.rejects(put({ ...principal, clientSecret: 'wrong', authorityHost: entra.url }), refusal)
    assert.equal(entra.requests.length, asked + 1)
    const file = { code: 'CREDENTIALS_REFUSED', message: /'\/nowhere\/token'/ }
    await assert.rejects(put({ ...principal, federatedTokenFile: '/nowhere/token', authorityHost: entra.url }), file)
  })

  test('is requested again while Entra fails or does not respond', async () => {
    const options = { ...principal, clientSecret, authorityHost: entra.url, idleTimeoutMs: 300 }
    const asked = entra.requests.length
    const gone = { code: 'CREDENTIALS_UNREACHABLE', message: /Entra did not answer/ }
    entra.refusal = { status: 503, error: 'temporarily_unavailable' }
    await assert.rejects(put(options), gone)
    assert.equal(entra.requests.length, asked + retryPolicy.attempts)
    entra.refusal = 'silence'
    await assert.rejects(put(options), gone)
    await assert.rejects(put({ ...options, authorityHost: 'https://127.0.0.1:1' }), gone)
    const controller = new AbortController()
    const reason = new Error('enough')
    const waiting = using({ ...options, idleTimeoutMs: 60_000 }, storage => {
      setTimeout(() => controller.abort(reason), 100)
      return storage.stat('a', controller.signal)
    })
    await assert.rejects(waiting, error => error === reason)
  })

  test('is not sent if the certificate of Entra is unknown, nor to a store without TLS', async () => {
    const options = { ...principal, clientSecret, authorityHost: entra.url.replace('localhost', '127.0.0.1') }
    const untrusted = { code: 'LOCATION_INVALID', message: /the certificate of Entra is not trusted/ }
    await assert.rejects(put(options), untrusted)
    const plain = { ...options, endpoint: `http://127.0.0.1:${server.port}/testaccount` }
    await assert.rejects(put(plain), { code: 'LOCATION_INVALID', message: /needs an https endpoint/ })
  })
})
