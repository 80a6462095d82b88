import assert from 'node:assert/strict'
import { mkdtemp, readFile, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { before, describe, test } from 'node:test'
import { zstdDecompressSync } from 'node:zlib'
import type { Segment } from '../../src/archive/manifest.ts'
import { segmentsOf } from '../oracle/archive.ts'
import { runKafkaTool } from '../servers/kafka-tools.ts'
import { backUp, withFolder } from './backup-job.ts'
import { useKafka } from './use-kafka.ts'

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
        for (const partition of manifest.topics[0]?.partitions ?? []) {
          const segments = await segmentsOf(path, partition)
          assert.ok(segments.length >= 2, 'the test covers several segments')
          const dumped = await dumpSegments(path, segments)
          const expected = (source[partition.partition] ?? []).map(
            ({ offset, timestamp, key, value }) => `${offset} ${timestamp} ${key} ${value}`,
          )
          assert.deepEqual(dumped, expected)
        }
      }))
  }

  /** One line a record, as the tool printed it: offset, time, key and value. */
  async function dumpSegments(path: string, segments: Segment[]): Promise<string[]> {
    const folder = await mkdtemp(join(path, 'plain-'))
    const files = await Promise.all(
      segments.map(async segment => {
        const file = join(folder, basename(segment.key).replace(/\.zst$/, ''))
        await writeFile(file, plainBytes(await readFile(join(path, segment.key)), segment))
        return file
      }),
    )
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
