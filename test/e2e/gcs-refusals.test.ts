import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { assertWriteOnceLocation, checkLocation, locationExists, probeKey } from '../../src/storage/check-location.ts'
import type { GcsOptions } from '../../src/storage/gcs/gcs-options.ts'
import type { StorageOptions } from '../../src/storage/location.ts'
import { openStorage } from '../../src/storage/open-storage.ts'
import type { Storage } from '../../src/storage/storage.ts'
import { type GcsFault, startFaultyGcs } from '../fakes/gcs-faults.ts'
import { startHttpProxy } from '../fakes/http-proxy.ts'
import { type GcsServer, startGcs } from '../servers/fake-gcs.ts'

const never = new AbortController().signal
const retryPolicy = { attempts: 2, baseDelayMs: 5, maxDelayMs: 5 }

async function withStorage(
  gcs: GcsOptions,
  work: (storage: Storage, options: StorageOptions) => Promise<void>,
): Promise<void> {
  const options = { backend: 'gcs', ...gcs } as const
  const storage = openStorage(options, { retryPolicy })
  try {
    await work(storage, options)
  } finally {
    await storage.close()
  }
}

const put = (storage: Storage) => storage.create(`a/${Math.random()}`, Buffer.from('x'), never)

describe('an endpoint with a certificate of a private CA', () => {
  let server: GcsServer
  let bucket: GcsOptions
  before(async () => {
    server = await startGcs({ tls: true })
    bucket = await server.makeBucket('private')
  })
  after(() => server.stop())

  test('is accepted if the job names the CA, for objects and uploads', () =>
    withStorage({ ...bucket, partSizeBytes: 2 ** 20 }, async storage => {
      await storage.create('whole', Buffer.alloc(3_000_000, 1), never)
      const writer = await storage.openWriter('parts', never)
      await writer.write([Buffer.alloc(3_000_000, 1)], never)
      await writer.commit(never)
      assert.ok((await storage.read('whole', never)).equals(await storage.read('parts', never)))
    }))

  test('is refused without the CA, or with another one', async () => {
    const { caCert: _, ...publicOnly } = bucket
    for (const options of [publicOnly, { ...bucket, caCert: server.certificates?.otherCa ?? '' }]) {
      await withStorage(options, async storage => {
        await assert.rejects(put(storage), { code: 'LOCATION_INVALID', message: /certificate .* is not trusted/ })
      })
    }
  })

  test('is refused under a host name that the certificate lacks', () =>
    withStorage({ ...bucket, endpoint: `https://localhost:${server.port}` }, async storage => {
      await assert.rejects(put(storage), { code: 'LOCATION_INVALID', message: /ERR_TLS_CERT_ALTNAME_INVALID/ })
    }))

  test('is not reached without TLS, and TLS is not used with a plain endpoint', async () => {
    await withStorage({ ...bucket, endpoint: `http://127.0.0.1:${server.port}` }, async storage => {
      // The server says why and hangs up; the one may overtake the other.
      await assert.rejects(put(storage), { code: /^STORAGE_(REFUSED|UNAVAILABLE)$/ })
    })
    const plain = await startFaultyGcs(server, [])
    await withStorage({ ...bucket, endpoint: plain.endpoint.replace('http:', 'https:') }, async storage => {
      await assert.rejects(put(storage), { code: 'LOCATION_INVALID', message: /speaks another protocol/ })
    })
    await plain.close()
  })

  test('is reached through a proxy tunnel, and verified there too', async () => {
    const proxy = await startHttpProxy('user', 'pa%20ss')
    try {
      const through = { ...bucket, proxy: proxy.url }
      await withStorage(through, put)
      assert.deepEqual(new Set(proxy.requests), new Set([`CONNECT 127.0.0.1:${server.port}`]))
      await withStorage({ ...through, caCert: server.certificates?.otherCa ?? '' }, async storage => {
        await assert.rejects(put(storage), { code: 'LOCATION_INVALID', message: /certificate .* is not trusted/ })
      })
      await withStorage({ ...bucket, proxy: proxy.url.replace('user:', 'nobody:') }, async storage => {
        const refusal = { code: 'STORAGE_DENIED', message: /^(?!.*pa.*ss@).* the proxy requires a login/ }
        await assert.rejects(put(storage), refusal)
      })
    } finally {
      await proxy.close()
    }
  })

  test('a certificate file that is missing or empty is named', async () => {
    const empty = join(server.folder, 'empty.pem')
    await writeFile(empty, 'x')
    for (const caCert of [empty, '/nowhere/ca.pem']) {
      await withStorage({ ...bucket, caCert }, async storage => {
        await assert.rejects(put(storage), (error: Error & { code?: string }) => {
          return error.code === 'LOCATION_INVALID' && error.message.includes(caCert)
        })
      })
    }
  })
})

