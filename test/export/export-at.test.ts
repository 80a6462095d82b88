import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { tableFromIPC } from 'apache-arrow'
import avsc from 'avsc'
import { readParquet } from 'parquet-wasm/node'
import { decodeRecords } from '../../src/batch/records.ts'
import { walkBatches } from '../../src/batch/walk.ts'
import { type CatQuery, newTally } from '../../src/inspect/cat.ts'
import { parsePathCondition } from '../../src/inspect/json-path.ts'
import { SchemaDecoder } from '../../src/inspect/schema-decoder.ts'
import { recordDocument } from '../../src/inspect/show-record.ts'
import { type ExportRequest, exportAt } from '../../src/jobs/export.ts'
import { catAt } from '../../src/jobs/inspect.ts'
import { formatJson } from '../../src/lib/json.ts'
import { openStorage } from '../../src/storage/open-storage.ts'
import type { Storage } from '../../src/storage/storage.ts'
import { collect } from '../inspect/collect.ts'
import { temporaryFolder } from './shown-records.ts'

const never = new AbortController().signal
const location = join(import.meta.dirname, '../golden/v0.1.0')
const golden = () => openStorage({ backend: 'filesystem', path: location })
const everything: CatQuery = {
  ...{ topic: 'golden', headers: [], keyAs: 'auto', valueAs: 'auto' },
  extent: { offsets: {}, times: {}, withAborted: false },
}

function exportTo(path: string, changes: Partial<ExportRequest> = {}, storage: Storage = golden()) {
  const to = { location: { backend: 'filesystem' as const, path }, overwrites: false }
  const request: ExportRequest = {
    ...{ query: everything, tally: newTally(), format: 'jsonl', keepsFormulas: false, to },
    ...changes,
  }
  return exportAt(storage, 'golden', request, never)
}

/** The offsets in a file of each format, whose name may depend on the first of them. */
const readers: [ExportRequest['format'], (first: number) => string, (bytes: Buffer) => number[] | Promise<number[]>][] =
  [
    ['jsonl', () => 'golden.jsonl', bytes => linesOf(bytes).map(line => JSON.parse(line).offset)],
    [
      'csv',
      () => 'golden.csv',
      bytes =>
        linesOf(bytes)
          .slice(1)
          .map(line => Number(line.split(',')[2])),
    ],
    ['avro', () => 'golden.bytes.avro', avroOffsets],
    ['parquet', () => 'golden.parquet', parquetOffsets],
    [
      'segments',
      first => `golden-0/${String(first).padStart(20, '0')}.log`,
      bytes =>
        walkBatches(bytes, 0, bytes.length)
          .flatMap(header => decodeRecords(bytes, header))
          .map(({ offset }) => Number(offset)),
    ],
  ]

function linesOf(bytes: Buffer): string[] {
  return bytes.toString('utf8').trimEnd().split(/\r?\n/)
}

function avroOffsets(bytes: Buffer): Promise<number[]> {
  return new Promise((resolve, reject) => {
    const decoder = new avsc.streams.BlockDecoder()
    const offsets: number[] = []
    decoder.on('data', ({ offset }) => offsets.push(offset))
    decoder.on('error', reject)
    decoder.on('end', () => resolve(offsets))
    decoder.end(bytes)
  })
}

function parquetOffsets(bytes: Buffer): number[] {
  const table = tableFromIPC(readParquet(bytes).intoIPCStream())
  return table.toArray().map(row => Number(row.offset))
}

/** Searches of the first partition, with the offsets that they find. */
const searches: [Partial<CatQuery>, number[]][] = [
  [{ keyPrefix: 'lz4' }, [6, 7]],
  [{ key: 'snappy 2' }, [5]],
  [{ headers: [{ name: 'h', value: 'lz4' }] }, [6, 7]],
  [{ text: 'zstd' }, [8]],
  [{ paths: [parsePathCondition('nowhere=1')] }, []],
  [{ keyPrefix: 'zstd', extent: { offsets: {}, times: { start: 1_700_000_000_001n }, withAborted: false } }, [9]],
]

