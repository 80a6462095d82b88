import assert from 'node:assert/strict'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, afterEach, before, beforeEach, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { inspect } from 'node:util'
import type { GcsOptions } from '../../src/storage/gcs/gcs-options.ts'
import { openStorage } from '../../src/storage/open-storage.ts'
import type { Storage } from '../../src/storage/storage.ts'
import { type FaultyGcs, startFaultyGcs } from '../fakes/gcs-faults.ts'
import { type GoogleTokens, startGoogleTokens } from '../fakes/google-tokens.ts'
import { startHttpProxy } from '../fakes/http-proxy.ts'
import { type GcsServer, startGcs } from '../servers/fake-gcs.ts'
import { waitFor } from '../wait-for.ts'

const never = new AbortController().signal
const retryPolicy = { attempts: 3, baseDelayMs: 5, maxDelayMs: 5 }

const earlier = { ...process.env }
let server: GcsServer
let tokens: GoogleTokens
let store: FaultyGcs
let bucket: GcsOptions
let keyFile: string

before(async () => {
  server = await startGcs()
  await server.makeBucket('guarded')
})
after(() => server.stop())
beforeEach(async () => {
  tokens = await startGoogleTokens()
  store = await startFaultyGcs(server, [], authorization => tokens.isGood(authorization))
  bucket = { bucket: 'guarded', endpoint: store.endpoint }
  keyFile = await save('key.json', tokens.serviceAccount())
  setEnvironment({})
})
afterEach(async () => {
  process.env = { ...earlier }
  await store.close()
  await tokens.close()
})

async function save(name: string, content: unknown): Promise<string> {
  const path = join(server.folder, name)
  await writeFile(path, typeof content === 'string' ? content : JSON.stringify(content))
  return path
}

/** The environment of a machine that has nothing of Google but what is given. */
function setEnvironment(variables: Record<string, string>): void {
  const ours = Object.entries(earlier).filter(([name]) => !/^(GOOGLE_|GCE_|CLOUDSDK_|GCLOUD_|STORAGE_)/.test(name))
  const nothing = { HOME: join(server.folder, 'none'), METADATA_SERVER_DETECTION: 'none' }
  process.env = { ...Object.fromEntries(ours), ...nothing, ...variables }
}

async function withStorage(options: Partial<GcsOptions>, work: (storage: Storage) => Promise<void>): Promise<void> {
  const storage = openStorage({ backend: 'gcs', ...bucket, ...options }, { retryPolicy })
  try {
    await work(storage)
  } finally {
    await storage.close()
  }
}

const put = (storage: Storage) => storage.create(`a/${Math.random()}`, Buffer.from('x'), never)

describe('credentials', () => {
  test('of a service account: its key signs for a token', async () => {
    await withStorage({ keyFile }, put)
    const [claims] = tokens.shown as [{ iss: string; scope: string }]
    assert.equal(claims.iss, 'backup@acme.iam.gserviceaccount.com')
    assert.equal(claims.scope, 'https://www.googleapis.com/auth/devstorage.read_write')
    assert.deepEqual(store.authorizations, ['Bearer key-token-1'])
  })

  test('come from GOOGLE_APPLICATION_CREDENTIALS, which the job overrides', async () => {
    setEnvironment({ GOOGLE_APPLICATION_CREDENTIALS: keyFile })
    await withStorage({}, put)
    setEnvironment({ GOOGLE_APPLICATION_CREDENTIALS: '/nowhere' })
    await withStorage({ keyFile }, put)
    assert.deepEqual(tokens.requests, ['key', 'key'])
  })

  test('of a workload identity federation: the current token of another issuer is exchanged', async () => {
    const subject = await save('subject', 'first')
    const federation = await save('federation.json', tokens.externalAccount(subject))
    await withStorage({ keyFile: federation }, async storage => {
      await put(storage)
      await save('subject', 'second')
      tokens.withdraw()
      await put(storage)
    })
    assert.deepEqual(tokens.shown, ['first', 'second'])
  })

  test('come from the file of gcloud', async () => {
    const home = join(server.folder, 'home')
    await mkdir(join(home, '.config/gcloud'), { recursive: true })
    const file = tokens.externalAccount(await save('subject', 'of gcloud'))
    await save('home/.config/gcloud/application_default_credentials.json', file)
    setEnvironment({ HOME: home })
    await withStorage({}, put)
    assert.deepEqual(tokens.shown, ['of gcloud'])
  })

  test('come from the metadata server of the machine', async () => {
    setEnvironment({ GCE_METADATA_HOST: new URL(tokens.url).host, METADATA_SERVER_DETECTION: 'assume-present' })
    await withStorage({}, put)
    assert.deepEqual(store.authorizations, ['Bearer machine-token-1'])
  })

  test('are requested through the proxy as well', async () => {
    const proxy = await startHttpProxy('user', 'pass')
    await withStorage({ keyFile, proxy: proxy.url }, put)
    assert.ok(proxy.requests.includes(`POST ${tokens.url}/token`), String(proxy.requests))
    assert.ok(proxy.requests.some(line => line.includes(store.endpoint)))
    await proxy.close()
  })

  test('that are missing are reported with the ways to give them', () =>
    withStorage({}, async storage => {
      await assert.rejects(put(storage), { code: 'STORAGE_DENIED', message: /there are no credentials for gs:/ })
    }))

  test('that cannot be used are named, and never shown', async () => {
    const key = tokens.serviceAccount()
    const wrong: Record<string, [file: string, message: RegExp]> = {
      missing: ['/nowhere/key.json', /\/nowhere\/key\.json cannot be read/],
      'no JSON': [await save('broken.json', `${key.private_key}{`), /broken\.json are not JSON with a `type`/],
      'another kind': [await save('kind.json', { type: 'x' }), /kind\.json have the unknown type "x"/],
      'another universe': [
        await save('u.json', { ...key, universe_domain: 'x.org' }),
        /u\.json belong to the universe x\.org/,
      ],
      'tokens in the clear': [
        await save('c.json', { ...key, token_uri: 'http://h/' }),
        /c\.json have a `token_uri` that/,
      ],
    }
    for (const [file, message] of Object.values(wrong)) {
      await withStorage({ keyFile: file }, async storage => {
        await assert.rejects(put(storage), error => {
          assert.doesNotMatch(inspect(error, { depth: 9 }), /PRIVATE KEY/)
          assert.match(String(error), message)
          return (error as { code?: string }).code === 'LOCATION_INVALID'
        })
      })
    }
  })

  test('are not sent unencrypted to another machine', () =>
    withStorage({ keyFile, endpoint: 'http://storage.example' }, async storage => {
      await assert.rejects(put(storage), { code: 'LOCATION_INVALID', message: /sent in the clear/ })
    }))

  test('are omitted for an emulator only', () =>
    withStorage({ anonymous: true }, async storage => {
      await assert.rejects(put(storage), { code: 'STORAGE_DENIED', message: /credentials are not accepted/ })
      assert.deepEqual(store.authorizations, [undefined])
      const { endpoint: _, ...google } = bucket
      const open = openStorage({ backend: 'gcs', ...google, anonymous: true })
      await assert.rejects(put(open), { code: 'LOCATION_INVALID', message: /without an endpoint/ })
      await open.close()
    }))
})

