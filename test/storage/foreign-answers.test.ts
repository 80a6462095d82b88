import assert from 'node:assert/strict'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { KafkaBackupError } from '../../src/errors.ts'
import { openAzureStorage } from '../../src/storage/azure/azure-storage.ts'
import { openGcsStorage } from '../../src/storage/gcs/gcs-storage.ts'
import { withRetries } from '../../src/storage/retrying.ts'
import { openS3Storage } from '../../src/storage/s3/s3-storage.ts'
import type { Storage } from '../../src/storage/storage.ts'
import { type ScriptedAnswer, type SeenRequest, startHttpScript } from '../fakes/http-script.ts'

const never = new AbortController().signal
const parts = { retryPolicy: { attempts: 1, baseDelayMs: 0, maxDelayMs: 0 } }
const key = 'b/manifests/1.json'
const MiB = 2 ** 20

const stores: Record<string, (endpoint: string) => Storage> = {
  S3: endpoint => openS3Storage({ bucket: 'bkt', endpoint, accessKeyId: 'a', secretAccessKey: 's' }, parts),
  Azure: endpoint =>
    openAzureStorage(
      { container: 'box', endpoint: `${endpoint}/acme`, accountKey: 'a2V5', partSizeBytes: 5 * MiB },
      parts,
    ),
  'Google Cloud Storage': endpoint =>
    openGcsStorage({ bucket: 'bkt', endpoint, anonymous: true, partSizeBytes: 5 * MiB }, parts),
}

async function collect(items: AsyncIterable<unknown>): Promise<unknown[]> {
  const all: unknown[] = []
  for await (const item of items) all.push(item)
  return all
}

async function write(storage: Storage, bytes: number): Promise<void> {
  const writer = await storage.openWriter(key, never)
  await writer.write([Buffer.alloc(bytes)], never)
  await writer.commit(never)
}

const calls: Record<string, (storage: Storage) => Promise<unknown>> = {
  create: storage => storage.create(key, Buffer.from('x'), never),
  replace: storage => storage.replace(key, Buffer.from('x'), never),
  'a small object': storage => write(storage, 1),
  'a large object': storage => write(storage, 6 * MiB),
  read: storage => storage.read(key, never),
  readRange: storage => storage.readRange(key, 0, 8, never),
  stat: storage => storage.stat(key, never),
  list: storage => collect(storage.list('b', never)),
  listFolders: storage => collect(storage.listFolders('', never)),
  remove: storage => storage.remove(key, never),
}

const page = '<!DOCTYPE html><html><body><h1>Sign in to the network</h1></body></html>'
const html = { 'content-type': 'text/html; charset=utf-8' }
/** As nginx writes it: not a document of XML. */
const badGateway =
  '<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body>\r\n<hr><center>nginx</center>\r\n</body>'
const portals: Record<string, ScriptedAnswer> = {
  'a page with status 200': { status: 200, text: page, headers: html },
  'a page with an ETag, as a file of a web server': { status: 200, text: page, headers: { ...html, etag: '"65f"' } },
  'a page with status 201': { status: 201, text: page, headers: html },
  'a page with status 404': { status: 404, text: page, headers: html },
  'a redirect to a page': { status: 302, text: '', headers: { ...html, location: 'http://portal.test/' } },
  'a permanent redirect': { status: 301, text: page, headers: { ...html, location: 'http://portal.test/' } },
  'an empty body with status 200': { status: 200, text: '', headers: { 'content-length': '0' } },
  'an empty body with status 204': { status: 204 },
  'an empty body with status 404': { status: 404, text: '', headers: { 'content-length': '0' } },
  'XML of something else': { status: 200, text: '<?xml version="1.0"?><status><ok/></status>' },
  'JSON of something else': { status: 200, json: { status: 'ok' } },
}

/** A success of a removal has no body in S3 and Google Cloud Storage, so nothing tells it from the answer of another server. */
const emptySuccesses = Object.keys(portals).filter(
  name => /status 20[04]|something else/.test(name) && !/page/.test(name),
)

