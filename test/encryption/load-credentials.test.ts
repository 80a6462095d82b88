import assert from 'node:assert/strict'
import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { environmentSources, loadCredentials, newKey, writeKeyFile } from '../../src/encryption/load-credentials.ts'
import { hasCode } from '../../src/errors.ts'

describe('keys', () => {
  let folder: string
  const key = Buffer.alloc(32, 7)
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'kafka-backup-test-'))
  })
  after(() => rm(folder, { recursive: true, force: true }))

  test('are read as bytes, base64 or hex, from files and the environment', async () => {
    for (const [name, body] of [
      ['raw', key],
      ['base64', `${key.toString('base64')}\n`],
      ['url', key.toString('base64url')],
      ['hex', `${key.toString('hex')}\r\n`],
    ] as const) {
      const path = join(folder, name)
      await writeFile(path, body)
      const [found] = await loadCredentials([{ keyFile: path }], {})
      assert.ok(found?.kind === 'key' && found.key.equals(key), name)
    }
    const [found] = await loadCredentials([{ keyEnv: 'K' }], { K: key.toString('hex') })
    assert.ok(found?.kind === 'key' && found.key.equals(key))
  })

  test('that are none, or not there, are refused without being shown', async () => {
    const path = join(folder, 'bad')
    await writeFile(path, 'hunter2hunter2')
    for (const source of [{ keyFile: path }, { keyFile: join(folder, 'no') }, { keyEnv: 'K' }, { keyEnv: 'NONE' }]) {
      await assert.rejects(loadCredentials([source], { K: 'hunter2hunter2' }), error => {
        assert.ok(hasCode(error, 'ENCRYPTION_KEY'))
        assert.doesNotMatch(error.message, /hunter2/)
        return true
      })
    }
  })

  test('of passphrases lose the end of their line, and nothing else', async () => {
    const path = join(folder, 'phrase')
    await writeFile(path, ' correct horse \n')
    const [found] = await loadCredentials([{ passphraseFile: path, name: 'safe' }], {})
    assert.ok(found?.kind === 'passphrase' && found.passphrase === ' correct horse ' && found.name === 'safe')
  })

  test('come from four variables where there is no job', () => {
    const names = ['KEY', 'KEY_FILE', 'PASSPHRASE', 'PASSPHRASE_FILE'].map(name => `KAFKA_BACKUP_${name}`)
    assert.equal(environmentSources(Object.fromEntries(names.map(name => [name, 'x']))).length, 4)
    assert.deepEqual(environmentSources({ KAFKA_BACKUP_KEY: '' }), [])
  })

  test('are created in new files that only their owner can read', async () => {
    const path = join(folder, 'new.key')
    const made = newKey()
    await writeKeyFile(path, made)
    assert.equal((await stat(path)).mode & 0o777, 0o600)
    const [found] = await loadCredentials([{ keyFile: path }], {})
    assert.ok(found?.kind === 'key' && found.key.toString('base64') === made.text)
    await assert.rejects(writeKeyFile(path, newKey()), /a key is never overwritten/)
  })
})
