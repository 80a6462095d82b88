import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import type { ErrorCode } from '../../src/errors.ts'
import { hasCode } from '../../src/errors.ts'
import { runPool } from '../../src/lib/pool.ts'
import type { Storage, StoredObject } from '../../src/storage/storage.ts'

export interface OpenedStorage {
  storage: Storage
  close(): Promise<void>
}

/** What a backend is tried with. Decorators and further settings of a backend do with less: see `variantSizes`. */
export interface SuiteSizes {
  /** Objects for the listing: for a store with pages, more than it puts on one. */
  listed: number
  /** Of the large object, which has several parts where a store has parts. */
  largeBytes: number
}

const MIB = 2 ** 20
const backendSizes: SuiteSizes = { listed: 3_000, largeBytes: 64 * MIB }
export const variantSizes: SuiteSizes = { listed: 400, largeBytes: 12 * MIB }

const signal = new AbortController().signal

/**
 * The contract of `Storage`, for every backend and every decorator. `open` gives an empty one. Each test keeps to a
 * folder of its own.
 */
export function storageSuite(name: string, open: () => Promise<OpenedStorage>, sizes = backendSizes): void {
  describe(name, () => {
    let opened: OpenedStorage
    const storage: StorageOf = () => opened.storage
    before(async () => {
      opened = await open()
    })
    after(() => opened.close())

    describeEmptyStorage(storage)
    describeWholeObjects(storage)
    describeReads(storage)
    describeWriters(storage, sizes.largeBytes)
    describeRaces(storage)
    describeListings(storage, sizes.listed)
    describeKeys(storage)
    describeSignals(storage)
  })
}

type StorageOf = () => Storage

/** Runs first, before anything was written. */
function describeEmptyStorage(storage: StorageOf): void {
  test('an empty storage lists nothing, knows nothing and removes nothing', async () => {
    assert.deepEqual(await collect(storage().list('', signal)), [])
    assert.deepEqual(await collect(storage().listFolders('', signal)), [])
    assert.equal(await storage().stat('empty/a', signal), undefined)
    await rejectsWith(storage().read('empty/a', signal), 'STORAGE_NOT_FOUND')
    await storage().remove('empty/a', signal)
  })
}

