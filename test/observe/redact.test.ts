import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isSecretName, Redactor, secretsIn } from '../../src/observe/redact.ts'

test('names of secrets are known in every spelling', () => {
  for (const name of [
    'password',
    'client_secret',
    'clientSecret',
    'SASL_PASSWORD',
    'sasl.jaas.config',
    'secret_access_key',
    'account-key',
    'sas_token',
    'connectionString',
    'Authorization',
    'private_key',
  ]) {
    assert.equal(isSecretName(name), true, name)
  }
})

test('names that only look alike are no secrets', () => {
  for (const name of [
    'key',
    'topic',
    'token_url',
    'tokenUrl',
    'username',
    'client_key_path',
    'partition',
    'bytes',
    'password_file',
    'clientSecretFile',
  ]) {
    assert.equal(isSecretName(name), false, name)
  }
})

test('the secrets of a job are the texts under secret names, at any depth', () => {
  const job = {
    source: { auth: { username: 'backup', password: 'hunter22' } },
    registry: { auth: { clientSecret: 's3cr3t', tokenUrl: 'https://login.example' } },
    list: [{ credentials: { a: 'deep-one', b: ['deep-two'] } }],
    empty: { password: '' },
  }
  assert.deepEqual(secretsIn(job), ['hunter22', 's3cr3t', 'deep-one', 'deep-two'])
})

test('a secret is replaced wherever it stands, also encoded for an address or for JSON', () => {
  const redactor = new Redactor(['pä"ss/word'])
  assert.equal(redactor.text('login with pä"ss/word failed'), 'login with [redacted] failed')
  assert.equal(redactor.text('GET /?p=p%C3%A4%22ss%2Fword'), 'GET /?p=[redacted]')
  assert.equal(redactor.text('body {"p":"pä\\"ss/word"}'), 'body {"p":"[redacted]"}')
})

test('of two secrets where one contains the other nothing is left over', () => {
  const redactor = new Redactor(['abcd', 'abcdefgh'])
  assert.equal(redactor.text('x abcdefgh y abcd'), 'x [redacted] y [redacted]')
})

test('characters with a meaning in patterns are taken literally', () => {
  assert.equal(new Redactor(['a.*b(']).text('a.*b( axxb('), '[redacted] axxb(')
})

test('a text of up to three characters is hidden under its name only', () => {
  const redactor = new Redactor(['abc'])
  assert.equal(redactor.text('abc stays readable'), 'abc stays readable')
  assert.deepEqual(redactor.value({ password: 'abc' }), { password: '[redacted]' })
})

test('a login in an address and a private key are hidden though nobody named them', () => {
  const redactor = new Redactor()
  assert.equal(
    redactor.text('see https://me:pw@host/x and http://host/a@b'),
    'see https://[redacted]@host/x and http://host/a@b',
  )
  const pem = '-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----'
  assert.equal(redactor.text(`key: ${pem} end`), 'key: [redacted] end')
})

test('values are copied with secrets hidden at any depth, and made fit for JSON', () => {
  const redactor = new Redactor(['hunter22'])
  const value = {
    topic: 'orders',
    offset: 12n,
    time: 9_007_199_254_740_993n,
    nested: [{ apiKey: 'x', note: 'is hunter22' }],
    error: new Error('refused hunter22'),
    token: null,
    hunter22: 1,
  }
  assert.deepEqual(redactor.value(value), {
    topic: 'orders',
    offset: 12,
    time: '9007199254740993',
    nested: [{ apiKey: '[redacted]', note: 'is [redacted]' }],
    error: 'refused [redacted]',
    token: null,
    '[redacted]': 1,
  })
  assert.equal(value.nested[0]?.apiKey, 'x')
})

test('secrets that become known later are hidden from then on', () => {
  const redactor = new Redactor()
  redactor.add(['hunter22'])
  assert.equal(redactor.text('hunter22'), '[redacted]')
})

test('a login that a server echoes is hidden in every encoding', () => {
  const secret = 'p+ss/w rd~1'
  const redactor = new Redactor([secret])
  for (const user of ['', 'a', 'ab', 'abc', 'abcd']) {
    const packed = Buffer.from(`${user}:${secret}`).toString('base64')
    const shown = redactor.text(`refused ${packed} there`)
    assert.match(shown, /^refused \S*\[redacted\]\S* there$/)
    // What is left of the encoding tells at most the edges of the secret.
    const left = shown.replace(/^refused (\S*)\[redacted\](\S*) there$/, '$2')
    assert.ok(left.length <= 3, shown)
  }
  assert.equal(redactor.text(`q=${encodeURIComponent(secret).replaceAll('%20', '+')}`), 'q=[redacted]')
})

test('a login in an Authorization header is hidden though it is not known, and prose is left alone', () => {
  const redactor = new Redactor()
  assert.equal(redactor.text('Authorization: Basic dXNlcjpwYXNz'), 'Authorization: Basic [redacted]')
  assert.equal(redactor.text('Bearer eyJhbGciOi.eyJz.c2ln!'), 'Bearer [redacted]!')
  const prose = 'auth.type basic needs a user name; Bearer tokens and Basic credentials are refused'
  assert.equal(redactor.text(prose), prose)
})
