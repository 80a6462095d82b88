import { after, before } from 'node:test'
import type { GcsOptions } from '../../src/storage/gcs/gcs-options.ts'
import { openGcsStorage } from '../../src/storage/gcs/gcs-storage.ts'
import { type FaultyGcs, startFaultyGcs } from '../fakes/gcs-faults.ts'
import { type GcsServer, startGcs } from '../servers/fake-gcs.ts'
import { type SuiteSizes, storageSuite, variantSizes } from '../suites/storage-suite.ts'

let server: GcsServer
let strict: FaultyGcs
before(async () => {
  server = await startGcs()
  strict = await startFaultyGcs(server, [])
})
after(async () => {
  await strict.close()
  await server.stop()
})

/** Without retries: the server has no excuse. */
const retryPolicy = { attempts: 1, baseDelayMs: 0, maxDelayMs: 0 }

/** A page has 1,000 objects. The server looks through all objects of the bucket at every request. */
const sizes = { listed: 1_100, largeBytes: 64 * 2 ** 20 }

function suite(name: string, options: () => Partial<GcsOptions>, tried: SuiteSizes): void {
  const open = async () => {
    const bucket = await server.makeBucket(name.replaceAll(/[^a-z0-9]+/g, '-'))
    const storage = openGcsStorage({ ...bucket, ...options() }, { retryPolicy })
    return { storage, close: () => storage.close() }
  }
  storageSuite(name, open, tried)
}

suite('gcs bucket', () => ({}), sizes)

suite(
  'gcs bucket with a prefix, small parts and strict uploads',
  () => ({
    prefix: 'team/a',
    partSizeBytes: 2 ** 20,
    uploads: 1,
    endpoint: strict.endpoint,
  }),
  variantSizes,
)
