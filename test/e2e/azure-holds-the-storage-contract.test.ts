import { after, before } from 'node:test'
import { openAzureStorage } from '../../src/storage/azure/azure-storage.ts'
import type { AzureOptions } from '../../src/storage/azure/options.ts'
import { withRetries } from '../../src/storage/retrying.ts'
import { type AzureServer, startAzure } from '../servers/azurite.ts'
import { storageSuite } from '../suites/storage-suite.ts'

let server: AzureServer
before(async () => {
  server = await startAzure()
})
after(() => server.stop())

const retryPolicy = { attempts: 5, baseDelayMs: 5, maxDelayMs: 50 }

function suite(name: string, options: Partial<AzureOptions>): void {
  storageSuite(name, async () => {
    const container = await server.makeContainer(name.replaceAll(/[^a-z0-9]+/g, '-'))
    const storage = withRetries(openAzureStorage({ ...container, ...options }, { retryPolicy }), retryPolicy)
    return { storage, close: () => storage.close() }
  })
}

suite('azure container', {})

suite('azure container with a prefix', { prefix: 'team/a', checksum: 'none', uploads: 1, partSizeBytes: 2 ** 20 })