describe('a token', () => {
  test('is requested once for many waiting calls', () =>
    withStorage({ keyFile }, async storage => {
      await Promise.all(Array.from({ length: 20 }, () => put(storage)))
      assert.deepEqual(tokens.requests, ['key'])
    }))

  test('is renewed once before it expires', () =>
    withStorage({ keyFile }, async storage => {
      // Five minutes before its end a token counts as old.
      tokens.lifeSeconds = 301
      await put(storage)
      await sleep(1_100)
      await Promise.all(Array.from({ length: 10 }, () => put(storage)))
      assert.deepEqual(tokens.requests, ['key', 'key'])
      assert.equal(new Set(store.authorizations).size, 2)
    }))

  test('that was revoked is renewed once, without a retry of the storage', () =>
    withStorage({ keyFile }, async storage => {
      await put(storage)
      tokens.withdraw()
      await Promise.all(Array.from({ length: 10 }, () => put(storage)))
      assert.deepEqual(tokens.requests, ['key', 'key'])
    }))

  test('that is new and refused is an access error', () =>
    withStorage({ keyFile }, async storage => {
      const strict = await startFaultyGcs(server, [], () => false)
      const open = openStorage({ backend: 'gcs', ...bucket, keyFile, endpoint: strict.endpoint }, { retryPolicy })
      await assert.rejects(put(open), {
        code: 'STORAGE_DENIED',
        message: /credentials are not accepted \(authError 401\)/,
      })
      assert.equal(strict.requests.length, 2)
      await open.close()
      await strict.close()
      await put(storage)
    }))

  test('that is refused by its issuer is an access error; a failing issuer is retried', () =>
    withStorage({ keyFile }, async storage => {
      tokens.refusal = { status: 400, body: { error: 'invalid_grant', error_description: 'Invalid JWT Signature.' } }
      await assert.rejects(put(storage), error => {
        assert.doesNotMatch(inspect(error, { depth: 9 }), /PRIVATE KEY|assertion/)
        assert.match(String(error), /no token for gs:.*\(400\): .*invalid_grant/)
        return (error as { code?: string }).code === 'CREDENTIALS_REFUSED'
      })
      tokens.refusal = { status: 503, body: {} }
      setTimeout(() => {
        tokens.refusal = undefined
      }, 100)
      await put(storage)
    }))

  test('is not waited for after an abort', () =>
    withStorage({ keyFile }, async storage => {
      tokens.refusal = 'silence'
      const controller = new AbortController()
      const creating = storage.create('a/silent', Buffer.from('x'), controller.signal)
      creating.catch(() => undefined)
      await waitFor('a request for a token', () => tokens.requests.length > 0)
      const reason = new Error('enough')
      controller.abort(reason)
      await assert.rejects(creating, error => error === reason)
      await tokens.close()
    }))
})
