import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import {
  ContainerSASPermissions,
  generateBlobSASQueryParameters,
  StorageSharedKeyCredential,
} from '@azure/storage-blob'
import type { AzureOptions } from '../../src/storage/azure/azure-options.ts'
import { assertWriteOnceLocation, checkLocation, locationExists, probeKey } from '../../src/storage/check-location.ts'
import type { StorageOptions } from '../../src/storage/location.ts'
import { openStorage } from '../../src/storage/open-storage.ts'
import type { Storage } from '../../src/storage/storage.ts'
import { type AzureFault, startFaultyAzure } from '../fakes/azure-faults.ts'
import { startHttpProxy } from '../fakes/http-proxy.ts'
import { type AzureServer, startAzure } from '../servers/azurite.ts'
import { makeGuardedFolder } from '../servers/guard.ts'

const never = new AbortController().signal
const retryPolicy = { attempts: 2, baseDelayMs: 5, maxDelayMs: 5 }

let [secure, plain]: AzureServer[] = []
let [trusted, container]: AzureOptions[] = []
const given = <T>(value: T | undefined): T => {
  assert.ok(value !== undefined)
  return value
}
before(async () => {
  ;[secure, plain] = await Promise.all([startAzure({ tls: true }), startAzure()])
  trusted = await given(secure).makeContainer('private')
  container = await given(plain).makeContainer('trusted')
})
after(() => Promise.all([secure?.stop(), plain?.stop()]))

async function withStorage(
  azure: AzureOptions,
  work: (storage: Storage, options: StorageOptions) => Promise<void>,
): Promise<void> {
  const options = { backend: 'azure', ...azure } as const
  const storage = openStorage(options, { retryPolicy })
  try {
    await work(storage, options)
  } finally {
    await storage.close()
  }
}

const put = (storage: Storage) => storage.create(`a/${Math.random()}`, Buffer.from('x'), never)

describe('a service with a certificate of a private CA', () => {
  const rejects = (options: AzureOptions, error: { code: string; message: RegExp }) =>
    withStorage(options, storage => assert.rejects(put(storage), error))
  const unknownCa = { code: 'LOCATION_INVALID', message: /certificate .* is not trusted/ }
  const otherCa = () => ({ caCert: secure?.certificates?.otherCa ?? '' })

  test('is accepted if the job names the CA', () =>
    withStorage(given(trusted), async storage => {
      await storage.create('whole', Buffer.alloc(6_000_000, 1), never)
      assert.equal((await storage.read('whole', never)).length, 6_000_000)
    }))

  test('is refused without the CA, or with another one', async () => {
    const { caCert: _, ...publicOnly } = given(trusted)
    await rejects(publicOnly, unknownCa)
    await rejects({ ...given(trusted), ...otherCa() }, unknownCa)
  })

  test('is refused under a host name that the certificate lacks', () =>
    rejects(
      { ...given(trusted), endpoint: `https://localhost:${secure?.port}/testaccount` },
      { code: 'LOCATION_INVALID', message: /ERR_TLS_CERT_ALTNAME_INVALID/ },
    ))

  test('is not reached without TLS', () =>
    rejects(
      { ...given(trusted), endpoint: `http://127.0.0.1:${secure?.port}/testaccount` },
      { code: 'STORAGE_UNAVAILABLE', message: /the connection failed/ },
    ))

  test('is reached through a proxy tunnel, and verified there too', async () => {
    const proxy = await startHttpProxy('user', 'pa%20ss')
    const through = { ...given(trusted), proxy: proxy.url }
    await withStorage(through, put)
    assert.deepEqual(new Set(proxy.requests), new Set([`CONNECT 127.0.0.1:${secure?.port}`]))
    await rejects({ ...through, ...otherCa() }, unknownCa)
    const stranger = proxy.url.replace('user:', 'nobody:')
    const refusal = { code: 'STORAGE_DENIED', message: /^(?!.*pa.*ss@).* the proxy requires a login/ }
    await rejects({ ...through, proxy: stranger }, refusal)
    await proxy.close()
  })

  test('a certificate file that is missing or empty is named', async () => {
    const folder = await makeGuardedFolder('no-certificates')
    const empty = join(folder.path, 'empty.pem')
    await writeFile(empty, 'x')
    for (const caCert of [empty, '/nowhere/ca.pem']) {
      const message = new RegExp(RegExp.escape(caCert))
      await rejects({ ...given(trusted), caCert }, { code: 'LOCATION_INVALID', message })
    }
    await folder.remove()
  })
})

