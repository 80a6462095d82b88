import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import type { StorageCall } from '../../src/storage/observed.ts'
import { defaultStorageRetryPolicy, openStorage } from '../../src/storage/open-storage.ts'

const signal = new AbortController().signal

test('a storage is opened from its options, with retries inside and the observer outside', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'kafka-backup-open-'))
  const calls: StorageCall[] = []
  const storage = openStorage(
    { backend: 'filesystem', path: folder, prefix: 'team' },
    { observer: call => calls.push(call) },
  )
  await storage.create('a', Buffer.from('x'), signal)
  await storage.close()
  assert.equal(storage.location, join(folder, 'team'))
  assert.equal((await readFile(join(folder, 'team/a'))).toString(), 'x')
  assert.deepEqual(
    calls.map(call => call.operation),
    ['create'],
  )
  await rm(folder, { recursive: true })
})

test('a location that cannot serve is told at once, without retries', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'kafka-backup-open-'))
  const path = join(folder, 'file')
  await writeFile(path, '')
  const retries: unknown[] = []
  const storage = openStorage({ backend: 'filesystem', path }, { onRetry: notice => retries.push(notice) })
  await assert.rejects(storage.create('a', Buffer.from('x'), signal), { code: 'LOCATION_INVALID' })
  assert.deepEqual(retries, [])
  await rm(folder, { recursive: true })
})

test('the default retries wait for about half a minute in all', () => {
  const { attempts, baseDelayMs, maxDelayMs } = defaultStorageRetryPolicy
  let longestMs = 0
  for (let i = 0; i < attempts - 1; i++) longestMs += Math.min(maxDelayMs, baseDelayMs * 2 ** i)
  assert.ok(longestMs >= 20_000 && longestMs <= 40_000, `${longestMs} ms`)
})
