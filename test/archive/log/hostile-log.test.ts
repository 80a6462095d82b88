import assert from 'node:assert/strict'
import { test } from 'node:test'
import { zstdCompressSync } from 'node:zlib'
import { openBackup, readGeneration } from '../../../src/archive/catalog.ts'
import { hashOf } from '../../../src/archive/hash.ts'
import { manifestKey } from '../../../src/archive/layout.ts'
import type { ListPart } from '../../../src/archive/log/change.ts'
import { composeParts } from '../../../src/archive/log/compose-changes.ts'
import { createDocument, maxPlainBytes, packDocument } from '../../../src/archive/log/document.ts'
import { changeKey, checkpointKey, commitKey, pageKey, rollupKey } from '../../../src/archive/log/keys.ts'
import { listCommits } from '../../../src/archive/log/list-commits.ts'
import { logMarker } from '../../../src/archive/log/marker.ts'
import { openGeneration } from '../../../src/archive/log/open-generation.ts'
import { hasCode, KafkaBackupError } from '../../../src/errors.ts'
import { refuseLargeRead } from '../../../src/storage/object-limits.ts'
import type { Storage } from '../../../src/storage/storage.ts'
import { openMemoryStorage } from '../../fakes/memory-storage.ts'

const { signal } = new AbortController()
const id = 'a'.repeat(32)
const topic = { name: 'orders', id, state: 'current', internal: false, replication_factor: 1, configs: {} }
const none = [0, 0, 0, 0]
const sums = [0, 0, 0, 0, 0, 0]
const version = { format_version: 2, backup_id: 'b' }

/** What somebody writes who may write to the store and knows the format. */
function commitOf(generation: number, changes: object = {}): object {
  const facts = { tool_version: '', run: 'r', complete: true, created_at: '', started_at: '' }
  const chain = { previous: null, checkpoint: null, rollups: [], parts: [] }
  return { format: 'kafka-backup-commit', ...version, ...facts, generation, ...chain, change: {}, ...changes }
}

async function storeCommit(generation: number, changes: object, storage = openMemoryStorage()): Promise<Storage> {
  await storage.replace(manifestKey('b', 1), logMarker, signal)
  const key = commitKey('b', generation)
  await storage.create(key, await packDocument(commitOf(generation, changes), key), signal)
  return storage
}

async function assertDamaged(storage: Storage, problem: RegExp): Promise<void> {
  await assert.rejects(openBackup(storage, 'b', signal), error => {
    assert.ok(error instanceof KafkaBackupError, String(error))
    assert.equal(error.code, 'ARCHIVE_DAMAGED', error.message)
    assert.match(error.message, problem)
    return true
  })
}

const segment = ['b/kafka/orders/0/x.log', 0, 0, 1, 1, 'A'.repeat(43), 0, 0, 1, 1, 1, 0, null, null]
const row = (key: string, ...more: unknown[]) => [key, 1, none, sums, ...more]
const groups = { state: 'taken', taken_at: '', key: 'other/kafka/groups-1.a.json', size: 1, groups: 0, positions: 0 }

