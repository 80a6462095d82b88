import assert from 'node:assert/strict'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { openStorage } from '../../src/storage/open-storage.ts'
import type { S3Options } from '../../src/storage/s3/s3-options.ts'
import type { Storage } from '../../src/storage/storage.ts'
import { type S3Fault, startFaultyS3 } from '../fakes/s3-faults.ts'
import { type S3Server, startS3 } from '../servers/versitygw.ts'
import { waitFor } from '../wait-for.ts'

const never = new AbortController().signal
const MiB = 2 ** 20
const retryPolicy = { attempts: 4, baseDelayMs: 5, maxDelayMs: 20 }

let server: S3Server
let bucket: S3Options
before(async () => {
  server = await startS3()
  bucket = await server.makeBucket('faults')
})
after(() => server.stop())

interface Faulty {
  storage: Storage
  requests: readonly string[]
  retries: string[]
}

/** Faults on the way to the bucket; fails where one of them never struck. */
async function withFaults(
  faults: readonly S3Fault[],
  work: (faulty: Faulty) => Promise<void>,
  options: Partial<S3Options> = {},
): Promise<void> {
  const faulty = await startFaultyS3(server, faults)
  const retries: string[] = []
  const storage = openStorage(
    { backend: 's3', ...bucket, ...options, endpoint: faulty.endpoint },
    { retryPolicy, onRetry: ({ operation }) => retries.push(operation) },
  )
  try {
    await work({ storage, requests: faulty.requests, retries })
  } finally {
    await storage.close()
    await faulty.close()
  }
}

async function write(storage: Storage, key: string, body: Buffer): Promise<void> {
  const writer = await storage.openWriter(key, never)
  try {
    for (let at = 0; at < body.length; at += 3 * MiB) await writer.write([body.subarray(at, at + 3 * MiB)], never)
    await writer.commit(never)
  } finally {
    await writer.abort()
  }
}

function bytes(length: number, seed: number): Buffer {
  const body = Buffer.alloc(length)
  for (let i = 0; i < length; i += 4093) body.writeUInt32LE((i * 2654435761 + seed) >>> 0, Math.min(i, length - 4))
  return body
}

/** What the store holds of uploads that were neither completed nor aborted. */
async function unfinishedUploads(): Promise<string[]> {
  const folder = join(server.dataDir, 'faults/.sgwtmp/multipart')
  const names = await readdir(folder).catch(() => [])
  const uploads = await Promise.all(names.map(name => readdir(join(folder, name))))
  return uploads.flat()
}

describe('a response that is lost after the store did its work', () => {
  test('of a small object: the writer recognizes its own object', () =>
    withFaults([{ on: 'PutObject', effect: 'lose-reply', times: 1 }], async ({ storage, requests }) => {
      await write(storage, 'lost/small', bytes(1000, 1))
      assert.deepEqual(requests, ['PutObject', 'PutObject', 'HeadObject'])
      assert.deepEqual(await storage.read('lost/small', never), bytes(1000, 1))
    }))

  test('of a completed upload: the writer recognizes its own object', () =>
    withFaults([{ on: 'CompleteMultipartUpload', effect: 'lose-reply', times: 1 }], async ({ storage, requests }) => {
      const body = bytes(12 * MiB, 2)
      await write(storage, 'lost/large', body)
      assert.equal(requests.filter(name => name === 'CompleteMultipartUpload').length, 2)
      assert.ok((await storage.read('lost/large', never)).equals(body))
    }))

  test('of a create: the writer recognizes equal bytes', () =>
    withFaults([{ on: 'PutObject', effect: 'lose-reply', times: 1 }], async ({ storage }) => {
      await storage.create('lost/created', bytes(100, 3), never)
      assert.deepEqual(await storage.read('lost/created', never), bytes(100, 3))
    }))

  test('of a part: it is sent again', () =>
    withFaults([{ on: 'UploadPart', effect: 'lose-reply', times: 2 }], async ({ storage, retries }) => {
      const body = bytes(16 * MiB, 4)
      await write(storage, 'lost/part', body)
      assert.deepEqual(retries, ['write', 'write'])
      assert.ok((await storage.read('lost/part', never)).equals(body))
    }))

  test('of another writer of the same bytes: the object is not recognized as its own', async () => {
    await openStorage({ backend: 's3', ...bucket }).create('lost/others', bytes(100, 5), never)
    await withFaults([{ on: 'PutObject', effect: 'lose-reply', times: 1 }], async ({ storage }) => {
      await assert.rejects(write(storage, 'lost/others', bytes(100, 5)), { code: 'STORAGE_EXISTS' })
    })
  })
})

