import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createIdMap } from '../../src/registry/ids/id-map.ts'
import { deriveRestoreId, fingerprintOf, planRestore } from '../../src/restore/plan.ts'
import { plainOptions } from './plain-options.ts'
import { rewriteOptions } from './rewrite-samples.ts'
import { manifestOf, samplePartition, sampleTopic } from './samples.ts'

describe('the plan of a restore', () => {
  const manifest = manifestOf([sampleTopic('a', 3), sampleTopic('b', 1)])

  test('takes each topic under its name, or the one that it is mapped to', () => {
    const { topics } = planRestore(manifest, plainOptions({ topicMapping: new Map([['a', 'c']]) }))
    assert.deepEqual(
      topics.map(({ source, name, partitions }) => [source.name, name, partitions]),
      [
        ['a', 'c', 3],
        ['b', 'b', 1],
      ],
    )
  })

  test('takes the partitions, offsets and places that are asked for', () => {
    const options = plainOptions({
      topics: { include: ['a'], exclude: [] },
      partitions: new Map([['a', [0, 2]]]),
      offsetRanges: new Map([
        ['a/0', { start: 150n, end: 1000n }],
        ['a/2', { start: 0n, end: 160n }],
      ]),
      partitionMapping: new Map([['a', new Map([[2, 7]])]]),
    })
    const [topic] = planRestore(manifest, options).topics
    assert.equal(topic?.partitions, 8)
    assert.deepEqual(
      topic?.streams.map(({ partition, legs }) => [partition, ...legs.flatMap(({ start, end }) => [start, end])]),
      [
        [0, 150n, 200n],
        [7, 100n, 160n],
      ],
    )
  })

  test('says of a range that nothing of the backup lies in it', () => {
    const offsetRanges = new Map([
      ['a/0', { start: 150n }],
      ['a/1', { start: 200n }],
      ['a/2', { end: 100n }],
    ])
    assert.deepEqual(
      planRestore(manifest, plainOptions({ offsetRanges })).warnings,
      ['a/1', 'a/2'].map(
        name =>
          `${name}: nothing is in its range (restore.offset_ranges); the backup holds the offsets 100 to 199 of it`,
      ),
    )
  })

  test('says of a range that a part of it is not in the backup', () => {
    const warningsOf = (range: { start?: bigint; end?: bigint }) =>
      planRestore(manifest, plainOptions({ offsetRanges: new Map([['a/0', range]]) })).warnings
    const problem =
      'a/0: a part of its range is not in the backup (restore.offset_ranges), which holds the offsets 100 to 199 of it'
    assert.deepEqual(warningsOf({ start: 99n }), [problem])
    assert.deepEqual(warningsOf({ start: 150n, end: 201n }), [problem])
    assert.deepEqual(warningsOf({ start: 100n, end: 200n }), [])
    assert.deepEqual(warningsOf({ start: 0n, end: 150n }), [])
  })

  test('says of a time window that it ends after the generation was committed', () => {
    const late = { ...manifest, generation: 4, created_at: '2026-01-02T09:00:00Z' }
    const warningsOf = (time: string) =>
      planRestore(late, plainOptions({ timeWindow: { end: BigInt(Date.parse(time)) } })).warnings
    assert.deepEqual(warningsOf('2026-01-02T12:00:00Z'), [
      'generation 4 was committed at 2026-01-02T09:00:00Z, and the time window ends later at 2026-01-02T12:00:00.000Z: records that were written in between are not in this generation; a later one may have them',
    ])
    assert.deepEqual(warningsOf('2026-01-02T09:00:00Z'), [])
    assert.deepEqual(planRestore(late, plainOptions()).warnings, [])
  })

  test('leaves out topics that another of the same name has replaced', () => {
    const both = manifestOf([sampleTopic('a', 1, { state: 'replaced', id: 'old' }), sampleTopic('a', 2)])
    assert.deepEqual(
      planRestore(both, plainOptions()).topics.map(({ source }) => source.id),
      ['id-a'],
    )
  })

  test('takes topics of Kafka itself by their full name only', () => {
    const own = manifestOf([sampleTopic('a', 1), sampleTopic('__own', 1, { internal: true })])
    const namesOf = (include: string[]) =>
      planRestore(own, plainOptions({ topics: { include, exclude: [] } })).topics.map(({ name }) => name)
    assert.deepEqual(namesOf(['*']), ['a'])
    assert.deepEqual(namesOf(['*', '__own']), ['a', '__own'])
  })

  test('tells everything that does not fit at once', () => {
    const options = plainOptions({
      topics: { include: ['a', 'b', 'nope'], exclude: [] },
      topicMapping: new Map([
        ['a', 'b'],
        ['typo', 'x'],
      ]),
      partitions: new Map([['b', [5]]]),
      offsetRanges: new Map([['a/9', { start: 0n }]]),
      partitionCount: new Map([['a', 2]]),
      partitionMapping: new Map([['a', new Map([[0, 1]])]]),
    })
    assert.throws(
      () => planRestore(manifest, options),
      (error: Error) => {
        for (const part of [
          'no topic nope',
          'no partition b/5',
          'two partitions go to 1',
          '2 partitions are fewer than the 3',
          'a and b would both become b',
          'restore.topic_mapping: the backup holds no topic typo',
          'restore.offset_ranges: the backup holds no partition a/9',
        ]) {
          assert.ok(error.message.includes(part), `${part} in ${error.message}`)
        }
        return true
      },
    )
  })

  test('warns of topic settings that were read before the last records, with both times', () => {
    const manifest = manifestOf([sampleTopic('a', 0)], { topic_settings_at: '2026-01-02T03:00:00.000Z' })
    assert.deepEqual(planRestore(manifest, plainOptions()).warnings, [
      `the topic settings of generation 1 were read at 2026-01-02T03:00:00.000Z, before its last records were copied (it was committed at ${manifest.created_at}); changes since are missing`,
    ])
  })

  test('warns of gaps and of a generation that was interrupted', () => {
    const gaps = [{ from: 5n, to: 9n, reason: 'retention' as const, found_at: 'x' }]
    const holey = manifestOf([{ ...sampleTopic('a', 0), partitions: [samplePartition(0, { gaps })] }], {
      complete: false,
    })
    assert.deepEqual(planRestore(holey, plainOptions()).warnings, [
      'generation 1 is incomplete: its run was interrupted',
      'a/0: the backup lacks the offsets 5 to 9 (retention)',
    ])
  })
})