const changes: [name: string, change: object, problem: RegExp][] = [
  ['a list without a topic', { lists: [row(`${id}/0`)] }, /belongs to no topic/],
  ['a reread without its list', { topics: [topic], lists: [row(`reread/${id}/0`)] }, /belongs to no partition/],
  ['a list in the place of a reread', { topics: [topic], lists: [row('reread/0')] }, /belongs to no topic/],
  [
    'one partition in two spellings',
    { topics: [topic], lists: [row(`${id}/0`), row(`${id}/00`)] },
    /partition 0 twice/,
  ],
  ['one topic twice', { topics: [topic, topic] }, /lists the topic ID a+ twice/],
  ['two topics of one name', { topics: [topic, { ...topic, id: 'b'.repeat(32) }] }, /lists topic orders twice/],
  [
    'negative sums',
    { topics: [topic], lists: [[`${id}/0`, 1, none, [-1, 0, 0, 0, 0, 0]]] },
    /records of a+\/0 adds up to -1/,
  ],
  ['a row without gaps', { topics: [topic], lists: [row(`${id}/0`, {}, null, ['gaps'])] }, /is damaged: change\.lists/],
  ['a head without a cluster', { unset: ['cluster'] }, /is damaged: change\.unset/],
  [
    'ranges that repeat segments',
    {
      topics: [topic],
      lists: [
        [
          `${id}/0`,
          0,
          none,
          sums,
          {},
          [
            [0, 9],
            [0, 9],
          ],
        ],
      ],
    },
    /out of order/,
  ],
  [
    'a range that goes backward',
    { topics: [topic], lists: [[`${id}/0`, 0, none, sums, {}, [[5, 2]]]] },
    /out of order/,
  ],
  [
    'a passing object that is not of records',
    { passing: [{ key: 'b/manifests/pruned.json', size: 1, blake3: 'a'.repeat(64) }] },
    /names "b\/manifests\/pruned.json", which is not a pack or a segment/,
  ],
  [
    'a passing segment of another backup',
    { passing: [{ key: 'c/kafka/orders/0/00000000000000000000.r.log', size: 1, blake3: 'a'.repeat(64) }] },
    /which is not a pack or a segment/,
  ],
  [
    'a row that ends early',
    { topics: [topic], lists: [[`${id}/0`, 0, none]] },
    /change\.lists\.0: is not the row of a list/,
  ],
  [
    'a segment with a column too many',
    { topics: [topic], lists: [row(`${id}/0`, {}, [[...segment, {}, 0]])] },
    /change\.lists\.0: is not the row of a list/,
  ],
  [
    'a segment with an unknown field',
    { topics: [topic], lists: [row(`${id}/0`, {}, [[...segment, { unknown: 1 }]])] },
    /change\.lists\.0: is not the row of a list/,
  ],
  [
    'a row that sets an unknown field',
    { topics: [topic], lists: [row(`${id}/0`, { unknown: 1 })] },
    /of a+\/0: Unrecognized key/,
  ],
  [
    'groups of another backup',
    { head: { consumer_groups: { ...groups, errors: 0, blake3: 'a'.repeat(64) } } },
    /which is not a file of consumer groups/,
  ],
]

for (const [name, change, problem] of changes) {
  test(`a commit with ${name} is damaged`, async () => {
    await assertDamaged(await storeCommit(1, { change }), problem)
  })
}

test('sums that no number can hold are damaged', async () => {
  const most = Number.MAX_SAFE_INTEGER
  const storage = await storeCommit(1, {
    change: { topics: [topic], lists: [[`${id}/0`, 1, none, Array(6).fill(most)]] },
  })
  const first = await storage.read(commitKey('b', 1), signal)
  const previous = { size: first.length, blake3: hashOf(first) }
  await storeCommit(2, { previous, change: { lists: [[`${id}/0`, 0, none, Array(6).fill(most)]] } }, storage as never)
  await assertDamaged(storage, /records of a+\/0 adds up to/)
})

test("Kafka's own topics are internal, whatever a commit calls them", async () => {
  const storage = await storeCommit(1, { change: { topics: [{ ...topic, name: '__consumer_offsets' }] } })
  const { topics } = await openBackup(storage, 'b', signal)
  assert.deepEqual(
    topics.map(({ internal }) => internal),
    [true],
  )
})

test('a commit that claims a thousand million commits before it is damaged at once', async () => {
  const previous = { size: 1, blake3: 'a'.repeat(64) }
  await assertDamaged(await storeCommit(999_999_999_999, { previous }), /000000000001\.json\.zst is missing/)
})

test('a commit that names one document many times is damaged', async () => {
  const storage = openMemoryStorage()
  const part = { format: 'kafka-backup-change', ...version, change: {} }
  const rollup = await createDocument(storage, rollupKey('b', 1, 1, 'w', 1), part, signal)
  const rollups = [1, 2].map(at => ({ from: at, to: at, level: 1, documents: [rollup] }))
  await assertDamaged(await storeCommit(3, { rollups }, storage), /lists the document .*rollups.* twice/)
  const other = openMemoryStorage()
  const named = await createDocument(other, changeKey('b', 1, 'w', 1), part, signal)
  await assertDamaged(await storeCommit(1, { parts: [named, named] }, other), /lists the document .*changes.* twice/)
})

