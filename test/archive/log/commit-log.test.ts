import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { hashOf } from '../../../src/archive/hash.ts'
import { emptyState, noChange } from '../../../src/archive/log/change.ts'
import { CommitLog, startOf } from '../../../src/archive/log/commit-log.ts'
import { commitKey } from '../../../src/archive/log/keys.ts'
import { findNewestCommit } from '../../../src/archive/log/list-commits.ts'
import { openGeneration } from '../../../src/archive/log/open-generation.ts'
import { SegmentLists } from '../../../src/archive/log/segment-lists.ts'
import { hasCode } from '../../../src/errors.ts'
import type { Storage } from '../../../src/storage/storage.ts'
import { type MemoryStorage, openMemoryStorage } from '../../fakes/memory-storage.ts'
import { type FullState, randomFrom, randomStep } from './random-state.ts'

const { signal } = new AbortController()
const facts = {
  tool_version: '0.2.0',
  run: '0a0b0c0d',
  complete: true,
  created_at: '2026-11-15T10:13:45.239Z',
  started_at: '2026-11-15T10:13:45.239Z',
}
const empty: FullState = { ...emptyState, segments: new Map() }

function names(): () => string {
  let number = 0
  return () => `w${number++}`
}

async function assertGeneration(
  storage: Storage,
  generation: number,
  { segments, ...state }: FullState,
): Promise<void> {
  const opened = await openGeneration(storage, 'b', generation, signal)
  assert.deepEqual(opened.state, state)
  const lists = new SegmentLists(storage, opened)
  for (const [list, expected] of segments) {
    const found = await lists.read(list, opened.state.lists.get(list), signal)
    assert.deepEqual(
      found.map(({ blake3, piece }) => [blake3, piece]),
      expected.map(({ blake3, piece }) => [blake3, piece]),
    )
  }
}

test('every generation of a long log opens as it was committed, with few documents', async () => {
  const storage = openMemoryStorage()
  const random = randomFrom(11)
  const log = new CommitLog(storage, 'b', names())
  const states: FullState[] = [empty]
  for (let i = 1; i <= 700; i++) {
    const { after, change } = randomStep(random, states.at(-1) ?? empty)
    await log.commit(facts, change, signal)
    await log.tidy(signal)
    states.push(after)
  }
  for (const generation of [1, 7, 8, 9, 64, 65, 127, 511, 512, 513, 640, 699, 700]) {
    await assertGeneration(storage, generation, states[generation] ?? empty)
  }
  const reads = countReads(storage)
  await openGeneration(reads.storage, 'b', 700, signal)
  assert.ok(reads.count() <= 30, `${reads.count()} documents`)
  assert.equal(await findNewestCommit(storage, 'b', signal), 700)
})

test('a log continues where another writer left it', async () => {
  const storage = openMemoryStorage()
  const random = randomFrom(12)
  let state = empty
  for (let i = 1; i <= 60; i++) {
    const start = i === 1 ? undefined : startOf(await openGeneration(storage, 'b', i - 1, signal))
    const log = new CommitLog(storage, 'b', () => `x${i}-${random(1_000_000)}`, start)
    const { after, change } = randomStep(random, state)
    await log.commit({ ...facts, run: `run${i}` }, change, signal)
    await log.tidy(signal)
    if (i === 33) await log.checkpoint(signal)
    state = after
  }
  await assertGeneration(storage, 60, state)
})

test('of two writers one commits, and the other gets WRITER_CONFLICT', async () => {
  const storage = openMemoryStorage()
  const first = new CommitLog(storage, 'b', names())
  const second = new CommitLog(storage, 'b', names())
  await first.commit(facts, noChange, signal)
  await assert.rejects(second.commit({ ...facts, run: 'another' }, noChange, signal), error =>
    hasCode(error, 'WRITER_CONFLICT'),
  )
})

test('a commit whose reply was lost counts when it is repeated, and when another change is tried', async () => {
  const storage = openMemoryStorage()
  const random = randomFrom(13)
  const one = randomStep(random, empty)
  const two = randomStep(random, one.after)
  await new CommitLog(storage, 'b', names()).commit(facts, one.change, signal)
  const repeated = new CommitLog(storage, 'b', names())
  assert.equal((await repeated.commit(facts, one.change, signal)).isEarlier, false)
  const later = new CommitLog(storage, 'b', names())
  assert.equal((await later.commit(facts, two.change, signal)).isEarlier, true)
  const { segments: _, ...state } = one.after
  assert.deepEqual(later.state, state)
  await later.commit(facts, two.change, signal)
  await assertGeneration(storage, 2, two.after)
})

test('a commit that was exchanged for one of the same number is found by the next one', async () => {
  const storage = openMemoryStorage()
  const random = randomFrom(14)
  const log = new CommitLog(storage, 'b', names())
  const one = randomStep(random, empty)
  await log.commit(facts, one.change, signal)
  await log.commit(facts, randomStep(random, one.after).change, signal)
  const other = openMemoryStorage()
  await new CommitLog(other, 'b', names()).commit(facts, noChange, signal)
  await storage.replace(commitKey('b', 1), await other.read(commitKey('b', 1), signal), signal)
  await assert.rejects(
    openGeneration(storage, 'b', 2, signal),
    /000000000001.json.zst is not the commit that the next one follows/,
  )
})

