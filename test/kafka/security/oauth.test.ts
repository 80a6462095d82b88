import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, test } from 'node:test'
import { oauthBearer, openOAuthTokens } from '../../../src/kafka/security/oauthbearer.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import type { TokenSource } from '../../../src/lib/oauth.ts'
import { JumpingClock } from '../../fakes/jumping-clock.ts'

const never = new AbortController().signal
const endpoint = { host: 'k1', port: 9093 }

describe('OAUTHBEARER', () => {
  const tokens = { token: async () => 'abc.def' }

  test('sends the token and the extensions in the form of RFC 7628', async () => {
    const mechanism = oauthBearer(
      { clientId: 'c', extensions: { logicalCluster: 'lkc-1', identityPoolId: 'p' } },
      tokens,
    )
    const conversation = mechanism.converse(endpoint, never)
    const expected = 'n,,\x01auth=Bearer abc.def\x01logicalCluster=lkc-1\x01identityPoolId=p\x01\x01'
    assert.equal((await conversation.next()).value?.toString(), expected)
    assert.equal((await conversation.next(Buffer.alloc(0))).done, true)
  })

  test('answers a refusal with one control character and tells it', async () => {
    const conversation = oauthBearer({ clientId: 'c' }, tokens).converse(endpoint, never)
    assert.equal((await conversation.next()).value?.toString(), 'n,,\x01auth=Bearer abc.def\x01\x01')
    assert.deepEqual((await conversation.next(Buffer.from('{"status":"invalid_token"}'))).value, Buffer.from([1]))
    await assert.rejects(conversation.next(Buffer.alloc(0)), { code: 'KAFKA_AUTH', message: /invalid_token/ })
  })
})

describe('the tokens of all connections', () => {
  test('are one token, asked for once however many want it', () =>
    withEndpoint(giveToken(3600), async ({ source, asked }) => {
      const tokens = source()
      const got = await Promise.all(Array.from({ length: 20 }, () => tokens.token(never)))
      assert.deepEqual(new Set(got), new Set(['token-1']))
      assert.equal(asked(), 1)
    }))

  test('are renewed when four fifths of their life have passed', () =>
    withEndpoint(giveToken(3600), async ({ source, clock }) => {
      const tokens = source()
      assert.equal(await tokens.token(never), 'token-1')
      clock.pass(2879_000)
      assert.equal(await tokens.token(never), 'token-1')
      clock.pass(1000)
      assert.equal(await tokens.token(never), 'token-2')
    }))

  test('end with the claim of a JWT where the endpoint does not say when', () =>
    withEndpoint(
      (response, _, now) => {
        const claims = Buffer.from(JSON.stringify({ exp: now / 1000 + 100 })).toString('base64url')
        answer(response, 200, { access_token: `h.${claims}.s` })
      },
      async ({ source, clock, asked }) => {
        const tokens = source()
        for (const passMs of [0, 79_000, 1000]) {
          clock.pass(passMs)
          await tokens.token(never)
        }
        assert.equal(asked(), 2)
      },
    ))

  test('are kept while they live when the endpoint is away, and no longer', () =>
    withEndpoint(
      (response, nth) => (nth === 1 ? giveToken(100)(response, nth, 0) : answer(response, 503, {})),
      async ({ source, clock }) => {
        const tokens = source()
        await tokens.token(never)
        clock.pass(90_000)
        assert.equal(await tokens.token(never), 'token-1')
        clock.pass(10_000)
        await assert.rejects(tokens.token(never), { code: 'KAFKA_UNREACHABLE', message: /status 503/ })
      },
    ))

  const refusals: Record<string, [Answer, code: string, message: RegExp]> = {
    'a refusal': [
      response => answer(response, 400, { error: 'invalid_scope' }),
      'KAFKA_AUTH',
      /gave no token: status 400, invalid_scope$/,
    ],
    'a redirect, which is not followed': [
      response => answer(response, 302, {}),
      'KAFKA_AUTH',
      /gave no token: status 302$/,
    ],
    'an answer without a token': [
      response => answer(response, 200, { token: 'x' }),
      'KAFKA_AUTH',
      /has no access_token/,
    ],
    'a token with a control character': [
      response => answer(response, 200, { access_token: 'a\x01b' }),
      'KAFKA_AUTH',
      /has no access_token/,
    ],
    'a page that is no JSON': [response => response.end('<html>'), 'KAFKA_AUTH', /has no access_token/],
    'too many requests': [response => answer(response, 429, {}), 'KAFKA_UNREACHABLE', /status 429/],
    'a lost connection': [response => response.destroy(), 'KAFKA_UNREACHABLE', /cannot be reached: ECONNRESET/],
    'an endless answer': [
      response => response.end('x'.repeat(2 << 20)),
      'KAFKA_UNREACHABLE',
      /the answer is longer than 1048576 bytes/,
    ],
  }
  for (const [name, [respond, code, message]] of Object.entries(refusals)) {
    test(`${name} names the endpoint without its query and without the secret`, () =>
      withEndpoint(respond, async ({ source }) => {
        await assert.rejects(source().token(never), (error: Error & { code: string }) => {
          assert.equal(error.code, code)
          assert.match(error.message, message)
          assert.match(error.message, /the token endpoint http:\/\/127\.0\.0\.1:\d+\/token/)
          assert.doesNotMatch(error.message, /hush|key=1/)
          return true
        })
      }))
  }

  test('an abort ends the wait of who is aborted, not of the others', () =>
    withEndpoint(giveToken(3600), async ({ source }) => {
      const tokens = source()
      const controller = new AbortController()
      const [aborted, other] = [tokens.token(controller.signal), tokens.token(never)]
      controller.abort(new Error('stop'))
      await assert.rejects(aborted, { message: 'stop' })
      assert.equal(await other, 'token-1')
    }))

  test('a caller that is aborted already does not wait', () =>
    withEndpoint(
      () => undefined,
      async ({ source }) => {
        await assert.rejects(source().token(AbortSignal.abort(new Error('stop'))), { message: 'stop' })
      },
    ))

  test('a request that gets no answer fails after its timeout', () =>
    withEndpoint(
      () => undefined,
      async ({ url }) => {
        const options = { tokenUrl: url, clientId: 'c', clientSecret: 'hush', clientAuth: 'basic' as const }
        const source = openOAuthTokens(options, { clock: systemClock, timeoutMs: 30 })
        await assert.rejects(source.token(never), { code: 'KAFKA_UNREACHABLE', message: /no answer within 30 ms/ })
      },
    ))
})

type Answer = (response: ServerResponse, nth: number, nowMs: number) => void

function giveToken(seconds: number): Answer {
  return (response, nth) => answer(response, 200, { access_token: `token-${nth}`, expires_in: seconds })
}

function answer(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json', location: '/elsewhere' })
  response.end(JSON.stringify(body))
}

async function withEndpoint(
  respond: Answer,
  work: (parts: { source: () => TokenSource; clock: JumpingClock; asked: () => number; url: string }) => Promise<void>,
): Promise<void> {
  const clock = new JumpingClock()
  let nth = 0
  const server = createServer((request: IncomingMessage, response) => {
    request.resume()
    request.on('end', () => respond(response, ++nth, clock.now()))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/token?key=1`
  const options = { tokenUrl: url, clientId: 'c', clientSecret: 'hush', clientAuth: 'basic' as const }
  try {
    const source = () => openOAuthTokens(options, { clock, timeoutMs: 5000 })
    await work({ source, clock, asked: () => nth, url })
  } finally {
    server.closeAllConnections()
    server.close()
  }
}
