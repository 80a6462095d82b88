import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { secretsIn } from '../../src/observe/redact.ts'
import { errorOf, errorsOf, parse, s3Fields, s3Job } from './job-texts.ts'

const env = { KEY: 'AKIAEXAMPLE', SECRET: 'topsecret' }

describe('an S3 storage', () => {
  test('has defaults for all but its bucket', () => {
    assert.deepEqual(parse(s3Job).storage, {
      backend: 's3',
      bucket: 'my-bucket',
      sse: 'none',
      checksum: 'crc32c',
      partSizeBytes: 5 * 2 ** 20,
      uploads: 9,
      connectTimeoutMs: 10_000,
      idleTimeoutMs: 60_000,
    })
  })

  test('takes every field, in the units of the program', () => {
    assert.deepEqual(parse(`${s3Job}${s3Fields}`, { env }).storage, {
      backend: 's3',
      bucket: 'my-bucket',
      prefix: 'prod/eu',
      region: 'eu-central-1',
      endpoint: 'https://minio:9000',
      pathStyle: true,
      accessKeyId: 'AKIAEXAMPLE',
      secretAccessKey: 'topsecret',
      sessionToken: 'topsecret',
      caCert: '/etc/ca.pem',
      proxy: 'http://user:pass@proxy:3128',
      sse: 'aws:kms',
      sseKmsKeyId: 'alias/backups',
      sseBucketKey: true,
      checksum: 'sha256',
      signPayload: false,
      partSizeBytes: 16 * 2 ** 20,
      uploads: 9,
      connectTimeoutMs: 5_000,
      idleTimeoutMs: 120_000,
    })
  })

  test('keeps its credentials out of what is shown', () => {
    const secrets = secretsIn(parse(`${s3Job}${s3Fields}`, { env }))
    assert.deepEqual([...new Set(secrets)].sort(), ['AKIAEXAMPLE', 'topsecret'])
    const wrong = errorOf(`${s3Job}  proxy: ftp://user:pass@proxy\n  secret_access_key: 5\n`).message
    assert.doesNotMatch(wrong, /pass|5;/)
  })

  const refused: Record<string, [text: string, message: RegExp]> = {
    'an address as bucket': ['bucket: s3://x', /^storage\.bucket: "s3:\/\/x" is an address; /],
    'a folder in the bucket': ['bucket: a/b', /^storage\.bucket: "a\/b" has a slash \(folders go to `prefix`\)/],
    'an endpoint without a scheme': ['endpoint: minio:9000', /^storage\.endpoint: .* is not a URL of http or https/],
    'an endpoint with a path': ['endpoint: https://h/bucket', /^storage\.endpoint: .* has a path/],
    'an endpoint with a login': ['endpoint: https://u:p@h', /has credentials in it \(give them as access_key_id/],
    'a key without its secret': ['access_key_id: a', /^storage\.secret_access_key: is required with access_key_id/],
    'a secret without its key': ['secret_access_key: a', /^storage\.secret_access_key: has no effect without/],
    'a KMS key without KMS': ['sse_kms_key_id: a', /^storage\.sse_kms_key_id: needs sse: aws:kms/],
    'parts below the least of S3': ['part_size: 4MiB', /^storage\.part_size: "4MiB" is too small/],
    'no upload at all': ['uploads: 0', /^storage\.uploads: 0 is too small/],
    'an unknown checksum': ['checksum: crc64', /^storage\.checksum: "crc64" is not known/],
  }
  for (const [name, [text, message]] of Object.entries(refused)) {
    test(`refuses ${name}`, () => {
      const job = text.startsWith('bucket:') ? s3Job.replace(/bucket: .*/, text) : `${s3Job}  ${text}\n`
      assert.match(errorsOf(job).join('\n'), message)
    })
  }
})