function describeWholeObjects(storage: StorageOf): void {
  test('what create stored is read back byte for byte', async () => {
    const body = bytes(70_001)
    await storage().create('whole/a/b.bin', body, signal)
    assert.deepEqual(await storage().read('whole/a/b.bin', signal), body)
    assert.deepEqual(await sizeOf(storage(), 'whole/a/b.bin'), { key: 'whole/a/b.bin', size: 70_001 })
  })

  test('an object of no bytes is an object', async () => {
    await storage().create('zero/created', Buffer.alloc(0), signal)
    const writer = await storage().openWriter('zero/written', signal)
    await writer.commit(signal)
    for (const key of ['zero/created', 'zero/written']) {
      assert.equal((await storage().read(key, signal)).length, 0)
      assert.deepEqual(await sizeOf(storage(), key), { key, size: 0 })
      assert.equal((await storage().readRange(key, 0, 0, signal)).length, 0)
    }
    assert.deepEqual(await keysOf(storage(), 'zero'), ['zero/created', 'zero/written'])
  })

  test('create refuses a key that is taken and leaves the object as it was', async () => {
    await storage().create('taken/a', Buffer.from('first'), signal)
    await rejectsWith(storage().create('taken/a', Buffer.from('second'), signal), 'STORAGE_EXISTS')
    assert.equal((await storage().read('taken/a', signal)).toString(), 'first')
    assert.deepEqual(await keysOf(storage(), 'taken'), ['taken/a'])
  })

  test('replace stores a new object and exchanges an old one', async () => {
    await storage().replace('replaced/a', Buffer.from('first, and longer'), signal)
    assert.equal((await storage().read('replaced/a', signal)).toString(), 'first, and longer')
    await storage().replace('replaced/a', Buffer.from('second'), signal)
    assert.equal((await storage().read('replaced/a', signal)).toString(), 'second')
    assert.deepEqual(await sizeOf(storage(), 'replaced/a'), { key: 'replaced/a', size: 6 })
  })

  test('an object tells when it was written, alone and in a listing', async () => {
    const before = Date.now()
    await storage().create('times/created', Buffer.from('1'), signal)
    await storage().replace('times/replaced', Buffer.from('2'), signal)
    const writer = await storage().openWriter('times/written', signal)
    await writer.write([Buffer.from('3')], signal)
    await writer.commit(signal)
    const listed = new Map((await collect(storage().list('times', signal))).map(one => [one.key, one.modifiedMs]))
    for (const key of ['times/created', 'times/replaced', 'times/written']) {
      const { modifiedMs } = (await storage().stat(key, signal)) ?? assert.fail(`${key} is not there`)
      // Some stores tell whole seconds, and round one of the two.
      assert.ok(Math.abs(modifiedMs - (listed.get(key) ?? 0)) <= 1000, `${key}: ${modifiedMs} and ${listed.get(key)}`)
      assert.ok(modifiedMs > before - 2000 && modifiedMs < Date.now() + 2000, `${key} was written at ${modifiedMs}`)
    }
  })

  test('a reader beside replace sees one version or the other, never a mixture', async () => {
    await storage().replace('atomic/a', Buffer.alloc(50_000, 0), signal)
    let done = false
    const replacing = (async () => {
      for (let i = 1; i <= 20; i++) await storage().replace('atomic/a', Buffer.alloc(50_000 + i, i), signal)
      done = true
    })()
    let reads = 0
    while (!done) {
      const body = await storage().read('atomic/a', signal)
      assert.equal(body.length, 50_000 + (body[0] ?? -1))
      assert.ok(body.every(byte => byte === body[0]))
      reads++
    }
    await replacing
    assert.ok(reads > 0)
  })

  test('what was removed is gone, and its key is free again', async () => {
    await storage().create('removed/deep/a', Buffer.from('x'), signal)
    await storage().remove('removed/deep/a', signal)
    await storage().remove('removed/deep/a', signal)
    assert.equal(await storage().stat('removed/deep/a', signal), undefined)
    assert.deepEqual(await keysOf(storage(), 'removed'), [])
    await storage().create('removed/deep/a', Buffer.from('y'), signal)
    assert.equal((await storage().read('removed/deep/a', signal)).toString(), 'y')
  })

  test('objects come and go in one folder at the same time', async () => {
    await runPool(Array.from({ length: 100 }).keys(), 8, async i => {
      await storage().create(`busy/folder/${i}`, bytes(0), signal)
      await storage().remove(`busy/folder/${i}`, signal)
    })
    assert.deepEqual(await keysOf(storage(), 'busy'), [])
  })
}

