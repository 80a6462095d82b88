import { storageSuite } from '../suites/storage-suite.ts'
import { openMemoryStorage } from './memory-storage.ts'

storageSuite('memory', async () => {
  const storage = openMemoryStorage()
  return { storage, close: () => storage.close() }
})
