import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { countUntil } from '../../src/archive/commit-times.ts'
import { describeBackup } from '../../src/archive/describe.ts'
import { manifestKey, prunedMarkKey } from '../../src/archive/layout.ts'
import { commitKey } from '../../src/archive/log/keys.ts'
import { findAsOf, openSelected } from '../../src/archive/select-generation.ts'
import { verifyBackup } from '../../src/archive/verify.ts'
import { openMemoryStorage } from '../fakes/memory-storage.ts'
import { storeGenerations } from './generation-samples.ts'
import { never } from './sample-archive.ts'

const BEGIN = Date.UTC(2026, 0, 2, 3)
const timeOf = (minute: number) => new Date(BEGIN + minute * 60_000).toISOString()
const asOf = (minute: number) => BigInt(BEGIN + minute * 60_000)
const versions = { 'version 1': undefined, 'version 2': 1, 'both versions': 4 }

for (const [name, logFrom] of Object.entries(versions)) {
  describe(`a backup of ${name}`, () => {
    test('as-of selects the newest complete generation committed by then, for every time and every history', async () => {
      for (const history of histories) {
        const storage = openMemoryStorage()
        await storeGenerations(
          storage,
          history.map(({ minute, complete }) => ({ created_at: timeOf(minute), complete })),
          logFrom,
        )
        for (let minute = -1; minute <= 12; minute++) {
          const expected = history.findLastIndex(one => one.complete && one.minute <= minute) + 1
          const found = await findAsOf(storage, 'b1', asOf(minute), never).catch(error => error.code)
          assert.equal(found, expected || 'GENERATION_NOT_FOUND', `minute ${minute} of ${JSON.stringify(history)}`)
        }
      }
    })

    test('as-of follows the order of commits where a clock was set back', async () => {
      for (const history of setBack) {
        const storage = openMemoryStorage()
        await storeGenerations(
          storage,
          history.map(({ minute, complete }) => ({ created_at: timeOf(minute), complete })),
          logFrom,
        )
        for (let minute = -1; minute <= 12; minute++) {
          const expected = committedBy(history, minute)
          const found = await findAsOf(storage, 'b1', asOf(minute), never).catch(error => error.code)
          assert.equal(found, expected || 'GENERATION_NOT_FOUND', `minute ${minute} of ${JSON.stringify(history)}`)
        }
      }
    })

    test('describe and verify show the chosen generation', async () => {
      const storage = openMemoryStorage()
      await storeGenerations(
        storage,
        [0, 1, 2, 3, 4, 5].map(minute => ({ created_at: timeOf(minute) })),
        logFrom,
      )
      for (const choice of [{ generation: 3 }, { asOfMs: asOf(2) }, { asOfMs: asOf(2) + 59_999n }]) {
        const description = await describeBackup(storage, 'b1', choice, never)
        assert.deepEqual([description.generation, description.totals.records], [3, 3])
        const report = await verifyBackup(storage, 'b1', { ...choice, deep: true, onProgress: () => {} }, never)
        assert.deepEqual([report.generation, report.ok, report.problems, report.records], [3, true, [], 3])
      }
      assert.equal((await openSelected(storage, 'b1', {}, never)).generation, 6)
    })

    test('a generation that is not there is an error that names those that are', async () => {
      const storage = openMemoryStorage()
      const minutes = [3, 4, 5, 6, 7]
      await storeGenerations(
        storage,
        minutes.map(minute => ({ created_at: timeOf(minute), complete: minute > 3 })),
        logFrom,
      )
      await assert.rejects(openSelected(storage, 'b1', { generation: 9 }, never), {
        code: 'GENERATION_NOT_FOUND',
        message: 'backup `b1` at memory has no generation 9',
        help: 'It has generations from 1 to 5; `kafka-backup list --generations` lists them.',
      })
      await assert.rejects(openSelected(storage, 'b1', { asOfMs: asOf(3) }, never), {
        code: 'GENERATION_NOT_FOUND',
        message: 'backup `b1` at memory has no complete generation that was committed by 2026-01-02T03:03:00.000Z',
        help: 'The earliest one is generation 2, committed at 2026-01-02T03:04:00.000Z. `kafka-backup list --generations` lists them.',
      })
      await assert.rejects(openSelected(storage, 'b2', { generation: 1 }, never), { code: 'BACKUP_NOT_FOUND' })
    })
  })
}

interface Committed {
  minute: number
  complete: boolean
}

/** The newest complete generation up to the last one whose time is not later; 0 without one. */
function committedBy(history: readonly Committed[], minute: number): number {
  const last = history.findLastIndex(one => one.minute <= minute)
  return history.findLastIndex(({ complete }, at) => complete && at <= last) + 1
}

