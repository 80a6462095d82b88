import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { KafkaBackupError } from '../../src/errors.ts'
import { systemClock } from '../../src/lib/clock.ts'
import type { MultipartApi } from '../../src/storage/bucket/api.ts'
import { openBucketStorage } from '../../src/storage/bucket/bucket-storage.ts'
import { MultipartWriter } from '../../src/storage/bucket/writer.ts'

const never = new AbortController().signal
const PART = 1000
const clock = { ...systemClock, sleep: async () => undefined }
const retryPolicy = { attempts: 4, baseDelayMs: 1, maxDelayMs: 1 }

type Request = 'begin' | 'part' | 'complete'

/** Writes an object of three parts to a bucket that answers so many requests of a kind with a status 404. */
async function write(missing: Partial<Record<Request, number>>): Promise<Request[]> {
  const left = { begin: 0, part: 0, complete: 0, ...missing }
  const requests: Request[] = []
  const ask = (request: Request) => {
    requests.push(request)
    if (left[request]-- > 0) throw new KafkaBackupError('STORAGE_NOT_FOUND', 'the store no longer knows the upload')
  }
  const other = async () => assert.fail('not asked for')
  const api: MultipartApi = {
    beginUpload: async () => {
      ask('begin')
      return 'u1'
    },
    putPart: async (_, { number }) => {
      ask('part')
      return { number, etag: `${number}`, checksum: {} }
    },
    completeUpload: async () => ask('complete'),
    head: async () => undefined,
    abortUpload: async () => undefined,
    ...{ put: other, get: other, listPage: other, remove: other },
    close: () => undefined,
  }
  const bucket = { location: 'x', partSizeBytes: PART, uploads: 1, openApi: async () => api, Writer: MultipartWriter }
  const storage = openBucketStorage(bucket, { clock, retryPolicy })
  try {
    const writer = await storage.openWriter('b/s', never)
    await writer.write([Buffer.alloc(3 * PART)], never)
    await writer.commit(never)
    return requests
  } finally {
    await storage.close()
  }
}

describe('an upload that the store does not know', () => {
  test('for a moment continues', async () => {
    assert.deepEqual(await write({ begin: 1 }), ['begin', 'begin', 'part', 'part', 'part', 'complete'])
    assert.deepEqual(await write({ part: 1 }), ['begin', 'part', 'part', 'part', 'part', 'complete'])
  })

  test('any more is a failure that passes: the next upload of the bytes can succeed', async () => {
    const wanted = { code: 'STORAGE_UNAVAILABLE', message: /no longer knows the upload/ }
    await assert.rejects(write({ part: 2 }), wanted)
    await assert.rejects(write({ complete: 1 }), wanted)
  })

  test('because there is no bucket stays an error that is final', async () => {
    await assert.rejects(write({ begin: 2 }), { code: 'STORAGE_NOT_FOUND' })
  })
})
