import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { ManifestTopic } from '../../src/archive/manifest.ts'
import { assertPlanned } from '../../src/restore/offset-map.ts'
import { decodeOutgoing, openOutgoing } from '../../src/restore/outgoing-options.ts'
import { fingerprintOf, planRestore } from '../../src/restore/plan.ts'
import { never, storePartitions } from '../archive/sample-archive.ts'
import { encodeBatch } from '../fakes/batches.ts'
import { openMemoryStorage } from '../fakes/memory-storage.ts'
import { plainOptions } from './plain-options.ts'
import { manifestOf, samplePartition, sampleTopic } from './samples.ts'

const [first, second, third] = ['1a2b3c4d'.padEnd(32, '0'), '5e6f7a8b'.padEnd(32, '0'), '9c0d1e2f'.padEnd(32, '0')]

function filled(name: string, count: number, changes: Partial<ManifestTopic> = {}): ManifestTopic {
  const partitions = Array.from({ length: count }, (_, partition) => samplePartition(partition, { records: 100 }))
  return sampleTopic(name, count, { partitions, ...changes })
}

/** `a` was created three times, and the third one was rolled back at the source; `b` was not. */
const topics: ManifestTopic[] = [
  filled('a', 1, { state: 'replaced', id: first, replaced_at: '2026-02-01T00:00:00.000Z' }),
  filled('a', 2, { state: 'replaced', id: second, replaced_at: '2026-03-01T00:00:00.000Z' }),
  filled('a', 3, { state: 'replaced', id: third, replaced_at: '2026-04-01T00:00:00.000Z' }),
  filled('a', 4, { id: third, incarnation: 2 }),
  filled('b', 1),
]
const manifest = manifestOf(topics)

const plan = (include: string[], options: Parameters<typeof plainOptions>[0] = {}) =>
  planRestore(manifest, plainOptions({ topics: { include, exclude: [] }, ...options }))
const labels = (include: string[], exclude: string[] = []) =>
  plan(include, { topics: { include, exclude } }).topics.map(({ label, source }) => [label, source.partitions.length])

test('settings of incarnations are found at once in a backup of thousands of topics', () => {
  const many = Array.from({ length: 2000 }, (_, at) => sampleTopic(`t${at}`, 1, { id: String(at).padStart(32, '0') }))
  const topicMapping = new Map(
    Array.from({ length: 20 }, (_, at) => [`t${at}@${String(at).padStart(32, '0')}`, `n${at}`]),
  )
  const startMs = performance.now()
  const planned = planRestore(manifestOf(many), plainOptions({ topicMapping }))
  assert.ok(performance.now() - startMs < 10_000, `${performance.now() - startMs} ms`)
  assert.deepEqual(
    [0, 19, 20].map(at => planned.topics.find(({ source }) => source.name === `t${at}`)?.name),
    ['n0', 'n19', 't20'],
  )
})

