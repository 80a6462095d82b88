import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { NewestState } from '../../src/archive/catalog.ts'
import type { ObservedSource } from '../../src/backup/observed-source.ts'
import { withEncryption } from '../../src/encryption/encrypted-storage.ts'
import { KafkaBackupError } from '../../src/errors.ts'
import { EarlyReadings } from '../../src/jobs/early-readings.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { openMemoryStorage } from '../fakes/memory-storage.ts'

const never = new AbortController().signal
const source = { topics: [] } as unknown as ObservedSource

function open(read: (count: number, signal: AbortSignal) => Promise<NewestState>) {
  const lists: string[] = []
  const near = openMemoryStorage()
  const counted: typeof near = {
    ...near,
    list: (prefix, signal) => {
      lists.push(prefix)
      return near.list(prefix, signal)
    },
  }
  const options = { loadCredentials: async () => [], hasCredentials: false, mayAskKms: false, clock: systemClock }
  let reads = 0
  const readings = new EarlyReadings(
    withEncryption(counted, options),
    'b1',
    signal => ({ newest: read(++reads, signal), shown: Promise.resolve(source) }),
    never,
  )
  return { readings, lists, reads: () => reads }
}

test('what was begun last is taken, and what was begun is not read twice', async () => {
  const { readings, lists, reads } = open(async count => {
    if (count === 1) throw new KafkaBackupError('BACKUP_PRUNED', 'a prune was at work')
    return { manifest: undefined, isLog: count > 1 }
  })
  readings.begin()
  readings.begin()
  const { newest, shown, encryption } = await readings.take()
  assert.deepEqual([newest?.isLog, await shown, encryption, reads()], [true, source, undefined, 2])
  assert.deepEqual(lists, ['b1/keys/', 'b1/keys/'])
  await readings.close()
})

test('a run without a lease reads when it needs it, and fails with what could not be read', async () => {
  const { readings, reads } = open(async () => {
    throw new KafkaBackupError('STORAGE_DENIED', 'no')
  })
  await assert.rejects(readings.take(), { code: 'STORAGE_DENIED' })
  assert.equal(reads(), 1)
  await readings.close()
})

test('closing ends what is still being read', async () => {
  let isEnded = false
  const { readings } = open(
    (_, signal) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => {
          isEnded = true
          reject(signal.reason)
        })
      }),
  )
  readings.begin()
  await readings.close()
  assert.equal(isEnded, true)
})
