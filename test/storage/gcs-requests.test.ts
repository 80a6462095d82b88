import assert from 'node:assert/strict'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, describe, test } from 'node:test'
import { formatSum } from '../../src/storage/bucket/api.ts'
import { endpointOf, type GcsOptions, resolveGcsOptions } from '../../src/storage/gcs/gcs-options.ts'
import { openGcsStorage } from '../../src/storage/gcs/gcs-storage.ts'
import { parseHashHeader, parsePage, parseState } from '../../src/storage/gcs/resources.ts'
import type { Storage } from '../../src/storage/storage.ts'

interface Seen {
  method: string
  /** With scheme and host: it is a proxy that notes it down. */
  url: URL
  headers: IncomingHttpHeaders
  body: string
}

const never = new AbortController().signal
const retryPolicy = { attempts: 1, baseDelayMs: 0, maxDelayMs: 0 }
const MiB = 2 ** 20

describe('a request to a bucket', () => {
  let proxy: string
  let seen: Seen[] = []
  let received = 0
  const server = createServer(async (incoming, answer) => {
    const { method = '', url = '', headers } = incoming
    const chunks: Buffer[] = []
    for await (const chunk of incoming as AsyncIterable<Buffer>) chunks.push(chunk)
    const body = Buffer.concat(chunks)
    seen.push({ method, url: new URL(url), headers, body: body.toString('latin1') })
    received = method === 'POST' ? 0 : received + body.length
    const isPart = String(headers['content-range']).endsWith('/*')
    answer.writeHead(isPart ? 308 : 200, {
      location: '/upload/storage/v1/b/bkt/o?upload_id=u1',
      ...(isPart && { range: `bytes=0-${received - 1}` }),
    })
    answer.end(isPart ? '' : '{"kind":"storage#object"}')
  })
  before(async () => {
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    proxy = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  })
  after(() => {
    server.close()
    server.closeAllConnections()
  })

  async function requestsOf(
    options: Partial<GcsOptions>,
    work: (storage: Storage) => Promise<unknown>,
  ): Promise<Seen[]> {
    seen = []
    const bucket = { bucket: 'bkt', endpoint: 'http://gcs.test', anonymous: true, proxy, partSizeBytes: MiB }
    const storage = openGcsStorage({ ...bucket, ...options }, { retryPolicy })
    await work(storage)
    await storage.close()
    return seen
  }

  const create = (storage: Storage) => storage.create('a/b c', Buffer.from('123456789'), never)

  async function writeLarge(storage: Storage): Promise<void> {
    const writer = await storage.openWriter('large', never)
    await writer.write([Buffer.alloc(2 * MiB + 10, 7)], never)
    await writer.commit(never)
  }

  test('creates only where nothing is, with a checksum; a replacement has no condition', async () => {
    const [created] = await requestsOf({ prefix: 'x' }, create)
    assert.equal(
      created?.url.href,
      'http://gcs.test/upload/storage/v1/b/bkt/o?uploadType=multipart&ifGenerationMatch=0',
    )
    assert.match(created?.body ?? '', /"name":"x\/a\/b c".*"crc32c":"4waSgw=="/)
    assert.match(created?.body ?? '', /\r\n\r\n123456789\r\n--/)
    assert.equal(created?.headers.authorization, undefined)
    const [replaced] = await requestsOf({}, storage => storage.replace('a', Buffer.from('x'), never))
    assert.equal(replaced?.url.searchParams.has('ifGenerationMatch'), false)
  })

  test('names the object as one part of its path, and who pays', async () => {
    const [read] = await requestsOf({ userProject: 'acme-billing' }, storage =>
      storage.readRange('a/ü?', 2, 3, never).catch(() => 0),
    )
    assert.equal(read?.url.pathname, '/download/storage/v1/b/bkt/o/a%2F%C3%BC%3F')
    assert.equal(read?.url.searchParams.get('userProject'), 'acme-billing')
    assert.equal(read?.headers.range, 'bytes=2-4')
  })

  test('of a large object: parts in their order, the checksum of the whole with the last', async () => {
    const kmsKeyName = 'projects/p/locations/l/keyRings/r/cryptoKeys/k'
    const [begin, ...parts] = await requestsOf({ kmsKeyName }, writeLarge)
    assert.equal(begin?.url.searchParams.get('uploadType'), 'resumable')
    assert.equal(begin?.url.searchParams.get('ifGenerationMatch'), '0')
    assert.equal(begin?.url.searchParams.get('kmsKeyName'), kmsKeyName)
    assert.match(begin?.body ?? '', /"metadata":\{"kafka-backup-writer":"[0-9a-f]{24}"\}/)
    assert.deepEqual(
      parts.map(({ method, headers }) => [method, headers['content-range'], headers['x-goog-hash'] !== undefined]),
      [
        ['PUT', 'bytes 0-1048575/*', false],
        ['PUT', 'bytes 1048576-2097151/*', false],
        ['PUT', 'bytes 2097152-2097161/2097162', true],
      ],
    )
    const { crc32c } = await import('@node-rs/crc32')
    assert.equal(parts[2]?.headers['x-goog-hash'], `crc32c=${formatSum(crc32c(Buffer.alloc(2 * MiB + 10, 7)))}`)
    for (const { url } of parts) assert.equal(url.host, 'gcs.test')
  })

  test('of an object that fills its parts exactly: the last part is not sent before the commit', async () => {
    const requests = await requestsOf({}, async storage => {
      const writer = await storage.openWriter('exact', never)
      await writer.write([Buffer.alloc(2 * MiB)], never)
      await writer.commit(never)
    })
    assert.deepEqual(
      requests.slice(1).map(({ headers }) => headers['content-range']),
      ['bytes 0-1048575/*', 'bytes 1048576-2097151/2097152'],
    )
  })

  test('that gives an upload up announces its empty body, as Google asks for', async () => {
    const requests = await requestsOf({}, async storage => {
      const writer = await storage.openWriter('large', never)
      await writer.write([Buffer.alloc(MiB + 1)], never)
      await writer.abort()
    })
    const { method, url, headers } = requests.at(-1) ?? assert.fail()
    assert.deepEqual([method, url.searchParams.get('upload_id'), headers['content-length']], ['DELETE', 'u1', '0'])
  })

  test('carries the token of its writer, another for each', async () => {
    const requests = await requestsOf({}, async storage => {
      for (const key of ['a', 'b']) await (await storage.openWriter(key, never)).commit(never)
    })
    const tokens = requests.map(({ body }) => /"kafka-backup-writer":"([0-9a-f]{24})"/.exec(body)?.[1])
    assert.equal(new Set(tokens).size, 2)
  })
})

