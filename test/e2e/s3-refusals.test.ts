import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { assertWriteOnceLocation, checkLocation, locationExists, probeKey } from '../../src/storage/check-location.ts'
import type { StorageOptions } from '../../src/storage/location.ts'
import { openStorage } from '../../src/storage/open-storage.ts'
import type { S3Options } from '../../src/storage/s3/s3-options.ts'
import type { Storage } from '../../src/storage/storage.ts'
import { startHttpProxy } from '../fakes/http-proxy.ts'
import { type S3Fault, startFaultyS3 } from '../fakes/s3-faults.ts'
import { type S3Server, startS3 } from '../servers/versitygw.ts'

const never = new AbortController().signal
const retryPolicy = { attempts: 2, baseDelayMs: 5, maxDelayMs: 5 }

async function withStorage(
  s3: S3Options,
  work: (storage: Storage, options: StorageOptions) => Promise<void>,
): Promise<void> {
  const options = { backend: 's3', ...s3 } as const
  const storage = openStorage(options, { retryPolicy })
  try {
    await work(storage, options)
  } finally {
    await storage.close()
  }
}

const put = (storage: Storage) => storage.create(`a/${Math.random()}`, Buffer.from('x'), never)

describe('a store with a certificate of a private CA', () => {
  let server: S3Server
  let bucket: S3Options
  before(async () => {
    server = await startS3({ tls: true })
    bucket = await server.makeBucket('private')
  })
  after(() => server.stop())

  test('is accepted if the job names the CA', () =>
    withStorage(bucket, async storage => {
      await storage.create('whole', Buffer.alloc(6_000_000, 1), never)
      assert.equal((await storage.read('whole', never)).length, 6_000_000)
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

  test('is not reached without TLS', () =>
    withStorage({ ...bucket, endpoint: `http://127.0.0.1:${server.port}` }, async storage => {
      await assert.rejects(put(storage), { code: 'STORAGE_UNAVAILABLE', message: /the connection failed/ })
    }))

  test('is reached through a proxy tunnel, and verified there too', async () => {
    const proxy = await startHttpProxy('user', 'pa%20ss')
    try {
      const through = { ...bucket, proxy: proxy.url }
      await withStorage(through, put)
      assert.deepEqual(new Set(proxy.requests), new Set([`CONNECT 127.0.0.1:${server.port}`]))
      await withStorage({ ...through, caCert: server.certificates?.otherCa ?? '' }, async storage => {
        await assert.rejects(put(storage), { code: 'LOCATION_INVALID', message: /certificate .* is not trusted/ })
      })
      const stranger = proxy.url.replace('user:', 'nobody:')
      await withStorage({ ...bucket, proxy: stranger }, async storage => {
        const refusal = { code: 'STORAGE_DENIED', message: /^(?!.*pa.*ss@).* the proxy requires a login/ }
        await assert.rejects(put(storage), refusal)
      })
    } finally {
      await proxy.close()
    }
  })

  test('a certificate file that is missing or empty is named', async () => {
    const empty = join(server.dataDir, 'empty.pem')
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
  let server: S3Server
  let bucket: S3Options
  before(async () => {
    server = await startS3()
    bucket = await server.makeBucket('trusted')
  })
  after(() => server.stop())

  /** Options that lead through the faults. */
  async function withFaults(faults: readonly S3Fault[], work: (options: S3Options) => Promise<void>): Promise<void> {
    const faulty = await startFaultyS3(server, faults)
    try {
      await work({ ...bucket, endpoint: faulty.endpoint })
    } finally {
      await faulty.close()
    }
  }

  test('that does not know the access key or its secret denies access, with the reason', async () => {
    await withStorage({ ...bucket, accessKeyId: 'stranger' }, async storage => {
      await assert.rejects(put(storage), { code: 'STORAGE_DENIED', message: /does not know the access key/ })
    })
    await withStorage({ ...bucket, secretAccessKey: 'wrong-secret' }, async storage => {
      await assert.rejects(put(storage), { code: 'STORAGE_DENIED', message: /signature is wrong/ })
    })
  })

  test('whose credentials have expired denies access, without a retry', () =>
    withFaults([{ on: 'PutObject', effect: { status: 400, code: 'ExpiredToken' } }], options =>
      withStorage(options, async storage => {
        await assert.rejects(put(storage), { code: 'STORAGE_DENIED', message: /credentials have expired/ })
      }),
    ))

  test('whose clock differs is retried with its own time', () =>
    withFaults([{ on: 'PutObject', effect: { status: 403, code: 'RequestTimeTooSkewed' }, times: 1 }], options =>
      withStorage(options, put),
    ))

  test('without the bucket is reported with its name', () =>
    withStorage({ ...bucket, bucket: 'missing-bucket' }, async (storage, options) => {
      const missing = { code: 'STORAGE_NOT_FOUND', message: /"missing-bucket" .* the bucket does not exist/ }
      await assert.rejects(put(storage), missing)
      await assert.rejects(storage.read('a', never), missing)
      await assert.rejects(locationExists({ options, storage }, never), missing)
      const checks = await checkLocation({ options, storage }, never)
      assert.deepEqual(
        checks.map(({ action, allowed }) => [action, allowed]),
        [['read', false]],
      )
    }))

  test('of plain http is reached through a proxy', async () => {
    const proxy = await startHttpProxy('user', 'pass')
    try {
      await withStorage({ ...bucket, proxy: proxy.url }, put)
      assert.ok(proxy.requests.length > 0)
    } finally {
      await proxy.close()
    }
  })

  test('that never replaces objects passes the probe, with one request once the probe object exists', async () => {
    const faulty = await startFaultyS3(server, [])
    await withStorage({ ...bucket, prefix: 'probed', endpoint: faulty.endpoint }, async (storage, options) => {
      await assertWriteOnceLocation({ options, storage }, never)
      assert.deepEqual(faulty.requests, ['PutObject', 'PutObject'])
      await assertWriteOnceLocation({ options, storage }, never)
      assert.deepEqual(faulty.requests, ['PutObject', 'PutObject', 'PutObject'])
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

  test('that ignores If-None-Match is refused by the probe', () =>
    withFaults([{ on: 'PutObject', effect: 'ignore-condition' }], options =>
      withStorage({ ...options, prefix: 'ignored' }, async (storage, where) => {
        const unfit = { code: 'STORAGE_UNFIT', message: /ignores `If-None-Match: \*`/ }
        await assert.rejects(assertWriteOnceLocation({ options: where, storage }, never), unfit)
        await assert.rejects(assertWriteOnceLocation({ options: where, storage }, never), unfit)
        const [, write] = await checkLocation({ options: where, storage }, never)
        assert.equal(write?.allowed, false)
        const left: string[] = []
        for await (const { key } of storage.list('', never)) left.push(key)
        assert.deepEqual(left, [probeKey])
      }),
    ))

  test('that does not support If-None-Match is refused by the probe', () =>
    withFaults([{ on: 'PutObject', effect: { status: 501, code: 'NotImplemented' } }], options =>
      withStorage(options, async (storage, where) => {
        await assert.rejects(assertWriteOnceLocation({ options: where, storage }, never), { code: 'STORAGE_UNFIT' })
      }),
    ))
})
