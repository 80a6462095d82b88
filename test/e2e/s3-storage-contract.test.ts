import { after, before } from 'node:test'
import { withRetries } from '../../src/storage/retrying.ts'
import type { S3Options } from '../../src/storage/s3/s3-options.ts'
import { openS3Storage } from '../../src/storage/s3/s3-storage.ts'
import { type S3Server, startS3 } from '../servers/versitygw.ts'
import { type SuiteSizes, storageSuite, variantSizes } from '../suites/storage-suite.ts'

let server: S3Server
before(async () => {
  server = await startS3()
})
after(() => server.stop())

/** The server keeps objects as files, and fails in passing where a folder comes and goes under two requests at once. */
const retryPolicy = { attempts: 5, baseDelayMs: 5, maxDelayMs: 50 }

function suite(name: string, options: Partial<S3Options>, sizes: SuiteSizes): void {
  const open = async () => {
    const bucket = await server.makeBucket(name.replaceAll(/[^a-z0-9]+/g, '-'))
    const storage = withRetries(openS3Storage({ ...bucket, ...options }, { retryPolicy }), retryPolicy)
    return { storage, close: () => storage.close() }
  }
  storageSuite(name, open, sizes)
}

// A page has 1,000 objects.
suite('s3 bucket', {}, { listed: 2_100, largeBytes: 64 * 2 ** 20 })

suite('s3 bucket with a prefix and without checksums', { prefix: 'team/a', checksum: 'none', uploads: 1 }, variantSizes)