function describeReads(storage: StorageOf): void {
  test('a range is exact at the start, in the middle and at the end', async () => {
    const body = bytes(10_000)
    await storage().create('ranges/a', body, signal)
    for (const [start, length] of [
      [0, 1],
      [0, 10_000],
      [4_321, 1_234],
      [9_999, 1],
      [10_000, 0],
      [5, 0],
    ] as const) {
      const range = await storage().readRange('ranges/a', start, length, signal)
      assert.deepEqual(range, body.subarray(start, start + length), `${length} bytes from ${start}`)
    }
  })

  test('a range that leaves the object is STORAGE_SHORT', async () => {
    await storage().create('short/a', bytes(100), signal)
    for (const [start, length] of [
      [0, 101],
      [99, 2],
      [100, 1],
      [101, 0],
      [5_000, 10],
    ] as const) {
      await rejectsWith(storage().readRange('short/a', start, length, signal), 'STORAGE_SHORT')
    }
  })

  test('an object above the limit of its class is neither read nor written as a whole', async () => {
    const [key, limit] = ['limits/leases/a.json', 1024 ** 2]
    const create = storage().create(key, bytes(limit + 1), signal)
    const stated = new RegExp(`limits/leases/a\\.json.* has ${limit + 1} bytes, .* at most ${limit}`)
    await assert.rejects(create, { code: 'STORAGE_REFUSED', message: stated })
    await assert.rejects(storage().replace(key, bytes(limit + 1), signal), { code: 'STORAGE_REFUSED' })
    assert.equal(await storage().stat(key, signal), undefined)
    const writer = await storage().openWriter(key, signal)
    await writer.write([bytes(limit + 1)], signal)
    await writer.commit(signal)
    await assert.rejects(storage().read(key, signal), { code: 'ARCHIVE_DAMAGED', message: stated })
    assert.equal((await storage().readRange(key, limit, 1, signal)).length, 1)
    await storage().create('limits/leases/b.json', bytes(limit), signal)
    assert.equal((await storage().read('limits/leases/b.json', signal)).length, limit)
  })

  test('reading what is not there is STORAGE_NOT_FOUND, also below or above what is', async () => {
    await storage().create('absent/there/object', bytes(1), signal)
    for (const key of ['absent/x', 'absent/y/z', 'absent/there', 'absent/there/object/below']) {
      await rejectsWith(storage().read(key, signal), 'STORAGE_NOT_FOUND')
      await rejectsWith(storage().readRange(key, 0, 1, signal), 'STORAGE_NOT_FOUND')
      assert.equal(await storage().stat(key, signal), undefined)
      await storage().remove(key, signal)
    }
    assert.deepEqual(await keysOf(storage(), 'absent'), ['absent/there/object'])
  })
}

