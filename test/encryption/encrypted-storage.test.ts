import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { withEncryption } from '../../src/encryption/encrypted-storage.ts'
import { openFilesystemStorage } from '../../src/storage/file/filesystem.ts'
import { openMemoryStorage } from '../fakes/memory-storage.ts'
import { storageSuite, variantSizes } from '../suites/storage-suite.ts'
import { encryptEverything, givenKeys } from './samples.ts'

storageSuite(
  'an encrypted storage in memory',
  async () => {
    const storage = encryptEverything(openMemoryStorage())
    return { storage, close: () => storage.close() }
  },
  variantSizes,
)

storageSuite(
  'an encrypted storage in a folder',
  async () => {
    const path = await mkdtemp(join(tmpdir(), 'kafka-backup-test-'))
    const storage = encryptEverything(openFilesystemStorage({ path }))
    return {
      storage,
      close: async () => {
        await storage.close()
        await rm(path, { recursive: true, force: true })
      },
    }
  },
  variantSizes,
)

storageSuite(
  'a storage without encryption behind the decorator',
  async () => {
    const storage = withEncryption(openMemoryStorage(), givenKeys([]))
    return { storage, close: () => storage.close() }
  },
  variantSizes,
)
