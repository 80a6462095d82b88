import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { GcsOptions } from '../../src/storage/gcs/gcs-options.ts'
import { openStorage } from '../../src/storage/open-storage.ts'
import type { Storage } from '../../src/storage/storage.ts'
import { type FaultyGcs, type GcsFault, startFaultyGcs } from '../fakes/gcs-faults.ts'
import { type GcsServer, startGcs } from '../servers/fake-gcs.ts'
import { waitFor } from '../wait-for.ts'

const never = new AbortController().signal
const MiB = 2 ** 20
const retryPolicy = { attempts: 7, baseDelayMs: 5, maxDelayMs: 20 }
const busy = { status: 503, reason: 'backendError' }

let server: GcsServer
let bucket: GcsOptions
before(async () => {
  server = await startGcs()
  bucket = { ...(await server.makeBucket('faults')), partSizeBytes: MiB }
})
after(() => server.stop())

interface Faulty {
  storage: Storage
  store: FaultyGcs
  retries: string[]
}

/** Faults on the way to the bucket; fails where one of them never struck. */
async function withFaults(
  faults: readonly GcsFault[],
  work: (faulty: Faulty) => Promise<void>,
  options: Partial<GcsOptions> = {},
): Promise<void> {
  const store = await startFaultyGcs(server, faults)
  const retries: string[] = []
  const storage = openStorage(
    { backend: 'gcs', ...bucket, ...options, endpoint: store.endpoint },
    { retryPolicy, onRetry: ({ operation }) => retries.push(operation) },
  )
  try {
    await work({ storage, store, retries })
  } finally {
    await storage.close()
    await store.close()
  }
}

