import assert from 'node:assert/strict'
import { type AddressInfo, createServer } from 'node:net'
import { afterEach, describe, test } from 'node:test'
import { openRegistryClient, type RegistryClient } from '../../../src/registry/client/client.ts'
import type { RegistryOptions } from '../../../src/registry/client/client-options.ts'
import { type HttpScript, type ScriptedAnswer, type SeenRequest, startHttpScript } from '../../fakes/http-script.ts'
import { JumpingClock } from '../../fakes/jumping-clock.ts'

/** Numbers in the names are those of the list of edge cases that the registry part is held to. */
const never = new AbortController().signal
const closers: (() => unknown)[] = []

describe('the client of a registry', () => {
  afterEach(async () => {
    for (const close of closers.splice(0)) await close()
  })

  describe('the address of a registry', () => {
    test('36: a base path is kept, with and without a slash at its end', async () => {
      const server = await serve(() => ({ json: [] }))
      for (const url of [`${server.url}/apis/ccompat/v7`, `${server.url}/apis/ccompat/v7/`]) {
        await (await open({ urls: [url] })).client.call({ path: '/subjects' }, never)
      }
      assert.deepEqual(
        server.requests.map(({ path }) => path),
        ['/apis/ccompat/v7/subjects', '/apis/ccompat/v7/subjects'],
      )
    })

    test('that is none is refused without being shown, for it may hold a password', async () => {
      await assert.rejects(open({ urls: ['http//user:hunter2@r'] }), error => {
        assert.ok(error instanceof Error && 'code' in error)
        assert.equal(error.code, 'CONFIG_INVALID')
        assert.doesNotMatch(error.message, /hunter2/)
        return true
      })
    })

    test('37: switches to the next URL when one is down, and keeps using it', async () => {
      const dead = await serve(() => 'reset')
      const live = await serve(() => ({ json: ['a'] }))
      const { client, clock } = await open({ urls: [dead.url, live.url] })
      assert.deepEqual(await client.call({ path: '/subjects' }, never), ['a'])
      assert.deepEqual(await client.call({ path: '/subjects' }, never), ['a'])
      assert.equal(dead.requests.length, 1)
      assert.deepEqual(clock.slept, [])
    })
  })

  describe('what may pass', () => {
    for (const status of [408, 429, 500, 502, 503, 504]) {
      test(`36: status ${status} is tried again`, async () => {
        const server = await serve(failTimes(2, { status, text: '<html>' }))
        const { client } = await open({ urls: [server.url] })
        assert.equal(await client.call({ path: '/x' }, never), 'done')
        assert.equal(server.requests.length, 3)
      })
    }

    test('36: a registry that is down fails after a bounded number of tries, with address, subject and code', async () => {
      const answer = { status: 503, json: { error_code: 50003, message: 'no leader' } }
      const server = await serve(() => answer)
      const { client } = await open({ urls: [server.url], attempts: 3 })
      const message = `GET ${server.url}/config/a%2Fb (subject "a/b") answered 503, error code 50003: no leader`
      await assert.rejects(client.call({ path: '/config/a%2Fb', subject: 'a/b' }, never), {
        code: 'REGISTRY_UNREACHABLE',
        message,
        status: 503,
        errorCode: 50003,
      })
      assert.equal(server.requests.length, 3)
    })

    test('36: a wait that the server asks for is kept, up to a minute', async () => {
      const asked = ['7', 'Fri, 02 Jan 2026 03:04:32 GMT', '86400']
      const server = await serve(({ query: _ }) => {
        const after = asked[server.requests.length - 1]
        return after === undefined ? { json: 'done' } : { status: 429, json: {}, headers: { 'retry-after': after } }
      })
      const { client, clock } = await open({ urls: [server.url] })
      assert.equal(await client.call({ path: '/x' }, never), 'done')
      assert.deepEqual(clock.slept, [7000, 20_000, 60_000])
    })

    test('36: a server that does not answer is left after the time limit', async () => {
      const server = await serve(() => 'hang')
      const client = await openRegistryClient({ urls: [server.url], requestTimeoutMs: 40, attempts: 1 })
      closers.push(() => client.close())
      const started = performance.now()
      await assert.rejects(client.call({ path: '/subjects' }, never), {
        code: 'REGISTRY_UNREACHABLE',
        message: `GET ${server.url}/subjects failed: no answer within 40 ms`,
      })
      assert.ok(performance.now() - started < 5000)
    })

    test('36: a server that does not come to TLS is left after the time limit of connections', async () => {
      const server = createServer(() => {})
      await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
      const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`
      const client = await openRegistryClient({ urls: [url], connectTimeoutMs: 40, attempts: 1 })
      closers.push(() => client.close())
      await assert.rejects(client.call({ path: '/subjects' }, never), {
        code: 'REGISTRY_UNREACHABLE',
        message: `GET ${url}/subjects failed: no connection within 40 ms`,
      })
      server.close()
    })

    test('the time limit of connections does not count once there is one', async () => {
      const server = await serve(async () => {
        await new Promise(resolve => setTimeout(resolve, 80))
        return { json: 'late' }
      })
      const client = await openRegistryClient({ urls: [server.url], connectTimeoutMs: 40, attempts: 1 })
      closers.push(() => client.close())
      assert.equal(await client.call({ path: '/x' }, never), 'late')
      assert.equal(await client.call({ path: '/x' }, never), 'late')
    })

    test('stops at once when the run is interrupted', async () => {
      const server = await serve(() => 'hang')
      const { client } = await open({ urls: [server.url] })
      const stop = new AbortController()
      const call = client.call({ path: '/x' }, stop.signal)
      stop.abort(new Error('interrupted'))
      await assert.rejects(call, /interrupted/)
    })
  })

  describe('what is final', () => {
    for (const status of [401, 403]) {
      test(`36: ${status} is a matter of the login, told at once`, async () => {
        const server = await serve(() => ({ status, json: { error_code: status, message: 'User denied' } }))
        const { client } = await open({
          urls: [server.url],
          auth: { type: 'basic', username: 'u', password: 'hunter2' },
        })
        await assert.rejects(client.call({ path: '/subjects' }, never), error => {
          assert.ok(error instanceof Error && 'code' in error)
          assert.equal(error.code, 'REGISTRY_AUTH')
          assert.match(error.message, new RegExp(`answered ${status}, error code ${status}: User denied`))
          assert.doesNotMatch(JSON.stringify(error) + error.stack, /hunter2|dTpodW50/)
          return true
        })
        assert.equal(server.requests.length, 1)
      })
    }

    test('36: a page of HTML is reported as such, whatever its status', async () => {
      const page = { text: '<!DOCTYPE html><html><title>Welcome</title></html>' }
      const server = await serve(({ path }) => (path === '/ok' ? page : { ...page, status: 404 }))
      const { client } = await open({ urls: [server.url] })
      await assert.rejects(client.call({ path: '/ok' }, never), {
        code: 'REGISTRY_PROTOCOL',
        message: /HTML with the title "Welcome", not JSON$/,
      })
      await assert.rejects(client.call({ path: '/no' }, never), { code: 'REGISTRY_NOT_FOUND', message: /page of HTML/ })
      await assert.rejects(client.find({ path: '/no' }, never), { code: 'REGISTRY_NOT_FOUND' })
      assert.equal(await client.probe({ path: '/ok' }, never), undefined)
    })

    test('a server that refuses connections, or answers in plain text instead of TLS, is named as such', async () => {
      const server = createServer(socket => {
        socket.on('error', () => undefined)
        socket.once('data', () => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'))
      })
      await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
      const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`
      const { client } = await open({ urls: [url], attempts: 1 })
      await assert.rejects(client.call({ path: '/subjects' }, never), {
        code: 'REGISTRY_TLS',
        message:
          /^GET https:\/\/127\.0\.0\.1:\d+\/subjects failed: the TLS handshake failed; the server may not speak TLS \([A-Z_]+\)$/,
        help: /^Use `http:\/\/` /,
      })
      await new Promise(resolve => server.close(resolve))
      await assert.rejects(client.call({ path: '/subjects' }, never), {
        code: 'REGISTRY_UNREACHABLE',
        message: `GET ${url}/subjects failed: the server refused the connection (ECONNREFUSED)`,
      })
    })

    test('what is not even HTTP is reported at once', async () => {
      const server = createServer(socket => socket.end('SSH-2.0-OpenSSH_9.2\r\n'))
      await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
      closers.push(() => server.close())
      const { client } = await open({ urls: [`http://127.0.0.1:${(server.address() as AddressInfo).port}`] })
      await assert.rejects(client.call({ path: '/subjects' }, never), { code: 'REGISTRY_PROTOCOL', message: /HPE_/ })
      assert.equal(client.requests, 1)
    })

    test('what is not JSON at all is not taken for an empty answer', async () => {
      const server = await serve(() => ({ text: '[1,' }))
      const { client } = await open({ urls: [server.url] })
      await assert.rejects(client.call({ path: '/x' }, never), { code: 'REGISTRY_PROTOCOL', message: /not JSON/ })
    })

    test('an answer that is cut off is asked for again', async () => {
      const cut = { text: '[1', cutAfter: true, headers: { 'content-length': '100' } }
      const server = await serve(() => (server.requests.length === 1 ? cut : { json: [1, 2] }))
      const { client } = await open({ urls: [server.url] })
      assert.deepEqual(await client.call({ path: '/x' }, never), [1, 2])
    })
  })

  describe('a redirect', () => {
    test('35: to another host is not followed, so that no login goes there', async () => {
      const other = await serve(() => ({ json: [] }))
      const server = await serve(() => ({
        status: 302,
        text: '',
        headers: { location: `${other.url}/subjects?key=s3cret` },
      }))
      const { client } = await open({ urls: [server.url], auth: { type: 'basic', username: 'u', password: 'p' } })
      await assert.rejects(client.call({ path: '/subjects' }, never), error => {
        assert.ok(error instanceof Error && 'code' in error)
        assert.equal(error.code, 'REGISTRY_PROTOCOL')
        assert.match(error.message, new RegExp(`redirects to ${other.url}/subjects; `))
        assert.doesNotMatch(error.message, /s3cret/)
        return true
      })
      assert.equal(other.requests.length, 0)
    })

    test('within the same server is followed, but not for ever and not by a write', async () => {
      const server = await serve(({ path }) => {
        if (path === '/subjects/') return { json: ['a'] }
        return { status: 307, text: '', headers: { location: path === '/subjects' ? '/subjects/' : path } }
      })
      const { client } = await open({ urls: [server.url] })
      assert.deepEqual(await client.call({ path: '/subjects' }, never), ['a'])
      await assert.rejects(client.call({ path: '/loop' }, never), { code: 'REGISTRY_PROTOCOL' })
      await assert.rejects(client.call({ method: 'DELETE', path: '/subjects' }, never), { code: 'REGISTRY_PROTOCOL' })
      assert.equal(server.requests.filter(({ path }) => path === '/loop').length, 4)
    })
  })

  describe('the load on a registry', () => {
    test('is bounded in requests at a time', async () => {
      const server = await serve(async () => {
        await new Promise(resolve => setTimeout(resolve, 10))
        return { json: 1 }
      })
      const { client } = await open({ urls: [server.url], concurrency: 3 })
      await Promise.all(Array.from({ length: 12 }, () => client.call({ path: '/x' }, never)))
      assert.equal(server.mostAtOnce(), 3)
      assert.equal(client.requests, 12)
    })

    test('is bounded in requests a second', async () => {
      const server = await serve(() => ({ json: 1 }))
      const { client, clock } = await open({ urls: [server.url], rateLimitRps: 5 })
      const before = clock.now()
      await Promise.all(Array.from({ length: 21 }, () => client.call({ path: '/x' }, never)))
      const seconds = (clock.now() - before) / 1000
      assert.ok(seconds >= 3.8, `21 requests took ${seconds} s of the clock`)
    })
  })

  describe('what every request says', () => {
    test('is what registries need to answer in full', async () => {
      const server = await serve(() => ({ json: { id: 1 } }))
      const { client } = await open({ urls: [server.url] })
      await client.call({ method: 'POST', path: '/subjects/a/versions', body: { schema: 'ü' } }, never)
      const [request] = server.requests
      assert.equal(request?.headers.accept, 'application/vnd.schemaregistry.v1+json, application/json')
      assert.equal(request?.headers['confluent-accept-unknown-properties'], 'true')
      assert.equal(request?.headers['content-type'], 'application/vnd.schemaregistry.v1+json')
      assert.equal(request?.body, '{"schema":"ü"}')
      assert.equal(request?.headers.authorization, undefined)
    })
  })

  function failTimes(times: number, failure: ScriptedAnswer): () => ScriptedAnswer {
    let left = times
    return () => (left-- > 0 ? failure : { json: 'done' })
  }

  async function serve(
    answer: (request: SeenRequest) => ScriptedAnswer | Promise<ScriptedAnswer>,
  ): Promise<HttpScript> {
    const server = await startHttpScript(answer)
    closers.push(() => server.close())
    return server
  }

  async function open(options: RegistryOptions): Promise<{ client: RegistryClient; clock: JumpingClock }> {
    const clock = new JumpingClock()
    const client = await openRegistryClient(options, { clock })
    closers.push(() => client.close())
    return { client, clock }
  }
})
