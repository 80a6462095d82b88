import assert from 'node:assert/strict'
import { test } from 'node:test'
import { commitGeneration } from '../../src/archive/commit.ts'
import type { OnProgress } from '../../src/observe/progress.ts'
import { compareSnapshot, verifySnapshot } from '../../src/offsets/compare-snapshot.ts'
import { readGroups } from '../../src/offsets/group-now.ts'
import { readLags } from '../../src/offsets/lag.ts'
import { originGroup, originOfBackup, readBackupOrigin } from '../../src/offsets/origin.ts'
import { SnapshotBook } from '../../src/offsets/snapshot-book.ts'
import { takeSnapshot } from '../../src/offsets/take-snapshot.ts'
import { draftManifest } from '../archive/sample-archive.ts'
import { storeGenerations } from '../copy/sample-history.ts'
import { JumpingClock } from '../fakes/jumping-clock.ts'
import { openMemoryStorage } from '../fakes/memory-storage.ts'
import { fakeOffsets, memoryBook, plainLog } from './fake-offsets.ts'

const never = new AbortController().signal

function cluster() {
  const fake = fakeOffsets({ orders: [plainLog(10), plainLog(10)] })
  fake.put('a', { 'orders/0': 4, 'orders/1': 2 })
  fake.put('b', { 'orders/0': 10 })
  return fake
}

test('a snapshot is written once, carries a checksum, and is refused when it is damaged', async () => {
  const { book, storage } = memoryBook()
  const taken = await takeSnapshot([], { port: cluster(), book }, never)
  const key = `offset-snapshots/${taken.snapshot_id}.json`
  assert.deepEqual([...storage.objects.keys()], [key])
  assert.deepEqual(await book.read(taken.snapshot_id, never), taken)
  const bytes = storage.objects.get(key) ?? Buffer.alloc(0)
  await assert.rejects(storage.create(key, bytes, never), { code: 'STORAGE_EXISTS' })
  storage.objects.set(key, Buffer.from(bytes.toString().replace('"offset": 4', '"offset": 5')))
  await assert.rejects(book.read(taken.snapshot_id, never), { code: 'ARCHIVE_DAMAGED' })
  const unsealed = bytes.toString().replace(/,\n "checksum": "[0-9a-f]+"/, '')
  storage.objects.set(key, Buffer.from(unsealed))
  await assert.rejects(book.read(taken.snapshot_id, never), { code: 'ARCHIVE_DAMAGED' }, 'a seal cannot be left out')
  const [listed] = await book.list(never)
  assert.equal(listed?.error?.code, 'ARCHIVE_DAMAGED')
})

test('a snapshot that lists an offset twice, which no reader would accept, is not written', async () => {
  const { book, storage } = memoryBook()
  const port = cluster()
  const twice: typeof port.readPositions = async (groups, signal) => {
    const found = await port.readPositions(groups, signal)
    const repeat = <T extends { offsets: readonly unknown[] }>(one: T) => ({
      ...one,
      offsets: [...one.offsets, ...one.offsets],
    })
    return new Map([...found].map(([group, one]) => [group, one instanceof Error ? one : repeat(one)]))
  }
  await assert.rejects(takeSnapshot(['a'], { port: { ...port, readPositions: twice }, book }, never), {
    code: 'OFFSETS_REFUSED',
    message: /nothing is changed: the cluster lists of group "a" the offset of orders\/0 twice/,
  })
  assert.equal(storage.objects.size, 0)
})

test('snapshots are listed, newest first, and removed by name', async () => {
  const { book } = memoryBook()
  const port = cluster()
  const first = await takeSnapshot(['a'], { port, book }, never)
  const second = await takeSnapshot(['b*'], { port, book }, never)
  assert.deepEqual(
    (await book.list(never)).map(({ snapshotId }) => snapshotId),
    [second.snapshot_id, first.snapshot_id],
  )
  await book.remove(first.snapshot_id, never)
  await assert.rejects(book.remove(first.snapshot_id, never), { code: 'STORAGE_NOT_FOUND' })
  await assert.rejects(book.read(first.snapshot_id, never), {
    code: 'STORAGE_NOT_FOUND',
    message: /no offset snapshot/,
  })
  await assert.rejects(book.read('../x', never), { code: 'USAGE' })
  await assert.rejects(takeSnapshot(['c'], { port, book }, never), { code: 'GROUP_NOT_FOUND' })
})

