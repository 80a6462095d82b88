import assert from 'node:assert/strict'
import { test } from 'node:test'
import { describeBackup } from '../../src/archive/describe.ts'
import { listBackups } from '../../src/archive/list-backups.ts'
import { encodeRun } from '../fakes/batches.ts'
import { withFaults } from '../fakes/faulty-storage.ts'
import { openMemoryStorage } from '../fakes/memory-storage.ts'
import { never, storeBackup } from './sample-archive.ts'

const lists = [
  [encodeRun(0n, 3, { baseTimestamp: 500n })],
  [encodeRun(3n, 2, { baseTimestamp: 100n, maxTimestamp: 900n })],
]

async function threeBackups() {
  const storage = openMemoryStorage()
  await storeBackup(storage, lists)
  for (const [key, body] of [...storage.objects]) storage.objects.set(key.replace('b1/', 'a0/'), body)
  storage.objects.set('c2/manifests/00000001.json', Buffer.from('{"format_version":9}'))
  return storage
}

test('a list has a row for each backup, and one that cannot be read says why', async () => {
  const rows = await listBackups(await threeBackups(), never)
  assert.deepEqual(
    rows.map(row => row.backup_id),
    ['a0', 'b1', 'c2'],
  )
  const [copied, good, newer] = rows
  assert.ok(copied && 'error' in copied && copied.code === 'ARCHIVE_DAMAGED' && /belongs to .* `b1`/.test(copied.error))
  assert.ok(newer && 'error' in newer && newer.code === 'ARCHIVE_TOO_NEW')
  assert.ok(good && 'records' in good)
  const { generation, complete, cluster_id, topics, partitions, records, batches, segments, gaps } = good
  assert.deepEqual([generation, complete, cluster_id], [1, true, 'c1'])
  assert.deepEqual(
    { topics, partitions, records, batches, segments, gaps },
    { topics: 1, partitions: 1, records: 5, batches: 2, segments: 2, gaps: 0 },
  )
})

test('a list of nothing is empty', async () => {
  assert.deepEqual(await listBackups(openMemoryStorage(), never), [])
})

test('a list that is stopped says so, instead of rows of errors', async () => {
  const controller = new AbortController()
  const reason = new Error('stopped')
  const storage = withFaults(await threeBackups(), [
    {
      on: 'read',
      effect: {
        kind: 'throw-before',
        error: () => {
          controller.abort(reason)
          return reason
        },
      },
    },
  ])
  await assert.rejects(listBackups(storage, controller.signal), error => error === reason)
})

test('a description adds up its partitions and leaves the indexes out', async () => {
  const storage = openMemoryStorage()
  const manifest = await storeBackup(storage, lists)
  const described = await describeBackup(storage, 'b1', {}, never)
  assert.deepEqual(described.generations, [1])
  assert.equal(described.location, 'memory')
  const [topic] = described.topics
  assert.deepEqual(
    [topic?.partition_count, topic?.records, topic?.first_timestamp, topic?.last_timestamp, topic?.gaps],
    [1, 5, 100n, 900n, []],
  )
  const { indexes: _, ...partition } = manifest.topics[0]?.partitions[0] ?? assert.fail()
  assert.deepEqual(topic?.partitions, [partition])
})

test('the folder of one backup is refused as a location of backups, with the location that is meant', async () => {
  const storage = openMemoryStorage()
  await storeBackup(storage, lists)
  for (const [key, body] of [...storage.objects]) {
    storage.objects.delete(key)
    storage.objects.set(key.replace(/^b1\//, ''), body)
  }
  for (const [location, help] of [
    ['/backups/b1', /^Give \/backups as the location .* and b1 as the backup id/],
    ['s3://bucket/team/b1?endpoint=x', /^Give s3:\/\/bucket\/team\?endpoint=x as/],
  ] as const) {
    const at = { ...storage, location }
    await assert.rejects(listBackups(at, never), { code: 'LOCATION_INVALID', help })
    await assert.rejects(describeBackup(at, 'b1', {}, never), { code: 'LOCATION_INVALID', help })
  }
})
