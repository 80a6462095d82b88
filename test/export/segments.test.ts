import assert from 'node:assert/strict'
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { listSegments } from '../../src/archive/indexes.ts'
import { readSegment } from '../../src/archive/segment-reader.ts'
import { openSelected } from '../../src/archive/select-generation.ts'
import { decodeRecords } from '../../src/batch/records.ts'
import { walkBatches } from '../../src/batch/walk.ts'
import { segmentChooser } from '../../src/export/segment-encoder.ts'
import { type CatQuery, newTally } from '../../src/inspect/cat.ts'
import { exportAt } from '../../src/jobs/export.ts'
import { catAt } from '../../src/jobs/inspect.ts'
import { openStorage } from '../../src/storage/open-storage.ts'
import { collect } from '../inspect/collect.ts'
import { type SampleRecord, showAll, temporaryFolder } from './shown-records.ts'

const never = new AbortController().signal
const golden = openStorage({ backend: 'filesystem', path: join(import.meta.dirname, '../golden/v0.1.0') })
const everything: CatQuery = {
  ...{ topic: 'golden', headers: [], keyAs: 'auto', valueAs: 'auto' },
  extent: { offsets: {}, times: {}, withAborted: false },
}

function exportTo(path: string, query: CatQuery, overwrites = false) {
  const to = { location: { backend: 'filesystem' as const, path }, overwrites }
  return exportAt(golden, 'golden', { query, tally: newTally(), format: 'segments', keepsFormulas: false, to }, never)
}

function recordsIn(bytes: Buffer) {
  return walkBatches(bytes, 0, bytes.length).flatMap(header => decodeRecords(bytes, header))
}

describe('segments', () => {
  test('without conditions are the batches of the backup, byte for byte, with markers', async () => {
    using folder = temporaryFolder()
    const report = await exportTo(folder.path, everything)
    const manifest = await openSelected(golden, 'golden', {}, never)
    const [topic] = manifest.topics
    assert(topic)
    for (const partition of topic.partitions) {
      const stored: Buffer[] = []
      for (const segment of await listSegments(golden, topic, partition, never)) {
        for await (const piece of readSegment(golden, segment, never)) stored.push(Buffer.from(piece))
      }
      const place = join(folder.path, `golden-${partition.partition}`)
      const names = readdirSync(place).sort()
      for (const name of names) {
        const bytes = readFileSync(join(place, name))
        const [first] = walkBatches(bytes, 0, bytes.length)
        assert.equal(name, `${String(first?.baseOffset).padStart(20, '0')}.log`)
      }
      assert.ok(Buffer.concat(names.map(name => readFileSync(join(place, name)))).equals(Buffer.concat(stored)))
    }
    const data = manifest.topics.flatMap(({ partitions }) => partitions).reduce((sum, { records }) => sum + records, 0)
    assert.deepEqual([report.records, report.searched, report.tombstones], [data, data, null])
    assert.equal(
      report.files.reduce((sum, { records }) => sum + records, 0),
      data,
    )
  })

  test('with conditions hold the selected records with their offsets, times and contents', async () => {
    using folder = temporaryFolder()
    const query: CatQuery = {
      ...everything,
      headers: [{ name: 'h' }],
      extent: { ...everything.extent, offsets: { start: 2n } },
    }
    const report = await exportTo(folder.path, query)
    const shown = await catAt(golden, 'golden', { query }, never, collect)
    assert.ok(shown.length > 2)
    assert.equal(report.records, shown.length)
    for (const partition of [0, 1]) {
      const own = shown.filter(({ record }) => record.partition === partition).map(({ record }) => record)
      const [name = ''] = readdirSync(join(folder.path, `golden-${partition}`))
      assert.equal(name, `${String(own[0]?.offset).padStart(20, '0')}.log`)
      const found = recordsIn(readFileSync(join(folder.path, `golden-${partition}`, name)))
      assert.deepEqual(
        found,
        own.map(({ offset, timestamp, key, value, headers }) => ({ offset, timestamp, key, value, headers })),
      )
    }
  })

  test('of an earlier export that are not replaced are reported, also by later exports, until they are removed', async () => {
    using folder = temporaryFolder()
    const some = { ...everything, extent: { ...everything.extent, offsets: { start: 2n } } }
    const old = (await exportTo(folder.path, some)).files.map(({ name }) => name)
    for (const _ of [1, 2]) {
      const report = await exportTo(folder.path, everything, true)
      const left = old.filter(name => !report.files.some(file => file.name === name))
      assert.ok(left.length > 0)
      assert.deepEqual(
        report.left_over,
        left.map(name => ({ name, topic: 'golden' })),
      )
      assert.match(report.warnings.join(), /earlier export.*golden-0\/0+2\.log.*remove them/)
      assert.deepEqual(JSON.parse(readFileSync(join(folder.path, 'export.json'), 'utf8')).left_over, report.left_over)
    }
    for (const name of old) rmSync(join(folder.path, name), { force: true })
    const { left_over: left, warnings } = await exportTo(folder.path, everything, true)
    assert.deepEqual([left, warnings], [undefined, []])
    for (const text of ['no JSON', '[]', '{"files":[null,{"name":"../x","topic":"golden"}],"left_over":7}']) {
      writeFileSync(join(folder.path, 'export.json'), text)
      assert.equal((await exportTo(folder.path, everything, true)).left_over, undefined)
    }
  })

  test('begin another file or batch where offsets or times are far apart', async () => {
    const far = 2n ** 40n
    const samples: SampleRecord[] = [
      { offset: 5n, timestamp: -1n, value: 'a' },
      { offset: 6n, timestamp: 2n ** 62n, value: null, headers: [['h', null]] },
      { offset: far, value: 'c' },
    ]
    const choose = segmentChooser()
    const files = new Map<string, Buffer[]>()
    for (const shown of await showAll(samples)) {
      const { suffix, open } = choose(shown)
      const encoder = open()
      files.set(suffix, [...(files.get(suffix) ?? []), encoder.add(shown), encoder.end()])
    }
    assert.deepEqual([...files.keys()], ['-0/00000000000000000005.log', `-0/0000000${far}.log`])
    const found = recordsIn(Buffer.concat([...files.values()].flat()))
    assert.deepEqual(
      found.map(({ offset, timestamp, value }) => [offset, timestamp, value?.toString()]),
      [
        [5n, -1n, 'a'],
        [6n, 2n ** 62n, undefined],
        [far, 1_700_000_000_000n, 'c'],
      ],
    )
  })
})