describe('an export', () => {
  test('has every record of the topic, as cat prints it', async () => {
    using folder = temporaryFolder()
    const report = await exportTo(folder.path)
    const shown = await catAt(golden(), 'golden', { query: everything }, never, collect)
    const text = readFileSync(join(folder.path, 'golden.jsonl'), 'utf8')
    assert.equal(text, shown.map(one => `${formatJson(recordDocument(one.record, one))}\n`).join(''))
    assert.deepEqual([report.records, report.searched], [shown.length, shown.length])
    const [file] = report.files
    const sha256 = createHash('sha256').update(text).digest('hex')
    assert.deepEqual(file, {
      name: 'golden.jsonl',
      topic: 'golden',
      records: shown.length,
      bytes: Buffer.byteLength(text),
      sha256,
    })
    assert.deepEqual(JSON.parse(readFileSync(join(folder.path, 'export.json'), 'utf8')), report)
    assert.deepEqual(readdirSync(folder.path).sort(), ['export.json', 'golden.jsonl'])
  })

  test('has the records that meet the conditions only, and says of how many', async () => {
    using folder = temporaryFolder()
    const report = await exportTo(folder.path, { query: { ...everything, keyPrefix: 'lz4' } })
    assert.deepEqual([report.records, report.searched], [2, 18])
    const lines = readFileSync(join(folder.path, 'golden.jsonl'), 'utf8').trimEnd().split('\n')
    assert.deepEqual(
      lines.map(line => JSON.parse(line).key),
      ['lz4 0', 'lz4 2'],
    )
  })

  for (const [format, name, offsetsOf] of readers) {
    test(`has the records that a search finds as ${format}, by key, header, time, text and field`, async () => {
      for (const [changes, offsets] of searches) {
        using folder = temporaryFolder()
        const { extent = everything.extent, ...conditions } = changes
        const query = { ...everything, ...conditions, partition: 0, extent }
        const report = await exportTo(folder.path, { query, format })
        const found =
          offsets.length === 0 ? [] : await offsetsOf(readFileSync(join(folder.path, name(offsets[0] ?? 0))))
        assert.deepEqual(found, offsets, JSON.stringify(conditions))
        assert.equal(report.records, offsets.length)
      }
    })
  }

  test('makes no file of a topic without a match, and reports it', async () => {
    using folder = temporaryFolder()
    const report = await exportTo(folder.path, { query: { ...everything, key: 'nowhere' } })
    assert.deepEqual([report.records, report.files], [0, []])
    assert.deepEqual(readdirSync(folder.path), ['export.json'])
  })

  test('does not replace a file unless that is asked for', async () => {
    using folder = temporaryFolder()
    writeFileSync(join(folder.path, 'golden.jsonl'), 'mine')
    await assert.rejects(exportTo(folder.path), { code: 'STORAGE_EXISTS', message: /golden\.jsonl exists already/ })
    assert.equal(readFileSync(join(folder.path, 'golden.jsonl'), 'utf8'), 'mine')
    const to = { location: { backend: 'filesystem' as const, path: folder.path }, overwrites: true }
    assert.equal((await exportTo(folder.path, { to })).records, 18)
    await assert.rejects(exportTo(folder.path), { code: 'STORAGE_EXISTS', message: /export\.json exists already/ })
    assert.equal((await exportTo(folder.path, { to })).records, 18)
  })

  test('leaves neither a file nor a summary where the backup is damaged', async () => {
    using folder = temporaryFolder()
    const storage = golden()
    const damaged: Storage = Object.create(storage, {
      readRange: {
        value: async (...args: Parameters<Storage['readRange']>) => {
          const bytes = await storage.readRange(...args)
          bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) ^ 1
          return bytes
        },
      },
    })
    await assert.rejects(exportTo(folder.path, {}, damaged), { code: 'ARCHIVE_DAMAGED' })
    assert.deepEqual(readdirSync(folder.path), [])
  })

  test('does not go between the backups', async () => {
    for (const path of [location, join(location, 'golden/files')]) {
      await assert.rejects(exportTo(path), { code: 'USAGE', message: /is in the location of the backups/ })
    }
  })

  test('prints lines in place of files', async () => {
    let text = ''
    const print = async (lines: AsyncIterable<Buffer>) => {
      for await (const line of lines) text += line.toString('utf8')
    }
    const report = await exportTo('', { format: 'csv', to: { print } })
    assert.equal(text.split('\r\n').length, report.records + 2)
    assert.deepEqual([report.location, report.files], [null, []])
  })
})

for (const [format, isDecoded] of [
  ['jsonl', true],
  ['csv', true],
  ['avro', false],
  ['parquet', false],
  ['segments', false],
] as const) {
  test(`headers are ${isDecoded ? 'decoded' : 'not decoded'} for ${format}`, async t => {
    const prepared = t.mock.method(SchemaDecoder.prototype, 'prepareHeaders')
    const decoded = t.mock.method(SchemaDecoder.prototype, 'decodeHeader')
    using folder = temporaryFolder()
    await exportTo(folder.path, { format, query: { ...everything, limit: 12 } })
    for (const { mock } of [prepared, decoded]) assert.equal(mock.callCount() > 0, isDecoded)
  })
}
