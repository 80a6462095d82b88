import assert from 'node:assert/strict'
import { test } from 'node:test'
import { KafkaBackupError } from '../../src/errors.ts'
import { measureBackup } from '../../src/wiring/measure-backup.ts'
import { storeGenerations } from '../copy/sample-history.ts'
import { openMemoryStorage } from '../fakes/memory-storage.ts'

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