describe('before a commit, the one before it is read, and the writer stops', () => {
  const second = commitKey('b', 2)
  /** Two commits, the second with so many warnings, and the requests of the third. */
  async function scene(change: (storage: MemoryStorage) => Promise<void>, count = 0) {
    const storage = openMemoryStorage()
    const asked: string[] = []
    const note = <T extends (key: string, own: AbortSignal) => unknown>(name: string, call: T): T =>
      ((key: string, own: AbortSignal) => {
        asked.push(`${name} ${key}`)
        return call(key, own)
      }) as T
    const noted = { ...storage, read: note('read', storage.read), stat: note('stat', storage.stat) }
    const log = new CommitLog(noted, 'b', names())
    await log.commit(facts, noChange, signal)
    const warnings = Array.from({ length: count }, (_, i) => hashOf(Buffer.from(`${i}`)))
    await log.commit(facts, { ...noChange, head: { warnings } }, signal)
    await change(storage)
    asked.length = 0
    const error = await log.commit(facts, noChange, signal).then(
      () => undefined,
      (thrown: unknown) => thrown,
    )
    return { storage, asked, error, third: storage.objects.has(commitKey('b', 3)) }
  }

  test('not while it is intact, for which one request is enough', async () => {
    const { error, asked, third } = await scene(async () => undefined)
    assert.deepEqual([error, asked, third], [undefined, [`read ${second}`], true])
  })

  test('if it was removed', async () => {
    const { error, third } = await scene(storage => storage.remove(second, signal))
    assert.equal(third, false)
    assert.ok(hasCode(error, 'ARCHIVE_DAMAGED'))
    assert.match(error.message, new RegExp(`^${second} was there, and is not at memory any more`))
    assert.equal(error.details.key, second)
  })

  test('if another writer has replaced it, with WRITER_CONFLICT', async () => {
    const { error, third } = await scene(async storage => {
      const other = openMemoryStorage()
      const log = new CommitLog(other, 'b', names())
      for (let i = 0; i < 2; i++) await log.commit({ ...facts, run: 'ffff' }, noChange, signal)
      await storage.replace(second, await other.read(second, signal), signal)
    })
    assert.equal(third, false)
    assert.ok(hasCode(error, 'WRITER_CONFLICT'))
    assert.match(error.message, new RegExp(`^${second} at memory was replaced by another commit \\(run ffff\\)`))
  })

  test('if it is damaged', async () => {
    const { error, third } = await scene(async storage => {
      storage.objects.get(second)?.fill(0, 20, 30)
    })
    assert.equal(third, false)
    assert.ok(hasCode(error, 'ARCHIVE_DAMAGED'))
    assert.match(error.message, new RegExp(`^${second} at memory is not the object that this run continues`))
  })

  test('and a large one is not read, but its size compared', async () => {
    const intact = await scene(async () => undefined, 10_000)
    assert.deepEqual([intact.error, intact.asked, intact.third], [undefined, [`stat ${second}`], true])
    const other = await scene(async storage => {
      storage.objects.set(second, Buffer.from('other'))
    }, 10_000)
    assert.ok(hasCode(other.error, 'ARCHIVE_DAMAGED'))
    const removed = await scene(storage => storage.remove(second, signal), 10_000)
    assert.ok(hasCode(removed.error, 'ARCHIVE_DAMAGED'))
  })
})

function secondRollup({ objects }: MemoryStorage): string {
  const keys = [...objects.keys()].filter(key => key.startsWith('b/rollups/')).sort()
  return keys[1] ?? assert.fail()
}

test('a roll-up that is damaged while its writer runs is named once, and later generations do without it', async () => {
  const storage = openMemoryStorage()
  const random = randomFrom(16)
  const log = new CommitLog(storage, 'b', names())
  const failures: unknown[] = []
  let state = empty
  for (let i = 1; i <= 70; i++) {
    const { after, change } = randomStep(random, state)
    await log.commit(facts, change, signal)
    await log.tidy(signal).catch(error => failures.push(error))
    state = after
    if (i === 30) await storage.remove(secondRollup(storage), signal)
  }
  assert.deepEqual(
    failures.map(error => hasCode(error, 'ARCHIVE_DAMAGED')),
    [true],
  )
  await assertGeneration(storage, 70, state)
})

test('a commit that is missing or damaged hides the generations that need it, and no others', async () => {
  const storage = openMemoryStorage()
  const random = randomFrom(15)
  const log = new CommitLog(storage, 'b', names())
  let state = empty
  for (let i = 1; i <= 12; i++) {
    const { after, change } = randomStep(random, state)
    await log.commit(facts, change, signal)
    if (i === 6) await log.checkpoint(signal)
    state = after
  }
  await storage.remove(commitKey('b', 4), signal)
  await assertGeneration(storage, 12, state)
  await assert.rejects(openGeneration(storage, 'b', 5, signal), error => hasCode(error, 'ARCHIVE_DAMAGED'))
  const bytes = Buffer.from(await storage.read(commitKey('b', 12), signal))
  bytes.writeUInt8(bytes.readUInt8(bytes.length - 10) ^ 1, bytes.length - 10)
  await storage.replace(commitKey('b', 12), bytes, signal)
  await assert.rejects(openGeneration(storage, 'b', 12, signal), error => hasCode(error, 'ARCHIVE_DAMAGED'))
})

function countReads(storage: Storage): { storage: Storage; count: () => number } {
  let reads = 0
  const counted = new Proxy(storage, {
    get: (target, name) => {
      if (name === 'read') reads++
      const value = Reflect.get(target, name)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
  return { storage: counted, count: () => reads }
}
