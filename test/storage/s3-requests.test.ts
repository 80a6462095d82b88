import assert from 'node:assert/strict'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, describe, test } from 'node:test'
import type { S3Options } from '../../src/storage/s3/s3-options.ts'
import { openS3Storage } from '../../src/storage/s3/s3-storage.ts'
import type { Storage } from '../../src/storage/storage.ts'

interface Seen {
  method: string
  /** With scheme and host: it is a proxy that notes it down. */
  url: string
  headers: IncomingHttpHeaders
}

const never = new AbortController().signal
const retryPolicy = { attempts: 1, baseDelayMs: 0, maxDelayMs: 0 }
const upload = '<InitiateMultipartUploadResult><UploadId>u1</UploadId></InitiateMultipartUploadResult>'
const completed = '<CompleteMultipartUploadResult><ETag>"e"</ETag></CompleteMultipartUploadResult>'

describe('a request to a bucket', () => {
  let proxy: string
  let seen: Seen[] = []
  const server = createServer((incoming, answer) => {
    const { method = '', url = '', headers } = incoming
    seen.push({ method, url, headers })
    incoming.resume()
    incoming.once('end', () => {
      answer.setHeader('etag', '"e"')
      answer.end(method === 'POST' ? (url.includes('uploads') ? upload : completed) : '')
    })
  })
  before(async () => {
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    proxy = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  })
  after(() => {
    server.close()
    server.closeAllConnections()
  })

  async function requestsOf(options: Partial<S3Options>, work: (storage: Storage) => Promise<void>): Promise<Seen[]> {
    seen = []
    const endpoint = 'http://s3.test'
    const credentials = { accessKeyId: 'key', secretAccessKey: 'secret' }
    const storage = openS3Storage({ bucket: 'bkt', endpoint, ...credentials, proxy, ...options }, { retryPolicy })
    await work(storage)
    await storage.close()
    return seen
  }

  const create = (storage: Storage) => storage.create('a/b c', Buffer.from('123456789'), never)

  test('has the bucket in its path, or in its host', async () => {
    const [path] = await requestsOf({ prefix: 'x' }, create)
    assert.match(path?.url ?? '', /^http:\/\/s3\.test\/bkt\/x\/a\/b%20c(\?|$)/)
    const [host] = await requestsOf({ prefix: 'x', pathStyle: false }, create)
    assert.match(host?.url ?? '', /^http:\/\/bkt\.s3\.test\/x\/a\/b%20c(\?|$)/)
  })

  test('creates only where nothing is, with a checksum; a replacement has no condition', async () => {
    const [created] = await requestsOf({}, create)
    assert.equal(created?.headers['if-none-match'], '*')
    assert.equal(created?.headers['x-amz-checksum-crc32c'], '4waSgw==')
    assert.equal(created?.headers['transfer-encoding'], undefined)
    const [replaced] = await requestsOf({ checksum: 'none' }, storage => storage.replace('a', Buffer.from('x'), never))
    assert.equal(replaced?.headers['if-none-match'], undefined)
    assert.deepEqual(
      Object.keys(replaced?.headers ?? {}).filter(name => /checksum|md5/.test(name)),
      [],
    )
  })

  test('signs its body over http, unless told otherwise', async () => {
    const [signed] = await requestsOf({}, create)
    assert.equal(
      signed?.headers['x-amz-content-sha256'],
      '15e2b0d3c33891ebb0f1ef609ec419420c20e320ce94c65fbc8c3312448eb225',
    )
    const [unsigned] = await requestsOf({ signPayload: false }, create)
    assert.equal(unsigned?.headers['x-amz-content-sha256'], 'UNSIGNED-PAYLOAD')
  })

  test('asks for encryption where an object begins', async () => {
    const sse = { sse: 'aws:kms', sseKmsKeyId: 'alias/k', sseBucketKey: true } as const
    const requests = await requestsOf(sse, async storage => {
      await create(storage)
      const writer = await storage.openWriter('large', never)
      await writer.write([Buffer.alloc(6 * 2 ** 20)], never)
      await writer.commit(never)
    })
    const encrypted = requests.filter(({ headers }) => headers['x-amz-server-side-encryption'] === 'aws:kms')
    assert.deepEqual(
      encrypted.map(({ method, url }) => `${method} ${new URL(url).pathname}`),
      ['PUT /bkt/a/b%20c', 'POST /bkt/large'],
    )
    for (const { headers } of encrypted) {
      assert.equal(headers['x-amz-server-side-encryption-aws-kms-key-id'], 'alias/k')
      assert.equal(headers['x-amz-server-side-encryption-bucket-key-enabled'], 'true')
    }
    const last = requests.at(-1)
    assert.deepEqual([last?.method, last?.headers['if-none-match']], ['POST', '*'])
  })

  test('carries the token of its writer, another for each', async () => {
    const requests = await requestsOf({}, async storage => {
      for (const key of ['a', 'b']) await (await storage.openWriter(key, never)).commit(never)
    })
    const tokens = requests.map(({ headers }) => String(headers['x-amz-meta-kafka-backup-writer']))
    assert.equal(new Set(tokens).size, 2)
    for (const token of tokens) assert.match(token, /^[0-9a-f]{24}$/)
  })
})