test('a snapshot may be a file of its own, whatever it is called', async () => {
  const storage = openMemoryStorage()
  const parts = { storage, clock: new JumpingClock(), newRun: () => 'r', toolVersion: '0', file: 'before.json' }
  const book = new SnapshotBook(parts)
  const taken = await takeSnapshot([], { port: cluster(), book }, never)
  assert.deepEqual([...storage.objects.keys()], ['before.json'])
  assert.deepEqual(await book.read('', never), taken)
  await assert.rejects(takeSnapshot([], { port: cluster(), book }, never), { code: 'STORAGE_EXISTS' })
})

test('a file that is no snapshot is not deleted', async () => {
  const storage = openMemoryStorage()
  storage.objects.set('job.yaml', Buffer.from('mode: backup'))
  const parts = { storage, clock: new JumpingClock(), newRun: () => 'r', toolVersion: '0' }
  await assert.rejects(new SnapshotBook({ ...parts, file: 'job.yaml' }).remove('', never), { code: 'ARCHIVE_DAMAGED' })
  assert.deepEqual([...storage.objects.keys()], ['job.yaml'])
  const book = new SnapshotBook({ ...parts, file: 'before.json' })
  await takeSnapshot([], { port: cluster(), book }, never)
  await book.remove('', never)
  assert.deepEqual([...storage.objects.keys()], ['job.yaml'])
})

test('what has gone on since is a difference only when it is asked for strictly', async () => {
  const { book } = memoryBook()
  const fake = cluster()
  const snapshot = await takeSnapshot([], { port: fake, book }, never)
  const compare = async (isStrict: boolean) =>
    compareSnapshot(snapshot, { groups: await readGroups(fake, ['a', 'b'], never), topicIds: new Map() }, isStrict)
  assert.equal((await compare(true)).ok, true)
  fake.put('a', { 'orders/0': 6, 'orders/1': 2 })
  assert.deepEqual([(await compare(false)).ok, (await compare(true)).ok], [true, false])
  fake.put('b', { 'orders/0': 9 })
  const behind = await compare(false)
  assert.deepEqual([behind.ok, behind.groups.map(({ isDifferent }) => isDifferent)], [false, [false, true]])
  assert.equal(behind.groups[1]?.positions[0]?.change, 'behind')
  fake.groups.delete('b')
  assert.equal((await compare(false)).groups[1]?.positions[0]?.change, 'missing')
})

test('strictly, offsets that the snapshot does not have and a group of another type are differences', async () => {
  const { book } = memoryBook()
  const fake = cluster()
  const snapshot = await takeSnapshot(['b'], { port: fake, book }, never)
  fake.put('b', { 'orders/0': 10, 'orders/1': 5 })
  assert.equal((await verifySnapshot(snapshot, false, fake, never)).ok, true)
  const strict = await verifySnapshot(snapshot, true, fake, never)
  assert.deepEqual([strict.ok, strict.groups[0]?.positions[1]?.change], [false, 'added'])
  fake.put('b', { 'orders/0': 10 }, { type: 'share' })
  const other = await verifySnapshot(snapshot, false, fake, never)
  assert.deepEqual(
    [other.ok, other.groups[0]?.error],
    [false, 'it is a share group on this cluster and was a classic group'],
  )
})

test('a snapshot of all groups warns of those that it does not have', async () => {
  const { book } = memoryBook()
  const fake = cluster()
  const { listGroups } = fake
  const other = { group: 'queue', type: 'other', typeName: 'future', state: 'Empty', protocolType: '' } as const
  fake.listGroups = async signal => [...(await listGroups(signal)), other]
  fake.maySeeAllGroups = async () => false
  const warningsOf = async (...groups: string[]) => {
    const warnings: string[] = []
    await takeSnapshot(groups, { port: fake, book, onWarning: message => warnings.push(message) }, never)
    return warnings
  }
  const [unknown, hidden, ...rest] = await warningsOf()
  assert.match(unknown ?? '', /brokers do not report it: queue \(future\)$/)
  assert.match(hidden ?? '', /^consumer groups that this login may not describe are not in the snapshot/)
  assert.deepEqual(rest, [])
  assert.equal((await warningsOf('a*')).length, 1)
  assert.deepEqual(await warningsOf('a'), [], 'a name means one group')
})

