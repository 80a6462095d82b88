import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, beforeEach, describe, test } from 'node:test'
import { type Clock, systemClock } from '../../src/lib/clock.ts'
import { openFilesystemStorage } from '../../src/storage/file/filesystem.ts'
import { type StorageCall, withObservation } from '../../src/storage/observed.ts'
import { withRetries } from '../../src/storage/retrying.ts'
import type { Storage } from '../../src/storage/storage.ts'
import { withFaults } from '../fakes/faulty-storage.ts'

const signal = new AbortController().signal
const body = Buffer.from('content')
const calls: StorageCall[] = []
let now = 0
let base = ''
let storage: Storage

/** Each call to the store takes 5 ms of this clock. */
const clock: Clock = {
  ...systemClock,
  monotonic: () => now,
  sleep: async ms => {
    now += ms
  },
}

describe('an observed store', () => {
  before(async () => {
    base = await mkdtemp(join(tmpdir(), 'kafka-backup-observed-'))
    const slow = withFaults(openFilesystemStorage({ path: base }), [{ effect: { kind: 'delay', ms: 5 } }], { clock })
    storage = withObservation(slow, call => calls.push(call), clock)
  })
  after(() => rm(base, { recursive: true }))
  beforeEach(() => {
    calls.length = 0
  })

  test('every call is reported with its time and the bytes it moved', async () => {
    await storage.create('a', body, signal)
    await storage.replace('b', body, signal)
    await storage.read('a', signal)
    await storage.readRange('a', 1, 3, signal)
    await storage.stat('a', signal)
    await storage.remove('a', signal)
    assert.deepEqual(calls, [
      { operation: 'create', key: 'a', ms: 5, bytes: 7 },
      { operation: 'replace', key: 'b', ms: 5, bytes: 7 },
      { operation: 'read', key: 'a', ms: 5, bytes: 7 },
      { operation: 'readRange', key: 'a', ms: 5, bytes: 3 },
      { operation: 'stat', key: 'a', ms: 5, bytes: 0 },
      { operation: 'remove', key: 'a', ms: 5, bytes: 0 },
    ])
  })

  test('the calls of a writer are reported one by one', async () => {
    const writer = await storage.openWriter('w', signal)
    await writer.write([body, body], signal)
    await writer.commit(signal)
    await writer.abort()
    assert.deepEqual(
      calls.map(({ operation, bytes, ms }) => [operation, bytes, ms]),
      [
        ['openWriter', 0, 5],
        ['write', 14, 5],
        ['commit', 0, 5],
        ['abort', 0, 5],
      ],
    )
  })

  test('a failure is reported and thrown', async () => {
    const error = await storage.read('missing', signal).catch(error => error)
    assert.equal(error.code, 'STORAGE_NOT_FOUND')
    assert.deepEqual(calls, [{ operation: 'read', key: 'missing', ms: 5, bytes: 0, error }])
  })

  test('a listing is reported once, without the time its reader took', async () => {
    for (const key of ['l/1', 'l/2', 'l/3']) await storage.create(key, body, signal)
    calls.length = 0
    for await (const _ of storage.list('l', signal)) now += 1_000
    assert.deepEqual(calls, [{ operation: 'list', key: 'l', ms: 5, bytes: 0 }])
  })

  test('a listing that is left early is reported too', async () => {
    await storage.create('early/1/x', body, signal)
    calls.length = 0
    for await (const _ of storage.listFolders('early', signal)) break
    assert.deepEqual(calls, [{ operation: 'listFolders', key: 'early', ms: 5, bytes: 0 }])
  })

  test('a listing that is left early is closed down to the backend, also through retries', async () => {
    let closed = 0
    const endless: Storage = {
      ...storage,
      listFolders: async function* () {
        try {
          for (let i = 0; ; i++) yield String(i)
        } finally {
          closed++
        }
      },
    }
    for await (const _ of withObservation(endless, () => {}).listFolders('', signal)) break
    for await (const _ of withRetries(endless, { attempts: 1, baseDelayMs: 0, maxDelayMs: 0 }).listFolders('', signal))
      break
    assert.equal(closed, 2)
  })

  test('a listing that fails is reported with its error', async () => {
    const listing = (async () => {
      for await (const _ of storage.list('../x', signal)) assert.fail('nothing is listed')
    })()
    const error = await listing.catch(error => error)
    assert.equal(error.code, 'LOCATION_INVALID')
    assert.deepEqual(calls, [{ operation: 'list', key: '../x', ms: 5, bytes: 0, error }])
  })
})
