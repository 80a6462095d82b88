import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import type { ServerResponse } from 'node:http'
import { join } from 'node:path'
import { after, before, beforeEach, describe, test } from 'node:test'
import { type KubeClient, openKubeClient } from '../../../src/operator/kube/client.ts'
import type { KubeCredentials } from '../../../src/operator/kube/credentials.ts'
import { KubeError } from '../../../src/operator/kube/kube-error.ts'
import type { ResourceKind } from '../../../src/operator/kube/object.ts'
import { JumpingClock } from '../../fakes/jumping-clock.ts'
import { type KubeCall, type KubeScript, sendJson, startKubeScript, statusObject } from '../../fakes/kube-script.ts'
import { makeIdentity } from '../../servers/certificates.ts'

const jobs: ResourceKind = { apiVersion: 'batch/v1', kind: 'Job', plural: 'jobs' }
const maps: ResourceKind = { apiVersion: 'v1', kind: 'ConfigMap', plural: 'configmaps' }
const map = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a', namespace: 'one' } }
const open = new AbortController().signal

let server: KubeScript
let answer: (call: KubeCall, response: ServerResponse) => void | Promise<void>
const clients: KubeClient[] = []

describe('requests to the API server', () => {
  before(async () => {
    server = await startKubeScript((call, response) => answer(call, response))
  })
  after(() => server?.close())
  beforeEach(() => {
    for (const client of clients.splice(0)) client.close()
    server.calls.length = 0
    answer = (_, response) => sendJson(response, 200, {})
  })

  test('each call sends the documented request', async () => {
    const api = openClient()
    await api.get(maps, { namespace: 'one', name: 'a' }, open)
    await api.get(jobs, { name: 'of the cluster' }, open)
    await api.create(maps, map, open)
    await api.replace(maps, map, open)
    await api.apply(maps, map, { fieldManager: 'me' }, open)
    await api.applyStatus(jobs, map, { fieldManager: 'me', force: true }, open)
    await api.remove(maps, { namespace: 'one', name: 'a' }, { propagation: 'Background', uid: 'u' }, open)
    assert.deepEqual(
      server.calls.map(({ method, url }) => `${method} ${url}`),
      [
        'GET /api/v1/namespaces/one/configmaps/a',
        'GET /apis/batch/v1/jobs/of%20the%20cluster',
        'POST /api/v1/namespaces/one/configmaps',
        'PUT /api/v1/namespaces/one/configmaps/a',
        'PATCH /api/v1/namespaces/one/configmaps/a?fieldManager=me&force=false',
        'PATCH /apis/batch/v1/namespaces/one/jobs/a/status?fieldManager=me&force=true',
        'DELETE /api/v1/namespaces/one/configmaps/a',
      ],
    )
    const [, , , , apply, status, remove] = server.calls
    assert.equal(apply?.headers['content-type'], 'application/apply-patch+yaml')
    assert.deepEqual(JSON.parse(status?.body ?? '').kind, 'Job')
    const options = { apiVersion: 'v1', kind: 'DeleteOptions', propagationPolicy: 'Background' }
    assert.deepEqual(JSON.parse(remove?.body ?? ''), { ...options, preconditions: { uid: 'u' } })
  })

  test('requests only the metadata of a secret', async () => {
    const secrets: ResourceKind = { apiVersion: 'v1', kind: 'Secret', plural: 'secrets' }
    await openClient().getMetadata(secrets, { namespace: 'one', name: 'a' }, open)
    const { method, url, headers } = server.calls[0] as KubeCall
    assert.deepEqual([method, url], ['GET', '/api/v1/namespaces/one/secrets/a'])
    assert.equal(headers.accept, 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1')
  })

  test('an apply never sends the managed fields that were read', async () => {
    const metadata = { ...map.metadata, managedFields: [{ manager: 'other' }] }
    await openClient().apply(maps, { ...map, metadata }, { fieldManager: 'me' }, open)
    assert.deepEqual(JSON.parse(server.calls[0]?.body ?? '').metadata, map.metadata)
  })

  test('consecutive calls share a connection', async () => {
    const api = openClient()
    for (let count = 0; count < 3; count++) await api.get(maps, { namespace: 'one', name: 'a' }, open)
    assert.equal(new Set(server.calls.map(({ connection }) => connection)).size, 1)
  })

  test('reads a list page by page, and sets the kind of its items', async () => {
    answer = ({ url }, response) => {
      const from = new URL(url, 'https://x').searchParams.get('continue')
      const page = from === null ? 1 : Number(from.slice(5))
      const more = page < 3 ? { continue: `page ${page + 1}` } : {}
      sendJson(response, 200, {
        metadata: { resourceVersion: '7', ...more },
        items: [{ metadata: { name: `${page}` } }],
      })
    }
    const list = await openClient().list(maps, { labelSelector: 'a=b,c' }, open)
    const named = (name: string) => ({ metadata: { name }, apiVersion: 'v1', kind: 'ConfigMap' })
    assert.deepEqual(list, { items: ['1', '2', '3'].map(named), resourceVersion: '7' })
    assert.deepEqual(
      server.calls.map(({ url }) => url),
      ['', '&continue=page+2', '&continue=page+3'].map(
        rest => `/api/v1/configmaps?labelSelector=a%3Db%2Cc&limit=500${rest}`,
      ),
    )
  })

  test('fails if a list omits objects without a continue token', async () => {
    answer = (_, response) =>
      sendJson(response, 200, { metadata: { resourceVersion: '7', remainingItemCount: 3 }, items: [] })
    await assert.rejects(openClient().list(maps, {}, open), { code: 'KUBE_PROTOCOL', message: /leaves out 3 objects/ })
  })

  test('requests the complete list if its pages expire', async () => {
    answer = ({ url }, response) => {
      if (url.includes('continue')) return sendJson(response, 410, statusObject(410, 'Expired', 'too old'))
      const more = url.includes('limit') ? { continue: 'next' } : {}
      const items = url.includes('limit') ? ['old'] : ['new', 'newer']
      sendJson(response, 200, {
        metadata: { resourceVersion: `${items.length}`, ...more },
        items: items.map(name => ({ metadata: { name } })),
      })
    }
    const { items, resourceVersion } = await openClient().list(maps, { namespace: 'one' }, open)
    assert.deepEqual(
      items.map(({ metadata }) => metadata.name),
      ['new', 'newer'],
    )
    assert.equal(resourceVersion, '2')
  })

  const refusals: [number, string, string][] = [
    [400, 'BadRequest', 'KUBE_INVALID'],
    [401, 'Unauthorized', 'KUBE_AUTH'],
    [403, 'Forbidden', 'KUBE_DENIED'],
    [404, 'NotFound', 'KUBE_NOT_FOUND'],
    [409, 'AlreadyExists', 'KUBE_EXISTS'],
    [409, 'Conflict', 'KUBE_CONFLICT'],
    [410, 'Expired', 'KUBE_GONE'],
    [422, 'Invalid', 'KUBE_INVALID'],
    [500, 'InternalError', 'KUBE_UNREACHABLE'],
    [504, 'Timeout', 'KUBE_UNREACHABLE'],
  ]
  for (const [status, reason, code] of refusals) {
    test(`maps the response ${status} ${reason} to ${code}`, async () => {
      answer = (_, response) => sendJson(response, status, statusObject(status, reason, 'the words of the server'))
      await assert.rejects(openClient().create(jobs, { ...map, kind: 'Job' }, open), {
        code,
        status,
        reason,
        message: `cannot create jobs.batch "a" in namespace "one": the API server answered ${status}: the words of the server`,
      })
      assert.equal(server.calls.length, 1, 'a call that may have acted is not repeated')
    })
  }

  test('a refusal contains the causes of the server', async () => {
    const causes = [{ reason: 'FieldValueRequired', message: 'Required value', field: 'spec.containers' }]
    answer = (_, response) => sendJson(response, 422, statusObject(422, 'Invalid', 'it is invalid', causes))
    await assert.rejects(openClient().create(maps, map, open), { code: 'KUBE_INVALID', causes })
  })

  test('an unknown resource is not found, with the message of the server', async () => {
    answer = (_, response) => {
      response.writeHead(404, { 'content-type': 'text/plain' })
      response.end('404 page not found\n')
    }
    await assert.rejects(openClient().list(jobs, {}, open), {
      code: 'KUBE_NOT_FOUND',
      message: 'cannot list jobs.batch in all namespaces: the API server answered 404: 404 page not found',
    })
  })

  test('rejects a response that is not JSON', async () => {
    answer = (_, response) => void response.end('<html>welcome</html>')
    await assert.rejects(openClient().get(maps, { name: 'a' }, open), { code: 'KUBE_PROTOCOL' })
  })

  test('retries a throttled call after the requested time', async () => {
    let left = 2
    answer = (_, response) => {
      if (left-- > 0)
        return sendJson(response, 429, statusObject(429, 'TooManyRequests', 'busy'), { 'retry-after': '7' })
      sendJson(response, 201, map)
    }
    const clock = new JumpingClock()
    assert.deepEqual(await openClient({ clock }).create(maps, map, open), map)
    assert.deepEqual(clock.slept, [7000, 7000])
  })

  test('fails if the server throttles without end', async () => {
    answer = (_, response) =>
      sendJson(response, 429, statusObject(429, 'TooManyRequests', 'busy'), { 'retry-after': '1' })
    await assert.rejects(openClient({ clock: new JumpingClock() }).create(maps, map, open), {
      code: 'KUBE_UNREACHABLE',
    })
    assert.equal(server.calls.length, 6)
  })

  test('waits at most a minute in total for a throttling server', async () => {
    for (const seconds of ['60', '25', '3600']) {
      answer = (_, response) =>
        sendJson(response, 429, statusObject(429, 'TooManyRequests', 'busy'), { 'retry-after': seconds })
      const clock = new JumpingClock()
      await assert.rejects(openClient({ clock }).create(maps, map, open), { code: 'KUBE_UNREACHABLE' })
      const sleptMs = clock.slept.reduce((sum, ms) => sum + ms, 0)
      assert.ok(sleptMs >= 50_000 && sleptMs <= 60_000, `${sleptMs} ms for a Retry-After of ${seconds}`)
    }
  })

  test('replaces an idle connection that the server closed', async () => {
    const api = openClient({ clock: new JumpingClock() })
    await api.get(maps, { name: 'a' }, open)
    answer = (call, response) => {
      if (call.connection === server.calls[0]?.connection) response.socket?.destroy()
      else sendJson(response, 200, map)
    }
    assert.deepEqual(await api.get(maps, { name: 'a' }, open), map)
    assert.equal(server.calls.length, 3)
  })

  test('does not repeat a create over a broken connection, because it may have succeeded', async () => {
    const api = openClient()
    await api.get(maps, { name: 'a' }, open)
    answer = (_, response) => void response.socket?.destroy()
    await assert.rejects(api.create(maps, map, open), { code: 'KUBE_UNREACHABLE' })
    assert.equal(server.calls.length, 2)
  })

  test('a server that does not answer in time is unreachable', async () => {
    answer = () => {}
    await assert.rejects(openClient({ requestTimeoutMs: 50 }).get(maps, { namespace: 'one', name: 'a' }, open), {
      code: 'KUBE_UNREACHABLE',
      message: 'cannot get configmaps "a" in namespace "one": no answer within 50 ms',
    })
  })

  test('only the first of several silently dead connections costs a timeout', async () => {
    const held: (() => void)[] = []
    const dead = new Set<number>()
    answer = ({ connection }, response) => {
      dead.add(connection)
      held.push(() => sendJson(response, 200, map))
      if (held.length === 3) for (const send of held) send()
    }
    const api = openClient({ requestTimeoutMs: 300 })
    await Promise.all([1, 2, 3].map(() => api.get(maps, { name: 'a' }, open)))
    answer = ({ connection }, response) => {
      if (!dead.has(connection)) sendJson(response, 200, map)
    }
    await assert.rejects(api.get(maps, { name: 'a' }, open), { code: 'KUBE_UNREACHABLE' })
    assert.deepEqual(await api.get(maps, { name: 'a' }, open), map)
  })

  test('an aborted call rejects with the reason of its signal', async () => {
    const stop = new AbortController()
    const reason = new Error('enough')
    answer = () => stop.abort(reason)
    await assert.rejects(openClient().get(maps, { name: 'a' }, stop.signal), error => error === reason)
  })

  test('a closed port is unreachable', async () => {
    const api = openClient({}, { server: 'https://127.0.0.1:1' })
    await assert.rejects(api.get(maps, { name: 'a' }, open), { code: 'KUBE_UNREACHABLE', message: /ECONNREFUSED/ })
  })

  test('uses a changed token file from the next call on', async () => {
    const file = join(server.folder, 'token')
    await writeFile(file, 'first\n')
    const api = openClient({}, { token: { file } })
    await api.get(maps, { name: 'a' }, open)
    await writeFile(file, 'second token\n')
    await api.get(maps, { name: 'a' }, open)
    assert.deepEqual(
      server.calls.map(({ headers }) => headers.authorization),
      ['Bearer first', 'Bearer second token'],
    )
  })

  test('refuses the certificate of another CA until the CA is corrected', async () => {
    const other = await makeIdentity(join(server.folder, 'other'), 'other')
    const file = join(server.folder, 'ca.crt')
    await writeFile(file, await readFile(other.cert))
    const api = openClient({}, { ca: { file } })
    await assert.rejects(api.get(maps, { name: 'a' }, open), { code: 'KUBE_TLS' })
    assert.equal(server.calls.length, 0)
    await writeFile(file, `# both\n${await readFile(server.authority.cert, 'utf8')}`)
    await api.get(maps, { name: 'a' }, open)
  })

  test('no environment variable turns certificate verification off', async () => {
    const other = await makeIdentity(join(server.folder, 'other'), 'other')
    process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0'
    try {
      const api = openClient({}, { ca: { file: other.cert } })
      await assert.rejects(api.get(maps, { name: 'a' }, open), { code: 'KUBE_TLS' })
      assert.equal(server.calls.length, 0)
    } finally {
      delete process.env.NODE_TLS_REJECT_UNAUTHORIZED
    }
  })

  test('an invalid client certificate is a TLS error', async () => {
    const api = openClient({}, { clientCert: { text: 'nonsense' }, clientKey: { text: 'nonsense' } })
    await assert.rejects(api.get(maps, { name: 'a' }, open), {
      code: 'KUBE_TLS',
      message: /^cannot get configmaps "a": /,
    })
  })

  test('a client certificate identifies the client', async () => {
    const user = await makeIdentity(server.folder, 'jane', { signedBy: server.authority })
    const { token: _, ...access } = server.access
    const client = openKubeClient({ ...access, clientCert: { file: user.cert }, clientKey: { file: user.key } })
    clients.push(client)
    await client.get(maps, { name: 'a' }, open)
    assert.equal(server.calls[0]?.client, 'jane')
    assert.equal(server.calls[0]?.headers.authorization, undefined)
  })

  test('never shows a token in an error', async () => {
    answer = (_, response) => sendJson(response, 500, statusObject(500, '', 'no'))
    await assert.rejects(openClient().get(maps, { name: 'a' }, open), error => {
      assert.ok(error instanceof KubeError)
      return !JSON.stringify([error.message, error.help, error.stack, error.causes]).includes('a-token')
    })
  })

  function openClient(
    options: Parameters<typeof openKubeClient>[1] = {},
    access: Partial<KubeCredentials> = {},
  ): KubeClient {
    const client = openKubeClient({ ...server.access, ...access }, options)
    clients.push(client)
    return client
  }
})