describe('the endpoint', () => {
  test('is Google’s, that of the universe, or the one that is given', () => {
    assert.equal(endpointOf({ bucket: 'b' }), 'https://storage.googleapis.com')
    assert.equal(endpointOf({ bucket: 'b', universeDomain: 's3nsapis.fr' }), 'https://storage.s3nsapis.fr')
    assert.equal(endpointOf({ bucket: 'b', endpoint: 'https://h' }), 'https://h')
  })

  test('of an emulator comes from the environment, without credentials; what was given comes first', () => {
    const env = { STORAGE_EMULATOR_HOST: 'localhost:4443/' }
    assert.deepEqual(resolveGcsOptions({ bucket: 'b' }, env), {
      bucket: 'b',
      endpoint: 'http://localhost:4443',
      anonymous: true,
    })
    const given = { bucket: 'b', endpoint: 'https://h' }
    assert.deepEqual(resolveGcsOptions(given, env), given)
    assert.deepEqual(resolveGcsOptions({ bucket: 'b' }, {}), { bucket: 'b' })
    assert.throws(() => resolveGcsOptions({ bucket: 'b' }, { STORAGE_EMULATOR_HOST: 'user:pw@localhost:4443' }), {
      message: 'STORAGE_EMULATOR_HOST contains more than an address',
    })
  })
})

test('a page with an empty token is the last one', () => {
  const nextOf = (token: string) => {
    const body = Buffer.from(JSON.stringify({ kind: 'storage#objects', nextPageToken: token }))
    return parsePage({ status: 200, headers: {}, body }).next
  }
  assert.equal(nextOf(''), undefined)
  assert.equal(nextOf('t'), 't')
})

test('a checksum is read from the header of the store, beside another', () => {
  assert.equal(parseHashHeader('crc32c=4waSgw==,md5=x'), '4waSgw==')
  assert.equal(parseHashHeader('md5=x, crc32c=4waSgw=='), '4waSgw==')
  assert.equal(parseHashHeader('md5=x'), undefined)
  assert.equal(formatSum(0xe3069283), '4waSgw==')
})

test('the state of an upload is read from its answer', () => {
  const body = Buffer.from('{"kind":"storage#object","crc32c":"4waSgw=="}')
  assert.deepEqual(parseState({ status: 308, headers: {}, body }), { isDone: false, persisted: 0 })
  assert.deepEqual(parseState({ status: 308, headers: { range: 'bytes=0-41' }, body }), {
    isDone: false,
    persisted: 42,
  })
  assert.deepEqual(parseState({ status: 200, headers: {}, body }), { isDone: true, crc32c: '4waSgw==' })
})
