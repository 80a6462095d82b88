import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bucketDefaults } from '../../src/storage/bucket/agents.ts'
import type { MultipartApi, UploadedPart } from '../../src/storage/bucket/api.ts'
import { openBucketStorage } from '../../src/storage/bucket/bucket-storage.ts'
import { MultipartWriter } from '../../src/storage/bucket/writer.ts'
import { countRoundTrips, ROUND_TRIP_MS } from '../fakes/far-storage.ts'
import { SimulatedTime } from '../fakes/simulated-time.ts'

const never = new AbortController().signal
const PART = 1000

/** A bucket that is far away, for what a writer of segments asks of it. */
function openFarBucket() {
  const time = new SimulatedTime()
  const clock = time.clock()
  const far = () => clock.sleep(ROUND_TRIP_MS)
  let created: readonly UploadedPart[] = []
  const other = async () => assert.fail('not asked for')
  const api: MultipartApi = {
    put: far,
    beginUpload: async () => {
      await far()
      return 'u1'
    },
    putPart: async (_, { number }) => {
      await far()
      return { number, etag: `${number}`, checksum: {} }
    },
    completeUpload: async (_, __, parts) => {
      await far()
      created = parts
    },
    ...{ abortUpload: other, head: other, get: other, listPage: other, remove: other },
    close: () => undefined,
  }
  const { uploads } = bucketDefaults
  const bucket = { location: 'far', partSizeBytes: PART, uploads, openApi: async () => api, Writer: MultipartWriter }
  const storage = openBucketStorage(bucket, { clock, retryPolicy: { attempts: 1, baseDelayMs: 1, maxDelayMs: 1 } })
  return { storage, time, created: () => created.length }
}

test('a segment goes to a far bucket eight parts at a time, and waits for three requests besides', async () => {
  const { storage, time, created } = openFarBucket()
  const { roundTrips } = await countRoundTrips({ time }, async () => {
    const writer = await storage.openWriter('b/s', never)
    for (let part = 0; part < 32; part++) await writer.write([Buffer.alloc(PART)], never)
    await writer.write([Buffer.alloc(PART / 2)], never)
    await writer.commit(never)
  })
  assert.equal(created(), 33)
  // One to begin, four for 32 parts, one for the last part, one to create the object.
  assert.equal(roundTrips, 7)
})

test('a small object is one request', async () => {
  const { storage, time } = openFarBucket()
  const { roundTrips } = await countRoundTrips({ time }, async () => {
    const writer = await storage.openWriter('b/s', never)
    await writer.write([Buffer.alloc(PART)], never)
    await writer.commit(never)
  })
  assert.equal(roundTrips, 1)
})
