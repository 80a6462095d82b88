import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, beforeEach, describe, test } from 'node:test'
import { listBackups } from '../../src/archive/list-backups.ts'
import { wrapByKms } from '../../src/encryption/aws-kms.ts'
import type { Credential } from '../../src/encryption/credential.ts'
import { withEncryption } from '../../src/encryption/encrypted-storage.ts'
import { rewrapKeys } from '../../src/encryption/rewrap.ts'
import { hasCode } from '../../src/errors.ts'
import { inTime } from '../../src/lib/abort.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { type FakeKms, openFakeKms } from '../fakes/fake-kms.ts'
import { startHttpScript } from '../fakes/http-script.ts'
import { openMemoryStorage } from '../fakes/memory-storage.ts'
import { World } from '../retention/world.ts'
import { givenKeys, keyOf, never, ownKeys } from './samples.ts'

const arn = 'arn:aws:kms:eu-central-1:111122223333:key/0001'

describe('a key of AWS KMS', () => {
  let kms: FakeKms
  const environment = { ...process.env }
  const ofKms = (keyId = arn): Credential => ({ kind: 'aws_kms', keyId, endpoint: kms.endpoint, from: 'AWS KMS' })
  before(async () => {
    Object.assign(process.env, { AWS_ACCESS_KEY_ID: 'test', AWS_SECRET_ACCESS_KEY: 'test' })
    kms = await openFakeKms()
  })
  beforeEach(() => {
    kms.calls.length = 0
    kms.faults.length = 0
  })
  after(async () => {
    for (const name of Object.keys(process.env)) if (!(name in environment)) delete process.env[name]
    Object.assign(process.env, environment)
    await kms.close()
  })

  test('wraps the data key once, with a context that names the backup, and unwraps it once', async () => {
    const inner = openMemoryStorage()
    const writer = withEncryption(inner, ownKeys([ofKms()]))
    for (const name of ['a', 'b', 'c']) await writer.create(`b1/${name}`, Buffer.from('text'), never)
    assert.deepEqual(
      kms.calls.map(({ operation, keyId }) => `${operation} ${keyId}`),
      [`Encrypt ${arn}`, `Decrypt ${arn}`],
    )
    assert.equal(kms.calls[0]?.context['kafka-backup:backup-id'], 'b1')
    const reader = withEncryption(inner, givenKeys([ofKms()]))
    for (const name of ['a', 'b', 'c']) assert.equal((await reader.read(`b1/${name}`, never)).toString(), 'text')
    assert.equal(kms.calls.length, 3)
  })

  test('that refuses is told by name, and the next recipient is tried', async () => {
    const inner = openMemoryStorage()
    await withEncryption(inner, ownKeys([ofKms(), keyOf(1)])).create('b1/a', Buffer.from('text'), never)
    kms.faults.push({ status: 400, type: 'AccessDeniedException' })
    await assert.rejects(withEncryption(inner, givenKeys([ofKms()])).read('b1/a', never), error => {
      assert.ok(hasCode(error, 'ENCRYPTION_KEY'))
      assert.match(error.message, /AWS KMS refused Decrypt with arn:aws:kms:.*AccessDeniedException/)
      return true
    })
    kms.faults.push({ status: 400, type: 'DisabledException' })
    const reader = withEncryption(inner, givenKeys([ofKms(), keyOf(1)]))
    assert.equal((await reader.read('b1/a', never)).toString(), 'text')
  })

  test('that fails for a moment is asked again', async () => {
    const inner = openMemoryStorage()
    await withEncryption(inner, ownKeys([ofKms()])).create('b1/a', Buffer.from('text'), never)
    kms.faults.push({ status: 500, type: 'KMSInternalException' })
    assert.equal((await withEncryption(inner, givenKeys([ofKms()])).read('b1/a', never)).toString(), 'text')
  })

  test('that is silent, refuses connections or fails is reported as such, and the next recipient is tried', async () => {
    const inner = openMemoryStorage()
    await withEncryption(inner, ownKeys([ofKms(), keyOf(1)])).create('b1/a', Buffer.from('text'), never)
    const away: Credential = { kind: 'aws_kms', keyId: arn, endpoint: 'http://127.0.0.1:1', from: 'AWS KMS' }
    const failure = {
      code: 'KMS_UNREACHABLE',
      message: /^AWS KMS did not answer Decrypt with arn:aws:kms:.*ECONNREFUSED/,
    }
    await assert.rejects(withEncryption(inner, givenKeys([away])).read('b1/a', never), failure)
    assert.equal((await withEncryption(inner, givenKeys([away, keyOf(1)])).read('b1/a', never)).toString(), 'text')

    const context = { backupId: 'b1', dataKeyId: 'd1', hideNames: false }
    const limits = { connectionTimeout: 50, socketTimeout: 50, totalMs: 10_000 }
    const silent = await startHttpScript(() => 'hang')
    const asked = wrapByKms({ keyId: arn, endpoint: silent.url }, context, Buffer.alloc(32), never, limits)
    await assert.rejects(asked, { code: 'KMS_UNREACHABLE', message: /did not answer Encrypt .*TimeoutError/ })
    await silent.close()
    const portal = await startHttpScript(() => ({ text: '<html></html>' }))
    const answered = wrapByKms({ keyId: arn, endpoint: portal.url }, context, Buffer.alloc(32), never, limits)
    await assert.rejects(answered, { code: 'KMS_UNREACHABLE' })
    await portal.close()
  })

  for (const [name, pauseMs] of [
    ['stalls', undefined],
    ['trickles in', 10],
  ] as const) {
    test(`whose answer ${name} is reported after a time limit`, async () => {
      const server = createServer((request, response) => {
        request.resume()
        response.writeHead(200, { 'content-type': 'application/x-amz-json-1.1', 'content-length': '100000' })
        response.write('{')
        if (pauseMs === undefined) return
        const timer = setInterval(() => response.write(' '), pauseMs)
        response.once('close', () => clearInterval(timer))
      })
      await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
      const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
      const limits = { connectionTimeout: 2000, socketTimeout: 2000, totalMs: 200 }
      const context = { backupId: 'b1', dataKeyId: 'd1', hideNames: false }
      try {
        await assert.rejects(
          inTime(wrapByKms({ keyId: arn, endpoint }, context, Buffer.alloc(32), never, limits), 1500, systemClock, () =>
            Error('waits'),
          ),
          { code: 'KMS_UNREACHABLE', message: /^AWS KMS did not answer Encrypt with arn:aws:kms:\S+ within 200 ms$/ },
        )
      } finally {
        server.closeAllConnections()
        server.close()
      }
    })
  }

  test('is found by what the keys file says where nothing else was given', async () => {
    const inner = openMemoryStorage()
    await withEncryption(inner, ownKeys([ofKms()])).create('b1/a', Buffer.from('text'), never)
    process.env.AWS_ENDPOINT_URL_KMS = kms.endpoint
    assert.equal((await withEncryption(inner, givenKeys([])).read('b1/a', never)).toString(), 'text')
    const others = withEncryption(inner, givenKeys([keyOf(5)]))
    await assert.rejects(others.read('b1/a', never), error => hasCode(error, 'ENCRYPTION_KEY'))
  })

  test('of a keys file that cannot be reached leaves the backup locked, because no key was given', async () => {
    const inner = openMemoryStorage()
    await withEncryption(inner, ownKeys([ofKms()])).create('b1/a', Buffer.from('text'), never)
    process.env.AWS_ENDPOINT_URL_KMS = 'http://127.0.0.1:1'
    await assert.rejects(withEncryption(inner, givenKeys([])).read('b1/a', never), {
      code: 'ENCRYPTION_KEY',
      message: /is encrypted, and opens with AWS KMS key .*: AWS KMS did not answer Decrypt .*ECONNREFUSED/,
      retryable: true,
    })
  })

  test('of a keys file that cannot be reached hides no other backup, and is not called a missing key', async () => {
    const world = new World()
    await world.commit('plain')
    const inner = world.storage
    const encrypted = withEncryption(inner, ownKeys([ofKms()]))
    await encrypted.create('b1/manifests/00000001.json', Buffer.from('{}'), never)
    process.env.AWS_ENDPOINT_URL_KMS = 'http://127.0.0.1:1'
    const away: Credential = { kind: 'aws_kms', keyId: arn, endpoint: 'http://127.0.0.1:1', from: 'AWS KMS' }
    for (const given of [[], [away]]) {
      const rows = await listBackups(withEncryption(inner, givenKeys(given)), never)
      assert.deepEqual(
        rows.map(row => [row.backup_id, 'error' in row ? row.code : undefined]),
        [
          ['b1', 'KMS_UNREACHABLE'],
          ['plain', undefined],
        ],
      )
    }
  })

  test('of a keys file that cannot be reached is the reason, also if another one refuses', async () => {
    const inner = openMemoryStorage()
    const keys = [ofKms(), ofKms(arn.replace('0001', '0002'))]
    await withEncryption(inner, ownKeys(keys)).create('b1/a', Buffer.from('text'), never)
    const service = await startHttpScript(({ body }) =>
      body.includes('0001') ? { status: 400, json: { __type: 'AccessDeniedException' } } : 'reset',
    )
    process.env.AWS_ENDPOINT_URL_KMS = service.url
    await assert.rejects(withEncryption(inner, givenKeys([])).read('b1/a', never), {
      message: /: AWS KMS did not answer Decrypt with .*0002/,
      help: /network of AWS KMS/,
      retryable: true,
    })
    await service.close()
  })

  test('without credentials is named, which tells its failure from that of a location', async () => {
    const inner = openMemoryStorage()
    await withEncryption(inner, ownKeys([ofKms()])).create('b1/a', Buffer.from('text'), never)
    const { AWS_ACCESS_KEY_ID: id, AWS_SECRET_ACCESS_KEY: secret } = process.env
    delete process.env.AWS_ACCESS_KEY_ID
    delete process.env.AWS_SECRET_ACCESS_KEY
    Object.assign(process.env, { AWS_WEB_IDENTITY_TOKEN_FILE: '/nowhere/token', AWS_ROLE_ARN: 'arn:aws:iam::1:role/r' })
    try {
      await assert.rejects(withEncryption(inner, givenKeys([ofKms()])).read('b1/a', never), {
        code: 'CREDENTIALS_REFUSED',
        message: /^no AWS credentials: /,
        details: { resource: `AWS KMS key ${arn}` },
      })
    } finally {
      delete process.env.AWS_WEB_IDENTITY_TOKEN_FILE
      delete process.env.AWS_ROLE_ARN
      Object.assign(process.env, { AWS_ACCESS_KEY_ID: id, AWS_SECRET_ACCESS_KEY: secret })
    }
  })

  test('is rotated to another one', async () => {
    const inner = openMemoryStorage()
    await withEncryption(inner, ownKeys([ofKms()])).create('b1/a', Buffer.from('text'), never)
    const other = ofKms(arn.replace('0001', '0002'))
    const request = { backupId: 'b1', recipients: [other], present: [ofKms()], isDataKeyNew: false }
    await rewrapKeys(inner, request, systemClock, never)
    assert.equal((await withEncryption(inner, givenKeys([other])).read('b1/a', never)).toString(), 'text')
    await assert.rejects(withEncryption(inner, givenKeys([ofKms()])).read('b1/a', never), error =>
      hasCode(error, 'ENCRYPTION_KEY'),
    )
  })
})
