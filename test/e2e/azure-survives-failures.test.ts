import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { AzureOptions } from '../../src/storage/azure/azure-options.ts'
import { openStorage } from '../../src/storage/open-storage.ts'
import type { Storage } from '../../src/storage/storage.ts'
import { type AzureFault, startFaultyAzure } from '../fakes/azure-faults.ts'
import { type AzureServer, startAzure } from '../servers/azurite.ts'
import { waitFor } from '../wait-for.ts'

const never = new AbortController().signal
const MiB = 2 ** 20
const retryPolicy = { attempts: 4, baseDelayMs: 5, maxDelayMs: 20 }

let server: AzureServer
let container: AzureOptions
before(async () => {
  server = await startAzure()
  container = { ...(await server.makeContainer('faults')), partSizeBytes: MiB }
})
after(() => server.stop())

interface Faulty {
  storage: Storage
  requests: readonly string[]
  retries: string[]
}

/** Faults on the way to the container; fails where one of them never struck. */
async function withFaults(
  faults: readonly AzureFault[],
  work: (faulty: Faulty) => Promise<void>,
  options: Partial<AzureOptions> = {},
): Promise<void> {
  const faulty = await startFaultyAzure(server, faults)
  const retries: string[] = []
  const storage = openStorage(
    { backend: 'azure', ...container, ...options, endpoint: faulty.endpoint },
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
    for (let at = 0; at < body.length; at += 700_000) await writer.write([body.subarray(at, at + 700_000)], never)
    await writer.commit(never)
  } finally {
    await writer.abort()
  }
}

async function listed(storage: Storage, prefix: string): Promise<[key: string, size: number][]> {
  const found: [string, number][] = []
  for await (const { key, size } of storage.list(prefix, never)) found.push([key, size])
  return found
}

function bytes(length: number, seed: number): Buffer {
  const body = Buffer.alloc(length)
  for (let i = 0; i < length; i += 4093) body.writeUInt32LE((i * 2654435761 + seed) >>> 0, Math.min(i, length - 4))
  return body
}

describe('a response that is lost after the service did its work', () => {
  test('of a small object: the writer recognizes its own object', () =>
    withFaults([{ on: 'PutBlob', effect: 'lose-reply', times: 1 }], async ({ storage, requests }) => {
      await write(storage, 'lost/small', bytes(1000, 1))
      assert.deepEqual(requests, ['PutBlob', 'PutBlob', 'GetBlobProperties'])
      assert.deepEqual(await storage.read('lost/small', never), bytes(1000, 1))
    }))

  test('of committed blocks: the writer recognizes its own object', () =>
    withFaults([{ on: 'PutBlockList', effect: 'lose-reply', times: 1 }], async ({ storage, requests }) => {
      const body = bytes(3 * MiB, 2)
      await write(storage, 'lost/large', body)
      assert.equal(requests.filter(name => name === 'PutBlockList').length, 2)
      assert.ok((await storage.read('lost/large', never)).equals(body))
    }))

  test('of a create: the writer recognizes equal bytes', () =>
    withFaults([{ on: 'PutBlob', effect: 'lose-reply', times: 1 }], async ({ storage }) => {
      await storage.create('lost/created', bytes(100, 3), never)
      assert.deepEqual(await storage.read('lost/created', never), bytes(100, 3))
    }))

  test('of a block: it is sent again', () =>
    withFaults([{ on: 'PutBlock', effect: 'lose-reply', times: 2 }], async ({ storage, retries }) => {
      const body = bytes(4 * MiB, 4)
      await write(storage, 'lost/block', body)
      assert.deepEqual(retries, ['write', 'write'])
      assert.ok((await storage.read('lost/block', never)).equals(body))
    }))

  test('of another writer of the same bytes: the object is not recognized as its own', async () => {
    await openStorage({ backend: 'azure', ...container }).create('lost/others', bytes(100, 5), never)
    await withFaults([{ on: 'PutBlob', effect: 'lose-reply', times: 1 }], async ({ storage }) => {
      await assert.rejects(write(storage, 'lost/others', bytes(100, 5)), { code: 'STORAGE_EXISTS' })
    })
  })
})

