import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { describe, test } from 'node:test'
import type { AzureOptions } from '../../src/storage/azure/azure-options.ts'
import { openAzureStorage } from '../../src/storage/azure/azure-storage.ts'
import type { Storage } from '../../src/storage/storage.ts'
import { type SeenRequest, startHttpScript } from '../fakes/http-script.ts'

const never = new AbortController().signal
const retryPolicy = { attempts: 1, baseDelayMs: 0, maxDelayMs: 0 }
const MiB = 2 ** 20

describe('a request to a container', () => {
  async function requestsOf(
    work: (storage: Storage) => Promise<void>,
    options: Partial<AzureOptions> = {},
  ): Promise<readonly SeenRequest[]> {
    const script = await startHttpScript(() => ({ status: 201, headers: { etag: '"e"', 'x-ms-request-id': 'r' } }))
    const endpoint = `${script.url}/acme`
    const storage = openAzureStorage(
      { container: 'box', endpoint, accountKey: 'a2V5', partSizeBytes: MiB, ...options },
      { retryPolicy },
    )
    await work(storage)
    await storage.close()
    await script.close()
    return script.requests
  }

  const create = (storage: Storage) => storage.create('a/b c', Buffer.from('123456789'), never)

  test('has container, prefix and key in its path, encoded once', async () => {
    const [seen] = await requestsOf(create, { prefix: 'x' })
    assert.equal(`${seen?.method} ${seen?.path}`, 'PUT /acme/box/x/a%2Fb%20c'.replace('%2F', '/'))
    const [odd] = await requestsOf(storage => storage.create('ü/100%?#', Buffer.from('x'), never))
    assert.equal(decodeURIComponent(odd?.path ?? ''), '/acme/box/ü/100%?#')
  })

  test('creates only where nothing is, with a checksum; a replacement has no condition', async () => {
    const [created] = await requestsOf(create)
    assert.equal(created?.headers['if-none-match'], '*')
    assert.equal(created?.headers['content-md5'], 'JfnnlDI7RTiF9RgfG2JNCw==')
    assert.equal(created?.headers['content-length'], '9')
    assert.equal(created?.headers['x-ms-blob-type'], 'BlockBlob')
    assert.match(String(created?.headers.authorization), /^SharedKey acme:/)
    const [replaced] = await requestsOf(storage => storage.replace('a', Buffer.from('x'), never))
    assert.equal(replaced?.headers['if-none-match'], undefined)
  })

  test('of a SAS token carries it as it is, and nothing else', async () => {
    const options = { sasToken: '?sv=2025-01-01&sig=a%2Bb%3D' }
    const script = await startHttpScript(() => ({ status: 201, headers: { 'x-ms-request-id': 'r' } }))
    const storage = openAzureStorage({ container: 'box', endpoint: `${script.url}/acme`, ...options }, { retryPolicy })
    await create(storage)
    await storage.close()
    await script.close()
    assert.equal(script.requests[0]?.query.get('sig'), 'a+b=')
    assert.equal(script.requests[0]?.headers.authorization, undefined)
  })

  test('of a large object stages blocks and commits them in their order, where nothing is', async () => {
    const requests = await requestsOf(async storage => {
      const writer = await storage.openWriter('large', never)
      await writer.write([Buffer.alloc(3 * MiB + 5)], never)
      await writer.commit(never)
    })
    const blocks = requests.filter(({ query }) => query.get('comp') === 'block')
    const [commit, ...others] = requests.filter(({ query }) => query.get('comp') === 'blocklist')
    assert.deepEqual([blocks.length, others.length, requests.length], [4, 0, 5])
    for (const { headers } of blocks) assert.match(String(headers['content-md5']), /^.{22}==$/)
    const ids = blocks.map(({ query }) => query.get('blockid') ?? '').toSorted()
    assert.equal(new Set(ids.map(id => id.length)).size, 1)
    assert.deepEqual(
      [...(commit?.body ?? '').matchAll(/<Latest>([^<]+)<\/Latest>/g)].map(([, id]) => id),
      ids,
    )
    assert.equal(commit?.headers['if-none-match'], '*')
    const sum = createHash('md5')
      .update(commit?.body ?? '')
      .digest('base64')
    assert.equal(commit?.headers['content-md5'], sum)
    const token = String(commit?.headers['x-ms-meta-kafkabackupwriter'])
    assert.ok(
      Buffer.from(ids[0] ?? '', 'base64')
        .toString()
        .startsWith(token),
    )
  })

  test('carries the token of its writer, another for each', async () => {
    const requests = await requestsOf(async storage => {
      for (const key of ['a', 'b']) await (await storage.openWriter(key, never)).commit(never)
    })
    const tokens = requests.map(({ headers }) => String(headers['x-ms-meta-kafkabackupwriter']))
    assert.equal(new Set(tokens).size, 2)
    for (const token of tokens) assert.match(token, /^[0-9a-f]{24}$/)
  })

  test('is made once: retries are for others to decide', async () => {
    const script = await startHttpScript(() => ({ status: 503, headers: { 'x-ms-error-code': 'ServerBusy' } }))
    const storage = openAzureStorage(
      { container: 'box', endpoint: `${script.url}/acme`, accountKey: 'a2V5' },
      { retryPolicy },
    )
    await assert.rejects(storage.stat('a', never), { code: 'STORAGE_UNAVAILABLE', message: /ServerBusy 503/ })
    await assert.rejects(storage.read('a', never), { code: 'STORAGE_UNAVAILABLE' })
    assert.equal(script.requests.length, 2)
    await storage.close()
    await script.close()
  })
})
