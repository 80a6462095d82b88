import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { describe, test } from 'node:test'
import { type ErrorCode, KafkaBackupError } from '../../src/errors.ts'
import { errorNameOf, mapAzureError } from '../../src/storage/azure/error.ts'
import { EntraUnreachable, nameTable } from '../../src/storage/azure/error-table.ts'
import { tableRows } from '../markdown.ts'

const context = {
  action: 'read',
  key: 'a/b',
  container: 'box',
  location: 'az://box/x?account=acme',
  sasToken: undefined as string | undefined,
}

interface Answer {
  status: number
  name?: string
  message?: string
  /** By the clock of the service. */
  date?: string
  /** By ours. */
  signed?: string
}

/** As the SDK throws them. An answer to HEAD has no body, and its name only in `details`. */
function answer({ status, name, message = '', date, signed }: Answer): Error {
  const headers = (value: string | undefined) => ({ headers: { get: () => value } })
  const facts = { statusCode: status, code: name, details: { errorCode: name } }
  const error = Object.assign(new Error(message), facts, { request: headers(signed), response: headers(date) })
  error.name = 'RestError'
  return error
}

function mapped(error: Error, more: Partial<typeof context> = {}): KafkaBackupError {
  const result = mapAzureError(error, { ...context, ...more })
  assert.ok(result instanceof KafkaBackupError, String(result))
  return result
}

describe('an answer of the service', () => {
  const cases: [ErrorCode, Answer][] = [
    ['STORAGE_NOT_FOUND', { status: 404, name: 'BlobNotFound' }],
    ['STORAGE_NOT_FOUND', { status: 404 }],
    ['STORAGE_NOT_FOUND', { status: 400, name: 'InvalidBlockList' }],
    ['STORAGE_EXISTS', { status: 409, name: 'BlobAlreadyExists' }],
    ['STORAGE_EXISTS', { status: 412, name: 'ConditionNotMet' }],
    ['STORAGE_EXISTS', { status: 412 }],
    ['STORAGE_REFUSED', { status: 412, name: 'LeaseIdMissing' }],
    ['STORAGE_SHORT', { status: 416, name: 'InvalidRange' }],
    ['STORAGE_DENIED', { status: 403, name: 'AuthenticationFailed' }],
    ['STORAGE_DENIED', { status: 403, name: 'AuthorizationFailure' }],
    ['STORAGE_DENIED', { status: 403, name: 'AuthorizationPermissionMismatch' }],
    ['STORAGE_DENIED', { status: 403, name: 'KeyBasedAuthenticationNotPermitted' }],
    ['STORAGE_DENIED', { status: 401, name: 'NoAuthenticationInformation' }],
    ['STORAGE_DENIED', { status: 401 }],
    ['STORAGE_DENIED', { status: 403 }],
    ['STORAGE_DENIED', { status: 409, name: 'BlobArchived' }],
    ['STORAGE_RETAINED', { status: 409, name: 'BlobImmutableDueToPolicy' }],
    ['STORAGE_UNFIT', { status: 501 }],
    ['STORAGE_REFUSED', { status: 400, name: 'InvalidHeaderValue' }],
    ['STORAGE_PROTOCOL', { status: 302 }],
    ['STORAGE_UNAVAILABLE', { status: 503, name: 'ServerBusy' }],
    ['STORAGE_UNAVAILABLE', { status: 503 }],
    ['STORAGE_UNAVAILABLE', { status: 500, name: 'OperationTimedOut' }],
    ['STORAGE_UNAVAILABLE', { status: 429 }],
    ['STORAGE_UNAVAILABLE', { status: 409, name: 'ContainerBeingDeleted' }],
    ['STORAGE_UNAVAILABLE', { status: 400, name: 'Md5Mismatch' }],
    ['LOCATION_INVALID', { status: 400, name: 'InvalidResourceName' }],
    ['LOCATION_INVALID', { status: 400, name: 'AccountRequiresHttps' }],
  ]
  for (const [code, given] of cases) {
    test(`${given.name ?? ''} ${given.status} is ${code}`.trimStart(), () => {
      const error = mapped(answer(given))
      assert.equal(error.code, code)
      assert.match(error.message, /^cannot read "a\/b" in az:\/\/box\/x\?account=acme: /)
      assert.ok(error.message.includes(String(given.status)), error.message)
    })
  }

  test('says which container is missing', () => {
    const error = mapped(answer({ status: 404, name: 'ContainerNotFound' }))
    assert.equal(error.code, 'STORAGE_NOT_FOUND')
    assert.match(error.message, /"box" of az:\/\/box\/x\?account=acme: the container does not exist/)
    assert.match(error.help, /Create the container/)
    assert.equal(errorNameOf(error.cause), 'ContainerNotFound')
  })

  test('quotes the first line of what the service says of it', () => {
    const message = 'This request is not authorized.\nRequestId:6ea39009\nTime:2026-11-15T22:29:04Z'
    assert.match(
      mapped(answer({ status: 403, name: 'AuthorizationFailure', message })).message,
      /\(AuthorizationFailure 403\): This request is not authorized\.$/,
    )
  })

  test('about what is protected: the key is taken for whoever creates, and kept from who removes', () => {
    for (const name of ['BlobImmutableDueToPolicy', 'UnauthorizedBlobOverwrite']) {
      for (const action of ['create', 'write']) {
        assert.equal(mapped(answer({ status: 409, name }), { action }).code, 'STORAGE_EXISTS')
      }
    }
    assert.equal(mapped(answer({ status: 403, name: 'UnauthorizedBlobOverwrite' })).code, 'STORAGE_DENIED')
    const removal = mapped(answer({ status: 409, name: 'BlobImmutableDueToPolicy' }), { action: 'remove' })
    assert.equal(removal.code, 'STORAGE_RETAINED')
    assert.match(removal.message, /immutability policy or a legal hold/)
  })

  const noon = 'Sun, 15 Nov 2026 12:00:00 GMT'
  const refusal = { status: 403, name: 'AuthenticationFailed', date: noon, signed: noon }

  test('tells by the dates of a SAS token why it is refused', () => {
    const expired = mapped(answer(refusal), { sasToken: 'sp=r&se=2026-11-15T11:59:59Z&sig=secret' })
    assert.match(expired.message, /the SAS token expired at 2026-11-15T11:59:59Z/)
    const soon = mapped(answer(refusal), { sasToken: 'st=2026-11-15T12:30:00Z&se=2027-01-01&sig=secret' })
    assert.match(soon.message, /the SAS token is not valid before 2026-11-15T12:30:00Z/)
    const other = mapped(answer(refusal), { sasToken: 'st=2026-01-01&se=2027-01-01&sig=secret' })
    assert.match(other.message, /does not accept the credentials/)
    assert.doesNotMatch(`${soon.message} ${other.message} ${expired.message}`, /secret/)
  })

  test('tells a clock that is wrong by the dates of both', () => {
    const skewed = mapped(answer({ ...refusal, signed: 'Sun, 15 Nov 2026 11:40:00 GMT' }))
    assert.match(skewed.message, /the clock of this machine differs from the service’s by 20 minutes/)
    const near = mapped(answer({ ...refusal, signed: 'Sun, 15 Nov 2026 11:50:00 GMT' }))
    assert.doesNotMatch(near.message, /clock/)
  })
})