describe('a service that is busy or unreachable for a while', () => {
  test('is retried, for blocks without starting over', () =>
    withFaults(
      [
        { on: 'PutBlock', effect: { status: 503, code: 'ServerBusy' }, times: 2 },
        { on: 'PutBlock', effect: 'lose-request', times: 1 },
        { on: 'PutBlock', effect: 'cut-request', times: 1 },
        { on: 'PutBlockList', effect: { status: 429, code: 'TooManyRequests' }, times: 1 },
        { on: 'PutBlockList', effect: { status: 500, code: 'OperationTimedOut' }, times: 1 },
        { on: 'GetBlob', effect: { status: 503, code: 'ServerBusy' }, times: 1 },
        { on: 'GetBlob', effect: 'cut-reply', times: 1 },
        { on: 'ListBlobs', effect: 'cut-reply', times: 1 },
      ],
      async ({ storage, retries }) => {
        const body = bytes(5 * MiB, 6)
        await write(storage, 'busy/large', body)
        assert.equal(retries.filter(name => name === 'write').length, 4)
        assert.ok((await storage.read('busy/large', never)).equals(body))
        assert.deepEqual(await listed(storage, 'busy'), [['busy/large', 5 * MiB]])
      },
    ))

  test('is distinguished from one that fails permanently: no object appears', () =>
    withFaults([{ on: 'PutBlock', effect: { status: 503, code: 'ServerBusy' } }], async ({ storage }) => {
      await assert.rejects(write(storage, 'busy/failed', bytes(3 * MiB, 7)), { code: 'STORAGE_UNAVAILABLE' })
      assert.equal(await storage.stat('busy/failed', never), undefined)
      assert.deepEqual(await listed(storage, 'busy/failed'), [])
    }))

  test('that refuses permanently is reported immediately', () =>
    withFaults(
      [{ on: 'PutBlock', effect: { status: 403, code: 'AuthorizationPermissionMismatch' } }],
      async ({ storage, retries }) => {
        await assert.rejects(write(storage, 'busy/denied', bytes(3 * MiB, 8)), { code: 'STORAGE_DENIED' })
        assert.deepEqual(retries, [])
      },
    ))

  test('does not hang the program when it never answers', () =>
    withFaults(
      [
        { on: 'PutBlob', effect: 'silence' },
        { on: 'GetBlobProperties', effect: 'silence' },
        { on: 'ListBlobs', effect: 'silence' },
        { on: 'PutBlock', effect: 'silence' },
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
        setTimeout(() => server.thaw(), 800)
        await write(storage, 'frozen/a', bytes(3 * MiB, 13))
        assert.ok(retries.length > 0)
        assert.ok((await storage.read('frozen/a', never)).equals(bytes(3 * MiB, 13)))
      },
      { idleTimeoutMs: 500 },
    ))

  test('a signal ends the wait for a silent service immediately', () =>
    withFaults([{ on: 'PutBlob', effect: 'silence' }], async ({ storage, requests }) => {
      const controller = new AbortController()
      const reason = new Error('enough')
      const creating = storage.create('silent/d', bytes(10, 9), controller.signal)
      creating.catch(() => undefined)
      await waitFor('PutBlob', () => requests.includes('PutBlob'))
      controller.abort(reason)
      await assert.rejects(creating, error => error === reason)
    }))
})

test('data that is damaged in transit is refused by the service and sent again', () =>
  withFaults(
    [
      { on: 'PutBlob', effect: 'damage-request', times: 1 },
      { on: 'PutBlock', effect: 'damage-request', times: 1 },
    ],
    async ({ storage, retries }) => {
      await storage.create('damaged/small', bytes(1000, 14), never)
      assert.deepEqual(await storage.read('damaged/small', never), bytes(1000, 14))
      await write(storage, 'damaged/large', bytes(3 * MiB, 15))
      assert.ok((await storage.read('damaged/large', never)).equals(bytes(3 * MiB, 15)))
      assert.deepEqual(retries, ['create', 'write'])
    },
  ))

describe('a writer of several blocks', () => {
  test('that is aborted leaves no object, and the key is free for the next', () =>
    withFaults([], async ({ storage, requests }) => {
      const writer = await storage.openWriter('parts/aborted', never)
      await writer.write([bytes(3 * MiB, 10)], never)
      await waitFor('PutBlock', () => requests.includes('PutBlock'))
      await writer.abort()
      assert.equal(await storage.stat('parts/aborted', never), undefined)
      await write(storage, 'parts/aborted', bytes(2 * MiB + 5, 11))
      assert.ok((await storage.read('parts/aborted', never)).equals(bytes(2 * MiB + 5, 11)))
    }))

  test('wins or loses a race for its key like a single write', () =>
    withFaults([], async ({ storage }) => {
      for (let round = 0; round < 10; round++) {
        const key = `parts/race/${round}`
        const bodies = [bytes(2 * MiB, round), bytes(3 * MiB, round), bytes(100, round)]
        const results = await Promise.allSettled(bodies.map(body => write(storage, key, body)))
        const won = results.findIndex(({ status }) => status === 'fulfilled')
        for (const [index, result] of results.entries()) {
          if (index === won) continue
          assert.equal(result.status === 'rejected' && result.reason.code, 'STORAGE_EXISTS')
        }
        assert.ok((await storage.read(key, never)).equals(bodies[won] ?? Buffer.alloc(0)))
      }
    }))

  test('whose blocks the service dropped fails and publishes nothing', () =>
    withFaults([{ on: 'PutBlockList', effect: { status: 400, code: 'InvalidBlockList' } }], async ({ storage }) => {
      const lost = { code: 'STORAGE_UNAVAILABLE', message: /no longer has the blocks/ }
      await assert.rejects(write(storage, 'parts/dropped', bytes(2 * MiB, 12)), lost)
      assert.equal(await storage.stat('parts/dropped', never), undefined)
    }))
})

describe('a protected object', () => {
  test('is not removed, and the error says what protects it', () =>
    withFaults(
      [
        { on: 'DeleteBlob', effect: { status: 409, code: 'BlobImmutableDueToPolicy' }, times: 1 },
        { on: 'DeleteBlob', effect: { status: 409, code: 'SnapshotsPresent' }, times: 1 },
      ],
      async ({ storage }) => {
        await storage.create('held/a', Buffer.from('x'), never)
        const policy = { code: 'STORAGE_RETAINED', message: /immutability policy or a legal hold/ }
        await assert.rejects(storage.remove('held/a', never), policy)
        await assert.rejects(storage.remove('held/a', never), { code: 'STORAGE_RETAINED', message: /has snapshots/ })
        await storage.remove('held/a', never)
        assert.equal(await storage.stat('held/a', never), undefined)
      },
    ))

  test('cannot be created again', () =>
    withFaults([{ on: 'PutBlob', effect: { status: 409, code: 'BlobImmutableDueToPolicy' } }], async ({ storage }) => {
      await assert.rejects(write(storage, 'held/b', bytes(10, 1)), { code: 'STORAGE_EXISTS' })
      await assert.rejects(storage.replace('held/b', bytes(10, 1), never), { code: 'STORAGE_RETAINED' })
    }))
})
