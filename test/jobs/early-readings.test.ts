import assert from 'node:assert/strict'
import { test } from 'node:test'
import { withEncryption } from '../../src/encryption/encrypted-storage.ts'
import { KafkaBackupError } from '../../src/errors.ts'
import { EarlyReadings } from '../../src/jobs/early-readings.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { keyOf, ownKeys } from '../encryption/samples.ts'
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
  const each = ['b1/keys/', 'b1/kept/', 'b1/manifests/']
  assert.deepEqual(lists.sort(), [...each, ...each].sort())
  await readings.close()
})

test('a run without a lease reads when it needs it, and fails with what could not be read', async () => {
  const { readings, lists } = open(openMemoryStorage(), async prefix => {
    if (prefix === 'b1/manifests/') throw new KafkaBackupError('STORAGE_DENIED', 'no')
  })
  await assert.rejects(readings.take(), { code: 'STORAGE_DENIED' })
  assert.deepEqual(lists.sort(), ['b1/kept/', 'b1/kept/', 'b1/keys/', 'b1/manifests/', 'b1/manifests/'])
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

test('keys that a removal takes away after they were read are not written with', async () => {
  const near = openMemoryStorage()
  await withEncryption(near, ownKeys([keyOf(1)])).keysFor('b1', never)
  const [key = ''] = near.objects.keys()
  const before = near.objects.get(key)
  const storage = withEncryption(near, ownKeys([keyOf(1)]))
  const readings = new EarlyReadings(storage, 'b1', true, never)
  readings.begin()
  for (let i = 0; i < 20; i++) await new Promise(resolve => setImmediate(resolve))
  // The removal had looked for leases before, and ends before the run looks for it.
  near.objects.delete(key)
  assert.ok((await readings.take()).encryption)
  await storage.create('b1/manifests/00000001.json', Buffer.from('{}'), never)
  const later = withEncryption(near, ownKeys([keyOf(1)]))
  assert.equal((await later.read('b1/manifests/00000001.json', never)).toString(), '{}')
  assert.notDeepEqual(near.objects.get(key), before)
  await readings.close()
})

test('a run that does not begin with the newest state reads the keys when it is alone', async () => {
  const near = openMemoryStorage()
  const readings = new EarlyReadings(withEncryption(near, ownKeys([keyOf(1)])), 'b1', false, never)
  readings.begin()
  await withEncryption(near, ownKeys([keyOf(1)])).keysFor('b1', never)
  const { encryption, newest } = await readings.take()
  assert.ok(encryption)
  assert.equal(newest, undefined)
  assert.equal(near.objects.size, 1)
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
  assert.equal(ended, 3)
})
