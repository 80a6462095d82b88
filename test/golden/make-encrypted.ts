import { join } from 'node:path'
import type { Credential } from '../../src/encryption/credential.ts'
import { withEncryption } from '../../src/encryption/encrypted-storage.ts'
import { FRAME_BYTES } from '../../src/encryption/object-header.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { openFilesystemStorage } from '../../src/storage/file/filesystem.ts'

/** The store that `encryption.test.ts` reads: run once for a version of the format, and kept. */
export const goldenKey: Credential = {
  kind: 'key',
  key: Buffer.alloc(32, 0x5a),
  from: 'the golden test',
  name: 'golden',
}
export const goldenPassphrase: Credential = {
  kind: 'passphrase',
  passphrase: 'correct horse battery staple',
  from: 'the golden test',
}

export const goldenObjects: ReadonlyMap<string, Buffer> = new Map([
  ['golden/empty', Buffer.alloc(0)],
  ['golden/small', Buffer.from('an object of one frame\n')],
  ['golden/two-frames', Buffer.alloc(FRAME_BYTES + 100, 'kafka-backup ')],
])

if (process.argv[1] === import.meta.filename) {
  const credentials = [goldenKey, goldenPassphrase]
  const storage = withEncryption(openFilesystemStorage({ path: join(import.meta.dirname, 'encryption-v1') }), {
    loadCredentials: async () => credentials,
    hasCredentials: true,
    mayAskKms: false,
    own: { backupId: 'golden', hideNames: true },
    clock: systemClock,
  })
  const never = new AbortController().signal
  for (const [key, body] of goldenObjects) await storage.create(key, body, never)
  const keys = await storage.keysFor('golden', never)
  process.stdout.write(`${keys?.folderOf?.('orders')}\n`)
}
