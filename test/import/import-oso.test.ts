import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { openBackup } from '../../src/archive/catalog.ts'
import { verifyBackup } from '../../src/archive/verify.ts'
import { importOso } from '../../src/import/import-oso.ts'
import type { OsoRecord } from '../../src/import/oso-record.ts'
import { openMemoryStorage } from '../fakes/memory-storage.ts'
import { readArchivedTopic } from '../oracle/archive.ts'
import { addedHeaders, encodeOsoSegment, type OsoPartitionSpec, osoRecord, storeOsoArchive } from './oso-archive.ts'

const never = new AbortController().signal
const plain = (count: number, from = 0) => Array.from({ length: count }, (_, i) => osoRecord(from + i))

/** Imports an archive; `damage` changes it first. */
async function imported(
  partitions: OsoPartitionSpec[],
  options: Parameters<typeof storeOsoArchive>[2] & { damage?: (objects: Map<string, Buffer>) => void } = {},
) {
  const [from, to] = [openMemoryStorage(), openMemoryStorage()]
  await storeOsoArchive(from, partitions, options)
  options.damage?.(from.objects)
  const now = () => '2026-01-02T03:04:05.000Z'
  const parts = { from, to, backupId: 'b1', run: 'run1', toolVersion: '1.2.3', now, onProgress: () => undefined }
  const report = await importOso(parts, never)
  const verified = await verifyBackup(to, 'b1', { deep: true, onProgress: () => undefined }, never)
  const records = await readArchivedTopic(to, 'b1', 'orders')
  return { report, verified, records, manifest: await openBackup(to, 'b1', never), parts }
}

/** What a consumer sees of a record. */
const seen = ({ offset, timestamp, key, value, headers }: OsoRecord) => ({
  ...{ offset, timestamp, key, value },
  headers: headers.map(header => ({ key: header.key.toString(), value: header.value })),
})

