import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, afterEach, before, describe, test } from 'node:test'
import { awsCredentials } from '../src/aws-credentials.ts'
import type { Clock } from '../src/lib/clock.ts'
import { openS3Storage } from '../src/storage/s3/s3-storage.ts'
import { type ScriptedAnswer, startHttpScript } from './fakes/http-script.ts'
import { JumpingClock } from './fakes/jumping-clock.ts'

const never = new AbortController().signal
let folder = ''

/** Each case has its own environment, and a file with the token of a pod. */
function useEnvironment(): void {
  let earlier: Record<string, string | undefined> = {}
  before(async () => {
    earlier = { ...process.env }
    folder = await mkdtemp(join(tmpdir(), 'kafka-backup-aws-'))
    await writeFile(join(folder, 'token'), 'the-token')
  })
  afterEach(() => {
    removeVariables()
    Object.assign(process.env, earlier)
  })
  after(() => rm(folder, { recursive: true }))
}

function removeVariables(): void {
  for (const name of Object.keys(process.env)) if (name.startsWith('AWS_')) delete process.env[name]
}

/** The environment of a pod that has a role, and nothing else of AWS. */
function setEnvironment(sts: string, variables: Record<string, string> = {}): void {
  removeVariables()
  Object.assign(process.env, {
    AWS_CONFIG_FILE: join(folder, 'none'),
    AWS_SHARED_CREDENTIALS_FILE: join(folder, 'none'),
    AWS_EC2_METADATA_DISABLED: 'true',
    AWS_REGION: 'eu-central-1',
    AWS_WEB_IDENTITY_TOKEN_FILE: join(folder, 'token'),
    AWS_ROLE_ARN: 'arn:aws:iam::123456789012:role/backups',
    AWS_ENDPOINT_URL_STS: sts,
    ...variables,
  })
}

/** The failure of a request to a bucket with the credentials of a service that answers so. */
async function requestWith(answer: ScriptedAnswer | undefined, variables: Record<string, string> = {}): Promise<void> {
  const service = await startHttpScript(() => answer ?? 'reset')
  setEnvironment(answer === undefined ? 'http://127.0.0.1:1' : service.url, variables)
  const limits = { connectTimeoutMs: 100, idleTimeoutMs: 300 }
  const retryPolicy = { attempts: 1, baseDelayMs: 0, maxDelayMs: 0 }
  const storage = openS3Storage({ bucket: 'bkt', endpoint: 'http://127.0.0.1:1', ...limits }, { retryPolicy })
  try {
    await storage.create('a', Buffer.from('x'), never)
  } finally {
    await storage.close()
    await service.close()
  }
}

describe('the service that issues AWS credentials', () => {
  useEnvironment()
  const unreachable = { code: 'CREDENTIALS_UNREACHABLE', retryable: true, message: /did not answer/ }

  test('is named if it is silent', () => assert.rejects(requestWith('hang'), unreachable))

  test('is named if it refuses connections', () =>
    assert.rejects(requestWith(undefined), { ...unreachable, message: /did not answer: .*ECONNREFUSED/ }))

  test('is named if it fails', () => assert.rejects(requestWith({ status: 500, text: 'down' }), unreachable))

  test('and rejects the identity is not taken for the store', () => {
    const text = '<ErrorResponse><Error><Code>AccessDenied</Code><Message>not yours</Message></Error></ErrorResponse>'
    const wanted = { code: 'CREDENTIALS_REFUSED', message: /^no AWS credentials: AccessDenied: not yours/ }
    return assert.rejects(requestWith({ status: 403, text, headers: { 'content-type': 'text/xml' } }), wanted)
  })

  test('gets no token if its file is missing, which is not a lost connection', () =>
    assert.rejects(requestWith('hang', { AWS_WEB_IDENTITY_TOKEN_FILE: join(folder, 'missing') }), {
      code: 'CREDENTIALS_REFUSED',
      message: /ENOENT.*missing/,
    }))
})

const xml = { 'content-type': 'text/xml' }

