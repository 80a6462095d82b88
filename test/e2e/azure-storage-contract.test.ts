import { after, before } from 'node:test'
import { openAzureStorage } from '../../src/storage/azure/azure-storage.ts'
import { withRetries } from '../../src/storage/retrying.ts'
import { type AzureServer, startAzure } from '../servers/azurite.ts'
import { storageSuite } from '../suites/storage-suite.ts'

let server: AzureServer
before(async () => {
  server = await startAzure()
})
after(() => server.stop())

const retryPolicy = { attempts: 5, baseDelayMs: 5, maxDelayMs: 50 }

// A page has 5,000 objects, which a test that makes them one by one does not reach.
const sizes = { listed: 500, largeBytes: 64 * 2 ** 20 }

// Below a prefix, and with parts so small that more objects have several; other tests use the root and the defaults.
storageSuite(
  'azure container',
  async () => {
    const container = await server.makeContainer('contract')
    const options = { ...container, prefix: 'team/a', partSizeBytes: 2 ** 20 }
    const storage = withRetries(openAzureStorage(options, { retryPolicy }), retryPolicy)
    return { storage, close: () => storage.close() }
  },
  sizes,
)