const setBack: Committed[][] = [
  { minutes: [1, 5, 9, 2, 4, 6, 8], incomplete: [] },
  { minutes: [1, 5, 9, 2, 4, 6, 8], incomplete: [3] },
  { minutes: [9, 8, 7, 6, 5, 4, 3], incomplete: [] },
  { minutes: [1, 2, 11, 3, 4, 5, 6], incomplete: [3, 4] },
  { minutes: [3, 1, 4, 2, 5, 3, 6], incomplete: [5] },
].map(({ minutes, incomplete }) => minutes.map((minute, at) => ({ minute, complete: !incomplete.includes(at) })))

/** A year of backups is known by its times alone. */
function timesOf(minutes: readonly number[]) {
  const read = new Set<number>()
  const readIfWhole = async (at: number) => {
    read.add(at)
    const timeMs = minutes[at]
    return timeMs === undefined ? undefined : { timeMs, complete: true }
  }
  return { times: { count: minutes.length, readIfWhole }, countReads: () => read.size }
}

test('as-of of a long history finds every place where a clock was set back, and reads few generations', async () => {
  const length = 20_000
  for (const [at, by] of [
    [300, 60],
    [9_000, 5],
    [9_000, 700],
    [19_900, 5_000],
    [15_000, 14_000],
  ] as const) {
    const minutes = Array.from({ length }, (_, i) => (i < at ? i : i - by))
    for (let minute = at - by - 2; minute < at + 2; minute += Math.ceil(by / 50)) {
      const { times, countReads } = timesOf(minutes)
      const expected = minutes.findLastIndex(one => one <= minute) + 1
      assert.equal(await countUntil(times, minute), expected, `minute ${minute}, set back by ${by} at ${at}`)
      assert.ok(countReads() <= 130, `${countReads()} reads`)
    }
  }
  const { times, countReads } = timesOf(Array.from({ length }, (_, i) => i))
  assert.equal(await countUntil(times, 10_000), 10_001)
  assert.ok(countReads() <= 50, `${countReads()} reads`)
})

test('as-of of a long history finds where a clock was set back twice in a short time', async () => {
  for (const by of [500, 1_500]) {
    const minutes = Array.from({ length: 20_000 }, (_, i) => i - (i >= 9_000 ? by : 0) - (i >= 9_300 ? 1_400 : 0))
    for (let minute = 9_000 - by - 1_600; minute < 9_000; minute += 37) {
      const { times, countReads } = timesOf(minutes)
      const expected = minutes.findLastIndex(one => one <= minute) + 1
      assert.equal(await countUntil(times, minute), expected, `minute ${minute}, set back by ${by} and 1,400`)
      assert.ok(countReads() <= 250, `${countReads()} reads`)
    }
  }
})

/** All histories of five generations whose times do not decrease, of a few kinds. */
const histories = [0b11111, 0b01111, 0b11110, 0b10101, 0b00000, 0b00100].flatMap(complete =>
  [
    [1, 2, 3, 4, 5],
    [2, 2, 2, 9, 9],
    [0, 4, 4, 8, 11],
  ].map(minutes => minutes.map((minute, at) => ({ minute, complete: ((complete >> at) & 1) === 1 }))),
)

test('a damaged generation is an error where it may be the one, and no obstacle elsewhere', async () => {
  for (const logFrom of [undefined, 1]) {
    for (let lost = 1; lost <= 7; lost++) {
      const storage = openMemoryStorage()
      await storeGenerations(
        storage,
        [1, 2, 3, 4, 5, 6, 7].map(minute => ({ created_at: timeOf(minute) })),
        logFrom,
      )
      const key = (logFrom ? commitKey : manifestKey)('b1', lost)
      await storage.replace(key, Buffer.from('nothing'), never)
      for (let minute = 1; minute <= 7; minute++) {
        const found = await findAsOf(storage, 'b1', asOf(minute), never).catch(error => error.code)
        // The time of a damaged one is not known: it may be as old as the one before it.
        const isInDoubt = minute === lost || minute === lost - 1
        assert.equal(found, isInDoubt ? 'ARCHIVE_DAMAGED' : minute, `minute ${minute} without ${lost}`)
      }
    }
  }
})

test('an expired backup is refused with either choice', async () => {
  const storage = openMemoryStorage()
  await storeGenerations(storage, [{ created_at: timeOf(1) }])
  await storage.create(prunedMarkKey('b1'), Buffer.from('{}'), never)
  for (const choice of [{ generation: 1 }, { asOfMs: asOf(5) }]) {
    await assert.rejects(openSelected(storage, 'b1', choice, never), { code: 'BACKUP_PRUNED' })
  }
})
