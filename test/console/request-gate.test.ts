import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type GateOptions, isLoopbackHost, refuseRequest } from '../../src/console/request-gate.ts'
import { refuseOpenAddress } from '../../src/jobs/serve-console.ts'

const local: GateOptions = { allowedHosts: [], isLoopback: true }
const token = 'a-token-of-some-length'

function statusOf(options: GateOptions, headers: Record<string, string>, method = 'GET'): number | undefined {
  return refuseRequest(options, { method, headers: { host: '127.0.0.1:8088', ...headers } })?.status
}

describe('the console refuses', () => {
  test('every method but GET and HEAD', () => {
    for (const method of ['POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'TRACE', 'CONNECT', 'get', '']) {
      assert.equal(statusOf(local, {}, method), 405, method)
    }
    assert.equal(statusOf(local, {}, 'HEAD'), undefined)
  })

  test('names of other hosts on loopback, so that DNS rebinding reaches nothing', () => {
    for (const host of ['127.0.0.1:1', 'localhost', 'LOCALHOST:80', '[::1]:8088', '127.8.8.8']) {
      assert.equal(statusOf(local, { host }), undefined, host)
    }
    const foreign = [
      'evil.example',
      '127.0.0.1.evil.example',
      'localhost.evil.example:8088',
      '',
      '@127.0.0.1',
      '127.0.0.1@evil',
      '[::2]',
      '10.0.0.1',
      '127.1:80:80',
      '0x7f.1',
    ]
    for (const host of foreign) assert.equal(statusOf(local, { host }), 403, host)
  })

  test('no name that it was started with', () => {
    const options = { ...local, allowedHosts: ['console.example'] }
    assert.equal(statusOf(options, { host: 'Console.Example:443' }), undefined)
    assert.equal(statusOf(options, { host: 'other.example' }), 403)
    assert.equal(statusOf({ ...options, isLoopback: false }, { host: 'other.example' }), 403)
    assert.equal(statusOf({ allowedHosts: [], isLoopback: false }, { host: 'other.example' }), undefined)
  })

  test('another port than that of a name that was given with one', () => {
    const options = {
      ...local,
      allowedHosts: ['console.example:8443', 'proxy.example:443', '[fd00::1]:8443', 'fd00::2'],
    }
    const accepted = [
      'console.example:8443',
      'Console.example:8443',
      'proxy.example',
      'proxy.example:443',
      '[fd00::1]:8443',
    ]
    for (const host of [...accepted, '[fd00::2]', '[fd00::2]:1'])
      assert.equal(statusOf(options, { host }), undefined, host)
    for (const host of ['console.example', 'console.example:8444', 'proxy.example:80', '[fd00::1]', '[fd00::1]:1']) {
      assert.equal(statusOf(options, { host }), 403, host)
    }
  })

  test('what another site loads, but not a link from there', () => {
    const image = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors', 'sec-fetch-dest': 'image' }
    assert.equal(statusOf(local, image), 403)
    assert.equal(statusOf(local, { ...image, 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'iframe' }), 403)
    assert.equal(statusOf(local, { ...image, 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' }), undefined)
    assert.equal(statusOf(local, { ...image, 'sec-fetch-site': 'same-origin' }), undefined)
  })

  test('every request without the token, where there is one', () => {
    const options = { ...local, token }
    const basic = (text: string) => `Basic ${Buffer.from(text).toString('base64')}`
    for (const authorization of [`Bearer ${token}`, `bearer ${token}`, basic(`:${token}`), basic(`any:${token}`)]) {
      assert.equal(statusOf(options, { authorization }), undefined, authorization)
    }
    const wrong = [
      '',
      token,
      'Bearer',
      `Bearer ${token}x`,
      `Bearer ${token.slice(1)}`,
      basic(token.slice(1)),
      basic(`${token}:`),
      'Basic ****',
      `Digest ${token}`,
    ]
    for (const authorization of wrong) assert.equal(statusOf(options, { authorization }), 401, authorization)
    assert.equal(statusOf(options, {}), 401)
  })
})

describe('an address of other machines', () => {
  test('needs both a token and TLS', () => {
    const refused = (host: string, hasToken: boolean, hasTls: boolean) => () =>
      refuseOpenAddress(host, { hasToken, hasTls })
    for (const host of ['0.0.0.0', '::', '10.0.0.1', 'console.example', '127.evil.example']) {
      assert.throws(refused(host, false, false), { code: 'USAGE', message: /needs a token .* and TLS/ })
      assert.throws(refused(host, true, false), { code: 'USAGE', message: /needs TLS/ })
      assert.throws(refused(host, false, true), { code: 'USAGE', message: /needs a token/ })
      assert.doesNotThrow(refused(host, true, true))
    }
    for (const host of ['127.0.0.1', 'localhost', '::1']) assert.doesNotThrow(refused(host, false, false))
  })

  test('is not taken for one of this machine', () => {
    assert.deepEqual(['127.0.0.1.nip.io', '127.1', '128.0.0.1', '::', ''].map(isLoopbackHost), [
      false,
      false,
      false,
      false,
      false,
    ])
  })
})
