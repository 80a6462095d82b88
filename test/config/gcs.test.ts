import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { secretsIn } from '../../src/observe/redact.ts'
import { errorOf, errorsOf, gcsFields, gcsJob, parse } from './job-texts.ts'

describe('a storage of Google Cloud', () => {
  test('has defaults for all but its bucket', () => {
    assert.deepEqual(parse(gcsJob).storage, {
      backend: 'gcs',
      bucket: 'my-bucket',
      partSizeBytes: 5 * 2 ** 20,
      uploads: 9,
      connectTimeoutMs: 10_000,
      idleTimeoutMs: 60_000,
    })
  })

  test('takes every field, in the units of the program', () => {
    assert.deepEqual(parse(`${gcsJob}${gcsFields}`).storage, {
      backend: 'gcs',
      bucket: 'my-bucket',
      prefix: 'prod/eu',
      endpoint: 'https://storage-x.p.googleapis.com',
      universeDomain: 'googleapis.com',
      keyFile: '/etc/key.json',
      anonymous: false,
      userProject: 'acme-billing',
      kmsKeyName: 'projects/p/locations/l/keyRings/r/cryptoKeys/k',
      caCert: '/etc/ca.pem',
      proxy: 'http://user:pass@proxy:3128',
      partSizeBytes: 16 * 2 ** 20,
      uploads: 9,
      connectTimeoutMs: 5_000,
      idleTimeoutMs: 120_000,
    })
  })

  test('keeps the login of its proxy out of what is shown', () => {
    assert.doesNotMatch(errorOf(`${gcsJob}  proxy: ftp://user:pass@proxy\n`).message, /pass/)
    assert.deepEqual(secretsIn(parse(gcsJob)), [])
  })

  const refused: Record<string, [text: string, message: RegExp]> = {
    'an address as bucket': ['bucket: gs://x', /^storage\.bucket: "gs:\/\/x" is an address; /],
    'a folder in the bucket': ['bucket: a/b', /^storage\.bucket: "a\/b" has a slash \(folders go to `prefix`\)/],
    'a bucket with capital letters': ['bucket: Abcd', /^storage\.bucket: "Abcd" has a capital letter/],
    'an endpoint with a path': ['endpoint: https://h/storage', /^storage\.endpoint: .* has a path/],
    'an endpoint with a login': ['endpoint: https://u:p@h', /has credentials in it \(give them as key_file/],
    'tokens in the clear': [
      'endpoint: http://h',
      /^storage\.endpoint: is not https, and a token would be sent in the clear/,
    ],
    'nobody at Google': ['anonymous: true', /^storage\.anonymous: needs endpoint/],
    'a key for nobody': [
      'anonymous: true\n  endpoint: http://h\n  key_file: /k',
      /^storage\.key_file: has no effect with anonymous/,
    ],
    'parts of odd sizes': ['part_size: 5000000', /^storage\.part_size: is not a multiple of 256KiB/],
    'no upload at all': ['uploads: 0', /^storage\.uploads: 0 is too small/],
    'a key without its ring': ['kms_key_name: k', /^storage\.kms_key_name: "k" is not the name of a key/],
    'a project that is none': ['user_project: A B', /^storage\.user_project: "A B" is not the id of a project/],
    'a universe that is none': ['universe_domain: https://x', /^storage\.universe_domain: .* is not a domain/],
  }
  for (const [name, [text, message]] of Object.entries(refused)) {
    test(`refuses ${name}`, () => {
      const job = text.startsWith('bucket:') ? gcsJob.replace(/bucket: .*/, text) : `${gcsJob}  ${text}\n`
      assert.match(errorsOf(job).join('\n'), message)
    })
  }

  test('takes an emulator in the clear, on this machine also with credentials', () => {
    assert.equal(parse(`${gcsJob}  anonymous: true\n  endpoint: http://gcs:4443\n`).storage.backend, 'gcs')
    assert.equal(parse(`${gcsJob}  endpoint: http://127.0.0.1:4443\n`).storage.backend, 'gcs')
  })
})
