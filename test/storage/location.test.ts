import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AzureOptions } from '../../src/storage/azure/azure-options.ts'
import type { GcsOptions } from '../../src/storage/gcs/gcs-options.ts'
import { formatLocation, parseLocation } from '../../src/storage/location.ts'
import type { S3Options } from '../../src/storage/s3/s3-options.ts'

const accepted: Record<string, string> = {
  '/backups': '/backups',
  '/backups/': '/backups',
  './backups': '/here/backups',
  backups: '/here/backups',
  '.': '/here',
  '../up/x': '/up/x',
  './s3:': '/here/s3:',
  'a/b:c': '/here/a/b:c',
  '/a:b': '/a:b',
  '/with space': '/with space',
  'file:///backups': '/backups',
  'FILE:///backups/x/': '/backups/x',
  'file://localhost/backups': '/backups',
  'file:///with%20space%3F': '/with space?',
}
for (const [text, path] of Object.entries(accepted)) {
  test(`${text} names the folder ${path}`, () => {
    const options = parseLocation(text, '/here')
    assert.deepEqual(options, { backend: 'filesystem', path })
    assert.deepEqual(parseLocation(formatLocation(options), '/elsewhere'), options)
  })
}

const buckets: Record<string, S3Options> = {
  's3://my-bucket': { bucket: 'my-bucket' },
  's3://my.bucket/prod/eu': { bucket: 'my.bucket', prefix: 'prod/eu' },
  's3://my-bucket/a%20b%25': { bucket: 'my-bucket', prefix: 'a b%' },
  's3://bkt/x?endpoint=http://127.0.0.1:9000': { bucket: 'bkt', prefix: 'x', endpoint: 'http://127.0.0.1:9000' },
  's3://bkt?endpoint=https://h&region=eu-1&path_style=false&ca_cert=/etc/a b.pem': {
    bucket: 'bkt',
    endpoint: 'https://h',
    region: 'eu-1',
    pathStyle: false,
    caCert: '/etc/a b.pem',
  },
}
for (const [text, options] of Object.entries(buckets)) {
  test(`${text} names an S3 bucket and survives formatting and parsing`, () => {
    const parsed = parseLocation(text)
    assert.deepEqual(parsed, { backend: 's3', ...options })
    assert.deepEqual(parseLocation(formatLocation(parsed)), parsed)
  })
}

const containers: Record<string, AzureOptions> = {
  'az://backups': { container: 'backups' },
  'az://my-box/prod/eu?account=acme': { container: 'my-box', prefix: 'prod/eu', account: 'acme' },
  'az://my-box/a%20b%25': { container: 'my-box', prefix: 'a b%' },
  'az://box?account=acme&endpoint_suffix=core.usgovcloudapi.net': {
    container: 'box',
    account: 'acme',
    endpointSuffix: 'core.usgovcloudapi.net',
  },
  'az://box/x?account=a&endpoint=http://127.0.0.1:10000/a&ca_cert=/etc/a b.pem': {
    container: 'box',
    prefix: 'x',
    account: 'a',
    endpoint: 'http://127.0.0.1:10000/a',
    caCert: '/etc/a b.pem',
  },
}
for (const [text, options] of Object.entries(containers)) {
  test(`${text} names a container and survives formatting and parsing`, () => {
    const parsed = parseLocation(text)
    assert.deepEqual(parsed, { backend: 'azure', ...options })
    assert.deepEqual(parseLocation(formatLocation(parsed)), parsed)
  })
}

test('the text of an Azure location contains no secret', () => {
  const secrets = { accountKey: 'topsecret', sasToken: 'sig=topsecret', clientSecret: 'topsecret' }
  const shown = formatLocation({
    backend: 'azure',
    container: 'box',
    account: 'acme',
    ...secrets,
    proxy: 'http://u:pw@p',
  })
  assert.equal(shown, 'az://box?account=acme')
})

const googleBuckets: Record<string, GcsOptions> = {
  'gs://my-bucket': { bucket: 'my-bucket' },
  'gs://my_bucket.x/prod/a%20b%25': { bucket: 'my_bucket.x', prefix: 'prod/a b%' },
  'gs://bkt/x?endpoint=http://127.0.0.1:4443&anonymous=true': {
    bucket: 'bkt',
    prefix: 'x',
    endpoint: 'http://127.0.0.1:4443',
    anonymous: true,
  },
  'gs://bkt?user_project=acme&universe_domain=x.org&ca_cert=/etc/a b.pem': {
    bucket: 'bkt',
    userProject: 'acme',
    universeDomain: 'x.org',
    caCert: '/etc/a b.pem',
  },
}
for (const [text, options] of Object.entries(googleBuckets)) {
  test(`${text} names a Google Cloud bucket and survives formatting and parsing`, () => {
    const parsed = parseLocation(text)
    assert.deepEqual(parsed, { backend: 'gcs', ...options })
    assert.deepEqual(parseLocation(formatLocation(parsed)), parsed)
  })
}

