import assert from 'node:assert/strict'
import { test } from 'node:test'
import { KafkaBackupError } from '../../src/errors.ts'
import { assertWriteOnce, probeKey } from '../../src/storage/probe.ts'
import { openMemoryStorage } from '../fakes/memory-storage.ts'

const never = new AbortController().signal

test('a store that keeps what is there passes, again and again, and holds one object for it', async () => {
  const storage = openMemoryStorage()
  await assertWriteOnce(storage, never)
  await assertWriteOnce(storage, never)
  assert.deepEqual([...storage.objects.keys()], [probeKey])
})

test('a store that replaces what is there is unfit, each time', async () => {
  const storage = openMemoryStorage()
  const careless = { ...storage, location: 's3://careless', create: storage.replace }
  for (let i = 0; i < 2; i++) {
    await assert.rejects(assertWriteOnce(careless, never), { code: 'STORAGE_UNFIT', message: /^s3:\/\/careless / })
  }
})

test('a store that denies the probe says so', async () => {
  const denied = new KafkaBackupError('STORAGE_DENIED', 'no')
  const storage = { ...openMemoryStorage(), create: () => Promise.reject(denied) }
  await assert.rejects(assertWriteOnce(storage, never), error => error === denied)
})