describe('a store that is busy or unreachable for a while', () => {
  test('is retried, for parts without starting over', () =>
    withFaults(
      [
        { on: 'CreateMultipartUpload', effect: { status: 503, code: 'SlowDown' }, times: 2 },
        { on: 'UploadPart', effect: { status: 503, code: 'SlowDown' }, times: 3 },
        { on: 'UploadPart', effect: 'lose-request', times: 1 },
        { on: 'CompleteMultipartUpload', effect: { status: 409, code: 'ConditionalRequestConflict' }, times: 1 },
        { on: 'CompleteMultipartUpload', effect: { status: 500, code: 'InternalError' }, times: 1 },
        { on: 'GetObject', effect: { status: 503, code: 'SlowDown' }, times: 1 },
        { on: 'GetObject', effect: 'cut-reply', times: 1 },
      ],
      async ({ storage }) => {
        const body = bytes(17 * MiB, 6)
        await write(storage, 'busy/large', body)
        assert.ok((await storage.read('busy/large', never)).equals(body))
        assert.deepEqual(await unfinishedUploads(), [])
      },
    ))

  test('is distinguished from one that fails permanently: the upload is aborted and no object appears', () =>
    withFaults([{ on: 'UploadPart', effect: { status: 503, code: 'SlowDown' } }], async ({ storage, requests }) => {
      await assert.rejects(write(storage, 'busy/failed', bytes(11 * MiB, 7)), { code: 'STORAGE_UNAVAILABLE' })
      assert.ok(requests.includes('AbortMultipartUpload'))
      assert.equal(await storage.stat('busy/failed', never), undefined)
      assert.deepEqual(await unfinishedUploads(), [])
    }))

  test('that refuses permanently is reported immediately', () =>
    withFaults([{ on: 'UploadPart', effect: { status: 403, code: 'AccessDenied' } }], async ({ storage, retries }) => {
      await assert.rejects(write(storage, 'busy/denied', bytes(11 * MiB, 8)), { code: 'STORAGE_DENIED' })
      assert.deepEqual(retries, [])
      assert.deepEqual(await unfinishedUploads(), [])
    }))

  test('does not hang the program when it never answers', () =>
    withFaults(
      [
        { on: 'PutObject', effect: 'silence' },
        { on: 'HeadObject', effect: 'silence' },
        { on: 'ListObjectsV2', effect: 'silence' },
        { on: 'UploadPart', effect: 'silence' },
      ],
      async ({ storage, retries }) => {
        const silent = { code: 'STORAGE_UNAVAILABLE', message: /no response in time/ }
        const startedAt = performance.now()
        await Promise.all([
          assert.rejects(storage.create('silent/a', bytes(10, 9), never), silent),
          assert.rejects(storage.stat('silent/b', never), silent),
          assert.rejects(storage.list('silent', never)[Symbol.asyncIterator]().next(), silent),
          assert.rejects(write(storage, 'silent/c', bytes(6 * MiB, 9)), silent),
        ])
        // With the timeout of a real store it would be minutes.
        assert.ok(performance.now() - startedAt < 60_000)
        assert.ok(retries.length >= 4 * 3)
      },
      { idleTimeoutMs: 300 },
    ))

  test('that stops and continues has its objects written once', async () => {
    // Apart from the others: an upload whose id got lost stays there until the bucket's rule removes it.
    await server.makeBucket('frozen')
    await withFaults(
      [],
      async ({ storage, retries }) => {
        await storage.stat('frozen/a', never)
        server.freeze()
        setTimeout(() => server.thaw(), 500)
        await write(storage, 'frozen/a', bytes(6 * MiB, 13))
        assert.ok(retries.length > 0)
        assert.ok((await storage.read('frozen/a', never)).equals(bytes(6 * MiB, 13)))
      },
      { bucket: 'frozen', idleTimeoutMs: 300 },
    )
  })

  test('a signal ends the wait for a silent store immediately', () =>
    withFaults([{ on: 'PutObject', effect: 'silence' }], async ({ storage, requests }) => {
      const controller = new AbortController()
      const reason = new Error('enough')
      const creating = storage.create('silent/d', bytes(10, 9), controller.signal)
      creating.catch(() => undefined)
      await waitFor('PutObject', () => requests.includes('PutObject'))
      controller.abort(reason)
      await assert.rejects(creating, error => error === reason)
    }))
})

describe('a writer of several parts', () => {
  test('that is aborted leaves neither object nor parts', () =>
    withFaults([], async ({ storage, requests }) => {
      for (const untilParts of [true, false]) {
        const writer = await storage.openWriter('parts/aborted', never)
        await writer.write([bytes(13 * MiB, 10)], never)
        if (untilParts) await waitFor('an open upload', async () => (await unfinishedUploads()).length > 0)
        await writer.abort()
      }
      assert.equal(requests.filter(name => name === 'AbortMultipartUpload').length, 2)
      assert.equal(await storage.stat('parts/aborted', never), undefined)
      assert.deepEqual(await unfinishedUploads(), [])
    }))

  test('is aborted when the storage is closed', async () => {
    const storage = openStorage({ backend: 's3', ...bucket })
    const writer = await storage.openWriter('parts/closed', never)
    await writer.write([bytes(13 * MiB, 11)], never)
    await storage.close()
    assert.deepEqual(await unfinishedUploads(), [])
  })

  test('wins or loses a race for its key like a single write', () =>
    withFaults([], async ({ storage }) => {
      for (let round = 0; round < 10; round++) {
        const key = `parts/race/${round}`
        const bodies = [bytes(6 * MiB, round), bytes(7 * MiB, round), bytes(100, round)]
        const results = await Promise.allSettled(bodies.map(body => write(storage, key, body)))
        const won = results.findIndex(({ status }) => status === 'fulfilled')
        for (const [index, result] of results.entries()) {
          if (index === won) continue
          assert.equal(result.status === 'rejected' && result.reason.code, 'STORAGE_EXISTS')
        }
        assert.ok((await storage.read(key, never)).equals(bodies[won] ?? Buffer.alloc(0)))
      }
      assert.deepEqual(await unfinishedUploads(), [])
    }))

  test('accepts every kind of checksum, with signed and unsigned bodies', async () => {
    for (const checksum of ['crc32c', 'crc32', 'sha256', 'md5', 'none'] as const) {
      for (const signPayload of [true, false]) {
        const storage = openStorage({ backend: 's3', ...bucket, checksum, signPayload })
        const key = `checksums/${checksum}-${signPayload}`
        await write(storage, `${key}/large`, bytes(11 * MiB, 12))
        await write(storage, `${key}/small`, bytes(11, 12))
        assert.ok((await storage.read(`${key}/large`, never)).equals(bytes(11 * MiB, 12)))
        await storage.close()
      }
    }
  })
})
