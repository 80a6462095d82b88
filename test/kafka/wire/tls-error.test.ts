import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createSecureContext } from 'node:tls'
import { classifyTlsError, hungUp } from '../../../src/kafka/wire/connection-error.ts'
import { classifyFailure } from '../../../src/kafka/wire/socket.ts'

const context = { name: 'k1:9093', hasOwnCa: true }
const errorOf = (code: string) => Object.assign(new Error('x'), { code })

describe('an error of TLS', () => {
  const table: [code: string, message: RegExp, help: RegExp][] = [
    ['DEPTH_ZERO_SELF_SIGNED_CERT', /certificate of k1:9093 is self-signed/, /ca_cert/],
    ['SELF_SIGNED_CERT_IN_CHAIN', /CA that is not trusted/, /ca_cert/],
    ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', /CA that is not trusted/, /ca_cert/],
    ['CERT_HAS_EXPIRED', /has expired/, /clock/],
    ['CERT_NOT_YET_VALID', /is not valid yet/, /clock/],
    ['ERR_TLS_CERT_ALTNAME_INVALID', /is not for this host/, /name/],
    [
      'ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED',
      /asks for a client certificate \(it said: certificate required\)/,
      /cl/,
    ],
    ['ERR_SSL_SSL/TLS_ALERT_BAD_CERTIFICATE', /asks for a client certificate/, /client_key/],
    ['ERR_SSL_TLSV1_ALERT_UNKNOWN_CA', /asks for a client certificate/, /client_cert/],
    ['ERR_SSL_WRONG_VERSION_NUMBER', /k1:9093 does not speak TLS/, /without TLS/],
    ['ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION', /no TLS version or cipher in common/, /TLS 1\.2/],
    ['ERR_SSL_SSL/TLS_ALERT_HANDSHAKE_FAILURE', /no TLS version or cipher in common/, /TLS 1\.2/],
    ['ERR_SSL_SOMETHING_NEW', /TLS with k1:9093 failed \(ERR_SSL_SOMETHING_NEW\)/, /security\.tls/],
    ['EPROTO', /TLS with k1:9093 failed/, /security\.tls/],
  ]
  for (const [code, message, help] of table) {
    test(`${code} is KAFKA_TLS, which is not tried again, with what to do`, () => {
      const error = classifyTlsError(errorOf(code), context) ?? assert.fail()
      assert.deepEqual([error.code, error.retryable, error.exitCode], ['KAFKA_TLS', false, 1])
      assert.match(error.message, message)
      assert.match(error.help, help)
    })
  }

  test('names our certificate when the other side refuses it', () => {
    const error = classifyTlsError(errorOf('ERR_SSL_TLSV1_ALERT_UNKNOWN_CA'), { ...context, clientCert: '/c.pem' })
    assert.match(error?.message ?? '', /refuses the client certificate \/c\.pem \(it said: unknown ca\)/)
  })

  test('is no error of the network', () => {
    for (const code of ['ECONNRESET', 'ECONNREFUSED', 'ETIMEDOUT', 'ERR_SSL_UNEXPECTED_EOF_WHILE_READING'])
      assert.equal(classifyTlsError(errorOf(code), context), undefined)
  })
})

test('once a connection has served, an error of TLS is a broken line and is tried again', () => {
  const tls = { context: createSecureContext(), hasOwnCa: true }
  const classify = (phase: 'unanswered' | 'answered') =>
    classifyFailure(errorOf('ERR_SSL_BAD_RECORD_MAC'), { host: 'k1', port: 9093 }, tls, phase)
  assert.equal(classify('unanswered').code, 'KAFKA_TLS')
  assert.equal(classify('answered').code, 'KAFKA_DISCONNECTED')
})

describe('a broker that hangs up', () => {
  const endpoint = { host: 'k1', port: 9093 }

  test('is asked again, whenever it does so', () => {
    for (const phase of ['opening', 'unanswered', 'answered'] as const) {
      assert.equal(hungUp(endpoint, {}, phase).retryable, true)
    }
  })

  test('during or right after the TLS handshake gets the likely reason', () => {
    assert.match(hungUp(endpoint, {}, 'opening').message, /its listener may not speak TLS/)
    assert.match(hungUp(endpoint, {}, 'unanswered').help, /may ask for a client certificate/)
    assert.match(hungUp(endpoint, { clientCert: '/c.pem' }, 'unanswered').help, /may not accept .* \/c\.pem/)
    assert.equal(hungUp(endpoint, {}, 'answered').message, 'k1:9093 closed the connection')
    assert.equal(hungUp(endpoint, undefined, 'unanswered').message, 'k1:9093 closed the connection')
  })
})