describe('a service', () => {
  /** Options that lead through the faults. */
  async function withFaults(
    faults: readonly AzureFault[],
    work: (options: AzureOptions) => Promise<void>,
  ): Promise<void> {
    const faulty = await startFaultyAzure(given(plain), faults)
    try {
      await work({ ...given(container), endpoint: faulty.endpoint })
    } finally {
      await faulty.close()
    }
  }

  /** The signature of a SAS does not cover headers, so that the proxy can take one away. */
  function withSas({ accountKey = '', ...options }: AzureOptions): AzureOptions {
    const { account = '', container: containerName } = options
    const permissions = ContainerSASPermissions.parse('rwl')
    const values = { containerName, permissions, expiresOn: new Date(Date.now() + 3_600_000) }
    const key = new StorageSharedKeyCredential(account, accountKey)
    return { ...options, sasToken: generateBlobSASQueryParameters(values, key).toString() }
  }

  test('that has another account key denies access, with the reason', () =>
    withStorage({ ...given(container), accountKey: 'd3Jvbmc=' }, async storage => {
      await assert.rejects(put(storage), { code: 'STORAGE_DENIED', message: /AuthorizationFailure 403/ })
    }))

  test('whose clock differs is reported with the difference, without a retry', () =>
    withFaults(
      [{ on: 'PutBlob', effect: { status: 403, code: 'AuthenticationFailed', date: new Date(0) }, times: 1 }],
      options =>
        withStorage(options, async storage => {
          const skewed = { code: 'STORAGE_DENIED', message: /clock of this machine differs .* by \d{7,} minutes/ }
          await assert.rejects(put(storage), skewed)
        }),
    ))

  test('without the container is reported with its name', () =>
    withStorage({ ...given(container), container: 'missing-one' }, async (storage, options) => {
      const missing = { code: 'STORAGE_NOT_FOUND', message: /"missing-one" .* the container does not exist/ }
      await assert.rejects(put(storage), missing)
      await assert.rejects(storage.read('a', never), missing)
      await assert.rejects(storage.stat('a', never), missing)
      await assert.rejects(locationExists({ options, storage }, never), missing)
      const checks = await checkLocation({ options, storage }, never)
      assert.deepEqual(
        checks.map(({ action, allowed }) => [action, allowed]),
        [['read', false]],
      )
    }))

  test('without the account is reported', () =>
    withStorage(
      { ...given(container), account: 'another', endpoint: `http://127.0.0.1:${plain?.port}/another` },
      async storage => {
        await assert.rejects(put(storage), { code: 'STORAGE_NOT_FOUND', message: /ResourceNotFound/ })
      },
    ))

  test('without an account name is refused', () => {
    const earlier = { ...process.env }
    for (const name of Object.keys(process.env)) if (name.startsWith('AZURE_STORAGE_')) delete process.env[name]
    return withStorage({ container: 'backups' }, async storage => {
      await assert.rejects(put(storage), { code: 'LOCATION_INVALID', message: /the storage account is unknown/ })
    }).finally(() => {
      process.env = earlier
    })
  })

  test('of plain http is reached through a proxy', async () => {
    const proxy = await startHttpProxy('user', 'pass')
    await withStorage({ ...given(container), proxy: proxy.url }, put)
    assert.ok(proxy.requests.length > 0)
    await proxy.close()
  })

  test('that never replaces objects passes the probe, with one request once the probe object exists', async () => {
    const faulty = await startFaultyAzure(given(plain), [])
    await withStorage(
      { ...given(container), prefix: 'probed', endpoint: faulty.endpoint },
      async (storage, options) => {
        await assertWriteOnceLocation({ options, storage }, never)
        assert.deepEqual(faulty.requests, ['PutBlob', 'PutBlob'])
        await assertWriteOnceLocation({ options, storage }, never)
        assert.deepEqual(faulty.requests, ['PutBlob', 'PutBlob', 'PutBlob'])
        const checks = await checkLocation({ options, storage }, never)
        assert.deepEqual(
          checks.map(({ action, allowed }) => [action, allowed]),
          [
            ['read', true],
            ['write', true],
          ],
        )
      },
    )
    await faulty.close()
  })

  test('that ignores If-None-Match is refused by the probe', () =>
    withFaults([{ on: 'PutBlob', effect: 'ignore-condition' }], options =>
      withStorage({ ...withSas(options), prefix: 'ignored' }, async (storage, where) => {
        const unfit = { code: 'STORAGE_UNFIT', message: /ignores `If-None-Match: \*`/ }
        await assert.rejects(assertWriteOnceLocation({ options: where, storage }, never), unfit)
        const [, write] = await checkLocation({ options: where, storage }, never)
        assert.equal(write?.allowed, false)
        const left: string[] = []
        for await (const { key } of storage.list('', never)) left.push(key)
        assert.deepEqual(left, [probeKey])
      }),
    ))

  test('that does not support If-None-Match is refused by the probe', () =>
    withFaults([{ on: 'PutBlob', effect: { status: 501, code: 'NotImplemented' } }], options =>
      withStorage(options, async (storage, where) => {
        await assert.rejects(assertWriteOnceLocation({ options: where, storage }, never), { code: 'STORAGE_UNFIT' })
      }),
    ))
})

test('missing credentials are reported with the ways to give them', async () => {
  const earlier = { ...process.env }
  for (const name of Object.keys(process.env)) if (name.startsWith('AZURE_')) delete process.env[name]
  // Neither logins of people nor identities of this machine.
  process.env.AZURE_TOKEN_CREDENTIALS = 'EnvironmentCredential'
  const { accountKey: _, ...options } = given(trusted)
  try {
    await withStorage(options, async storage => {
      await assert.rejects(put(storage), { code: 'STORAGE_DENIED', message: /there are no credentials/ })
    })
  } finally {
    process.env = earlier
  }
})
