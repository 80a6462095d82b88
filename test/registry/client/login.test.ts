import assert from 'node:assert/strict'
import { afterEach, describe, test } from 'node:test'
import { openRegistryClient, type RegistryClient } from '../../../src/registry/client/client.ts'
import type { RegistryOptions } from '../../../src/registry/client/client-options.ts'
import { type HttpScript, type ScriptedAnswer, type SeenRequest, startHttpScript } from '../../fakes/http-script.ts'
import { JumpingClock } from '../../fakes/jumping-clock.ts'

const never = new AbortController().signal
const closers: (() => unknown)[] = []

describe('the login at a registry', () => {
  afterEach(async () => {
    for (const close of closers.splice(0)) await close()
  })

  describe('a login by password', () => {
    test('is shown in every request, whatever characters it has', async () => {
      const server = await serve(() => ({ json: [] }))
      const { client } = await open({ urls: [server.url], auth: { type: 'basic', username: 'ü', password: 'a:b' } })
      await client.call({ path: '/subjects' }, never)
      const header = server.requests[0]?.headers.authorization ?? ''
      assert.equal(Buffer.from(header.replace('Basic ', ''), 'base64').toString(), 'ü:a:b')
    })

    test('in an address is shown at that address alone, and in no message', async () => {
      const first = await serve(() => ({ status: 503, json: {} }))
      const second = await serve(() => ({ status: 404, json: {} }))
      const withLogin = first.url.replace('http://', 'http://u:p%40ss@')
      const { client } = await open({ urls: [withLogin, second.url], attempts: 1 })
      await assert.rejects(client.call({ path: '/subjects' }, never), { code: 'REGISTRY_NOT_FOUND' })
      assert.equal(first.requests[0]?.headers.authorization, `Basic ${Buffer.from('u:p@ss').toString('base64')}`)
      assert.equal(second.requests[0]?.headers.authorization, undefined)
      assert.equal(client.name, `${first.url}, ${second.url}`)
    })
  })

  describe('a login by token', () => {
    test('asks the endpoint once however many requests wait, and shows the token as bearer', async () => {
      const { client, registry, endpoint } = await withTokens({ lifeSeconds: 3600 })
      await Promise.all(Array.from({ length: 6 }, () => client.call({ path: '/subjects' }, never)))
      assert.equal(endpoint.requests.length, 1)
      const [asked] = endpoint.requests
      assert.equal(asked?.body, 'grant_type=client_credentials&scope=read+all')
      assert.equal(asked?.headers.authorization, `Basic ${Buffer.from('me%3Ayou:s%2Fecret').toString('base64')}`)
      assert.deepEqual(new Set(registry.requests.map(({ headers }) => headers.authorization)), new Set(['Bearer t1']))
    })

    test('renews a token in time, before it ends', async () => {
      const { client, registry, endpoint, clock } = await withTokens({ lifeSeconds: 100 })
      await client.call({ path: '/subjects' }, never)
      clock.pass(79_000)
      await client.call({ path: '/subjects' }, never)
      assert.equal(endpoint.requests.length, 1)
      clock.pass(2000)
      await client.call({ path: '/subjects' }, never)
      assert.equal(endpoint.requests.length, 2)
      assert.equal(registry.requests.at(-1)?.headers.authorization, 'Bearer t2')
    })

    test('continues with a token that is still valid when the endpoint is away, and not with one that has ended', async () => {
      const { client, registry, endpoint, clock } = await withTokens({ lifeSeconds: 100 })
      await client.call({ path: '/subjects' }, never)
      await endpoint.close()
      clock.pass(90_000)
      await client.call({ path: '/subjects' }, never)
      assert.equal(registry.requests.at(-1)?.headers.authorization, 'Bearer t1')
      clock.pass(11_000)
      await assert.rejects(client.call({ path: '/subjects' }, never), {
        code: 'REGISTRY_UNREACHABLE',
        message:
          /^the token endpoint http:\/\/127\.0\.0\.1:\d+\/token failed: the server refused the connection \(ECONNREFUSED\)$/,
      })
    })

    test('asks for another token when the registry refuses one, once', async () => {
      const revoked = new Set(['Bearer t1'])
      const { client, registry, endpoint } = await withTokens({ lifeSeconds: 3600, revoked })
      assert.deepEqual(await client.call({ path: '/subjects' }, never), [])
      assert.equal(endpoint.requests.length, 2)
      revoked.add('Bearer t2').add('Bearer t3')
      await assert.rejects(client.call({ path: '/subjects' }, never), { code: 'REGISTRY_AUTH' })
      assert.equal(registry.requests.length, 4)
    })

    test('tells what the endpoint says against the client, and not the secret', async () => {
      const endpoint = await serve(() => ({
        status: 401,
        json: { error: 'invalid_client', error_description: 'who?' },
      }))
      const registry = await serve(() => ({ json: [] }))
      const { client } = await open({ urls: [registry.url], auth: oauth(endpoint) })
      await assert.rejects(client.call({ path: '/subjects' }, never), {
        code: 'REGISTRY_AUTH',
        message: `the token endpoint ${endpoint.url}/token gave no token: status 401, invalid_client: who?`,
      })
      assert.equal(registry.requests.length, 0)
    })
  })

  describe('a login by certificate', () => {
    test('names all that is missing before the first request', async () => {
      await assert.rejects(
        openRegistryClient({ urls: ['http://r'], auth: { type: 'mtls' }, tls: { caCert: 'ca.pem' } }),
        {
          code: 'CONFIG_INVALID',
          message: 'auth.type mtls of the schema registry needs tls.client_cert, tls.client_key, a url with https',
        },
      )
    })

    test('names a file that cannot be read', async () => {
      await assert.rejects(openRegistryClient({ urls: ['https://r'], tls: { caCert: '/nowhere/ca.pem' } }), {
        code: 'CONFIG_UNREADABLE',
        message: 'the CA certificate /nowhere/ca.pem of the schema registry: ENOENT',
      })
    })
  })

  async function withTokens({ lifeSeconds, revoked = new Set() }: { lifeSeconds: number; revoked?: Set<string> }) {
    const registry = await serve(({ headers }) =>
      revoked.has(headers.authorization ?? '') ? { status: 401, json: { error_code: 401 } } : { json: [] },
    )
    const endpoint = await serve(() => ({
      json: { access_token: `t${endpoint.requests.length}`, expires_in: lifeSeconds },
    }))
    const { client, clock } = await open({ urls: [registry.url], auth: oauth(endpoint), attempts: 1 })
    return { client, registry, endpoint, clock }
  }

  function oauth(endpoint: HttpScript) {
    const tokenUrl = `${endpoint.url}/token`
    return { type: 'oauth', tokenUrl, clientId: 'me:you', clientSecret: 's/ecret', scope: 'read all' } as const
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
