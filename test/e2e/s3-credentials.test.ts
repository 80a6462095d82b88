import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, afterEach, before, describe, test } from 'node:test'
import { openStorage } from '../../src/storage/open-storage.ts'
import type { S3Options } from '../../src/storage/s3/s3-options.ts'
import { startHttpProxy } from '../fakes/http-proxy.ts'
import { startTokenService } from '../fakes/token-service.ts'
import { makeGuardedFolder } from '../servers/guard.ts'
import { type S3Server, startS3 } from '../servers/versitygw.ts'

const never = new AbortController().signal

describe('credentials outside the job', () => {
  const earlier = { ...process.env }
  let server: S3Server
  let bucket: S3Options
  let folder: Awaited<ReturnType<typeof makeGuardedFolder>>

  before(async () => {
    server = await startS3()
    folder = await makeGuardedFolder('credentials')
    const { accessKeyId: _, secretAccessKey: __, ...rest } = await server.makeBucket('chain')
    bucket = rest
  })
  after(async () => {
    await server.stop()
    await folder.remove()
  })
  afterEach(() => {
    process.env = { ...earlier }
  })

  /** The environment of a machine that has nothing of AWS but what is given. */
  function setEnvironment(variables: Record<string, string>): void {
    const ours = Object.entries(earlier).filter(([name]) => !name.startsWith('AWS_'))
    const nowhere = join(folder.path, 'none')
    const files = { AWS_CONFIG_FILE: nowhere, AWS_SHARED_CREDENTIALS_FILE: nowhere, AWS_EC2_METADATA_DISABLED: 'true' }
    process.env = { ...Object.fromEntries(ours), ...files, ...variables }
  }

  async function put(options: S3Options = bucket): Promise<void> {
    const storage = openStorage({ backend: 's3', ...options })
    try {
      await storage.create(`a/${Math.random()}`, Buffer.from('x'), never)
    } finally {
      await storage.close()
    }
  }

  test('come from environment variables', async () => {
    const { accessKeyId, secretAccessKey } = server.credentials
    setEnvironment({ AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey })
    await put()
  })

  test('come from a profile', async () => {
    const { accessKeyId, secretAccessKey } = server.credentials
    const path = join(folder.path, 'credentials')
    await writeFile(path, `[backups]\naws_access_key_id = ${accessKeyId}\naws_secret_access_key = ${secretAccessKey}\n`)
    setEnvironment({ AWS_SHARED_CREDENTIALS_FILE: path, AWS_PROFILE: 'backups' })
    await put()
  })

  test('come from the token of a service account, as on EKS, also through a proxy', async () => {
    const service = await startTokenService(server.credentials)
    const proxy = await startHttpProxy('user', 'pass')
    const path = join(folder.path, 'token')
    await writeFile(path, 'the-token')
    setEnvironment({
      AWS_WEB_IDENTITY_TOKEN_FILE: path,
      AWS_ROLE_ARN: 'arn:aws:iam::123456789012:role/backups',
      AWS_ENDPOINT_URL_STS: service.url,
    })
    await put()
    await put({ ...bucket, proxy: proxy.url })
    assert.deepEqual(service.tokens, ['the-token', 'the-token'])
    assert.ok(
      proxy.requests.some(request => request.includes(service.url)),
      String(proxy.requests),
    )
    await Promise.all([service.close(), proxy.close()])
  })

  test('are reported with the ways to give them if there are none', async () => {
    setEnvironment({})
    await assert.rejects(put(), { code: 'STORAGE_DENIED', message: /there are no credentials/ })
  })
})