test('lag is told for each partition, and positions of partitions that are gone have none', async () => {
  const fake = cluster()
  fake.put('c', { 'gone/0': 4 })
  const { groups } = await readLags(fake, { groups: [], topics: [], partitions: [] }, never)
  assert.deepEqual(
    groups.map(({ group, positions }) => [group, positions.map(({ lag }) => lag)]),
    [
      ['a', [6n, 8n]],
      ['b', [0n]],
      ['c', [null]],
    ],
  )
})

test('a group that a backup could not read has no positions to take', () => {
  const manifest = { backup_id: 'b1', generation: 3, cluster: { id: 'x' }, topics: [] }
  const position = { topic: 'orders', partition: 0, offset: 5n, metadata: '' }
  const origin = originOfBackup(manifest, [
    { group: 'a', error: null, positions: [position] },
    { group: 'b', error: 'denied', positions: [] },
  ])
  assert.deepEqual(originGroup(origin, 'a').positions, [position])
  assert.throws(() => originGroup(origin, 'b'), {
    code: 'OFFSETS_REFUSED',
    message: /generation 3 of the backup b1.*denied/,
  })
  assert.throws(() => originGroup(origin, 'c'), { code: 'GROUP_NOT_FOUND' })
})

test('a group that is named and not listed is missing, hidden from the login, or of a type that brokers do not report', async () => {
  const fake = cluster()
  const take = (group: string) => takeSnapshot([group], { port: fake, book: memoryBook().book }, never)
  await assert.rejects(take('gone'), { code: 'GROUP_NOT_FOUND', message: 'there is no consumer group gone' })
  fake.maySeeAllGroups = async () => false
  await assert.rejects(take('gone'), {
    code: 'GROUP_NOT_FOUND',
    message: 'there is no consumer group gone, or this login may not describe it',
    help: /^Grant Describe on group gone/,
  })
  const { listGroups } = fake
  const other = { group: 'queue', type: 'other', typeName: 'future', state: 'Empty', protocolType: '' } as const
  fake.listGroups = async signal => [...(await listGroups(signal)), other]
  await assert.rejects(take('queue'), {
    code: 'KAFKA_UNSUPPORTED',
    message: /group queue, which is of the type future$/,
  })
})

test('offsets of a backup that were read before its last records are set with a warning', async () => {
  const storage = openMemoryStorage()
  const [first] = await storeGenerations(storage, 1)
  assert.ok(first?.consumer_groups)
  const warningsOf = async () => {
    const told: string[] = []
    const onProgress: OnProgress = one => void (one.type === 'warning' && told.push(one.message))
    const { groups } = await readBackupOrigin(storage, 'b1', onProgress, never)
    assert.deepEqual(
      groups[0]?.positions.map(({ offset }) => offset),
      [1n],
    )
    return told
  }
  assert.deepEqual(await warningsOf(), [])
  const carried = { generation: 2, run: 'run2', carried_sections: ['consumer_groups' as const] }
  const manifest = { ...draftManifest(first.topics, carried), consumer_groups: first.consumer_groups }
  await commitGeneration(storage, { manifest, freshSegments: new Map(), attempt: 1 }, never)
  assert.match((await warningsOf()).join(), /^the committed offsets of generation 2 were read at .*groups read again/)
})

test('a snapshot that could not be read again is not written', async () => {
  const { book, storage } = memoryBook()
  const fake = cluster()
  fake.put('strange', { 'not a topic/0': 4 })
  await assert.rejects(takeSnapshot([], { port: fake, book }, never), {
    code: 'OFFSETS_REFUSED',
    message: /so nothing is changed: groups\.\d\.positions\.0\.topic: is not a valid topic name/,
  })
  assert.equal(storage.objects.size, 0)
  assert.ok(await takeSnapshot(['a', 'b'], { port: fake, book }, never))
})
