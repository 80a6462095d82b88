import assert from 'node:assert/strict'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, test } from 'node:test'
import { openAzureStorage } from '../../src/storage/azure/azure-storage.ts'
import { openGcsStorage } from '../../src/storage/gcs/gcs-storage.ts'
import { openS3Storage } from '../../src/storage/s3/s3-storage.ts'
import type { Storage } from '../../src/storage/storage.ts'

const never = new AbortController().signal
const parts = { retryPolicy: { attempts: 1, baseDelayMs: 0, maxDelayMs: 0 } }
const object = Buffer.from('a manifest, of which a proxy does not state the length')
const key = 'b/manifests/1.json'

const stores: Record<string, (endpoint: string) => Storage> = {
  S3: endpoint => openS3Storage({ bucket: 'bkt', endpoint, accessKeyId: 'a', secretAccessKey: 's' }, parts),
  Azure: endpoint => openAzureStorage({ container: 'box', endpoint: `${endpoint}/acme`, accountKey: 'a2V5' }, parts),
  'Google Cloud Storage': endpoint => openGcsStorage({ bucket: 'bkt', endpoint, anonymous: true }, parts),
}

interface Proxy {
  /** Bytes of the object after which the connection ends. */
  cutAt?: number
  hidesSize?: boolean
  ignoresRanges?: boolean
  movesRanges?: boolean
}

/** What the three stores add to every response. */
const ofStore = { etag: '"e"', 'x-ms-request-id': 'r', 'x-goog-generation': '1' }

/** Answers as a store behind a proxy that streams: the body ends with the connection, and no length is stated. */
function answerAs({ cutAt = object.length, hidesSize, ignoresRanges, movesRanges }: Proxy) {
  return ({ method, url = '', headers }: IncomingMessage, response: ServerResponse): void => {
    const isDownload = method === 'GET' && (!url.includes('/storage/v1/') || url.includes('alt=media'))
    if (!isDownload) {
      describeObject(response, url, hidesSize)
      return
    }
    const range = /^bytes=(\d+)-(\d+)$/.exec(String(headers.range ?? headers['x-ms-range'] ?? ''))
    const [start, end] =
      range && !ignoresRanges ? (movesRanges ? [0, 8] : [Number(range[1]), Number(range[2]) + 1]) : [0, object.length]
    // No transfer encoding either: nothing marks the end of the body but the end of the connection.
    response.useChunkedEncodingByDefault = false
    response.removeHeader('transfer-encoding')
    const partial = { 'content-range': `bytes ${start}-${end - 1}/${object.length}` }
    const isPartial = end - start < object.length
    response.writeHead(isPartial ? 206 : 200, { connection: 'close', ...ofStore, ...(isPartial && partial) })
    response.end(object.subarray(start, Math.min(end, cutAt)))
  }
}

/** Of the native API of Google as JSON, of the others as headers. */
function describeObject(response: ServerResponse, url: string, hidesSize = false): void {
  if (url.includes('/storage/v1/')) {
    response.end(
      JSON.stringify({ kind: 'storage#object', name: key, ...(hidesSize ? {} : { size: String(object.length) }) }),
    )
    return
  }
  response.writeHead(200, {
    ...ofStore,
    ...(hidesSize ? { connection: 'close' } : { 'content-length': object.length }),
  })
  response.end()
}

async function withStore<T>(name: string, proxy: Proxy, work: (storage: Storage) => Promise<T>): Promise<T> {
  const server = createServer(answerAs(proxy))
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const storage = stores[name]?.(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  assert.ok(storage)
  try {
    return await work(storage)
  } finally {
    await storage.close()
    server.close()
    server.closeAllConnections()
  }
}

for (const name of Object.keys(stores)) {
  describe(`a response of ${name} without a length`, () => {
    test('is read to its end', async () => {
      const read = await withStore(name, {}, storage => storage.read(key, never))
      assert.equal(read.toString(), object.toString())
    })

    test('that ended early is an error which is retried, not a shorter object', async () => {
      await assert.rejects(
        withStore(name, { cutAt: 10 }, storage => storage.read(key, never)),
        { code: 'STORAGE_UNAVAILABLE', message: /ended at byte 10 of 54/ },
      )
    })

    test('is an error where the store does not state the size of the object at all', async () => {
      const wanted = { code: 'STORAGE_REFUSED', message: /does not state the size of "b\/manifests\/1\.json"/ }
      await assert.rejects(
        withStore(name, { hidesSize: true }, storage => storage.read(key, never)),
        wanted,
      )
      await assert.rejects(
        withStore(name, { hidesSize: true }, storage => storage.stat(key, never)),
        wanted,
      )
    })

    test('to a range is read to its end, and one that ended early is not damage', async () => {
      const range = (storage: Storage) => storage.readRange(key, 2, 8, never)
      assert.equal((await withStore(name, {}, range)).toString(), 'manifest')
      await assert.rejects(withStore(name, { cutAt: 5 }, range), { code: 'STORAGE_UNAVAILABLE', message: /ended/ })
    })
  })
}

for (const name of Object.keys(stores)) {
  test(`${name}: a range of a response with the entire object, without a length, is cut out of it`, async () => {
    const read = await withStore(name, { ignoresRanges: true }, storage => storage.readRange(key, 2, 8, never))
    assert.equal(read.toString(), 'manifest')
  })

  test(`${name}: a range of other bytes, as of a cache, is an error which is retried, not damage`, async () => {
    const wanted = { code: 'STORAGE_PROTOCOL', message: /it has the bytes from 0 on/ }
    const range = (storage: Storage) => storage.readRange(key, 2, 8, never)
    await assert.rejects(withStore(name, { movesRanges: true }, range), wanted)
  })
}