function describeWriters(storage: StorageOf, size: number): void {
  test(`${size / MIB} MiB written in odd pieces are read back exactly`, async () => {
    const source = bytes(1_048_573)
    const hash = createHash('sha256')
    const writer = await storage().openWriter('big/object', signal)
    for (let written = 0, step = 0; written < size; step++) {
      const chunks: Buffer[] = []
      for (const length of [1, 65_537, 4_097, (step * 7_919) % source.length]) {
        const chunk = source.subarray(0, Math.min(length, size - written))
        written += chunk.length
        chunks.push(chunk)
        hash.update(chunk)
      }
      await writer.write(chunks, signal)
    }
    await writer.commit(signal)
    const body = await storage().read('big/object', signal)
    assert.equal(body.length, size)
    assert.equal(createHash('sha256').update(body).digest('hex'), hash.digest('hex'))
    await storage().remove('big/object', signal)
  })

  test('thousands of chunks go into one write', async () => {
    const body = bytes(5_000)
    const writer = await storage().openWriter('many/chunks', signal)
    await writer.write(
      Array.from(body, (_, i) => body.subarray(i, i + 1)),
      signal,
    )
    await writer.write([], signal)
    await writer.write([Buffer.alloc(0)], signal)
    await writer.commit(signal)
    assert.deepEqual(await storage().read('many/chunks', signal), body)
  })

  test('the memory of a chunk is free once its write has resolved', async () => {
    const chunk = Buffer.alloc(200_000)
    const writer = await storage().openWriter('reuse/a', signal)
    for (let i = 1; i <= 10; i++) {
      chunk.fill(i)
      await writer.write([chunk], signal)
      chunk.fill(0xff)
    }
    await writer.commit(signal)
    const body = await storage().read('reuse/a', signal)
    for (let i = 1; i <= 10; i++) {
      const part = body.subarray((i - 1) * chunk.length, i * chunk.length)
      assert.ok(part.length === chunk.length && part.every(byte => byte === i))
    }
  })

  test('what was read is the memory of who read it: another reader never sees what became of it', async () => {
    const body = bytes(600_000)
    await storage().create('own/a', body, signal)
    const ranges: [number, number][] = [
      [0, 1000],
      [500, 1000],
      [262_000, 1000],
      [300_000, 300_000],
      [0, 600_000],
      [599_000, 1000],
    ]
    for (const [start, length] of [...ranges, ...ranges]) {
      const range = await storage().readRange('own/a', start, length, signal)
      assert.ok(range.equals(body.subarray(start, start + length)), `${length} bytes from ${start} on`)
      range.fill(0)
    }
  })

  test('an object that is being written cannot be seen before its commit', async () => {
    const writer = await storage().openWriter('unfinished/a', signal)
    await writer.write([bytes(100_000)], signal)
    assert.equal(await storage().stat('unfinished/a', signal), undefined)
    await rejectsWith(storage().read('unfinished/a', signal), 'STORAGE_NOT_FOUND')
    assert.deepEqual(await keysOf(storage(), 'unfinished'), [])
    await writer.commit(signal)
    assert.deepEqual(await keysOf(storage(), 'unfinished'), ['unfinished/a'])
  })

  test('an aborted writer leaves nothing, and may be aborted again', async () => {
    const writer = await storage().openWriter('aborted/a', signal)
    await writer.write([bytes(1_000)], signal)
    await writer.abort()
    await writer.abort()
    assert.deepEqual(await keysOf(storage(), 'aborted'), [])
    await assert.rejects(writer.write([bytes(1)], signal))
    await assert.rejects(writer.commit(signal))
    assert.equal(await storage().stat('aborted/a', signal), undefined)
  })

  test('an abort after the commit takes nothing back, and a commit may be repeated', async () => {
    const writer = await storage().openWriter('committed/a', signal)
    await writer.write([Buffer.from('kept')], signal)
    await writer.commit(signal)
    await writer.commit(signal)
    await writer.abort()
    assert.equal((await storage().read('committed/a', signal)).toString(), 'kept')
  })

  test('a commit refuses a key that was taken meanwhile, each time, also by equal bytes', async () => {
    const writer = await storage().openWriter('overtaken/a', signal)
    await writer.write([Buffer.from('same')], signal)
    await storage().create('overtaken/a', Buffer.from('same'), signal)
    await rejectsWith(writer.commit(signal), 'STORAGE_EXISTS')
    await rejectsWith(writer.commit(signal), 'STORAGE_EXISTS')
    await writer.abort()
    assert.equal((await storage().read('overtaken/a', signal)).toString(), 'same')
    assert.deepEqual(await keysOf(storage(), 'overtaken'), ['overtaken/a'])
  })
}

function describeRaces(storage: StorageOf): void {
  test('of two creates at once exactly one wins, fifty times', async () => {
    for (let round = 0; round < 50; round++) {
      const key = `race/create/${round}`
      const won = await race(['a', 'b'].map(body => storage().create(key, Buffer.from(body), signal)))
      assert.equal((await storage().read(key, signal)).toString(), ['a', 'b'][won])
    }
  })

  test('of two commits at once exactly one wins, fifty times', async () => {
    for (let round = 0; round < 50; round++) {
      const key = `race/commit/${round}`
      const writers = [await storage().openWriter(key, signal), await storage().openWriter(key, signal)]
      await Promise.all(writers.map((writer, i) => writer.write([Buffer.from(String(i))], signal)))
      const won = await race(writers.map(writer => writer.commit(signal)))
      await Promise.all(writers.map(writer => writer.abort()))
      assert.equal((await storage().read(key, signal)).toString(), String(won))
    }
  })
}

