import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { listBackups } from '../../src/archive/list-backups.ts'
import { verifyBackup } from '../../src/archive/verify.ts'
import { withEncryption } from '../../src/encryption/encrypted-storage.ts'
import { hasCode } from '../../src/errors.ts'
import { storeBackup } from '../archive/sample-archive.ts'
import { encodeRun } from '../fakes/batches.ts'
import { type MemoryStorage, openMemoryStorage } from '../fakes/memory-storage.ts'
import { givenKeys, keyOf, never, ownKeys } from './samples.ts'

const key = keyOf(1)
const lists = [[encodeRun(0n, 3), encodeRun(3n, 3)], [encodeRun(6n, 3)]]

async function storeEncrypted(): Promise<MemoryStorage> {
  const inner = openMemoryStorage()
  await storeBackup(withEncryption(inner, ownKeys([key])), lists)
  return inner
}

const verify = (inner: MemoryStorage, deep = true) =>
  verifyBackup(withEncryption(inner, givenKeys([key])), 'b1', { deep, onProgress: () => undefined }, never)

describe('verify of an encrypted backup', () => {
  test('finds one that is whole intact, quickly and deeply', async () => {
    const inner = await storeEncrypted()
    for (const deep of [false, true]) assert.deepEqual((await verify(inner, deep)).problems, [])
  })

  test('names every object that was changed, cut or taken away', async () => {
    const whole = await storeEncrypted()
    const keys = [...whole.objects.keys()].filter(one => !one.includes('/keys/'))
    assert.equal(keys.length, 5)
    const damages: [string, (body: Buffer) => Buffer][] = [
      ['changed', body => Buffer.from(body.map((byte, at) => (at === body.length - 20 ? byte ^ 1 : byte)))],
      ['cut', body => body.subarray(0, -1)],
      ['in the clear', () => Buffer.from('{}\n')],
      ['of another version by one byte', body => Buffer.from(body.map((byte, at) => (at === 8 ? byte ^ 2 : byte)))],
    ]
    for (const name of keys) {
      for (const [what, damage] of damages) {
        const inner = openMemoryStorage()
        for (const [one, body] of whole.objects) inner.objects.set(one, one === name ? damage(body) : body)
        const found = await verify(inner).then(
          ({ problems }) => problems.map(problem => `${problem.key} ${problem.problem}`),
          error => (hasCode(error, 'ARCHIVE_DAMAGED') ? [error.message] : assert.fail(error)),
        )
        assert.equal(found.length, 1, `${name} ${what}: ${found.join('; ')}`)
        assert.ok(found[0]?.includes(name), `${name} ${what}: ${found[0]}`)
      }
    }
  })

  test('fails by name without a key, where list only says so', async () => {
    const inner = await storeEncrypted()
    const locked = withEncryption(inner, givenKeys([]))
    await assert.rejects(verifyBackup(locked, 'b1', { deep: false, onProgress: () => undefined }, never), error =>
      hasCode(error, 'ENCRYPTION_KEY'),
    )
    const [row] = await listBackups(locked, never)
    assert.ok(row && 'error' in row && row.code === 'ENCRYPTION_KEY')
  })
})