describe('the plan of a restore by key', () => {
  const manifest = manifestOf([sampleTopic('a', 3), sampleTopic('b', 1)])
  const only = { topics: { include: ['a'], exclude: [] }, repartition: 'by_key' as const }
  const planOf = (changes = {}) => planRestore(manifest, plainOptions({ ...only, ...changes })).topics[0]

  for (const count of [1, 2, 3, 7]) {
    test(`fills each of ${count} partitions from all 3 of the source, in their order`, () => {
      const topic = planOf({ partitionCount: new Map([['a', count]]) })
      assert.equal(topic?.partitions, count)
      assert.deepEqual(
        topic?.streams.map(({ partition, keyedAmong }) => [partition, keyedAmong]),
        Array.from({ length: count }, (_, partition) => [partition, count]),
      )
      for (const { legs } of topic?.streams ?? []) {
        assert.deepEqual(
          legs.map(({ source, start, end }) => [source.partition, start, end]),
          [0, 1, 2].map(partition => [partition, 100n, 200n]),
        )
      }
    })
  }

  test('takes the number of the source where none is given, also where not all of it is restored', () => {
    const topic = planOf({
      partitions: new Map([['a', [2, 0]]]),
      offsetRanges: new Map([['a/2', { start: 150n, end: 160n }]]),
    })
    assert.equal(topic?.partitions, 3)
    assert.deepEqual(
      topic?.streams.map(({ legs }) => legs.map(({ source, start, end }) => [source.partition, start, end])),
      Array.from({ length: 3 }, () => [
        [0, 100n, 200n],
        [2, 150n, 160n],
      ]),
    )
  })

  test('has each gap once, and the legs of partitions that the manifest lists out of order in order', () => {
    const gaps = [{ from: 5n, to: 9n, reason: 'retention' as const, found_at: 'x' }]
    const partitions = [samplePartition(1), samplePartition(0, { gaps })]
    const plan = planRestore(manifestOf([{ ...sampleTopic('a', 0), partitions }]), plainOptions(only))
    assert.equal(plan.warnings.length, 1)
    assert.deepEqual(
      plan.topics[0]?.legs.map(({ source }) => source.partition),
      [0, 1],
    )
  })

  test('has nothing to do for a topic of which the backup holds no partition', () => {
    const plan = planRestore(manifestOf([sampleTopic('a', 0)]), plainOptions(only))
    assert.deepEqual(plan.topics[0]?.streams, [])
  })

  test('refuses a mapping of partitions, and says why', () => {
    assert.throws(() => planOf({ partitionMapping: new Map([['a', new Map([[0, 1]])]]) }), {
      code: 'RESTORE_REFUSED',
      message: /restore\.partition_mapping\.a contradicts repartition: by_key, .*; keep one of the two/,
    })
  })

  test('is what fewer partitions need', () => {
    const fewer = { repartition: 'keep', partitionCount: new Map([['a', 2]]) }
    assert.throws(() => planOf(fewer), /a: 2 partitions are fewer than the 3 needed \(restore\.repartition: by_key/)
  })
})

describe('the id of a restore', () => {
  const manifest = manifestOf([sampleTopic('a', 1)])
  const idOf = (changes = {}, generation = 1, cluster = 'target') =>
    deriveRestoreId(planRestore({ ...manifest, generation }, plainOptions(changes)), cluster)

  test('is the same for the same request, whatever generations come meanwhile and however fast it goes', () => {
    assert.equal(idOf(), idOf({ batchBytes: 5, bytesPerSecond: 7 }, 9))
  })

  test('is another for other records, other places or another target', () => {
    const ids = [
      idOf(),
      idOf({}, 1, 'other'),
      idOf({ topicMapping: new Map([['a', 'b']]) }),
      idOf({ timeWindow: { start: 5n } }),
      idOf({ offsetRanges: new Map([['a/0', { start: 150n }]]) }),
      idOf({ offsetHeaders: true }),
      idOf({ generation: 1 }),
      idOf({ repartition: 'by_key' }),
      idOf({ repartition: 'by_key', partitionCount: new Map([['a', 2]]) }),
      idOf({ repartition: 'by_key', partitionCount: new Map([['a', 3]]) }),
    ]
    assert.equal(new Set(ids).size, ids.length)
  })

  test('does not mind more partitions that stay empty', () => {
    assert.equal(idOf(), idOf({ partitionCount: new Map([['a', 5]]) }))
  })

  test('goes with a fingerprint that tells generations, partitions and ways to place records apart', () => {
    const two = manifestOf([sampleTopic('a', 2)])
    const of = (changes = {}, from = manifest, generation = 1) =>
      fingerprintOf(planRestore({ ...from, generation }, plainOptions(changes)))
    assert.equal(of(), of())
    const byKey = { repartition: 'by_key' as const }
    const all = [
      of(),
      of({}, manifest, 2),
      of({}, two),
      of({ partitionMapping: new Map([['a', new Map([[0, 1]])]]) }),
      of(byKey),
      of(byKey, two),
      of({ ...byKey, partitionCount: new Map([['a', 2]]) }),
    ]
    assert.equal(new Set(all).size, all.length)
  })

  test('is another where other topics or parts are rewritten, and the same whatever the ids are', () => {
    const idMap = createIdMap([{ context: '.', source: 1, target: 2 }])
    const rewrite = rewriteOptions()
    assert.equal(idOf({ rewrite }), idOf({ rewrite: { ...rewrite, idMap, unknownIds: 'pass' } }))
    const ids = [
      idOf(),
      idOf({ rewrite }),
      idOf({ rewrite: { ...rewrite, parts: ['value'] } }),
      idOf({ rewrite: { ...rewrite, topics: { include: ['*'], exclude: ['a'] } } }),
      idOf({ rewrite: { ...rewrite, topicContexts: new Map([['a', '.eu']]) } }),
      idOf({ rewrite: { ...rewrite, topicParts: new Map([['a', ['key'] as const]]) } }),
    ]
    assert.equal(new Set(ids).size, ids.length)
  })

  test('goes with a fingerprint that tells other ids apart, and not what is done with unknown ones', () => {
    const of = (changes = {}) =>
      fingerprintOf(planRestore(manifest, plainOptions({ rewrite: { ...rewriteOptions(), ...changes } })))
    assert.equal(of(), of({ unknownIds: 'pass' }))
    assert.notEqual(of(), of({ idMap: createIdMap([{ context: '.', source: 1, target: 2 }]) }))
    assert.notEqual(of(), fingerprintOf(planRestore(manifest, plainOptions())))
  })
})
