import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { KafkaBackupError } from '../../src/errors.ts'
import { type Clock, systemClock } from '../../src/lib/clock.ts'
import { openFilesystemStorage } from '../../src/storage/file/filesystem.ts'
import { type RetryNotice, withRetries } from '../../src/storage/retrying.ts'
import type { Storage } from '../../src/storage/storage.ts'
import { type Fault, withFaults } from '../fakes/faulty-storage.ts'

const signal = new AbortController().signal
const body = Buffer.from('content')
const policy = { attempts: 4, baseDelayMs: 100, maxDelayMs: 300 }
let base = ''
let count = 0

before(async () => {
  base = await mkdtemp(join(tmpdir(), 'kafka-backup-retrying-'))
})
after(() => rm(base, { recursive: true }))

test('a retryable failure is waited out, each time longer, and reported', async () => {
  const { storage, notices, sleeps } = open([
    { on: 'read', nth: 1, effect: { kind: 'throw-before' } },
    { on: 'read', nth: 2, effect: { kind: 'throw-after' } },
    { on: 'read', nth: 3, effect: { kind: 'throw-before' } },
  ])
  await storage.create('a', body, signal)
  assert.deepEqual(await storage.read('a', signal), body)
  assert.deepEqual(sleeps, [50, 100, 150])
  assert.deepEqual(
    notices.map(({ operation, key, attempt, delayMs }) => ({ operation, key, attempt, delayMs })),
    [50, 100, 150].map((delayMs, i) => ({ operation: 'read', key: 'a', attempt: i + 1, delayMs })),
  )
})

test('the last error is thrown when the tries are used up', async () => {
  const { storage, calls } = open([{ on: 'stat', effect: { kind: 'throw-before' } }])
  await assert.rejects(storage.stat('a', signal), { code: 'STORAGE_UNAVAILABLE' })
  assert.equal(calls().length, 4)
})

test('an error that is final is not retried', async () => {
  const denied = () => new KafkaBackupError('STORAGE_DENIED', 'no')
  const { storage, calls } = open([{ on: 'replace', effect: { kind: 'throw-before', error: denied } }])
  await assert.rejects(storage.replace('a', body, signal), { code: 'STORAGE_DENIED' })
  await assert.rejects(storage.read('missing', signal), { code: 'STORAGE_NOT_FOUND' })
  assert.deepEqual(calls(), ['replace a', 'read missing'])
})

test('a create whose reply was lost is found to be its own', async () => {
  const { storage, calls } = open([{ on: 'create', nth: 1, effect: { kind: 'throw-after' } }])
  await storage.create('a', body, signal)
  assert.deepEqual(calls(), ['create a', 'create a', 'read a'])
})

test('a create that finds other bytes after a lost reply fails with STORAGE_EXISTS', async () => {
  const { storage, inner } = open([{ on: 'create', nth: 1, effect: { kind: 'throw-before' } }])
  await inner.create('a', Buffer.from('another'), signal)
  await assert.rejects(storage.create('a', body, signal), { code: 'STORAGE_EXISTS' })
  assert.equal((await storage.read('a', signal)).toString(), 'another')
})

test('a create that finds equal bytes at its first try fails: nothing says that they are its own', async () => {
  const { storage, inner, calls } = open([])
  await inner.create('a', body, signal)
  await assert.rejects(storage.create('a', body, signal), { code: 'STORAGE_EXISTS' })
  assert.deepEqual(calls(), ['create a'])
})

test('a failing read-back of a create is retried too', async () => {
  const { storage } = open([
    { on: 'create', nth: 1, effect: { kind: 'throw-after' } },
    { on: 'read', nth: 1, effect: { kind: 'throw-before' } },
  ])
  await storage.create('a', body, signal)
})

test('a commit whose reply was lost is repeated and succeeds', async () => {
  const { storage, calls } = open([{ on: 'commit', nth: 1, effect: { kind: 'throw-after' } }])
  const writer = await storage.openWriter('a', signal)
  await writer.write([body], signal)
  await writer.commit(signal)
  assert.deepEqual(await storage.read('a', signal), body)
  assert.deepEqual(calls(), ['openWriter a', 'write a', 'commit a', 'commit a', 'read a'])
})

test('a commit that is repeated does not take the object of another for its own, though the bytes are equal', async () => {
  const { storage, inner } = open([{ on: 'commit', nth: 1, effect: { kind: 'throw-before' } }])
  const writer = await storage.openWriter('a', signal)
  await writer.write([body], signal)
  await inner.create('a', body, signal)
  await assert.rejects(writer.commit(signal), { code: 'STORAGE_EXISTS' })
})

test('a failed write of a writer is not repeated', async () => {
  const { storage, calls } = open([{ on: 'write', nth: 1, effect: { kind: 'throw-before' } }])
  const writer = await storage.openWriter('a', signal)
  await assert.rejects(writer.write([body], signal), { code: 'STORAGE_UNAVAILABLE' })
  await writer.abort()
  assert.deepEqual(calls(), ['openWriter a', 'write a', 'abort a'])
})

