import assert from 'node:assert/strict'
import { test } from 'node:test'
import { crc32c } from '@node-rs/crc32'
import { KafkaBackupError } from '../../src/errors.ts'
import { bucketDefaults } from '../../src/storage/bucket/agents.ts'
import type { MultipartApi, UploadedPart } from '../../src/storage/bucket/api.ts'
import { openBucketStorage } from '../../src/storage/bucket/bucket-storage.ts'
import { MultipartWriter } from '../../src/storage/bucket/writer.ts'
import type { GcsApi, GcsChunk, GcsSession } from '../../src/storage/gcs/api.ts'
import { GcsWriter } from '../../src/storage/gcs/gcs-storage.ts'
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

test('a segment goes to a far bucket nine parts at a time, and waits for three requests besides', async () => {
  const { storage, time, created } = openFarBucket()
  const { roundTrips } = await countRoundTrips({ time }, async () => {
    const writer = await storage.openWriter('b/s', never)
    for (let part = 0; part < 36; part++) await writer.write([Buffer.alloc(PART)], never)
    await writer.write([Buffer.alloc(PART / 2)], never)
    await writer.commit(never)
  })
  assert.equal(created(), 37)
  // One to begin, four for 36 parts, one for the last part, one to create the object.
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

/** Cloud Storage takes the bytes of an object in their order, one request at a time. */
function openFarSessions() {
  const time = new SimulatedTime()
  const clock = time.clock()
  const far = () => clock.sleep(ROUND_TRIP_MS)
  const other = async () => assert.fail('not asked for')
  const object: Buffer[] = []
  let persisted = 0
  let faults = 0
  const failNext = (count: number) => {
    faults = count
  }
  const take = async ({ start, body, total }: GcsChunk) => {
    await far()
    assert.equal(start, persisted)
    const bytes = Buffer.concat(body)
    if (faults-- > 0) {
      // A part of it arrives, and the response is lost.
      object.push(bytes.subarray(0, PART + 1))
      persisted += Math.min(bytes.length, PART + 1)
      throw new KafkaBackupError('STORAGE_UNAVAILABLE', 'lost')
    }
    object.push(bytes)
    persisted += bytes.length
    if (total) assert.equal(total.crc32c, crc32c(Buffer.concat(object)))
    return total ? { isDone: true as const, crc32c: undefined } : { isDone: false as const, persisted }
  }
  const api: GcsApi = {
    put: far,
    beginUpload: async () => {
      await far()
      return 's1' as GcsSession
    },
    putChunk: (_, __, chunk) => take(chunk),
    uploadState: async () => {
      await far()
      return { isDone: false, persisted }
    },
    ...{ cancelUpload: other, head: other, get: other, listPage: other, remove: other },
    close: () => undefined,
  }
  const { uploads } = bucketDefaults
  const bucket = { location: 'far', partSizeBytes: PART, uploads, openApi: async () => api, Writer: GcsWriter }
  const storage = openBucketStorage(bucket, { clock, retryPolicy: { attempts: 3, baseDelayMs: 1, maxDelayMs: 1 } })
  return { storage, time, failNext, object: () => Buffer.concat(object) }
}

async function writeFar({ storage, time }: ReturnType<typeof openFarSessions>) {
  const content = Buffer.from(Array.from({ length: 32 * PART + PART / 2 }, (_, i) => i % 251))
  const { roundTrips } = await countRoundTrips({ time }, async () => {
    const writer = await storage.openWriter('b/s', never)
    for (let at = 0; at < content.length; at += PART) await writer.write([content.subarray(at, at + PART)], never)
    await writer.commit(never)
  })
  return { roundTrips, content }
}

test('parts that wait for an upload of Cloud Storage travel together', async () => {
  const far = openFarSessions()
  const { roundTrips, content } = await writeFar(far)
  assert.deepEqual(far.object(), content)
  // 32 parts, four for each request on average; one to begin, and one for the rest.
  assert.ok(roundTrips <= 11, `${roundTrips} round trips`)
})

test('parts that travel together are sent from the byte on that has arrived', async () => {
  const far = openFarSessions()
  far.failNext(2)
  const { content } = await writeFar(far)
  assert.deepEqual(far.object(), content)
})