/** The answer of STS with the nth key. */
function roleOf(count: number): string {
  const credentials = `<AccessKeyId>key${count - 1}</AccessKeyId><SecretAccessKey>s</SecretAccessKey><SessionToken>t</SessionToken><Expiration>2999-01-01T00:00:00Z</Expiration>`
  return `<AssumeRoleWithWebIdentityResponse><AssumeRoleWithWebIdentityResult><Credentials>${credentials}</Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>`
}

describe('the chain of credentials', () => {
  useEnvironment()
  /** A clock whose timers ring when the test says so. */
  function ringing(): { clock: Clock & { pass(ms: number): void }; ring(): void } {
    const rings: (() => void)[] = []
    const jumping = new JumpingClock()
    const after = (_: number, ring: () => void) => {
      rings.push(ring)
      return () => undefined
    }
    return { clock: { ...jumping, after, pass: ms => jumping.pass(ms) }, ring: () => rings.pop()?.() }
  }

  const found = { accessKeyId: 'a', secretAccessKey: 's' }
  const late = {
    code: 'CREDENTIALS_UNREACHABLE',
    message: /`credential_process`\) did not answer: no answer within 120 s/,
  }

  test('is not asked a second time while a process waits for its user', async () => {
    const { clock, ring } = ringing()
    const { promise, resolve } = Promise.withResolvers<typeof found>()
    let asked = 0
    const get = () => {
      asked++
      return promise
    }
    const source = awsCredentials({ clock, open: async () => get })
    for (let attempt = 1; attempt <= 2; attempt++) {
      const waiting = source()
      ring()
      await assert.rejects(waiting, late)
    }
    const third = source()
    resolve(found)
    assert.deepEqual(await third, found)
    assert.equal(asked, 1)
  })

  test('is opened again after a request that was never answered', async () => {
    const { clock, ring } = ringing()
    const chains = [() => new Promise<never>(() => undefined), async () => found]
    const source = awsCredentials({ clock, open: async () => chains.shift() ?? assert.fail() })
    const first = source()
    ring()
    await assert.rejects(first, late)
    clock.pass(15 * 60_000)
    assert.deepEqual(await source(), found)
  })

  test('without any credentials fails with the error of the SDK', async () => {
    const none = Object.assign(new Error('Could not load credentials from any providers'), {
      name: 'CredentialsProviderError',
    })
    const failing = awsCredentials({ open: async () => () => Promise.reject(none) })
    setEnvironment('')
    await assert.rejects(failing(), error => error === none)
    setEnvironment('', { AWS_CONTAINER_CREDENTIALS_FULL_URI: 'http://169.254.170.23/v1/credentials' })
    await assert.rejects(failing(), { code: 'CREDENTIALS_UNREACHABLE' })
  })

  test('credentials that expired by the clock of the store are renewed once, although an answer to HEAD does not say so', async () => {
    for (const call of ['create', 'stat'] as const) {
      const issued: string[] = []
      const asked: string[] = []
      const server = await startHttpScript(({ method, path, headers }) => {
        if (method === 'POST' && path === '/') return { text: roleOf(issued.push(`key${issued.length}`)), headers: xml }
        const key = /Credential=(\w+)/.exec(String(headers.authorization))?.[1] ?? ''
        asked.push(key)
        if (key === 'key1') return { headers: { etag: '"e"', 'content-length': '0' } }
        return { status: 400, text: '<Error><Code>ExpiredToken</Code><Message>expired</Message></Error>', headers: xml }
      })
      setEnvironment(server.url)
      const retryPolicy = { attempts: 1, baseDelayMs: 0, maxDelayMs: 0 }
      const storage = openS3Storage({ bucket: 'bkt', endpoint: server.url }, { retryPolicy })
      try {
        for (const name of ['a', 'b']) {
          if (call === 'create') await storage.create(name, Buffer.from('x'), never)
          else assert.ok(await storage.stat(name, never))
        }
        assert.deepEqual({ issued: issued.length, asked }, { issued: 2, asked: ['key0', 'key1', 'key1'] }, call)
      } finally {
        await storage.close()
        await server.close()
      }
    }
  })
})
