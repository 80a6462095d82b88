import assert from 'node:assert/strict'
import { mkdtemp, readFile, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { before, describe, test } from 'node:test'
import { zstdDecompressSync } from 'node:zlib'
import type { Segment } from '../../src/archive/manifest.ts'
import { type CatQuery, newTally } from '../../src/inspect/cat.ts'
import { exportAt } from '../../src/jobs/export.ts'
import { openStorage } from '../../src/storage/open-storage.ts'
import { segmentsOf } from '../oracle/archive.ts'
import type { ConsumedRecord } from '../servers/driver.ts'
import { runKafkaTool } from '../servers/kafka-tools.ts'
import { backUp, withFolder } from './backup-job.ts'
import { useKafka } from './use-kafka.ts'

const never = new AbortController().signal
const everything: CatQuery = {
  ...{ topic: 'dumped', headers: [], keyAs: 'auto', valueAs: 'auto' },
  extent: { offsets: {}, times: {}, withAborted: false },
}

describe("Kafka's own DumpLogSegments finds in a backup what a consumer finds in the source", () => {
  const kafka = useKafka()

  before(async () => {
    await kafka.driver.createTopic('dumped', { partitions: 2 })
    for (const compression of ['none', 'gzip', 'snappy', 'lz4', 'zstd'] as const) {
      await kafka.driver.seedBulk('dumped', { count: 4000, partitions: 2, valueBytes: 400, compression, seed: 7 })
    }
  })

  for (const compression of ['auto', 'none', 'zstd']) {
    test(`with backup.compression ${compression}`, () =>
      withFolder(async path => {
        const { manifest } = await backUp({
          servers: kafka.server.bootstrapServers,
          path,
          include: ['dumped'],
          backup: { compression, segment_bytes: '1MiB' },
        })
        const source = await kafka.driver.consume('dumped', { isolation: 'read_committed' })
        const files: string[] = []
        for (const partition of manifest.topics[0]?.partitions ?? []) {
          const segments = await segmentsOf(path, partition)
          assert.ok(segments.length >= 2, 'the test covers several segments')
          files.push(...(await writePlain(path, segments)))
        }
        assert.deepEqual(await dumpFiles(files), source.flatMap(linesOf))
      }))
  }

  test('also in the segments that export writes, whole or selected', () =>
    withFolder(async path => {
      const place = { servers: kafka.server.bootstrapServers, path: join(path, 'backups') }
      await backUp({ ...place, include: ['dumped'], backup: { segment_bytes: '1MiB' } })
      const storage = openStorage({ backend: 'filesystem', path: place.path })
      const source = await kafka.driver.consume('dumped', { isolation: 'read_committed' })
      const isWanted = (key: string | undefined) => key?.endsWith('7') === true
      const key =
        source
          .flat()
          .find(record => isWanted(record.key?.toString()))
          ?.key?.toString() ?? ''
      const files: string[] = []
      for (const [name, query] of Object.entries({ whole: everything, selected: { ...everything, keyPrefix: key } })) {
        const to = { location: { backend: 'filesystem' as const, path: join(path, name) }, overwrites: false }
        const request = { query, tally: newTally(), format: 'segments' as const, keepsFormulas: false, to }
        const report = await exportAt(storage, 'b1', request, never)
        files.push(...report.files.map(file => join(path, name, file.name)))
      }
      const selected = source.map(records => records.filter(record => record.key?.toString().startsWith(key)))
      assert.ok(selected.flat().length > 0)
      assert.deepEqual(await dumpFiles(files), [...source, ...selected].flatMap(linesOf))
    }))

  /** Uncompressed, in a folder of their own: segments of two partitions may have the same name. */
  async function writePlain(path: string, segments: Segment[]): Promise<string[]> {
    const folder = await mkdtemp(join(path, 'plain-'))
    return Promise.all(
      segments.map(async segment => {
        const file = join(folder, basename(segment.key).replace(/\.zst$/, ''))
        await writeFile(file, plainBytes(await readFile(join(path, segment.key)), segment))
        return file
      }),
    )
  }

  function linesOf(records: ConsumedRecord[]): string[] {
    return records.map(({ offset, timestamp, key, value }) => `${offset} ${timestamp} ${key} ${value}`)
  }

  /** One line a record, as the tool printed it: offset, time, key and value. One process for all files: most of its CPU time is its start. */
  async function dumpFiles(files: readonly string[]): Promise<string[]> {
    const args = ['--deep-iteration', '--print-data-log', '--files', files.join()]
    const { stdout, stderr, exitCode } = await runKafkaTool(kafka.server, 'kafka.tools.DumpLogSegments', args)
    assert.equal(exitCode, 0, stderr)
    assert.doesNotMatch(stdout, /isvalid: false|mismatch|corrupt/i)
    return [...stdout.matchAll(/^\| offset: (\d+) CreateTime: (\d+) .*? key: (.*?) payload: (.*)$/gm)].map(
      ([, offset, timestamp, key, payload]) => `${offset} ${timestamp} ${key} ${payload}`,
    )
  }

  function plainBytes(stored: Buffer, segment: Segment): Buffer {
    if (!segment.frames) return stored
    let position = 0
    const frames = segment.frames.map(([storedBytes]) => {
      position += storedBytes
      return zstdDecompressSync(stored.subarray(position - storedBytes, position))
    })
    return Buffer.concat(frames)
  }
})