test('pages and the lists in them have to be in order', async () => {
  const storage = openMemoryStorage()
  const lists = [`${id}/1`, `${id}/0`].map(list => [list, []])
  const page = { format: 'kafka-backup-page', ...version, packs: [], lists }
  const one = await createDocument(storage, pageKey('b', 1, 'w', 1), page, signal)
  const two = await createDocument(storage, pageKey('b', 1, 'w', 2), page, signal)
  const change = { topics: [topic], lists: [row(`${id}/0`)] }
  const checkpointOf = async (writer: string, pages: object[]) => {
    const document = { format: 'kafka-backup-checkpoint', ...version, generation: 1, parts: [], change, pages }
    return { generation: 1, ...(await createDocument(storage, checkpointKey('b', 1, writer), document, signal)) }
  }
  const range = { first: `${id}/0`, last: `${id}/1` }
  const both = await checkpointOf(
    'w1',
    [one, two].map(ref => ({ ...ref, ...range })),
  )
  await assertDamaged(await storeCommit(2, { checkpoint: both }, storage), /its page 2 is out of order/)
  const single = await checkpointOf('w2', [{ ...one, ...range }])
  await storage.remove(commitKey('b', 2), signal)
  await storeCommit(2, { checkpoint: single }, storage)
  const [found] = (await openBackup(storage, 'b', signal)).topics
  await assert.rejects(found?.partitions[0]?.list?.read(signal) ?? assert.fail(), /is damaged: a+\/0 is out of order/)
})

test('a few bytes that become many megabytes are damaged, and are not written either', async () => {
  const storage = openMemoryStorage()
  await storage.create(manifestKey('b', 1), logMarker, signal)
  await storage.create(commitKey('b', 1), zstdCompressSync(Buffer.alloc(100 << 20, '[')), signal)
  await assertDamaged(storage, /cannot be decompressed/)
  assert.equal(maxPlainBytes(1000), 16 << 20)
  assert.equal(maxPlainBytes(1 << 20), 128 << 20)
  await assert.rejects(packDocument({ text: 'a'.repeat(17 << 20) }, 'k'), error => hasCode(error, 'STORAGE_REFUSED'))
})

test('documents of the log have a limit of their own', () => {
  for (const key of [
    commitKey('b', 1),
    changeKey('b', 1, 'w', 1),
    rollupKey('b', 1, 2, 'w', 1),
    pageKey('b', 1, 'w', 1),
  ]) {
    assert.throws(() => refuseLargeRead(key, (128 << 20) + 1, 'here'), /a document of the log has at most/)
  }
})

test('only keys of the backup itself are commits of it', async () => {
  const storage = await storeCommit(1, {})
  await storage.create('b/commits/000000000/x/commits/000000000/000000000007.json.zst', Buffer.from('x'), signal)
  assert.deepEqual(await listCommits(storage, 'b', signal), [1])
})

test('a marker without a commit is not a generation', async () => {
  const storage = openMemoryStorage()
  await storage.create(manifestKey('b', 1), logMarker, signal)
  await assert.rejects(readGeneration(storage, 'b', 1, signal), error => hasCode(error, 'STORAGE_NOT_FOUND'))
})

test('a document whose reply was lost counts, and one of another writer does not', async () => {
  const storage = openMemoryStorage()
  const key = changeKey('b', 1, 'w', 1)
  const first = await createDocument(storage, key, { a: 1 }, signal)
  assert.deepEqual(await createDocument(storage, key, { a: 1 }, signal), first)
  await assert.rejects(createDocument(storage, key, { a: 2 }, signal), error => hasCode(error, 'STORAGE_EXISTS'))
})

test('many ranges are composed with many parts by walking them once', () => {
  const count = 200_000
  const first = Array.from({ length: count }, (_, i): ListPart => [2 * i, 2 * i + 1])
  const second = Array.from({ length: count / 2 }, (_, i): ListPart => [2 * i, 2 * i + 1])
  const composed = composeParts(first, second)
  assert.equal(composed.length, count / 2)
  assert.deepEqual(composed.at(-1), [2 * count - 4, 2 * count - 3])
})

test('roll-ups with many documents open in the time that reading them takes', async () => {
  const storage = openMemoryStorage()
  const documents = []
  for (let i = 0; i < 300; i++) {
    const lists = Array.from({ length: 20 }, (_, n) => row(`${id}/${20 * i + n}`))
    const part = { format: 'kafka-backup-change', ...version, change: { lists } }
    documents.push(await createDocument(storage, rollupKey('b', 1, 1, 'w', i), part, signal))
  }
  const rollups = [{ from: 1, to: 1, level: 1, documents }]
  await storeCommit(2, { rollups, change: { topics: [topic] } }, storage)
  assert.equal((await openGeneration(storage, 'b', 2, signal)).state.lists.size, 6000)
})
