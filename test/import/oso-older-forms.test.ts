import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { test } from 'node:test'
import { zstdCompressSync } from 'node:zlib'
import { openBackup } from '../../src/archive/catalog.ts'
import { readGroups } from '../../src/archive/groups.ts'
import { importOso } from '../../src/import/import-oso.ts'
import { decodeOsoSegment } from '../../src/import/oso-segment.ts'
import { openMemoryStorage } from '../fakes/memory-storage.ts'
import { osoRecord, storeOsoArchive } from './oso-archive.ts'

const never = new AbortController().signal

const lz4: typeof import('lz4-napi') = createRequire(import.meta.url)('lz4-napi')

/** As the first versions wrote it: base64, null and missing fields. */
const json = JSON.stringify([
  { key: 'a2V5', value: null, headers: [{ key: 'h', value: 'AA==' }, { key: 'n' }], timestamp: 5, offset: 0 },
  { value: '', timestamp: 9007199254740992, offset: 7 },
]).replace('9007199254740992', '9007199254740993')

for (const [extension, bytes] of [
  ['', Buffer.from(json)],
  ['.zst', zstdCompressSync(json)],
  ['.lz4', lz4.compressSync(Buffer.from(json))],
] as const) {
  test(`reads a segment of the first versions, which were JSON (json${extension})`, () => {
    const records = decodeOsoSegment(bytes, `b1/topics/orders/partition=0/segment-00000000.json${extension}`)
    assert.deepEqual(records, [
      {
        ...{ key: Buffer.from('key'), value: null, timestamp: 5n, offset: 0n },
        headers: [
          { key: Buffer.from('h'), value: Buffer.from([0]) },
          { key: Buffer.from('n'), value: null },
        ],
      },
      { key: null, value: Buffer.alloc(0), headers: [], timestamp: 9007199254740993n, offset: 7n },
    ])
  })
}

test('reports what is neither form as damaged', () => {
  for (const text of ['', 'KBA', '{}', '[{"offset":1}]', '[{"key":"%","timestamp":1,"offset":1}]']) {
    assert.throws(() => decodeOsoSegment(Buffer.from(text), 'k.json'), {
      code: 'ARCHIVE_DAMAGED',
      message: /^k\.json: /,
    })
  }
})

async function importWith(snapshot: string) {
  const [from, to] = [openMemoryStorage(), openMemoryStorage()]
  await storeOsoArchive(from, [{ segments: [[osoRecord(0), osoRecord(1)]] }])
  await from.create('b1/consumer-groups-snapshot.json', Buffer.from(snapshot), never)
  const now = () => '2026-01-02T03:04:05.000Z'
  const parts = { from, to, backupId: 'b1', run: 'run1', toolVersion: '1.2.3', now, onProgress: () => undefined }
  const { losses } = await importOso(parts, never)
  const { consumer_groups: section } = await openBackup(to, 'b1', never)
  return { losses, groups: section?.state === 'taken' ? await readGroups(to, section, never) : undefined }
}

test('imports committed offsets of partitions that the archive has, and reports the others', async () => {
  const group = { group_id: 'billing', offsets: { orders: { 0: 1, 1: 5 }, gone: { 0: 1 } } }
  const ahead = { group_id: 'ahead', offsets: { orders: { 0: 9 } } }
  const { losses, groups } = await importWith(JSON.stringify({ snapshot_time: 5, groups: [group, ahead] }))
  assert.deepEqual(
    groups?.groups.map(({ group, positions }) => [group, positions.map(({ offset, lag }) => [offset, lag])]),
    [
      ['billing', [[1n, 1n]]],
      ['ahead', [[9n, null]]],
    ],
  )
  assert.ok(losses.some(loss => /^not imported: 2 committed offsets of consumer groups/.test(loss)))
})

test('imports the records where the snapshot of consumer groups cannot be read, and reports it', async () => {
  const twice = { group_id: 'g', offsets: {} }
  const stored = (...groups: object[]) => JSON.stringify({ snapshot_time: 1, groups })
  const texts = [
    ...['{', '{"snapshot_time":1}', stored(twice, twice)],
    // Kafka has no such group, partition or offset, and a backup with one could not be read.
    stored({ group_id: 'half \ud800', offsets: {} }),
    stored({ group_id: 'g', offsets: { orders: { 0: 1, '00': 2 } } }),
    stored({ group_id: 'g', offsets: { orders: { 0: 'n' } } }).replace('"n"', '9223372036854775808'),
  ]
  for (const text of texts) {
    const { losses, groups } = await importWith(text)
    assert.equal(groups, undefined)
    assert.ok(losses.some(loss => /^not imported: b1\/consumer-groups-snapshot\.json is not a snapshot/.test(loss)))
  }
})