describe('a store', () => {
  let server: GcsServer
  let bucket: GcsOptions
  before(async () => {
    server = await startGcs()
    bucket = await server.makeBucket('trusted')
  })
  after(() => server.stop())

  /** Options that lead through the faults. */
  async function withFaults(faults: readonly GcsFault[], work: (options: GcsOptions) => Promise<void>): Promise<void> {
    const faulty = await startFaultyGcs(server, faults)
    try {
      await work({ ...bucket, endpoint: faulty.endpoint })
    } finally {
      await faulty.close()
    }
  }

  test('without the bucket is reported with its name', () =>
    withStorage({ ...bucket, bucket: 'missing-bucket' }, async (storage, options) => {
      const missing = { code: 'STORAGE_NOT_FOUND', message: /"missing-bucket" .* the bucket does not exist/ }
      await assert.rejects(put(storage), missing)
      await assert.rejects(locationExists({ options, storage }, never), missing)
      await assert.rejects(storage.read('a', never), { code: 'STORAGE_NOT_FOUND' })
      const checks = await checkLocation({ options, storage }, never)
      assert.deepEqual(
        checks.map(({ action, allowed }) => [action, allowed]),
        [['read', false]],
      )
    }))

  test('that requires a billing project is reported with the field to set', () =>
    withFaults([{ on: 'insert', effect: { status: 400, reason: 'userProjectMissing' } }], options =>
      withStorage(options, async storage => {
        await assert.rejects(put(storage), { code: 'LOCATION_INVALID', help: /`storage\.user_project`/ })
      }),
    ))

  test('that never replaces objects passes the probe, with one request once the probe object exists', async () => {
    const faulty = await startFaultyGcs(server, [])
    await withStorage({ ...bucket, prefix: 'probed', endpoint: faulty.endpoint }, async (storage, options) => {
      await assertWriteOnceLocation({ options, storage }, never)
      assert.deepEqual(faulty.requests, ['insert', 'insert'])
      await assertWriteOnceLocation({ options, storage }, never)
      assert.deepEqual(faulty.requests, ['insert', 'insert', 'insert'])
      const checks = await checkLocation({ options, storage }, never)
      assert.deepEqual(
        checks.map(({ action, allowed }) => [action, allowed]),
        [
          ['read', true],
          ['write', true],
        ],
      )
    })
    await faulty.close()
  })

  test('that ignores the precondition is refused by the probe', () =>
    withFaults([{ on: 'insert', effect: 'ignore-condition' }], options =>
      withStorage({ ...options, prefix: 'ignored' }, async (storage, where) => {
        const unfit = { code: 'STORAGE_UNFIT', message: /`ifGenerationMatch=0`/ }
        await assert.rejects(assertWriteOnceLocation({ options: where, storage }, never), unfit)
        const [, write] = await checkLocation({ options: where, storage }, never)
        assert.equal(write?.allowed, false)
        const left: string[] = []
        for await (const { key } of storage.list('', never)) left.push(key)
        assert.deepEqual(left, [probeKey])
      }),
    ))

  test('that is not Google Cloud Storage is reported as such', () =>
    withFaults([{ on: 'look', effect: { status: 302, reason: '' } }], options =>
      withStorage(options, async storage => {
        await assert.rejects(storage.stat('a', never), { code: 'STORAGE_PROTOCOL', message: /not from the store/ })
      }),
    ))
})