async function withStore<T>(
  name: string,
  answer: (request: SeenRequest) => ScriptedAnswer,
  work: (storage: Storage, seen: readonly SeenRequest[]) => Promise<T>,
): Promise<T> {
  const script = await startHttpScript(answer)
  const storage = stores[name]?.(script.url)
  assert.ok(storage)
  try {
    return await work(storage, script.requests)
  } finally {
    await storage.close()
    await script.close()
  }
}

for (const name of Object.keys(stores)) {
  describe(`an answer in place of ${name}`, () => {
    for (const [portal, answer] of Object.entries(portals)) {
      test(`${portal} is an error of every call`, () =>
        withStore(
          name,
          () => answer,
          async storage => {
            for (const [call, work] of Object.entries(calls)) {
              if (call === 'remove' && name !== 'Azure' && emptySuccesses.includes(portal)) continue
              const error = await work(storage).then(
                result => assert.fail(`${call} ended with ${JSON.stringify(result)}`),
                (thrown: unknown) => thrown,
              )
              assert.ok(error instanceof KafkaBackupError, `${call}: ${error}`)
              assert.equal(error.code, 'STORAGE_PROTOCOL', `${call}: ${error.message}`)
              assert.ok(error.retryable)
            }
          },
        ))
    }

    test('by a gateway that fails is a failure of the store', () =>
      withStore(
        name,
        () => ({ status: 502, text: badGateway, headers: html }),
        async storage => {
          for (const work of Object.values(calls)) await assert.rejects(work(storage), { code: 'STORAGE_UNAVAILABLE' })
        },
      ))

    test('is named as such, with the object and what is wrong with it', () =>
      withStore(
        name,
        () => portals['a page with status 404'] ?? assert.fail(),
        async storage => {
          const wanted =
            /^cannot (?:read|stat) "b\/manifests\/1\.json" in \S+: the answer is not from the store \(404\): it has no/
          await assert.rejects(storage.read(key, never), { message: wanted, help: /captive portal/ })
        },
      ))
  })
}

const created: Record<string, ScriptedAnswer> = {
  S3: { headers: { etag: '"e"' } },
  Azure: { status: 201, headers: { etag: '"e"', 'x-ms-request-id': 'r' } },
  'Google Cloud Storage': { json: { kind: 'storage#object', name: key } },
}

for (const [name, stored] of Object.entries(created)) {
  test(`${name}: an object is created once the store answers again`, () => {
    let asked = 0
    const answer = () => (++asked === 1 ? { text: page, headers: html } : stored)
    return withStore(name, answer, async storage => {
      const retrying = withRetries(storage, { attempts: 2, baseDelayMs: 0, maxDelayMs: 0 })
      await retrying.create(key, Buffer.from('x'), never)
      assert.equal(asked, 2)
    })
  })
}

describe('an object of S3 without an ETag', () => {
  const readWith = (headers: Record<string, string>) =>
    withStore(
      'S3',
      () => ({ status: 200, text: 'content', headers: { 'content-length': '7', ...headers } }),
      async storage => {
        assert.equal((await storage.stat(key, never))?.key, key)
        return String(await storage.read(key, never))
      },
    )

  test('is read if the response has a header of S3 or the time of its change', async () => {
    assert.equal(await readWith({ 'x-amz-request-id': 'r' }), 'content')
    const modified = 'Wed, 21 Oct 2015 07:28:00 GMT'
    assert.equal(await readWith({ 'last-modified': modified, 'content-type': 'application/octet-stream' }), 'content')
    await assert.rejects(readWith({ ...html, 'last-modified': modified }), { code: 'STORAGE_PROTOCOL' })
    await assert.rejects(readWith({ 'content-type': 'text/plain' }), { code: 'STORAGE_PROTOCOL' })
  })

  test('is not taken for stored', () =>
    withStore(
      'S3',
      () => ({ status: 200, headers: { 'x-amz-request-id': 'r', 'last-modified': 'Wed, 21 Oct 2015 07:28:00 GMT' } }),
      async storage => {
        const wanted = { code: 'STORAGE_PROTOCOL', message: /it has no ETag$/ }
        await assert.rejects(storage.create(key, Buffer.from('x'), never), wanted)
        await assert.rejects(write(storage, 6 * MiB), { code: 'STORAGE_PROTOCOL' })
      },
    ))
})