describe('the selection of incarnations', () => {
  for (const [what, include, expected] of [
    ['takes the newest by the plain name', ['a'], [['a', 4]]],
    ['takes one by its topic ID', [`a@${first}`], [['a@1a2b3c4d', 1]]],
    ['takes one by a prefix of its topic ID, in any case', ['a@5E6F'], [['a@5e6f7a8b', 2]]],
    [
      'takes one by its topic ID as Kafka prints it',
      [`a@${Buffer.from(second, 'hex').toString('base64url')}`],
      [['a@5e6f7a8b', 2]],
    ],
    ['takes one of several with the same ID by its number', ['a@9c0d1e2f.1'], [['a@9c0d1e2f.1', 3]]],
    ['takes the one that was current at a time', ['a@2026-02-15T00:00:00Z'], [['a@5e6f7a8b', 2]]],
    ['takes the newest for a time after all replacements', ['a@2026-05-01T00:00:00Z'], [['a', 4]]],
    [
      'takes all topics as they were at a time',
      ['*@2026-01-15T00:00:00Z'],
      [
        ['a@1a2b3c4d', 1],
        ['b', 1],
      ],
    ],
    [
      'lets a pattern pass over a name that another entry selects an incarnation of',
      ['*', 'a@1a2b'],
      [
        ['a@1a2b3c4d', 1],
        ['b', 1],
      ],
    ],
  ] as const) {
    test(what, () => assert.deepEqual(labels([...include]), expected))
  }

  test('leaves out one incarnation, or all of a name', () => {
    assert.deepEqual(labels(['*', 'a@1a2b'], ['a@1a2b']), [['b', 1]])
    assert.deepEqual(labels(['*', 'a@1a2b'], ['a']), [['b', 1]])
  })

  test('refuses an ID that means several, and names what there is', () => {
    const message = /a@9c0d means several .*a@9c0d1e2f\.1 \(replaced 2026-04-01T.*a@9c0d1e2f\.2 \(current\)/
    assert.throws(() => plan(['a@9c0d']), { code: 'RESTORE_REFUSED', message })
    assert.throws(() => plan(['a@ffff']), { code: 'RESTORE_REFUSED', message: /no incarnation a@ffff; .*a@1a2b3c4d/ })
    const left = (entry: string) => () => labels(['a@1a2b', 'b'], [entry])
    assert.throws(left('a@1a2d'), { message: /no incarnation a@1a2d; .*\(restore\.topics\.exclude\)/ })
    assert.throws(left('a@9c0d'), { message: /a@9c0d means several .*\(restore\.topics\.exclude\)/ })
    assert.doesNotThrow(left('nothing-like-it'))
  })

  test('restores two incarnations next to each other under different names', () => {
    assert.throws(() => plan(['a', 'a@1a2b']), { message: /a@1a2b3c4d and a would both become a .*topic_mapping/ })
    const { topics: planned } = plan(['a', 'a@1a2b'], {
      topicMapping: new Map([['a@1a2b', 'a-old']]),
      partitionCount: new Map([
        ['a@1a2b3c4d', 6],
        ['a', 8],
      ]),
      offsetRanges: new Map([['a@1a2b/0', { start: 150n }]]),
    })
    assert.deepEqual(
      planned.map(({ label, name, partitions, legs }) => [label, name, partitions, legs[0]?.start]),
      [
        ['a@1a2b3c4d', 'a-old', 6, 150n],
        ['a', 'a', 8, 100n],
      ],
    )
  })

  test('refuses what is said of an incarnation that is not there, or not restored', () => {
    const mapped = (key: string) => () => plan(['a'], { topicMapping: new Map([[key, 'x']]) })
    assert.throws(mapped('a@ffff'), { message: /restore\.topic_mapping: the backup holds no incarnation a@ffff/ })
    assert.throws(mapped('a@1a2b'), { message: /restore\.topic_mapping: restore\.topics does not select a@1a2b/ })
    const ranged = () => plan(['a'], { offsetRanges: new Map([['a@1a2b/0', { start: 1n }]]) })
    assert.throws(ranged, { message: /restore\.offset_ranges: restore\.topics does not select a@1a2b/ })
  })

  test('warns of records in older incarnations, unless an incarnation was selected on purpose', () => {
    const { warnings } = plan(['a'])
    assert.deepEqual(
      warnings.map(line => /older incarnation, (\S+) \(replaced/.exec(line)?.[1]),
      ['a@1a2b3c4d', 'a@5e6f7a8b', 'a@9c0d1e2f.1'],
    )
    assert.match(warnings[0] ?? '', /restore\.topics\.include: \['a@1a2b3c4d'\]/)
    assert.deepEqual(plan(['a@1a2b']).warnings, [])
    assert.deepEqual(plan(['a@9c0d1e2f.2']).warnings, [])
    assert.deepEqual(plan(['b']).warnings, [])
  })

  test('warns of an empty range of offsets, however its key names the incarnation', () => {
    for (const key of ['a@1a2b', `a@${first}`, 'a@2026-01-15T00:00:00Z', 'a']) {
      const { warnings } = plan([`a@${first}`], { offsetRanges: new Map([[`${key}/0`, { start: 900n }]]) })
      assert.match(warnings.join(), /^a@1a2b3c4d\/0: nothing is in its range \(restore\.offset_ranges\)/, key)
    }
  })

  test('is told by the headers of records: offsets of an older incarnation are not those of the newest', async () => {
    const storage = openMemoryStorage()
    const batch = encodeBatch({ records: [{ value: Buffer.from('v') }] })
    const stored = await storePartitions(storage, [[[batch]]], false, [], first)
    const originOf = async (state: 'current' | 'replaced', entry: string) => {
      const older = { ...stored, topics: stored.topics.map(topic => ({ ...topic, state })) }
      const options = plainOptions({ topics: { include: [entry], exclude: [] }, offsetHeaders: true })
      const planned = planRestore(older, options)
      const [topic] = planned.topics
      const [stream] = topic?.streams ?? []
      assert.ok(topic && stream)
      const batches = openOutgoing(options, { plan: planned, topic, stream }, { storage }, never)
      const found: string[] = []
      for await (const records of decodeOutgoing(batches)) {
        found.push(...records.map(one => String(one.headers.find(([name]) => name === 'x-original-topic')?.[1])))
      }
      return found
    }
    assert.deepEqual(await originOf('current', 'orders'), ['orders'])
    assert.deepEqual(await originOf('replaced', `orders@${first}`), ['orders@1a2b3c4d'])
  })

  test('is needed by an offset map where several incarnations of the name are restored', () => {
    const topicMapping = new Map([
      ['a@1a2b', 'a-1'],
      ['a@5e6f', 'a-2'],
    ])
    const two = plan(['a@1a2b', 'a@5e6f'], { topicMapping })
    assert.throws(() => assertPlanned(two, { topic: 'a', partition: 0 }), {
      code: 'TOPIC_NOT_FOUND',
      message: /a stands for several incarnations .*a@1a2b3c4d, a@5e6f7a8b/,
    })
    assert.doesNotThrow(() => assertPlanned(two, { topic: 'a@5e6f7a8b', partition: 1 }))
    assert.doesNotThrow(() => assertPlanned(plan(['a@1a2b']), { topic: 'a', partition: 0 }))
  })

  test('has another fingerprint for each incarnation', () => {
    const prints = ['a@1a2b', 'a@9c0d1e2f.1', 'a@9c0d1e2f.2'].map(entry => fingerprintOf(plan([entry])))
    assert.equal(new Set(prints).size, 3)
  })
})
