import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { withEncryption } from '../../src/encryption/encrypted-storage.ts'
import { openFilesystemStorage } from '../../src/storage/file/filesystem.ts'
import { givenKeys, never } from '../encryption/samples.ts'
import { goldenKey, goldenObjects, goldenPassphrase } from './make-encrypted.ts'

for (const credential of [goldenKey, goldenPassphrase]) {
  test(`version 1 of the encryption stays readable, with a ${credential.kind}`, async () => {
    const inner = openFilesystemStorage({ path: join(import.meta.dirname, 'encryption-v1') })
    const storage = withEncryption(inner, givenKeys([credential]))
    for (const [key, body] of goldenObjects) {
      assert.ok((await storage.read(key, never)).equals(body), key)
      assert.ok(
        (await storage.readRange(key, body.length >> 1, body.length >> 2, never)).equals(
          body.subarray(body.length >> 1, (body.length >> 1) + (body.length >> 2)),
        ),
      )
      assert.equal((await storage.stat(key, never))?.size, body.length)
    }
    const keys = await storage.keysFor('golden', never)
    assert.equal(keys?.folderOf?.('orders'), '21a3f8b71bad7e4adcbf0893f697c756')
  })
}
