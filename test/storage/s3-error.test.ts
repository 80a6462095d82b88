import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type ErrorCode, KafkaBackupError } from '../../src/errors.ts'
import { mapS3Error } from '../../src/storage/s3/error.ts'

const context = { action: 'read', key: 'a/b', bucket: 'bkt', location: 's3://bkt/x' }

interface Answer {
  status: number
  name?: string
  message?: string
  headers?: Record<string, string>
}

/** As the SDK throws them. */
function answer({ status, name = 'UnknownError', message = '', headers = {} }: Answer): Error {
  const error = Object.assign(new Error(message), {
    $metadata: { httpStatusCode: status },
    $response: { statusCode: status, headers },
  })
  error.name = name
  return error
}

function mapped(error: Error): KafkaBackupError {
  const result = mapS3Error(error, context)
  assert.ok(result instanceof KafkaBackupError, String(result))
  return result
}

describe('an answer of the store', () => {
  const cases: [ErrorCode, Answer][] = [
    ['STORAGE_NOT_FOUND', { status: 404, name: 'NoSuchKey' }],
    ['STORAGE_NOT_FOUND', { status: 404 }],
    ['STORAGE_NOT_FOUND', { status: 404, name: 'NoSuchUpload' }],
    ['STORAGE_NOT_FOUND', { status: 400, name: 'InvalidPart' }],
    ['STORAGE_EXISTS', { status: 412, name: 'PreconditionFailed' }],
    ['STORAGE_EXISTS', { status: 412 }],
    ['STORAGE_SHORT', { status: 416, name: 'InvalidRange' }],
    ['STORAGE_DENIED', { status: 403, name: 'AccessDenied' }],
    ['STORAGE_DENIED', { status: 403 }],
    ['STORAGE_DENIED', { status: 403, name: 'InvalidAccessKeyId' }],
    ['STORAGE_DENIED', { status: 403, name: 'SignatureDoesNotMatch' }],
    ['STORAGE_DENIED', { status: 400, name: 'ExpiredToken' }],
    [
      'STORAGE_RETAINED',
      { status: 403, name: 'AccessDenied', message: 'Access Denied because object protected by object lock.' },
    ],
    [
      'STORAGE_RETAINED',
      { status: 400, name: 'InvalidRequest', message: 'Object is WORM protected and cannot be overwritten' },
    ],
    ['STORAGE_FULL', { status: 507, name: 'XMinioStorageFull' }],
    ['STORAGE_FULL', { status: 403, name: 'QuotaExceeded' }],
    ['STORAGE_UNFIT', { status: 501, name: 'NotImplemented' }],
    ['STORAGE_REFUSED', { status: 400, name: 'InvalidArgument' }],
    ['STORAGE_PROTOCOL', { status: 200, name: 'SyntaxError' }],
    ['STORAGE_PROTOCOL', { status: 301 }],
    ['STORAGE_PROTOCOL', { status: 302 }],
    ['STORAGE_UNAVAILABLE', { status: 503, name: 'SlowDown' }],
    ['STORAGE_UNAVAILABLE', { status: 503 }],
    ['STORAGE_UNAVAILABLE', { status: 500, name: 'InternalError' }],
    ['STORAGE_UNAVAILABLE', { status: 429 }],
    ['STORAGE_UNAVAILABLE', { status: 409, name: 'ConditionalRequestConflict' }],
    ['STORAGE_UNAVAILABLE', { status: 400, name: 'BadDigest' }],
    ['STORAGE_UNAVAILABLE', { status: 400, name: 'RequestTimeout' }],
    ['STORAGE_UNAVAILABLE', { status: 403, name: 'RequestTimeTooSkewed' }],
    ['LOCATION_INVALID', { status: 400, name: 'InvalidBucketName' }],
    ['LOCATION_INVALID', { status: 400, name: 'KeyTooLongError' }],
  ]
  for (const [code, given] of cases) {
    test(`${given.status} ${given.name ?? 'without a name'} is ${code}`, () => {
      const error = mapped(answer(given))
      assert.equal(error.code, code)
      assert.match(error.message, /^cannot read "a\/b" in s3:\/\/bkt\/x: /)
      assert.ok(error.message.includes(String(given.status)), error.message)
    })
  }

  test('says which bucket is missing', () => {
    const error = mapped(answer({ status: 404, name: 'NoSuchBucket' }))
    assert.equal(error.code, 'STORAGE_NOT_FOUND')
    assert.match(error.message, /"bkt" of s3:\/\/bkt\/x: the bucket does not exist/)
    assert.match(error.help, /Create the bucket/)
  })

  test('quotes what the store says of it, on one line', () => {
    const message = 'User: arn:aws:iam::1:user/x is not authorized\n to perform: s3:PutObject'
    assert.match(
      mapped(answer({ status: 403, name: 'AccessDenied', message })).message,
      /\(AccessDenied 403\): User: arn:aws:iam::1:user\/x is not authorized to perform: s3:PutObject$/,
    )
  })

  test('of another region names the region to set', () => {
    const redirect = mapped(
      answer({ status: 301, name: 'PermanentRedirect', headers: { 'x-amz-bucket-region': 'eu-west-3' } }),
    )
    assert.equal(redirect.code, 'LOCATION_INVALID')
    assert.match(redirect.message, /the bucket is in the region eu-west-3/)
    assert.match(redirect.help, /`storage\.region`: eu-west-3/)
    const signed = Object.assign(answer({ status: 400, name: 'AuthorizationHeaderMalformed' }), { Region: 'eu-west-1' })
    assert.match(mapped(signed).message, /eu-west-1/)
    const unnamed = answer({ status: 301, headers: { 'x-amz-request-id': 'r' } })
    assert.match(mapped(unnamed).help, /to the region of the bucket/)
  })
})

