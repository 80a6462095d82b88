import assert from 'node:assert/strict'
import { test } from 'node:test'
import { withEncryption } from '../../src/encryption/encrypted-storage.ts'
import { KafkaBackupError } from '../../src/errors.ts'
import { EarlyReadings } from '../../src/jobs/early-readings.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { openMemoryStorage } from '../fakes/memory-storage.ts'
import { World } from '../retention/world.ts'

const never = new AbortController().signal

function open(
  near: ReturnType<typeof openMemoryStorage>,
  before: (prefix: string, signal: AbortSignal) => Promise<void>,
) {
  const lists: string[] = []
  const counted: typeof near = {
    ...near,
    list: async function* (prefix, signal) {
      lists.push(prefix)
      await before(prefix, signal)
      yield* near.list(prefix, signal)
    },
  }
  const options = { loadCredentials: async () => [], hasCredentials: false, mayAskKms: false, clock: systemClock }
  return { readings: new EarlyReadings(withEncryption(counted, options), 'b1', true, never), lists }
}

test('what was begun last is taken, and what was begun is not read twice', async () => {
  const world = new World()
  await world.commit('b1')
  let fails = true
  const { readings, lists } = open(world.storage, async () => {
    if (fails) throw new KafkaBackupError('BACKUP_PRUNED', 'a prune was at work')
  })
  readings.begin()
  await new Promise(resolve => setImmediate(resolve))
  fails = false
  await world.commit('b1')
  readings.begin()
  const { newest, encryption } = await readings.take()
  assert.deepEqual([newest?.manifest?.generation, encryption], [2, undefined])
  const each = ['b1/keys/', 'b1/manifests/']
  assert.deepEqual(lists.sort(), [...each, ...each].sort())
  await readings.close()
})

test('a run without a lease reads when it needs it, and fails with what could not be read', async () => {
  const { readings, lists } = open(openMemoryStorage(), async prefix => {
    if (prefix === 'b1/manifests/') throw new KafkaBackupError('STORAGE_DENIED', 'no')
  })
  await assert.rejects(readings.take(), { code: 'STORAGE_DENIED' })
  assert.deepEqual(lists.sort(), ['b1/keys/', 'b1/manifests/', 'b1/manifests/'])
  await readings.close()
})

test('what could not be read while others were looked for is read again when the run is alone', async () => {
  const world = new World()
  await world.commit('b1')
  let faults = 1
  const { readings } = open(world.storage, async prefix => {
    if (prefix === 'b1/manifests/' && faults-- > 0)
      throw new KafkaBackupError('STORAGE_NOT_FOUND', 'removed by a prune')
  })
  readings.begin()
  await new Promise(resolve => setImmediate(resolve))
  assert.equal((await readings.take()).newest?.manifest?.generation, 1)
  await readings.close()
})

test('closing ends what is still being read', async () => {
  let ended = 0
  const { readings } = open(
    openMemoryStorage(),
    (_, signal) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => {
          ended++
          reject(signal.reason)
        })
      }),
  )
  readings.begin()
  await new Promise(resolve => setImmediate(resolve))
  await readings.close()
  assert.equal(ended, 2)
})