describe('a failure of the network', () => {
  const cases: [ErrorCode, string][] = [
    ['STORAGE_UNAVAILABLE', 'ECONNREFUSED'],
    ['STORAGE_UNAVAILABLE', 'ECONNRESET'],
    ['STORAGE_UNAVAILABLE', 'ENOTFOUND'],
    ['STORAGE_UNAVAILABLE', 'ETIMEDOUT'],
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
      const error = mapped(Object.assign(new Error('it failed'), { code: errno }))
      assert.equal(error.code, code)
      assert.match(error.message, new RegExp(`\\(${errno}\\): it failed$`))
    })
  }

  test('an unknown host may be a mistyped account', () => {
    assert.match(mapped(Object.assign(new Error('x'), { code: 'ENOTFOUND' })).help, /name of the storage account/)
  })

  test('a proxy that wants a login is told apart from a service that denies', () => {
    const error = Object.assign(new Error('no tunnel'), { code: 'ERR_PROXY_TUNNEL', statusCode: 407 })
    assert.equal(mapped(error).code, 'STORAGE_DENIED')
    assert.match(mapped(error).help, /storage\.proxy/)
  })
})

describe('a login at Entra', () => {
  const named = (name: string, more = {}) => Object.assign(new Error('it said no'), more, { name })
  const cases: [ErrorCode, RegExp, Error][] = [
    ['STORAGE_DENIED', /there are no credentials/, named('AggregateAuthenticationError')],
    ['STORAGE_DENIED', /there are no credentials/, named('CredentialUnavailableError')],
    ['CREDENTIALS_REFUSED', /Entra refused a token/, named('AuthenticationRequiredError')],
    ['CREDENTIALS_REFUSED', /Entra refused a token/, named('AuthenticationError', { statusCode: 400 })],
    ['CREDENTIALS_UNREACHABLE', /Entra did not answer/, new EntraUnreachable('it answered 503', undefined, undefined)],
    ['CREDENTIALS_UNREACHABLE', /Entra did not answer/, new EntraUnreachable('reset', 'ECONNRESET', undefined)],
    ['LOCATION_INVALID', /certificate of Entra/, new EntraUnreachable('x', 'SELF_SIGNED_CERT_IN_CHAIN', undefined)],
  ]
  for (const [code, message, error] of cases) {
    test(`that ends with ${error.name} (${error.message}) is ${code}`, () => {
      assert.equal(mapped(error).code, code)
      assert.match(mapped(error).message, message)
    })
  }
})

test('what is no failure of a service stays what it is', () => {
  const bug = new TypeError('x is not a function')
  assert.equal(mapAzureError(bug, context), bug)
  const own = new KafkaBackupError('STORAGE_SHORT', 'short')
  assert.equal(mapAzureError(own, context), own)
  const unknown = Object.assign(new Error('x'), { code: 'ERR_INVALID_ARG_TYPE' })
  assert.equal(mapAzureError(unknown, context), unknown)
})

test('the table of errors in docs/azure.md is the one of the code', async () => {
  const page = await readFile(new URL('../../docs/azure.md', import.meta.url), 'utf8')
  const documented = tableRows(page, 'azure-errors').flatMap(([names = '', code = '', retried = '']) =>
    [...names.matchAll(/\b[A-Z]\w+[a-z]\w*\b/g)].map(([name]) => [name, `${code} ${retried}`]),
  )
  const coded = Object.keys(nameTable).map(name => {
    const { code, retryable } = mapped(answer({ status: 400, name }))
    return [name, `${code} ${retryable ? 'yes' : 'no'}`]
  })
  assert.deepEqual(documented.toSorted(), coded.toSorted())
})
