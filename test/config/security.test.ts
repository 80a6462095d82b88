import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { errorsOf, minimalJob, parse } from './job-texts.ts'

const job = (security: string) => minimalJob.replace('  topics:', `  security: ${security}\n  topics:`)
const at = 'source.security'

describe('the security of a cluster', () => {
  test('is not there where nobody asks for it', () => assert.equal(parse(minimalJob).source.security, undefined))

  test('takes every field of its own', () => {
    const tls = 'tls: {ca_cert: ca.pem, client_cert: c.pem, client_key: k.pem, client_key_password: kp}'
    assert.deepEqual(parse(job(`{protocol: SSL, ${tls}}`)).source.security, {
      protocol: 'SSL',
      tls: { caCert: 'ca.pem', clientCert: 'c.pem', clientKey: 'k.pem', clientKeyPassword: 'kp' },
    })
    const scram = '{protocol: SASL_SSL, sasl: {mechanism: SCRAM-SHA-512, username: u, password_file: /run/p}}'
    assert.deepEqual(parse(job(scram)).source.security, {
      protocol: 'SASL_SSL',
      sasl: { mechanism: 'SCRAM-SHA-512', username: 'u', passwordFile: '/run/p' },
    })
    const oauth =
      'oauth: {token_url: https://auth/token, client_id: c, client_secret: s, scope: x, audience: a, ' +
      'client_auth: post, extensions: {logicalCluster: lkc-1}, ca_cert: ca.pem}'
    assert.deepEqual(parse(job(`{protocol: SASL_SSL, sasl: {mechanism: OAUTHBEARER, ${oauth}}}`)).source.security, {
      protocol: 'SASL_SSL',
      sasl: {
        mechanism: 'OAUTHBEARER',
        oauth: {
          tokenUrl: 'https://auth/token',
          clientId: 'c',
          clientSecret: 's',
          scope: 'x',
          audience: 'a',
          clientAuth: 'post',
          extensions: { logicalCluster: 'lkc-1' },
          caCert: 'ca.pem',
        },
      },
    })
    const msk = '{protocol: SASL_SSL, sasl: {mechanism: AWS_MSK_IAM, aws: {region: eu-west-1, profile: p}}}'
    assert.deepEqual(parse(job(msk)).source.security?.sasl, {
      mechanism: 'AWS_MSK_IAM',
      aws: { region: 'eu-west-1', profile: 'p' },
    })
  })

  test('takes secrets from variables and by --set', () => {
    const text = job(`{protocol: SASL_SSL, sasl: {mechanism: PLAIN, username: u, password: '\${PASSWORD}'}}`)
    const sasl = parse(text, { env: { PASSWORD: 'hush' }, set: [`${at}.sasl.username=v`] }).source.security?.sasl
    assert.deepEqual(sasl, { mechanism: 'PLAIN', username: 'v', password: 'hush' })
  })

  const plain = 'sasl: {mechanism: PLAIN, username: u, password: hush}'
  const refusals: Record<string, [security: string, errors: RegExp[]]> = {
    'a login under SSL': [
      `{protocol: SSL, ${plain}}`,
      [/^source\.security\.sasl: is given although protocol SSL has no login; set protocol to SASL_SSL or remove it/],
    ],
    'a login under PLAINTEXT': [`{protocol: PLAINTEXT, ${plain}}`, [/set protocol to SASL_PLAINTEXT or remove it/]],
    'TLS files under PLAINTEXT': [
      '{protocol: PLAINTEXT, tls: {ca_cert: ca.pem}}',
      [/^source\.security\.tls: is given although protocol PLAINTEXT uses no TLS; set protocol to SSL or remove it/],
    ],
    'TLS files under SASL_PLAINTEXT': [
      `{protocol: SASL_PLAINTEXT, tls: {ca_cert: ca.pem}, ${plain}}`,
      [/^source\.security\.tls: .* set protocol to SASL_SSL or remove it/],
    ],
    'SASL_SSL without a login': [
      '{protocol: SASL_SSL}',
      [/^source\.security\.sasl: is required with protocol SASL_SSL/],
    ],
    'a login without a mechanism': [
      '{protocol: SASL_SSL, sasl: {username: u}}',
      [/^source\.security\.sasl\.mechanism: is required; allowed: PLAIN, SCRAM-SHA-256/],
    ],
    'no protocol': [`{${plain}}`, [/^source\.security\.protocol: is required, so that nothing is guessed/]],
    'an unknown protocol': [
      '{protocol: TLS}',
      [/^source\.security\.protocol: "TLS" is not known; allowed: PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL/],
    ],
    'a protocol in other letters': ['{protocol: ssl}', [/did you mean `SSL`/]],
    'a mechanism in another spelling': [
      '{protocol: SASL_SSL, sasl: {mechanism: SCRAM_SHA_512, username: u, password: hush}}',
      [/"SCRAM_SHA_512" is not known.*\(did you mean `SCRAM-SHA-512`\?\)/],
    ],
    Kerberos: [
      '{protocol: SASL_SSL, sasl: {mechanism: GSSAPI, username: u, password: hush}}',
      [/sasl\.mechanism: Kerberos is not supported; let the cluster enable SCRAM-SHA-512 or a TLS client certificate/],
    ],
    'AWS_MSK_IAM without TLS': [
      '{protocol: SASL_PLAINTEXT, sasl: {mechanism: AWS_MSK_IAM}}',
      [/AWS_MSK_IAM is offered over TLS only; set protocol to SASL_SSL/],
    ],
    'no password': [
      '{protocol: SASL_SSL, sasl: {mechanism: PLAIN, username: u}}',
      [/^source\.security\.sasl\.password: is required \(or password_file\)/],
    ],
    'two passwords': [
      '{protocol: SASL_SSL, sasl: {mechanism: PLAIN, username: u, password: hush, password_file: p}}',
      [/^source\.security\.sasl\.password_file: is given together with password; keep one of the two/],
    ],
    'a field of another mechanism': [
      '{protocol: SASL_SSL, sasl: {mechanism: PLAIN, username: u, password: hush, aws: {region: x}}}',
      [/^source\.security\.sasl\.aws: is a key of `mechanism: AWS_MSK_IAM` only/],
    ],
    'no client secret': [
      '{protocol: SASL_SSL, sasl: {mechanism: OAUTHBEARER, oauth: {token_url: https://a/t, client_id: c}}}',
      [/^source\.security\.sasl\.oauth\.client_secret: is required \(or client_secret_file\)/],
    ],
    'a token endpoint without TLS': [
      '{protocol: SASL_SSL, sasl: {mechanism: OAUTHBEARER, oauth: {token_url: http://auth/t, client_id: c, client_secret: hush}}}',
      [/oauth\.token_url: the value is not https, and the secret of the client would be sent in the clear/],
    ],
    'an extension of no valid name': [
      '{protocol: SASL_SSL, sasl: {mechanism: OAUTHBEARER, oauth: {token_url: https://a/t, client_id: c, client_secret: hush, extensions: {auth: x}}}}',
      [/oauth\.extensions\.auth: is not a valid extension name/],
    ],
    'half a client certificate': [
      '{protocol: SSL, tls: {client_cert: c.pem}}',
      [/^source\.security\.tls\.client_key: is required with client_cert/],
    ],
    'a Java keystore': [
      '{protocol: SSL, tls: {ca_cert: trust.jks}}',
      [
        /tls\.ca_cert: "trust\.jks" is a Java keystore; convert it with `keytool -importkeystore .*` and `openssl pkcs12/,
      ],
    ],
    'a PKCS#12 store': [
      '{protocol: SSL, tls: {ca_cert: trust.p12}}',
      [/tls\.ca_cert: "trust\.p12" is a PKCS#12 store; convert it with `openssl pkcs12 -in store\.p12/],
    ],
  }
  for (const [name, [security, patterns]] of Object.entries(refusals)) {
    test(`${name} is refused with its field and what to do`, () => {
      const errors = errorsOf(job(security))
      assert.equal(errors.length, patterns.length, errors.join('\n'))
      patterns.forEach((pattern, index) => {
        assert.match(errors[index] ?? '', pattern)
      })
      assert.ok(!errors.join().includes('hush'), 'a secret is shown')
    })
  }
})

test('the rack of the client goes to the source', () => {
  const text = minimalJob.replace('  topics:', '  client_rack: eu-west-1a\n  topics:')
  assert.equal(parse(text).source.clientRack, 'eu-west-1a')
})
