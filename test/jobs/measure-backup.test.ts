import assert from 'node:assert/strict'
import { test } from 'node:test'
import { KafkaBackupError } from '../../src/errors.ts'
import { HourlyMeasure, measureBackup } from '../../src/jobs/measure-backup.ts'
import { storeGenerations } from '../copy/sample-history.ts'
import { openMemoryStorage } from '../fakes/memory-storage.ts'
import { HandClock, HOUR } from '../retention/world.ts'

const never = new AbortController().signal

test('the size of a backup is that of all of its objects in the store, of every generation', async () => {
  const storage = openMemoryStorage()
  await storeGenerations(storage, 3)
  await storeGenerations(storage, 1, { backupId: 'b10' })
  const sizes = [...storage.objects].filter(([key]) => key.startsWith('b1/')).map(([, body]) => body.length)
  const total = sizes.reduce((sum, size) => sum + size, 0)
  assert.ok(total > 10_000)
  assert.equal(await measureBackup({ listStored: storage.list.bind(storage) }, 'b1', never), total)
})

test('a store that cannot be listed leaves the size unknown', async () => {
  const listStored = async function* () {
    yield* []
    throw new KafkaBackupError('STORAGE_DENIED', 'no')
  }
  assert.equal(await measureBackup({ listStored }, 'b1', never), undefined)
})

test('a continuous backup goes on while it is measured, once an hour, and ends the listing with itself', async () => {
  const clock = new HandClock()
  const sizes: number[] = []
  let [listings, isBrokenOff] = [0, false]
  const gate = Promise.withResolvers<void>()
  const listStored = async function* (_: string, signal: AbortSignal) {
    listings++
    signal.addEventListener('abort', () => {
      isBrokenOff = true
      gate.resolve()
    })
    if (listings > 1) await gate.promise
    signal.throwIfAborted()
    yield { key: 'b1/x', size: 5, modifiedMs: 0 }
  }
  const measure = new HourlyMeasure({ listStored }, 'b1', clock, bytes => void sizes.push(bytes))
  const turn = () => new Promise(resolve => setImmediate(resolve))
  for (const passedMs of [0, HOUR - 1, 1, HOUR]) {
    clock.pass(passedMs)
    measure.begin(never)
    await turn()
  }
  assert.deepEqual([listings, sizes, isBrokenOff], [2, [5], false])
  await measure.end()
  assert.deepEqual([listings, sizes, isBrokenOff], [2, [5], true])
})
