import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { KafkaBackupError } from '../../src/errors.ts'
import { systemClock } from '../../src/lib/clock.ts'
import type { MultipartApi } from '../../src/storage/bucket/api.ts'
import { openBucketStorage } from '../../src/storage/bucket/bucket-storage.ts'
import { MultipartWriter } from '../../src/storage/bucket/writer.ts'
import { type RetryNotice, type RetryObserver, withRetries } from '../../src/storage/retrying.ts'

const never = new AbortController().signal
const PART = 1000
const clock = { ...systemClock, sleep: async () => undefined }
const retryPolicy = { attempts: 4, baseDelayMs: 1, maxDelayMs: 1 }

type Request = 'begin' | 'part' | 'complete'

interface WriteOptions {
  parts?: number
  /** Whether the calls are retried, too. */
  isRetried?: boolean
  requests?: Request[]
  onRetry?: RetryObserver
}

/** Writes an object of parts to a bucket that answers so many requests of a kind with a status 404. */
async function write(
  missing: Partial<Record<Request, number>>,
  { parts = 3, isRetried = false, requests = [], onRetry = () => undefined }: WriteOptions = {},
): Promise<Request[]> {
  const left = { begin: 0, part: 0, complete: 0, ...missing }
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
  const opened = openBucketStorage(bucket, { clock, retryPolicy })
  const storage = isRetried ? withRetries(opened, retryPolicy, { clock, onRetry }) : opened
  try {
    const writer = await storage.openWriter('b/s', never)
    await writer.write([Buffer.alloc(parts * PART)], never)
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

  test('is named as the reason, and the commit is repeated once only', async () => {
    const requests = await write({ complete: 1 }, { isRetried: true })
    assert.deepEqual(requests.slice(-2), ['complete', 'complete'])
    const wanted = { code: 'STORAGE_UNAVAILABLE', message: /^the store lost the upload of "b\/s": /, help: /upload/ }
    const asked: Request[] = []
    await assert.rejects(write({ complete: 9 }, { isRetried: true, requests: asked }), wanted)
    assert.deepEqual(asked, ['begin', 'part', 'part', 'part', 'complete', 'complete'])
  })

  test('for a part ends the commit at once', async () => {
    const notices: RetryNotice[] = []
    await assert.rejects(write({ part: 2 }, { parts: 2, isRetried: true, onRetry: notice => notices.push(notice) }))
    assert.deepEqual(
      notices.filter(({ operation }) => operation === 'commit'),
      [],
    )
  })

  test('because there is no bucket stays an error that is final', async () => {
    await assert.rejects(write({ begin: 2 }), { code: 'STORAGE_NOT_FOUND' })
  })
})
