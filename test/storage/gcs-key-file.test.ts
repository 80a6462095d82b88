import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { openGcsIdentity } from '../../src/storage/gcs/credentials.ts'

test('a federation that would send tokens in the clear is refused before anything is sent', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'gcs-key-file-'))
  const keyFile = join(folder, 'federation.json')
  const safe = {
    type: 'external_account',
    audience: '//iam.googleapis.com/x',
    subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
    token_url: 'https://sts.googleapis.com/v1/token',
    service_account_impersonation_url: 'https://iamcredentials.googleapis.com/v1/x:generateAccessToken',
    credential_source: { file: join(folder, 'token') },
  }
  const open = async (changes: object) => {
    await writeFile(keyFile, JSON.stringify({ ...safe, ...changes }))
    return openGcsIdentity({ bucket: 'bkt', keyFile }, 'gs://bkt')
  }
  try {
    const identity = await open({})
    identity.close()
    for (const field of ['token_url', 'service_account_impersonation_url']) {
      const message = new RegExp(`have a \`${field}\` that is not https`)
      await assert.rejects(open({ [field]: 'http://sts.example/v1/token' }), { code: 'LOCATION_INVALID', message })
    }
  } finally {
    await rm(folder, { recursive: true })
  }
})