function describeListings(storage: StorageOf, listed: number): void {
  test('many objects are listed once each, with their sizes', async () => {
    // Most are empty: a disk that discards freed blocks takes its time to remove the others.
    const expected = Array.from({ length: listed }, (_, i) => ({
      key: `list/t${i % 3}/p${i % 7}/${i}.log`,
      size: i % 20 === 0 ? i : 0,
    }))
    await runPool(expected, 16, ({ key, size }) => storage().create(key, Buffer.alloc(size), signal))
    const byKey = (a: { key: string }, b: { key: string }) => (a.key < b.key ? -1 : 1)
    const found = (await collect(storage().list('list', signal))).map(withoutTime)
    assert.deepEqual(found.sort(byKey), expected.sort(byKey))
    const part = (await collect(storage().list('list/t1/p4/', signal))).map(withoutTime)
    assert.deepEqual(
      part.sort(byKey),
      expected.filter(object => object.key.startsWith('list/t1/p4/')),
    )
    assert.deepEqual((await collect(storage().listFolders('list', signal))).sort(), ['t0', 't1', 't2'])
    assert.equal((await collect(storage().listFolders('list/t2/', signal))).length, 7)
  })

  test('a prefix names a folder, with or without its slash', async () => {
    for (const key of ['pre/ab/1', 'pre/ab/c/2', 'pre/abc/3', 'pre/ab.x']) await storage().create(key, bytes(1), signal)
    for (const prefix of ['pre/ab', 'pre/ab/']) {
      assert.deepEqual(await keysOf(storage(), prefix), ['pre/ab/1', 'pre/ab/c/2'])
      assert.deepEqual(await collect(storage().listFolders(prefix, signal)), ['c'])
    }
    assert.deepEqual((await collect(storage().listFolders('pre', signal))).sort(), ['ab', 'abc'])
    assert.deepEqual(await keysOf(storage(), 'pre/a'), [])
    assert.deepEqual(await keysOf(storage(), 'pre/ab/1'), [])
    assert.deepEqual(await keysOf(storage(), 'pre/missing'), [])
  })

  test('a listing may be left before its end', async () => {
    for (let i = 0; i < 5; i++) await storage().create(`left/${i}/a`, bytes(1), signal)
    for await (const object of storage().list('left', signal)) {
      assert.match(object.key, /^left\/\d\/a$/)
      break
    }
    for await (const folder of storage().listFolders('left', signal)) {
      assert.match(folder, /^\d$/)
      break
    }
  })
}

function describeKeys(storage: StorageOf): void {
  test('printable characters of every kind make keys', async () => {
    const names = [
      'orders-v2_x.y',
      'my%2Fsubject%3Av1',
      'with space',
      'a:b',
      'a+b&c=d?e#f',
      '"quoted" \'too\'',
      '*glob?[x]',
      '~home',
      '-rf',
      'ünïcødé-日本-😀',
      '...',
      '.hidden',
      'x'.repeat(255),
    ]
    for (const name of names) await storage().create(`names/${name}/${name}`, Buffer.from(name), signal)
    assert.deepEqual(await keysOf(storage(), 'names'), names.map(name => `names/${name}/${name}`).sort())
    assert.deepEqual((await collect(storage().listFolders('names', signal))).sort(), [...names].sort())
    for (const name of names) {
      assert.equal((await storage().read(`names/${name}/${name}`, signal)).toString(), name)
    }
  })

  test('keys that differ in case are different objects', async () => {
    await storage().create('case/Orders', Buffer.from('upper'), signal)
    await storage().create('case/orders', Buffer.from('lower'), signal)
    assert.equal((await storage().read('case/Orders', signal)).toString(), 'upper')
    assert.deepEqual(await keysOf(storage(), 'case'), ['case/Orders', 'case/orders'])
  })

  test('what is no key is refused by every call', async () => {
    for (const key of ['', '/a', 'a/', 'a//b', '.', 'a/../b', 'a\\b', 'a\0b', 'a\nb', 'x'.repeat(256), '.tmp-a']) {
      const calls = [
        storage().create(key, bytes(1), signal),
        storage().replace(key, bytes(1), signal),
        storage().openWriter(key, signal),
        storage().read(key, signal),
        storage().readRange(key, 0, 1, signal),
        storage().stat(key, signal),
        storage().remove(key, signal),
      ]
      await Promise.all(calls.map(call => rejectsWith(call, 'LOCATION_INVALID')))
    }
    for (const prefix of ['/', '/a', 'a//', '..', 'a/../..', 'a\0']) {
      await rejectsWith(collect(storage().list(prefix, signal)), 'LOCATION_INVALID')
      await rejectsWith(collect(storage().listFolders(prefix, signal)), 'LOCATION_INVALID')
    }
  })
}

