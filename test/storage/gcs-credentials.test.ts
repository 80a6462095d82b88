import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import type { AuthClient } from 'google-auth-library'
import { openGcsIdentity } from '../../src/storage/gcs/credentials.ts'

const never = new AbortController().signal

/** A client of the library that gives the token, or never answers. */
function clientOf(token: string, { isSilent = false } = {}) {
  const renewed: unknown[] = []
  const client = {
    credentials: {},
    setCredentials: (given: { expiry_date?: number }) => void renewed.push(given.expiry_date),
    getRequestHeaders: () =>
      isSilent ? new Promise(() => undefined) : Promise.resolve(new Headers({ authorization: token })),
  }
  return { client: client as unknown as AuthClient, renewed }
}

describe('after a token service did not answer in time', () => {
  let folder = ''
  let keyFile = ''
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gcs-credentials-'))
    keyFile = join(folder, 'key.json')
    await writeFile(keyFile, JSON.stringify({ type: 'service_account' }))
  })
  after(() => rm(folder, { recursive: true }))

  const open = (clients: (() => Promise<AuthClient>)[]) => {
    const options = { bucket: 'bkt', keyFile, connectTimeoutMs: 10, idleTimeoutMs: 10 }
    return openGcsIdentity(options, 'gs://bkt', async () => clients.shift()?.() ?? assert.fail('opened too often'))
  }
  const silent = { code: 'CREDENTIALS_UNREACHABLE', message: 'no token for gs://bkt within 40 ms' }

  test('its late answer does not replace the client that gave the current token', async () => {
    const [first, second] = [clientOf('first'), clientOf('second')]
    const late = Promise.withResolvers<AuthClient>()
    const identity = await open([() => late.promise, async () => second.client])
    await assert.rejects(identity.headers(never), silent)
    const shown = await identity.headers(never)
    assert.deepEqual(shown, { authorization: 'second' })
    late.resolve(first.client)
    await new Promise(resolve => setImmediate(resolve))
    identity.renew(shown)
    assert.deepEqual([first.renewed, second.renewed], [[], [1]])
    identity.close()
  })

  test('a client that cannot be opened then is opened again', async () => {
    const third = clientOf('third')
    const identity = await open([
      async () => clientOf('first', { isSilent: true }).client,
      () => Promise.reject(new Error('the metadata server is away')),
      async () => third.client,
    ])
    await assert.rejects(identity.headers(never), silent)
    await assert.rejects(identity.headers(never), { code: 'STORAGE_DENIED', message: /the metadata server is away$/ })
    assert.deepEqual(await identity.headers(never), { authorization: 'third' })
    identity.close()
  })
})