describe('a failure of the network', () => {
  const cases: [ErrorCode, string][] = [
    ['STORAGE_UNAVAILABLE', 'ECONNREFUSED'],
    ['STORAGE_UNAVAILABLE', 'ECONNRESET'],
    ['STORAGE_UNAVAILABLE', 'ENOTFOUND'],
    ['STORAGE_UNAVAILABLE', 'EPIPE'],
    ['LOCATION_INVALID', 'SELF_SIGNED_CERT_IN_CHAIN'],
    ['LOCATION_INVALID', 'UNABLE_TO_VERIFY_LEAF_SIGNATURE'],
    ['LOCATION_INVALID', 'CERT_HAS_EXPIRED'],
    ['LOCATION_INVALID', 'ERR_TLS_CERT_ALTNAME_INVALID'],
    ['LOCATION_INVALID', 'ERR_SSL_WRONG_VERSION_NUMBER'],
    ['LOCATION_INVALID', 'HPE_INVALID_CONSTANT'],
  ]
  for (const [code, errno] of cases) {
    test(`${errno} is ${code}`, () => {
      const error = mapped(Object.assign(new Error(`it failed`), { code: errno }))
      assert.equal(error.code, code)
      assert.match(error.message, new RegExp(`\\(${errno}\\): it failed$`))
    })
  }

  test('a broken connection is not called a timeout, though the SDK does', () => {
    const broken = Object.assign(new Error('read ECONNRESET'), { name: 'TimeoutError', code: 'ECONNRESET' })
    assert.match(mapped(broken).message, /the connection failed \(ECONNRESET\): read ECONNRESET$/)
  })

  test('a proxy that wants a login is told apart from a store that denies', () => {
    const error = Object.assign(new Error('no tunnel'), { code: 'ERR_PROXY_TUNNEL', statusCode: 407 })
    assert.equal(mapped(error).code, 'STORAGE_DENIED')
    assert.match(mapped(error).help, /storage\.proxy/)
  })

  test('a timeout is retried', () => {
    const timeout = Object.assign(new Error('@smithy/node-http-handler - something'), { name: 'TimeoutError' })
    assert.equal(mapped(timeout).code, 'STORAGE_UNAVAILABLE')
    assert.match(mapped(timeout).message, /no response in time \(TimeoutError\)$/)
  })
})

test('credentials that cannot be found are named as such', () => {
  const error = Object.assign(new Error('Could not load credentials'), { name: 'CredentialsProviderError' })
  assert.equal(mapped(error).code, 'STORAGE_DENIED')
  assert.match(mapped(error).help, /AWS_ACCESS_KEY_ID/)
})

test('what is no failure of a store stays what it is', () => {
  const bug = new TypeError('x is not a function')
  assert.equal(mapS3Error(bug, context), bug)
  const own = new KafkaBackupError('STORAGE_SHORT', 'short')
  assert.equal(mapS3Error(own, context), own)
})
