import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { parseManifest, parsePartitionIndex } from '../../src/archive/manifest.ts'
import { emptyPartition } from '../../src/archive/summary.ts'
import { formatJson } from '../../src/lib/json.ts'
import { draftManifest, topicOf } from './sample-archive.ts'

const partition = {
  ...emptyPartition(0, 2n ** 60n),
  last_timestamp: 1_700_000_000_123_456_789n,
  first_timestamp: -1n,
  gaps: [{ from: 2n ** 62n, to: null, reason: 'retention' as const, found_at: 'then' }],
  open_aborted: [{ producer_id: 2n ** 63n - 1n, first_offset: -(2n ** 63n), last_offset: null }],
}
const manifest = { format: 'kafka-backup', format_version: 1, ...draftManifest([topicOf('orders', [partition])]) }
const index = {
  format: 'kafka-backup-index',
  format_version: 1,
  topic: 'orders',
  topic_id: 'x',
  partition: 0,
  segments: [],
}

const changed = (change: (copy: Record<string, unknown>) => void, base: object = manifest) => {
  const copy = structuredClone(base) as Record<string, unknown>
  change(copy)
  return formatJson(copy)
}

test('a manifest comes back as it was, with 64-bit numbers beyond a double', () => {
  assert.deepEqual(parseManifest(Buffer.from(formatJson(manifest, 1)), 'key'), manifest)
})

test('small offsets are bigints, too, and null times stay null', () => {
  const plain = { ...manifest, topics: [topicOf('a', [emptyPartition(0, 5n)])] }
  const [topic] = parseManifest(Buffer.from(formatJson(plain)), 'key').topics
  assert.deepEqual(topic?.partitions[0], emptyPartition(0, 5n))
})

describe('a manifest is refused', () => {
  const damaged = { code: 'ARCHIVE_DAMAGED', exitCode: 3 }
  const rows: [name: string, text: string, expected: object][] = [
    [
      'of a newer version, by name',
      changed(copy => (copy.format_version = 2)),
      { code: 'ARCHIVE_TOO_NEW', message: /^key has format version 2; .* up to 1$/ },
    ],
    ['of a newer version, whatever else it holds', '{"format_version":7,"new":[]}', { code: 'ARCHIVE_TOO_NEW' }],
    ['of no version', changed(copy => delete copy.format_version), damaged],
    ['that is cut off', formatJson(manifest).slice(0, -10), { ...damaged, message: 'key is not JSON' }],
    ['that is empty', '', damaged],
    ['that is something else', '[]', damaged],
    ['that is null', 'null', damaged],
    ['of another format', changed(copy => (copy.format = 'other')), damaged],
    ['with a field that nobody knows', changed(copy => (copy.surprise = 1)), { ...damaged, message: /surprise/ }],
    ['without a field', changed(copy => delete copy.topics), { ...damaged, message: /topics/ }],
    ['with a generation of zero', changed(copy => (copy.generation = 0)), { ...damaged, message: /generation/ }],
    [
      'with an offset that is no whole number',
      formatJson(manifest).replace('"records":0', '"records":0.5'),
      { ...damaged, message: /topics\.0\.partitions\.0\.records/ },
    ],
    ['with a negative count', formatJson(manifest).replace('"records":0', '"records":-1'), damaged],
    ['with an offset as text', formatJson(manifest).replace('"last_epoch":-1', '"last_epoch":"-1"'), damaged],
  ]
  for (const [name, text, expected] of rows) {
    test(name, () => assert.throws(() => parseManifest(Buffer.from(text), 'key'), expected))
  }
})

describe('an index is refused', () => {
  test('of a newer version, or of another format', () => {
    assert.doesNotThrow(() => parsePartitionIndex(formatJson(index), 'key'))
    assert.throws(
      () =>
        parsePartitionIndex(
          changed(copy => (copy.format_version = 2), index),
          'key',
        ),
      { code: 'ARCHIVE_TOO_NEW' },
    )
    assert.throws(() => parsePartitionIndex(formatJson(manifest), 'key'), { code: 'ARCHIVE_DAMAGED' })
  })
})

describe('names in documents', () => {
  const named = (name: string) =>
    changed(copy => {
      const topics = copy.topics as { name: string; internal: boolean }[]
      if (topics[0]) topics[0].name = name
    })

  for (const name of ['', '.', '..', 'a/b', 'a\nb', 'a b', 'x'.repeat(250), '../../etc']) {
    test(`refuse the topic ${JSON.stringify(name.slice(0, 10))}`, () => {
      assert.throws(() => parseManifest(Buffer.from(named(name)), 'key'), {
        code: 'ARCHIVE_DAMAGED',
        message: /topics\.0\.name: is not a valid topic name/,
      })
    })
  }

  test('that belong to Kafka are internal whatever the document says', () => {
    const { topics } = parseManifest(Buffer.from(named('__consumer_offsets')), 'key')
    assert.equal(topics[0]?.internal, true)
  })
})