describe('a list of objects', () => {
  /** The keys that a bucket lists which answers with these pages, by the token that is asked for. */
  async function listOf(pages: Record<string, string>): Promise<string[]> {
    let asked = 0
    const server = createServer((incoming, answer) => {
      const token = new URL(incoming.url ?? '', 'http://s3.test').searchParams.get('continuation-token') ?? ''
      const page = asked++ > 20 ? '' : (pages[token] ?? '')
      answer.end(`<ListBucketResult>${page}</ListBucketResult>`)
    })
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const credentials = { accessKeyId: 'key', secretAccessKey: 'secret' }
    const storage = openS3Storage({ bucket: 'bkt', endpoint, ...credentials }, { retryPolicy })
    try {
      const keys: string[] = []
      for await (const { key } of storage.list('', never)) keys.push(key)
      return keys
    } finally {
      await storage.close()
      server.close()
      server.closeAllConnections()
    }
  }
  const object = (key: string) => `<Contents><Key>${key}</Key><Size>1</Size></Contents>`
  const truncated = '<IsTruncated>true</IsTruncated>'
  const token = (text: string) => `<NextContinuationToken>${text}</NextContinuationToken>`

  test('goes on where the page before says, and ends with the page that is not truncated', async () => {
    const last = `<IsTruncated>false</IsTruncated>${object('b')}`
    assert.deepEqual(await listOf({ '': truncated + token('t1') + object('a'), t1: last }), ['a', 'b'])
    assert.deepEqual(await listOf({ '': token('t1') + object('a'), t1: object('b') }), ['a', 'b'], 'not told')
  })

  test('that is truncated, and does not say where it goes on, is an error and not the end', async () => {
    const wanted = { code: 'STORAGE_UNAVAILABLE', message: /truncated object listing/ }
    await assert.rejects(listOf({ '': truncated + object('a') }), wanted)
    await assert.rejects(listOf({ '': truncated + token('') + object('a') }), wanted)
  })

  test('that comes back to an earlier page is an error, and does not go round for ever', async () => {
    const pages = (names: string[]) =>
      Object.fromEntries(names.map((name, at) => [at === 0 ? '' : names[at - 1], page(name)]))
    const page = (next: string) => truncated + token(next) + object(next)
    const wanted = { code: 'STORAGE_UNAVAILABLE', message: /the same page/ }
    await assert.rejects(listOf({ ...pages(['t1', 't2']), t2: page('t1') }), wanted)
    await assert.rejects(listOf({ ...pages(['t1', 't2', 't3']), t3: page('t1') }), wanted)
  })

  test('that goes on where it began is an error, and does not go round for ever', async () => {
    const round = truncated + token('t1') + object('a')
    await assert.rejects(listOf({ '': round, t1: round }), { code: 'STORAGE_UNAVAILABLE', message: /the same page/ })
  })
})