test('a listing that breaks is begun anew and yields nothing twice', async () => {
  const { storage, inner, calls } = open([
    { on: 'list', nth: 1, effect: { kind: 'throw-before' } },
    { on: 'list', nth: 2, effect: { kind: 'throw-after' } },
    { on: 'listFolders', nth: 1, effect: { kind: 'throw-after' } },
  ])
  for (const key of ['a/1', 'b/2', 'c/3']) await inner.create(key, body, signal)
  assert.deepEqual((await collect(storage.list('', signal))).map(object => object.key).sort(), ['a/1', 'b/2', 'c/3'])
  assert.deepEqual((await collect(storage.listFolders('', signal))).sort(), ['a', 'b', 'c'])
  assert.deepEqual(calls(), ['list ', 'list ', 'list ', 'listFolders ', 'listFolders '])
})

const gone = () => new KafkaBackupError('STORAGE_NOT_FOUND', 'the bucket does not exist')

test('what was there and is not found is looked for once more', async () => {
  const { storage, calls, sleeps } = open([
    { on: 'read', nth: 1, effect: { kind: 'throw-before', error: gone } },
    { on: 'replace', nth: 1, effect: { kind: 'throw-before', error: gone } },
    { on: 'list', nth: 1, effect: { kind: 'throw-before', error: gone } },
  ])
  await storage.create('a', body, signal)
  assert.deepEqual(await storage.read('a', signal), body)
  await storage.replace('a', body, signal)
  assert.equal((await collect(storage.list('', signal))).length, 1)
  assert.deepEqual(calls(), ['create a', 'read a', 'read a', 'replace a', 'replace a', 'list ', 'list '])
  assert.deepEqual(sleeps, [50, 50, 50])
})

test('what is not found twice is missing, and is not looked for again', async () => {
  const { storage, inner, calls } = open([{ on: 'list', effect: { kind: 'throw-before', error: gone } }])
  await storage.create('a', body, signal)
  await inner.remove('a', signal)
  await assert.rejects(storage.read('a', signal), { code: 'STORAGE_NOT_FOUND' })
  await assert.rejects(storage.read('a', signal), { code: 'STORAGE_NOT_FOUND' })
  await assert.rejects(collect(storage.list('', signal)), { code: 'STORAGE_NOT_FOUND' })
  assert.deepEqual(calls(), ['create a', 'read a', 'read a', 'read a', 'list ', 'list '])
})

test('a status of what was there is asked for once more, and that of a removed object is not', async () => {
  const missing: (string | undefined)[] = ['a', undefined]
  const backend = openFilesystemStorage({ path: join(base, 'fail-over') })
  const asked: string[] = []
  const failingOver: Storage = {
    ...wrap(backend),
    stat: async (key, abort) => {
      asked.push(key)
      return missing.shift() === key ? undefined : backend.stat(key, abort)
    },
  }
  const clock: Clock = { ...systemClock, sleep: async () => undefined }
  const storage = withRetries(failingOver, policy, { clock })
  await storage.create('a', body, signal)
  assert.equal((await storage.stat('a', signal))?.size, body.length)
  await storage.remove('a', signal)
  assert.equal(await storage.stat('a', signal), undefined)
  assert.equal(await storage.stat('b', signal), undefined)
  assert.deepEqual(asked, ['a', 'a', 'a', 'b'])
})

test('an abort during the wait ends it with the reason of the signal', async () => {
  const controller = new AbortController()
  const reason = new Error('stop')
  const inner = withFaults(openFilesystemStorage({ path: join(base, 'abort') }), [{ effect: { kind: 'throw-before' } }])
  const storage = withRetries(
    inner,
    { attempts: 9, baseDelayMs: 3_600_000, maxDelayMs: 3_600_000 },
    {
      onRetry: () => setImmediate(() => controller.abort(reason)),
    },
  )
  await assert.rejects(storage.read('a', controller.signal), error => error === reason)
  assert.equal(inner.calls.length, 1)
})

/** A retrying storage over a failing one, with a clock that does not wait. The faults must all strike in the end. */
function open(faults: readonly Fault[]) {
  const sleeps: number[] = []
  const notices: RetryNotice[] = []
  const clock: Clock = {
    ...systemClock,
    sleep: async ms => {
      sleeps.push(ms)
    },
  }
  const inner = openFilesystemStorage({ path: join(base, String(++count)) })
  const faulty = withFaults(inner, faults)
  after(() => faulty.verifyAllFaultsExercised())
  const storage: Storage = withRetries(faulty, policy, {
    clock,
    random: () => 0,
    onRetry: notice => notices.push(notice),
  })
  return {
    storage,
    inner,
    notices,
    sleeps,
    calls: () => faulty.calls.map(({ operation, key }) => `${operation} ${key}`),
  }
}

/** The calls of a storage as properties, so that one can be replaced. */
const wrap = (storage: Storage): Storage => withFaults(storage, [])

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = []
  for await (const item of items) all.push(item)
  return all
}