async function write(storage: Storage, key: string, body: Buffer): Promise<void> {
  const writer = await storage.openWriter(key, never)
  try {
    for (let at = 0; at < body.length; at += 700_001) await writer.write([body.subarray(at, at + 700_001)], never)
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

describe('a response that is lost after the store did its work', () => {
  test('of a small object: the writer recognizes its own object', () =>
    withFaults([{ on: 'insert', effect: 'lose-reply', times: 1 }], async ({ storage, store }) => {
      await write(storage, 'lost/small', bytes(1000, 1))
      assert.deepEqual(store.requests, ['insert', 'insert', 'look'])
      assert.deepEqual(await storage.read('lost/small', never), bytes(1000, 1))
    }))

  test('of the last part: the upload reports that the object exists', () =>
    withFaults([{ on: 'finish', effect: 'lose-reply', times: 1 }], async ({ storage, store }) => {
      const body = bytes(2 * MiB + 5, 2)
      await write(storage, 'lost/large', body)
      assert.deepEqual(store.requests, ['begin', 'chunk', 'chunk', 'finish', 'state'])
      assert.ok((await storage.read('lost/large', never)).equals(body))
    }))

  test('of the last part, by a store that forgets finished uploads: the writer recognizes its own object', () =>
    withFaults(
      [
        { on: 'finish', effect: 'lose-reply', times: 1 },
        { on: 'state', effect: { status: 410, reason: 'gone' }, times: 1 },
      ],
      async ({ storage, store }) => {
        await write(storage, 'lost/forgotten', bytes(MiB + 1, 3))
        assert.deepEqual(store.requests, ['begin', 'chunk', 'finish', 'state', 'look'])
      },
    ))

  test('of a create: the writer recognizes equal bytes', () =>
    withFaults([{ on: 'insert', effect: 'lose-reply', times: 1 }], async ({ storage }) => {
      await storage.create('lost/created', bytes(100, 3), never)
      assert.deepEqual(await storage.read('lost/created', never), bytes(100, 3))
    }))

  test('of a part: the upload continues after it, and nothing is sent twice', () =>
    withFaults([{ on: 'chunk', effect: 'lose-reply', times: 2 }], async ({ storage, store, retries }) => {
      const body = bytes(3 * MiB + 9, 4)
      await write(storage, 'lost/part', body)
      assert.deepEqual(retries, ['write', 'write'])
      // The second and third part travel together.
      assert.deepEqual(store.requests, ['begin', 'chunk', 'state', 'chunk', 'state', 'finish'])
      assert.ok((await storage.read('lost/part', never)).equals(body))
    }))

  test('of another writer of the same bytes: the object is not recognized as its own', async () => {
    const other = openStorage({ backend: 'gcs', ...bucket })
    await other.create('lost/others', bytes(100, 5), never)
    await other.close()
    await withFaults([{ on: 'insert', effect: 'lose-reply', times: 1 }], async ({ storage }) => {
      await assert.rejects(write(storage, 'lost/others', bytes(100, 5)), { code: 'STORAGE_EXISTS' })
    })
  })
})

describe('a store that is busy or unreachable for a while', () => {
  test('is retried, for parts without starting over', () =>
    withFaults(
      [
        { on: 'begin', effect: busy, times: 2 },
        { on: 'chunk', effect: busy, times: 1 },
        { on: 'chunk', effect: 'cut-request', times: 1 },
        { on: 'chunk', effect: 'lose-request', times: 1 },
        { on: 'chunk', effect: { status: 429, reason: 'rateLimitExceeded' }, times: 1 },
        { on: 'state', effect: busy, times: 1 },
        { on: 'finish', effect: 'cut-request', times: 1 },
        { on: 'finish', effect: { status: 500, reason: 'internalError' }, times: 1 },
        { on: 'read', effect: busy, times: 1 },
        { on: 'read', effect: 'cut-reply', times: 1 },
        { on: 'read', effect: 'damage-reply', times: 1 },
        { on: 'list', effect: { status: 408, reason: '' }, times: 1 },
      ],
      async ({ storage, store }) => {
        const body = bytes(5 * MiB + 77, 6)
        await write(storage, 'busy/large', body)
        assert.ok((await storage.read('busy/large', never)).equals(body))
        for await (const { key } of storage.list('busy', never)) assert.equal(key, 'busy/large')
        assert.equal(store.openUploads, 0)
      },
    ))

  test('that keeps only half of a part gets the rest', () =>
    withFaults(
      [
        { on: 'chunk', effect: 'take-half', times: 2 },
        { on: 'finish', effect: 'take-half', times: 1 },
      ],
      async ({ storage, retries }) => {
        const body = bytes(3 * MiB, 7)
        await write(storage, 'busy/half', body)
        assert.deepEqual(retries, [])
        assert.ok((await storage.read('busy/half', never)).equals(body))
      },
    ))

  test('is distinguished from one that fails permanently: the upload is canceled and no object appears', () =>
    withFaults([{ on: 'chunk', effect: busy }], async ({ storage, store }) => {
      await assert.rejects(write(storage, 'busy/failed', bytes(3 * MiB, 8)), { code: 'STORAGE_UNAVAILABLE' })
      assert.ok(store.requests.includes('cancel'))
      assert.equal(await storage.stat('busy/failed', never), undefined)
      assert.equal(store.openUploads, 0)
    }))

  test('that refuses permanently is reported immediately', () =>
    withFaults([{ on: 'chunk', effect: { status: 403, reason: 'forbidden' } }], async ({ storage, store, retries }) => {
      await assert.rejects(write(storage, 'busy/denied', bytes(3 * MiB, 8)), { code: 'STORAGE_DENIED' })
      assert.deepEqual(retries, [])
      assert.equal(store.openUploads, 0)
    }))

  test('does not hang the program when it never answers', () =>
    withFaults(
      [
        { on: 'insert', effect: 'silence' },
        { on: 'look', effect: 'silence' },
        { on: 'list', effect: 'silence' },
        { on: 'chunk', effect: 'silence' },
        { on: 'state', effect: 'silence' },
      ],
      async ({ storage, retries }) => {
        const silent = { code: 'STORAGE_UNAVAILABLE', message: /no response in time/ }
        const startedAt = performance.now()
        await Promise.all([
          assert.rejects(storage.create('silent/a', bytes(10, 9), never), silent),
          assert.rejects(storage.stat('silent/b', never), silent),
          assert.rejects(storage.list('silent', never)[Symbol.asyncIterator]().next(), silent),
          assert.rejects(write(storage, 'silent/c', bytes(2 * MiB, 9)), silent),
        ])
        // With the timeout of a real store it would be minutes.
        assert.ok(performance.now() - startedAt < 60_000)
        assert.ok(retries.length >= 4 * 3)
      },
      { idleTimeoutMs: 300 },
    ))

  test('that stops and continues has its objects written once', () =>
    withFaults(
      [],
      async ({ storage, retries }) => {
        await storage.stat('frozen/a', never)
        server.freeze()
        setTimeout(() => server.thaw(), 600)
        await write(storage, 'frozen/a', bytes(2 * MiB, 13))
        assert.ok(retries.length > 0)
        assert.ok((await storage.read('frozen/a', never)).equals(bytes(2 * MiB, 13)))
      },
      { idleTimeoutMs: 300 },
    ))

  test('a signal ends the wait for a silent store immediately', () =>
    withFaults([{ on: 'insert', effect: 'silence' }], async ({ storage, store }) => {
      const controller = new AbortController()
      const reason = new Error('enough')
      const creating = storage.create('silent/d', bytes(10, 9), controller.signal)
      creating.catch(() => undefined)
      await waitFor('insert', () => store.requests.includes('insert'))
      controller.abort(reason)
      await assert.rejects(creating, error => error === reason)
    }))
})

describe('a writer of several parts', () => {
  test('that is aborted leaves neither object nor upload', () =>
    withFaults([], async ({ storage, store }) => {
      for (const untilBegun of [true, false]) {
        const writer = await storage.openWriter('parts/aborted', never)
        await writer.write([bytes(3 * MiB, 10)], never)
        if (untilBegun) await waitFor('an open upload', () => store.openUploads > 0)
        await writer.abort()
      }
      assert.equal(store.requests.filter(name => name === 'cancel').length, 2)
      assert.equal(await storage.stat('parts/aborted', never), undefined)
      assert.equal(store.openUploads, 0)
    }))

  test('is aborted when the storage is closed', () =>
    withFaults([], async ({ storage, store }) => {
      const writer = await storage.openWriter('parts/closed', never)
      await writer.write([bytes(3 * MiB, 11)], never)
      await storage.close()
      assert.equal(store.openUploads, 0)
      assert.ok(store.requests.includes('cancel'))
    }))

  test('wins or loses a race for its key like a single write', () =>
    withFaults([], async ({ storage, store }) => {
      for (let round = 0; round < 10; round++) {
        const key = `parts/race/${round}`
        const bodies = [bytes(2 * MiB, round), bytes(2 * MiB + 1, round), bytes(100, round)]
        const results = await Promise.allSettled(bodies.map(body => write(storage, key, body)))
        const won = results.findIndex(({ status }) => status === 'fulfilled')
        for (const [index, result] of results.entries()) {
          if (index === won) continue
          assert.equal(result.status === 'rejected' && result.reason.code, 'STORAGE_EXISTS')
        }
        assert.ok((await storage.read(key, never)).equals(bodies[won] ?? Buffer.alloc(0)))
      }
      assert.equal(store.openUploads, 0)
    }))

  test('wins alone in a race of twenty', () =>
    withFaults([], async ({ storage }) => {
      const bodies = Array.from({ length: 20 }, (_, i) => bytes(i % 2 ? 1000 : MiB + 1000, i))
      const results = await Promise.allSettled(bodies.map(body => write(storage, 'parts/crowd', body)))
      const won = [...results.keys()].filter(i => results[i]?.status === 'fulfilled')
      assert.equal(won.length, 1)
      assert.ok((await storage.read('parts/crowd', never)).equals(bodies[won[0] ?? -1] ?? Buffer.alloc(0)))
    }))
})

describe('an object that the store protects', () => {
  for (const reason of ['retentionPolicyNotMet', 'objectUnderActiveHold']) {
    test(`stays, and is reported as retained: ${reason}`, () =>
      withFaults([{ on: 'remove', effect: { status: 403, reason } }], async ({ storage, retries }) => {
        await storage.replace(`kept/${reason}`, bytes(10, 1), never)
        await assert.rejects(storage.remove(`kept/${reason}`, never), { code: 'STORAGE_RETAINED' })
        assert.deepEqual(retries, [])
      }))
  }
})
