import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AzureOptions } from '../../src/storage/azure/options.ts'
import type { GcsOptions } from '../../src/storage/gcs/options.ts'
import { formatLocation, parseLocation } from '../../src/storage/location.ts'
import type { S3Options } from '../../src/storage/s3/options.ts'

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
  test(`${text} is the folder ${path}`, () => {
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
  test(`${text} is a bucket, and is shown as a text that is read back the same`, () => {
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
  test(`${text} is a container, and is shown as a text that is read back the same`, () => {
    const parsed = parseLocation(text)
    assert.deepEqual(parsed, { backend: 'azure', ...options })
    assert.deepEqual(parseLocation(formatLocation(parsed)), parsed)
  })
}

test('where a container is shown, no secret is', () => {
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
  test(`${text} is a bucket of Google Cloud, and is shown as a text that is read back the same`, () => {
    const parsed = parseLocation(text)
    assert.deepEqual(parsed, { backend: 'gcs', ...options })
    assert.deepEqual(parseLocation(formatLocation(parsed)), parsed)
  })
}

test('scheme and slash at the end of a bucket may be written otherwise', () => {
  assert.deepEqual(parseLocation('S3://my-bucket/'), { backend: 's3', bucket: 'my-bucket' })
  assert.deepEqual(parseLocation('s3://my-bucket/a/'), { backend: 's3', bucket: 'my-bucket', prefix: 'a' })
})

test('where a bucket is shown, no secret is', () => {
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
  ' s3://bucket': /blank/,
  'a\0b': /control character/,
  's3:/x': /scheme `s3:`/,
  's3:': /scheme `s3:`/,
  's3:bucket': /scheme `s3:`/,
  's3://': /names no bucket/,
  's3:///x': /names no bucket/,
  's3://a_b@c/x': /takes no credentials/,
  's3://b/x': /"b" is not the name of a bucket/,
  's3://bucket/a//b': /part between slashes is empty/,
  's3://bucket/../x': /a part is "\.\."/,
  's3://bucket/x?endpont=https://h': /`endpont` of the `s3:` address is not known/,
  's3://bucket/x?region=': /`region` of the `s3:` address has no value/,
  's3://bucket/x?endpoint=minio:9000': /no `https:\/\/` or `http:\/\/` address/,
  's3://bucket/x?endpoint=https://u:p@h': /takes no credentials/,
  's3://bucket/x?path_style=yes': /neither true nor false/,
  's3://bucket/%zz': /% that begins no character/,
  's3://bucket/x#y': /names no bucket/,
  'az:/x': /scheme `az:`/,
  'az://': /names no container/,
  'az://Box': /"Box" is not the name of a container/,
  'az://a--b': /is not the name of a container/,
  'az://key@box': /takes no credentials/,
  'az://box?sv=2025&sig=abc': /takes no SAS token/,
  'az://box?region=x': /`region` of the `az:` address is not known/,
  'az://box?account=': /`account` of the `az:` address has no value/,
  'az://box?endpoint=acme': /no `https:\/\/` or `http:\/\/` address/,
  'az://box?endpoint=https://h/acme%3Fsv%3D1%26sig%3Dabc': /`endpoint` .* has more than a path/,
  'az://box/%zz': /% that begins no character/,
  'ftp://bucket': /scheme `ftp:` are not supported/,
  'gs:/x': /scheme `gs:`/,
  'gs://': /names no bucket/,
  'gs://user:key@bucket/x': /takes no credentials/,
  'gs://Bucket/x': /"Bucket" is not the name of a bucket/,
  'gs://bucket/x?region=eu': /`region` of the `gs:` address is not known/,
  'gs://bucket/x?endpoint=': /`endpoint` of the `gs:` address has no value/,
  'gs://bucket/x?endpoint=h:4443': /no `https:\/\/` or `http:\/\/` address/,
  'gs://bucket/x?endpoint=https://u:p@h': /takes no credentials/,
  'gs://bucket/x?endpoint=https://h/path': /`endpoint` .* has a path/,
  'gs://bucket/x?endpoint=https://h%3Ftoken%3Dabc': /`endpoint` .* has a path/,
  'gs://bucket/x?anonymous=yes': /neither true nor false/,
  'gs://bucket/%zz': /% that begins no character/,
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
  test(`${JSON.stringify(text)} is refused`, () => {
    assert.throws(() => parseLocation(text, '/here'), { name: 'KafkaBackupError', code: 'LOCATION_INVALID', message })
  })
}

test('a refused address does not show what may be a secret in it', () => {
  assert.throws(
    () => parseLocation('s3://AKIA:topsecret@bucket'),
    (error: Error & { help?: string }) => !`${error.message} ${error.help}`.includes('topsecret'),
  )
})

test('the prefix is part of the place that is shown', () => {
  assert.equal(formatLocation({ backend: 'filesystem', path: '/backups', prefix: 'team/a' }), '/backups/team/a')
})