describe('import of an archive of OSO kafka-backup', () => {
  for (const codec of ['none', 'zstd', 'lz4'] as const) {
    test(`keeps offsets, times, keys, values and headers (${codec})`, async () => {
      const odd = [
        osoRecord(5, { key: null, value: null }),
        osoRecord(6, { key: Buffer.alloc(0), value: Buffer.alloc(0), timestamp: -1n }),
        osoRecord(9, {
          headers: [
            { key: Buffer.from('h'), value: null },
            { key: Buffer.from('h'), value: Buffer.from('x') },
          ],
        }),
        osoRecord(10, { value: Buffer.alloc(2_000_000, 'v'), timestamp: 9_000_000_000_000n }),
      ]
      const { records, verified, report } = await imported(
        [{ segments: [plain(5), odd] }, { segments: [plain(3, 100)] }],
        { codec },
      )
      assert.deepEqual(verified.problems, [])
      assert.deepEqual([report.records, report.damaged_segments], [12, 0])
      const expected = [[...plain(5), ...odd], plain(3, 100)].map(some => some.map(seen))
      const found = records.map(some =>
        some.map(({ offset, timestamp, key, value, headers }) => ({
          ...{ offset, timestamp, key, value },
          headers: headers.map(([name, bytes]) => ({ key: name, value: bytes })),
        })),
      )
      assert.deepEqual(found, expected)
    })
  }

  test('removes only the headers that the program added to a record', async () => {
    const own = { key: Buffer.from('x-original-offset'), value: Buffer.from('of the producer') }
    const other = osoRecord(1)
    const records = [
      osoRecord(0, { headers: [own, ...addedHeaders(osoRecord(0))] }),
      osoRecord(1, { headers: addedHeaders(osoRecord(7)) }),
    ]
    const { records: found, report } = await imported([{ segments: [records] }])
    assert.deepEqual(
      found[0]?.map(one => one.headers.length),
      [1, 2],
    )
    assert.equal(found[0]?.[1]?.offset, other.offset)
    assert.ok(report.losses.includes('2 headers that the other program had added to records are removed'))
  })

  test('keeps settings, replicas and empty partitions, and reports what is unknown', async () => {
    const topic = { original_partition_count: 4, source_replication_factor: 3, configurations: { 'retention.ms': '5' } }
    const known = await imported([{ segments: [plain(2)] }], { topic, manifest: { isolation_level: 'read_committed' } })
    const [entry] = known.manifest.topics
    assert.deepEqual(
      [entry?.partitions.length, entry?.replication_factor, entry?.configs],
      [4, 3, { 'retention.ms': '5' }],
    )
    assert.ok(!known.report.losses.some(loss => /aborted|settings|replication|number of partitions/.test(loss)))
    const unknown = await imported([{ segments: [plain(2)] }])
    for (const loss of [
      /aborted transactions/,
      /no settings of topics/,
      /replication factor/,
      /number of partitions/,
    ]) {
      assert.ok(
        unknown.report.losses.some(one => loss.test(one)),
        String(loss),
      )
    }
    assert.ok(unknown.manifest.warnings.some(warning => /^imported from OSO kafka-backup: /.test(warning)))
  })

  test('keeps recorded gaps, reports holes, and imports records that are stored twice once', async () => {
    const gaps = [{ start_offset: 5, end_offset: 10, reason: 'offset_out_of_range', detected_at: 1 }]
    const segments = [plain(5), plain(5, 10), plain(5, 12), [osoRecord(20)]]
    const { verified, records, manifest, report } = await imported([{ segments, gaps }])
    assert.deepEqual(verified.problems, [])
    assert.deepEqual(
      records[0]?.map(({ offset }) => Number(offset)),
      [0, 1, 2, 3, 4, 10, 11, 12, 13, 14, 15, 16, 20],
    )
    assert.deepEqual(
      manifest.topics[0]?.partitions[0]?.gaps.map(({ from, to, reason }) => [from, to, reason]),
      [[5n, 10n, 'retention']],
    )
    assert.ok(report.losses.some(loss => /^orders: 3 offsets have no record, and no gap explains them/.test(loss)))
    assert.ok(report.losses.some(loss => /^3 records were stored more than once/.test(loss)))
  })

  const key = 'b1/topics/orders/partition=0/segment-00000000000000000005.bin.zst'
  for (const [name, damage] of [
    ['is missing', (objects: Map<string, Buffer>) => objects.delete(key)],
    [
      'has another byte',
      (objects: Map<string, Buffer>) =>
        objects.set(
          key,
          Buffer.from((objects.get(key) ?? Buffer.of()).map((byte, at) => (at === 40 ? byte ^ 1 : byte))),
        ),
    ],
    ['is another one', (objects: Map<string, Buffer>) => objects.set(key, encodeOsoSegment(plain(5, 50)))],
    ['is JSON, as the first versions wrote it', (objects: Map<string, Buffer>) => objects.set(key, Buffer.from('[]'))],
  ] as const) {
    test(`makes a gap of a segment that ${name}, and imports the rest`, async () => {
      const { report, verified, manifest, records } = await imported(
        [{ segments: [plain(5), plain(5, 5), plain(5, 10)] }],
        { damage },
      )
      assert.deepEqual([report.damaged_segments, report.records, manifest.complete], [1, 10, false])
      assert.deepEqual(verified.problems, [])
      assert.deepEqual(records[0]?.length, 10)
      assert.deepEqual(
        manifest.topics[0]?.partitions[0]?.gaps.map(({ from, to, reason }) => [from, to, reason]),
        [[5n, 10n, 'damaged']],
      )
      assert.ok(
        report.losses.some(loss => loss.startsWith('not imported: ') && loss.includes('segment-00000000000000000005')),
      )
    })
  }

  const offsetsOf = (records: readonly { offset?: bigint }[] = []) => records.map(({ offset }) => Number(offset))

  test('imports from another segment what a damaged segment also held', async () => {
    const { report, verified, manifest, records } = await imported(
      [{ segments: [plain(5), plain(5, 5), plain(8, 7), plain(2, 15)] }],
      { damage: objects => objects.delete(key) },
    )
    assert.deepEqual(verified.problems, [])
    assert.deepEqual(offsetsOf(records[0]), [0, 1, 2, 3, 4, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16])
    assert.deepEqual(
      manifest.topics[0]?.partitions[0]?.gaps.map(({ from, to, reason }) => [from, to, reason]),
      [[5n, 7n, 'damaged']],
    )
    assert.deepEqual([report.damaged_segments, manifest.complete], [1, false])
    assert.ok(!report.losses.some(loss => /stored more than once/.test(loss)))
  })

  test('imports records inside of a recorded gap, and inside of the offsets of a segment that lacks them', async () => {
    const gaps = [{ start_offset: 0, end_offset: 8, reason: 'offset_out_of_range', detected_at: 1 }]
    const compacted = [osoRecord(5), osoRecord(30)]
    const { verified, records, manifest, report } = await imported([{ segments: [compacted, plain(3, 10)], gaps }])
    assert.deepEqual(verified.problems, [])
    assert.deepEqual(offsetsOf(records[0]), [5, 10, 11, 12, 30])
    assert.deepEqual(
      manifest.topics[0]?.partitions[0]?.gaps.map(({ from, to }) => [from, to]),
      [
        [0n, 5n],
        [6n, 8n],
      ],
    )
    assert.equal(report.records, 5)
  })

  test('reports a hole in front of a recorded gap', async () => {
    const gaps = [{ start_offset: 20, end_offset: 30, reason: 'offset_out_of_range', detected_at: 1 }]
    const { verified, report } = await imported([{ segments: [plain(5), plain(5, 30)], gaps }])
    assert.deepEqual(verified.problems, [])
    assert.ok(report.losses.some(loss => /^orders: 15 offsets have no record, and no gap explains them/.test(loss)))
  })

  /** Changes the end of the second segment in the manifest. */
  const endingAt = (end: number) => (objects: Map<string, Buffer>) => {
    const document = JSON.parse(String(objects.get('b1/manifest.json')))
    document.topics[0].partitions[0].segments[1].end_offset = end
    objects.set('b1/manifest.json', Buffer.from(JSON.stringify(document)))
  }

  test('reports the hole at the end of a segment that ends behind its last record', async () => {
    const { verified, report } = await imported([{ segments: [plain(5), plain(5, 5)] }], { damage: endingAt(19) })
    assert.deepEqual(verified.problems, [])
    assert.equal(report.records, 10)
    assert.ok(report.losses.some(loss => /^orders: 10 offsets have no record/.test(loss)))
  })

  test('takes a segment with records outside of its offsets for damaged', async () => {
    const { verified, report, records } = await imported([{ segments: [plain(5), plain(5, 5), plain(5, 10)] }], {
      damage: endingAt(8),
    })
    assert.deepEqual(verified.problems, [])
    assert.equal(report.damaged_segments, 1)
    assert.deepEqual(offsetsOf(records[0]), [0, 1, 2, 3, 4, 10, 11, 12, 13, 14])
  })

  test('takes a segment with records that ends before it begins for damaged', async () => {
    const { report, manifest, records } = await imported([{ segments: [plain(3), plain(3, 3), plain(3, 6)] }], {
      damage: objects => {
        const text = String(objects.get('b1/manifest.json'))
        assert.match(text, /"end_offset":5\b/)
        objects.set('b1/manifest.json', Buffer.from(text.replace(/"end_offset":5\b/, '"end_offset":1')))
      },
    })
    assert.deepEqual([report.records, report.damaged_segments, manifest.complete], [6, 1, false])
    assert.deepEqual(
      manifest.topics[0]?.partitions[0]?.gaps.map(({ from, to, reason }) => [from, to, reason]),
      [[3n, 6n, 'damaged']],
    )
    assert.equal(records[0]?.length, 6)
  })

  test('does not propose to delete the archive where it is also the target', async () => {
    const { parts } = await imported([{ segments: [plain(1)] }])
    await assert.rejects(importOso(parts, never), { help: /kafka-backup delete/ })
    const objects = new Map(parts.from.objects)
    await assert.rejects(importOso({ ...parts, to: parts.from }, never), (error: { code: string; help: string }) => {
      assert.deepEqual([error.code, /delete/.test(error.help)], ['STORAGE_EXISTS', false])
      return true
    })
    assert.deepEqual(parts.from.objects, objects)
  })

  for (const [name, topics, message] of [
    ['a topic twice', ['t', 't'], /lists topic t twice/],
    ['a topic with the name of a parent folder', ['..'], /topics\.0\.name/],
  ] as const) {
    test(`refuses a manifest that lists ${name}, and writes nothing`, async () => {
      const { parts } = await imported([{ segments: [plain(1)] }])
      const document = { backup_id: 'b1', created_at: 1, topics: topics.map(one => ({ name: one, partitions: [] })) }
      parts.from.objects.set('b1/manifest.json', Buffer.from(JSON.stringify(document)))
      const to = openMemoryStorage()
      await assert.rejects(importOso({ ...parts, to }, never), { code: 'ARCHIVE_DAMAGED', message })
      assert.equal(to.objects.size, 0)
    })
  }

  test('refuses a manifest that lists a partition twice, because one would replace the other', async () => {
    const { parts } = await imported([{ segments: [plain(1)] }, { segments: [plain(1)] }])
    const text = String(parts.from.objects.get('b1/manifest.json')).replace('"partition_id":1', '"partition_id":0')
    parts.from.objects.set('b1/manifest.json', Buffer.from(text))
    await assert.rejects(importOso({ ...parts, to: openMemoryStorage() }, never), {
      code: 'ARCHIVE_DAMAGED',
      message: /of topic orders partition 0 twice/,
    })
  })

  test('refuses a target that has something under the name, and a manifest that is not one', async () => {
    const { parts } = await imported([{ segments: [plain(1)] }])
    const before = parts.to.objects.size
    await assert.rejects(importOso(parts, never), { code: 'STORAGE_EXISTS', message: /already has b1\// })
    assert.equal(parts.to.objects.size, before)
    await assert.rejects(importOso({ ...parts, from: parts.to, to: openMemoryStorage() }, never), {
      code: 'USAGE',
      message: /is a backup of this program already/,
    })
    parts.from.objects.set('b1/manifest.json', Buffer.from('{bad'))
    await assert.rejects(importOso({ ...parts, to: openMemoryStorage() }, never), { message: /: it is not JSON$/ })
    await assert.rejects(importOso({ ...parts, backupId: 'other', to: openMemoryStorage() }, never), {
      code: 'STORAGE_NOT_FOUND',
      message: /^there is no archive of OSO kafka-backup: .*other\/manifest\.json/,
      help: /Check --from and --backup-id/,
    })
    parts.from.objects.set(
      'b1/manifest.json',
      Buffer.from('{"backup_id":"b1","created_at":1,"topics":[{"name":"../x","partitions":[]}]}'),
    )
    await assert.rejects(importOso({ ...parts, to: openMemoryStorage() }, never), {
      code: 'ARCHIVE_DAMAGED',
      message: /b1\/manifest\.json is not a manifest of OSO kafka-backup: topics\.0\.name/,
    })
  })
})
