import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { openBackup } from '../../src/archive/catalog.ts'
import { readGroups } from '../../src/archive/groups.ts'
import { verifyBackup } from '../../src/archive/verify.ts'
import { importOso } from '../../src/import/import-oso.ts'
import { openMemoryStorage } from '../fakes/memory-storage.ts'
import { openLocation } from '../open-location.ts'
import { readArchivedTopic } from '../oracle/archive.ts'
import { hashChain } from '../oracle/records.ts'
import { type ExpectedTopic, osoTopics } from './oso-records.ts'

const never = new AbortController().signal
const folder = join(import.meta.dirname, 'oso-0.25.2')
const expected: Record<string, ExpectedTopic> = JSON.parse(readFileSync(join(folder, 'expected.json'), 'utf8'))

async function importGolden(backupId: string) {
  const to = openMemoryStorage()
  const parts = { from: openLocation(join(folder, 'archives')), to, backupId, run: 'run1', toolVersion: '1.2.3' }
  const now = () => '2026-01-02T03:04:05.000Z'
  const report = await importOso({ ...parts, now, onProgress: () => undefined }, never)
  return { to, report, manifest: await openBackup(to, backupId, never) }
}

describe('an archive that OSO kafka-backup 0.25.2 wrote', () => {
  for (const compression of ['none', 'zstd', 'lz4']) {
    test(`is imported with the records and offsets that a consumer read of the source (${compression})`, async () => {
      const { to, report, manifest } = await importGolden(compression)
      const verified = await verifyBackup(to, compression, { deep: true, onProgress: () => undefined }, never)
      assert.deepEqual([verified.problems, verified.complete, report.damaged_segments], [[], true, 0])
      assert.deepEqual(manifest.topics.map(({ name }) => name).sort(), osoTopics.toSorted())
      for (const topic of osoTopics) {
        const partitions = await readArchivedTopic(to, compression, topic)
        assert.deepEqual(partitions.map(hashChain), expected[topic]?.hashes, topic)
        const offsets = partitions.map(some => some.map(({ offset }) => String(offset)))
        assert.deepEqual(offsets, expected[topic]?.offsets, topic)
      }
      for (const { name, configs } of manifest.topics) assert.deepEqual(configs, { 'segment.bytes': '16777216' }, name)
    })
  }

  test('loses the headers that the program added to each record, and no other', async () => {
    const records = Object.values(expected).flatMap(({ offsets }) => offsets.flat()).length
    const { report } = await importGolden('zstd')
    assert.ok(report.losses.includes(`${2 * records} headers that the other program had added to records are removed`))
    const { report: plain } = await importGolden('none')
    assert.ok(!plain.losses.some(loss => loss.includes('headers that the other program had added')))
  })

  test('keeps the committed offsets of its consumer groups', async () => {
    const { to, manifest } = await importGolden('lz4')
    assert.equal(manifest.consumer_groups?.state, 'taken')
    if (manifest.consumer_groups?.state !== 'taken') return
    const { groups } = await readGroups(to, manifest.consumer_groups, never)
    const [{ group, positions } = { group: '', positions: [] }] = groups
    assert.deepEqual(
      [group, positions.map(({ topic, partition, offset, lag }) => [topic, partition, offset, lag])],
      [
        'billing',
        [
          ['plain', 0, 3n, 4n],
          ['plain', 1, 3n, 4n],
        ],
      ],
    )
  })
})
