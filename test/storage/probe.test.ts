import assert from 'node:assert/strict'
import { test } from 'node:test'
import { KafkaBackupError } from '../../src/errors.ts'
import { assertWriteOnce, probeKey } from '../../src/storage/check-location.ts'
import { openMemoryStorage } from '../fakes/memory-storage.ts'

const never = new AbortController().signal

test('accepts a store that never replaces objects, and creates one object only', async () => {
  const storage = openMemoryStorage()
  await assertWriteOnce(storage, never)
  await assertWriteOnce(storage, never)
  assert.deepEqual([...storage.objects.keys()], [probeKey])
})

test('rejects a store that replaces objects, every time', async () => {
  const storage = openMemoryStorage()
  const careless = { ...storage, location: 's3://careless', create: storage.replace }
  for (let i = 0; i < 2; i++) {
    await assert.rejects(assertWriteOnce(careless, never), { code: 'STORAGE_UNFIT', message: /^s3:\/\/careless / })
  }
})

test('passes on the error of a store that denies the probe', async () => {
  const denied = new KafkaBackupError('STORAGE_DENIED', 'no')
  const storage = { ...openMemoryStorage(), create: () => Promise.reject(denied) }
  await assert.rejects(assertWriteOnce(storage, never), error => error === denied)
})