test('accepts an upper-case scheme and a trailing slash', () => {
  assert.deepEqual(parseLocation('S3://my-bucket/'), { backend: 's3', bucket: 'my-bucket' })
  assert.deepEqual(parseLocation('s3://my-bucket/a/'), { backend: 's3', bucket: 'my-bucket', prefix: 'a' })
})

test('the text of an S3 location contains no secret', () => {
  const shown = formatLocation({
    backend: 's3',
    bucket: 'bkt',
    endpoint: 'https://h',
    accessKeyId: 'AKIAX',
    secretAccessKey: 'topsecret',
    sessionToken: 'token',
    proxy: 'http://u:pw@proxy',
  })
  assert.equal(shown, 's3://bkt?endpoint=https://h')
})

const refused: Record<string, RegExp> = {
  '': /empty/,
  '  ': /empty/,
  ' s3://bucket': /a space/,
  'a\0b': /control character/,
  's3:/x': /scheme `s3:`/,
  's3:': /scheme `s3:`/,
  's3:bucket': /scheme `s3:`/,
  's3://': /names no bucket/,
  's3:///x': /names no bucket/,
  's3://a_b@c/x': /takes no credentials/,
  's3://b/x': /"b", which is not a valid bucket name/,
  's3://bucket/a//b': /part between slashes is empty/,
  's3://bucket/../x': /a part is "\.\."/,
  's3://bucket/x?endpont=https://h': /unknown setting `endpont`/,
  's3://bucket/x?region=': /`s3:` address has no value for `region`/,
  's3://bucket/x?endpoint=minio:9000': /not an `https:\/\/` or `http:\/\/` URL/,
  's3://bucket/x?endpoint=https://u:p@h': /`endpoint` with credentials/,
  's3://bucket/x?path_style=yes': /neither true nor false/,
  's3://bucket/%zz': /invalid % escape/,
  's3://bucket/x#y': /names no bucket/,
  'az:/x': /scheme `az:`/,
  'az://': /names no container/,
  'az://Box': /"Box", which is not a valid container name/,
  'az://a--b': /is not a valid container name/,
  'az://key@box': /takes no credentials/,
  'az://box?sv=2025&sig=abc': /takes no SAS token/,
  'az://box?region=x': /unknown setting `region`/,
  'az://box?account=': /`az:` address has no value for `account`/,
  'az://box?endpoint=acme': /not an `https:\/\/` or `http:\/\/` URL/,
  'az://box?endpoint=https://h/acme%3Fsv%3D1%26sig%3Dabc': /`endpoint` with more than a path/,
  'az://box/%zz': /invalid % escape/,
  'ftp://bucket': /unsupported location scheme `ftp:`/,
  'gs:/x': /scheme `gs:`/,
  'gs://': /names no bucket/,
  'gs://user:key@bucket/x': /takes no credentials/,
  'gs://Bucket/x': /"Bucket", which is not a valid bucket name/,
  'gs://bucket/x?region=eu': /unknown setting `region`/,
  'gs://bucket/x?endpoint=': /`gs:` address has no value for `endpoint`/,
  'gs://bucket/x?endpoint=h:4443': /not an `https:\/\/` or `http:\/\/` URL/,
  'gs://bucket/x?endpoint=https://u:p@h': /`endpoint` with credentials/,
  'gs://bucket/x?endpoint=https://h/path': /`endpoint` with a path/,
  'gs://bucket/x?endpoint=https://h%3Ftoken%3Dabc': /`endpoint` with a path/,
  'gs://bucket/x?anonymous=yes': /neither true nor false/,
  'gs://bucket/%zz': /invalid % escape/,
  'https://host/x': /scheme `https:`/,
  's_3://bucket': /scheme `s_3:`/,
  '3s://bucket': /scheme `3s:`/,
  'C:\\backups': /`C:` looks like a Windows drive/,
  'c:/backups': /Windows drive/,
  'file://host/x': /no absolute path/,
  'file:backups': /no absolute path/,
  'file:/backups': /no absolute path/,
  'file:///a?b': /`\?` or `#`/,
  'file:///a%2Fb': /does not decode/,
  'file:///a%00': /does not decode/,
  '~': /not expanded/,
  '~/backups': /not expanded/,
}
for (const [text, message] of Object.entries(refused)) {
  test(`rejects ${JSON.stringify(text)}`, () => {
    assert.throws(() => parseLocation(text, '/here'), { name: 'KafkaBackupError', code: 'LOCATION_INVALID', message })
  })
}

test('the error of a rejected address contains no secret', () => {
  assert.throws(
    () => parseLocation('s3://AKIA:topsecret@bucket'),
    (error: Error & { help?: string }) => !`${error.message} ${error.help}`.includes('topsecret'),
  )
})

test('the text of a location includes the prefix', () => {
  assert.equal(formatLocation({ backend: 'filesystem', path: '/backups', prefix: 'team/a' }), '/backups/team/a')
})
