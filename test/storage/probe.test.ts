import assert from 'node:assert/strict'
import { test } from 'node:test'
import { KafkaBackupError } from '../../src/errors.ts'
import { assertWriteOnce, findProtection, probeKey } from '../../src/storage/check-location.ts'
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

test('warns of a store that protects objects from removal, and of no other', async () => {
  const storage = openMemoryStorage()
  const nowMs = Date.parse('2026-01-02T00:00:00Z')
  assert.equal(await findProtection(storage, nowMs, never), undefined)
  await assertWriteOnce(storage, never)
  assert.equal(await findProtection(storage, nowMs, never), undefined)
  const until = (ms: number) => ({
    ...storage,
    stat: async (key: string) => ({ key, size: 1, modifiedMs: 0, protectedUntilMs: ms }),
  })
  assert.equal(await findProtection(until(nowMs), nowMs, never), undefined)
  const warning = (await findProtection(until(nowMs + 1000), nowMs, never)) ?? ''
  assert.match(warning, /^memory protects objects from removal, \.kafka-backup-probe until 2026-01-02T00:00:01\.000Z: /)
})