describe('a status 404 of S3 to HEAD', () => {
  const missing = { status: 404, text: '<Error><Code>NoSuchKey</Code></Error>' }
  const statOf = (answers: Record<string, ScriptedAnswer>) =>
    withStore(
      'S3',
      ({ method }) => answers[method] ?? assert.fail(method),
      async (storage, seen) => ({ found: await storage.stat(key, never), requests: seen.map(({ method }) => method) }),
    )

  test('with a header of S3 means that the object does not exist', async () => {
    const answer = { status: 404, headers: { 'x-amz-request-id': 'r' } }
    assert.deepEqual(await statOf({ HEAD: answer }), { found: undefined, requests: ['HEAD'] })
  })

  test('without one is confirmed by the error code of a GET', async () => {
    assert.deepEqual(await statOf({ HEAD: { status: 404 }, GET: missing }), {
      found: undefined,
      requests: ['HEAD', 'GET'],
    })
  })

  test('without one is an error if the object can be read, also an empty one', async () => {
    const wanted = { code: 'STORAGE_PROTOCOL', message: /\(404\): the object exists$/ }
    const range = { status: 206, text: 'x', headers: { etag: '"e"', 'content-range': 'bytes 0-0/9' } }
    await assert.rejects(statOf({ HEAD: { status: 404 }, GET: range }), wanted)
    const empty = { status: 416, text: '<Error><Code>InvalidRange</Code></Error>' }
    await assert.rejects(statOf({ HEAD: { status: 404 }, GET: empty }), wanted)
  })
})

test('Google Cloud Storage: a download of a missing object in plain text is confirmed by its metadata', async () => {
  const answer = ({ path }: SeenRequest): ScriptedAnswer =>
    path.startsWith('/download/') ? { status: 404, text: 'Not Found' } : { status: 404, json: { error: { code: 404 } } }
  await withStore('Google Cloud Storage', answer, async storage => {
    await assert.rejects(storage.read(key, never), { code: 'STORAGE_NOT_FOUND' })
  })
})

/** Runs the work five times against a server, and returns how many connections stay open. */
async function countLeft(
  name: string,
  answer: RequestListener,
  work: (storage: Storage) => Promise<unknown>,
): Promise<number> {
  const server = createServer((request, response) => {
    request.resume().once('end', () => answer(request, response))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const storage = stores[name]?.(`http://127.0.0.1:${(server.address() as AddressInfo).port}`) ?? assert.fail()
  try {
    for (let i = 0; i < 5; i++) await work(storage)
    const countOpen = () => new Promise<number>(resolve => server.getConnections((_, count) => resolve(count)))
    for (let waits = 0; waits < 200 && (await countOpen()) > 1; waits++) await setTimeout(10)
    return await countOpen()
  } finally {
    await storage.close()
    server.closeAllConnections()
    server.close()
  }
}

test('S3: a page in place of an answer leaves no connection behind', async () => {
  const left = await countLeft(
    'S3',
    (_, response) => response.writeHead(200, html).end(page),
    async storage => {
      await assert.rejects(storage.create(key, Buffer.from('x'), never), { code: 'STORAGE_PROTOCOL' })
      await assert.rejects(storage.read(key, never), { code: 'STORAGE_PROTOCOL' })
    },
  )
  assert.ok(left <= 1, `${left} connections`)
})

for (const [name, headers] of Object.entries({
  S3: { etag: '"e"' },
  Azure: { etag: '"e"', 'x-ms-request-id': 'r' },
  'Google Cloud Storage': { 'x-goog-generation': '1' },
})) {
  test(`${name}: an answer with another range leaves no connection behind`, async () => {
    const length = 4 * MiB
    const range = { 'content-range': `bytes 100-${100 + length - 1}/${2 * length}`, 'content-length': `${length}` }
    const left = await countLeft(
      name,
      (_, response) => response.writeHead(206, { ...headers, ...range }).end(Buffer.alloc(length)),
      storage =>
        assert.rejects(storage.readRange(key, 0, 8, never), {
          code: 'STORAGE_PROTOCOL',
          message: /it has the bytes from 100 on$/,
        }),
    )
    assert.ok(left <= 1, `${left} connections`)
  })
}
