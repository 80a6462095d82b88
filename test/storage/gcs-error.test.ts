import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { describe, test } from 'node:test'
import { errorTable } from '../../src/error-table.ts'
import { type ErrorCode, KafkaBackupError } from '../../src/errors.ts'
import { type GcsErrorContext, GcsRefusal, mapGcsError } from '../../src/storage/gcs/error.ts'
import { tableRows } from '../markdown.ts'

const context: GcsErrorContext = {
  action: 'read',
  key: 'a/b',
  bucket: 'bkt',
  location: 'gs://bkt/x',
  missing: 'object',
}

function mapped(error: Error, more: Partial<GcsErrorContext> = {}): KafkaBackupError {
  const result = mapGcsError(error, { ...context, ...more })
  assert.ok(result instanceof KafkaBackupError, String(result))
  return result
}

describe('an answer of the store', () => {
  const cases: [ErrorCode, status: number, reason: string][] = [
    ['STORAGE_NOT_FOUND', 404, 'notFound'],
    ['STORAGE_NOT_FOUND', 410, ''],
    ['STORAGE_EXISTS', 412, 'conditionNotMet'],
    ['STORAGE_EXISTS', 412, ''],
    ['STORAGE_DENIED', 412, 'orgPolicyConstraintFailed'],
    ['STORAGE_SHORT', 416, ''],
    ['STORAGE_DENIED', 401, ''],
    ['STORAGE_DENIED', 403, ''],
    ['STORAGE_DENIED', 403, 'accountDisabled'],
    ['STORAGE_DENIED', 407, ''],
    ['STORAGE_RETAINED', 403, 'retentionPolicyNotMet'],
    ['STORAGE_RETAINED', 403, 'objectUnderActiveHold'],
    ['STORAGE_UNAVAILABLE', 403, 'rateLimitExceeded'],
    ['STORAGE_UNAVAILABLE', 408, ''],
    ['STORAGE_UNAVAILABLE', 429, ''],
    ['STORAGE_UNAVAILABLE', 500, 'internalError'],
    ['STORAGE_UNAVAILABLE', 503, 'backendError'],
    ['STORAGE_UNAVAILABLE', 504, ''],
    ['LOCATION_INVALID', 400, 'userProjectMissing'],
    ['STORAGE_UNFIT', 501, ''],
    ['STORAGE_FULL', 507, ''],
    ['STORAGE_REFUSED', 400, 'invalid'],
    ['STORAGE_PROTOCOL', 302, ''],
  ]
  for (const [code, status, reason] of cases) {
    test(`${status} ${reason || 'without a reason'} is ${code}`, () => {
      const error = mapped(new GcsRefusal(status, reason, 'so\n it is'))
      assert.equal(error.code, code)
      assert.match(error.message, /^cannot read "a\/b" in gs:\/\/bkt\/x: .*: so it is$/)
      assert.ok(error.message.includes(`(${`${reason} ${status}`.trim()})`), error.message)
    })
  }

  test('says which bucket is missing, and which upload is forgotten', () => {
    const gone = new GcsRefusal(404, 'notFound', '')
    const bucket = mapped(gone, { missing: 'bucket' })
    assert.match(bucket.message, /in "bkt" of gs:\/\/bkt\/x: the bucket does not exist/)
    assert.match(bucket.help, /Create the bucket/)
    assert.match(mapped(gone, { missing: 'upload' }).message, /no longer knows the upload/)
  })
})

describe('a failure of the network', () => {
  const cases: [ErrorCode, string][] = [
    ['STORAGE_UNAVAILABLE', 'ECONNREFUSED'],
    ['STORAGE_UNAVAILABLE', 'ECONNRESET'],
    ['STORAGE_UNAVAILABLE', 'ENOTFOUND'],
    ['STORAGE_UNAVAILABLE', 'ETIMEDOUT'],
    ['LOCATION_INVALID', 'SELF_SIGNED_CERT_IN_CHAIN'],
    ['LOCATION_INVALID', 'UNABLE_TO_VERIFY_LEAF_SIGNATURE'],
    ['LOCATION_INVALID', 'ERR_TLS_CERT_ALTNAME_INVALID'],
    ['LOCATION_INVALID', 'ERR_SSL_WRONG_VERSION_NUMBER'],
    ['LOCATION_INVALID', 'HPE_INVALID_CONSTANT'],
  ]
  for (const [code, errno] of cases) {
    test(`${errno} is ${code}`, () => {
      const error = mapped(Object.assign(new Error('it failed'), { code: errno }))
      assert.equal(error.code, code)
      assert.match(error.message, new RegExp(`\\(${errno}\\): it failed$`))
    })
  }

  test('a proxy that wants a login is told apart from a store that denies', () => {
    const error = Object.assign(new Error('no tunnel'), { code: 'ERR_PROXY_TUNNEL', statusCode: 407 })
    assert.equal(mapped(error).code, 'STORAGE_DENIED')
    assert.match(mapped(error).help, /storage\.proxy/)
  })
})

test('what is no failure of a store stays what it is', () => {
  const bug = new TypeError('x is not a function')
  assert.equal(mapGcsError(bug, context), bug)
  const own = new KafkaBackupError('STORAGE_SHORT', 'short')
  assert.equal(mapGcsError(own, context), own)
})

test('the table of reasons in docs/gcs.md is the one of the code', async () => {
  const page = await readFile(new URL('../../docs/gcs.md', import.meta.url), 'utf8')
  const source = await readFile(new URL('../../src/storage/gcs/error.ts', import.meta.url), 'utf8')
  const documented = new Map<string, string>()
  for (const [code = '', reasons = '', , retried] of tableRows(page, 'gcs-errors')) {
    const isRetryable = errorTable[code as ErrorCode].retryable
    assert.equal(retried, isRetryable ? 'yes' : 'no', code)
    for (const reason of reasons.split(', ').filter(text => text !== '')) documented.set(reason, code)
  }
  const table = /const reasonTable[^{]*\{\n([\s\S]*?)\n\}/.exec(source)?.[1] ?? ''
  const coded = new Map<string, string>()
  for (const [, reason = ''] of table.matchAll(/^ {2}(\w+): /gm)) {
    // The status is one that says nothing by itself.
    coded.set(reason, mapped(new GcsRefusal(400, reason, '')).code)
  }
  assert.ok(coded.size > 20)
  assert.deepEqual(new Map([...documented].sort()), new Map([...coded].sort()))
})