function describeSignals(storage: StorageOf): void {
  test('an aborted signal stops every call with its reason', async () => {
    const reason = new Error('the user stopped it')
    const aborted = AbortSignal.abort(reason)
    await storage().create('stopped/there', bytes(10), signal)
    const writer = await storage().openWriter('stopped/written', signal)
    const calls = [
      storage().create('stopped/a', bytes(1), aborted),
      storage().replace('stopped/b', bytes(1), aborted),
      storage().openWriter('stopped/c', aborted),
      storage().read('stopped/there', aborted),
      storage().readRange('stopped/there', 0, 1, aborted),
      storage().stat('stopped/there', aborted),
      storage().remove('stopped/there', aborted),
      collect(storage().list('stopped', aborted)),
      collect(storage().listFolders('stopped', aborted)),
      writer.write([bytes(1)], aborted),
      writer.commit(aborted),
    ]
    for (const call of await Promise.allSettled(calls)) {
      assert.equal(call.status, 'rejected')
      assert.equal(call.reason, reason)
    }
    await writer.abort()
    assert.deepEqual(await keysOf(storage(), 'stopped'), ['stopped/there'])
  })

  test('a writer whose write was stopped publishes nothing any more', async () => {
    const writer = await storage().openWriter('spent/a', signal)
    await writer.write([bytes(10)], signal)
    await assert.rejects(writer.write([bytes(10)], AbortSignal.abort(new Error('stopped'))), /stopped/)
    await assert.rejects(writer.commit(signal))
    await writer.abort()
    assert.deepEqual(await keysOf(storage(), 'spent'), [])
  })

  test('a signal that is aborted during a listing ends it', async () => {
    const controller = new AbortController()
    const reason = new Error('enough')
    for (let i = 0; i < 5; i++) await storage().create(`ended/${i}`, bytes(0), signal)
    let seen = 0
    const listing = (async () => {
      for await (const _ of storage().list('ended', controller.signal)) {
        if (++seen === 1) controller.abort(reason)
      }
    })()
    await assert.rejects(listing, error => error === reason)
    assert.equal(seen, 1)
  })
}

/** The index of the one call that won. All others must have found the key taken. */
async function race(calls: readonly Promise<void>[]): Promise<number> {
  const results = await Promise.allSettled(calls)
  for (const result of results) {
    if (result.status === 'rejected') assert.ok(hasCode(result.reason, 'STORAGE_EXISTS'), String(result.reason))
  }
  const winners = [...results.keys()].filter(i => results[i]?.status === 'fulfilled')
  assert.equal(winners.length, 1)
  return winners[0] ?? -1
}

async function rejectsWith(call: Promise<unknown>, code: ErrorCode): Promise<void> {
  await assert.rejects(call, error => {
    assert.ok(hasCode(error, code), `expected ${code}, got ${error}`)
    return true
  })
}

async function sizeOf(storage: Storage, key: string): Promise<{ key: string; size: number } | undefined> {
  const found = await storage.stat(key, signal)
  return found && withoutTime(found)
}

function withoutTime({ key, size }: StoredObject): { key: string; size: number } {
  return { key, size }
}

async function keysOf(storage: Storage, prefix: string): Promise<string[]> {
  return (await collect(storage.list(prefix, signal))).map(object => object.key).sort()
}

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = []
  for await (const item of items) all.push(item)
  return all
}

/** Bytes that repeat with no power of two, so that a shifted piece is noticed. */
function bytes(length: number): Buffer {
  const body = Buffer.alloc(length)
  for (let i = 0; i < length; i++) body[i] = (i * 31 + (i >> 8) * 17 + (i % 251)) & 0xff
  return body
}
