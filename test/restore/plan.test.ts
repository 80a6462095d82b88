import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { deriveRestoreId, fingerprintOf, planRestore } from '../../src/restore/plan.ts'
import { plainOptions } from './plain-options.ts'
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
      topic?.streams.map(({ partition, start, end }) => [partition, start, end]),
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

describe('the id of a restore', () => {
  const manifest = manifestOf([sampleTopic('a', 1)])
  const idOf = (changes = {}, generation = 1, cluster = 'target') =>
    deriveRestoreId(planRestore({ ...manifest, generation }, plainOptions(changes)), cluster)

  test('is the same for the same wish, whatever generations come meanwhile and however fast it goes', () => {
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
    ]
    assert.equal(new Set(ids).size, ids.length)
  })

  test('goes with a fingerprint that tells generations apart', () => {
    const of = (generation: number) => fingerprintOf(planRestore({ ...manifest, generation }, plainOptions()))
    assert.equal(of(1), of(1))
    assert.notEqual(of(1), of(2))
  })
})
