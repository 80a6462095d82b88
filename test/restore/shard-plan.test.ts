import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { planRestore, type RestorePlan } from '../../src/restore/plan.ts'
import { type RestoreProgress, type StreamProgress, streamKey } from '../../src/restore/progress.ts'
import { assignShards, findUnprepared, planOwn, refuseMissing } from '../../src/restore/shard-plan.ts'
import { topicOf } from '../archive/sample-archive.ts'
import { plainOptions } from './plain-options.ts'
import { identity, manifestOf, samplePartition, sampleTopic } from './samples.ts'

const sharing = { count: 4, version: '1.0' }
const keysOf = ({ topics }: Pick<RestorePlan, 'topics'>) =>
  topics.flatMap(({ name, streams }) => streams.map(({ partition }) => streamKey({ topic: name, partition })))

/** Partitions of these sizes. */
function planOf(sizes: Record<string, number[]>): RestorePlan {
  const topics = Object.entries(sizes).map(([name, bytes]) =>
    topicOf(
      name,
      bytes.map((size, partition) => samplePartition(partition, { bytes: size, records: 100 })),
    ),
  )
  return planRestore(manifestOf(topics), plainOptions())
}

function prepared(plan: RestorePlan, change: (one: StreamProgress) => Partial<StreamProgress> = () => ({})) {
  const pins = assignShards(plan, sharing, { timeWindow: {} })
  const streams = plan.topics.flatMap(({ name, streams }) =>
    streams.map(({ partition }): [string, StreamProgress] => {
      const key = streamKey({ topic: name, partition })
      const pin = pins.get(key)
      const place = { topic: name, partition, targetOffset: 0n, sourcePartition: partition, sourceOffset: 100n }
      const one = { ...place, sequence: 0, isFilled: false, isDone: false, ...(pin && { shard: pin }) }
      return [key, { ...one, ...change(one) }]
    }),
  )
  const progress: RestoreProgress = {
    ...{ identity, generation: 1, fingerprint: 'f' },
    streams: new Map(streams),
  }
  return progress
}

describe('the shards of a restore', () => {
  test('have every partition once, and about the same number of bytes', () => {
    const plan = planOf({ orders: [900, 100, 100, 100, 300], audit: [400, 0, 0, 500] })
    const pins = assignShards(plan, { count: 3, version: '1.0' }, { timeWindow: {} })
    assert.deepEqual([...pins.keys()].sort(), keysOf(plan).sort())
    const loads = [0, 0, 0]
    for (const { name, streams } of plan.topics) {
      for (const { partition, legs } of streams) {
        const index = pins.get(`${name}/${partition}`)?.index ?? -1
        loads[index] = (loads[index] ?? 0) + (legs[0]?.source.bytes ?? 0)
      }
    }
    assert.deepEqual(loads.toSorted(), [700, 800, 900])
  })

  test('have about the same number of partitions where the sizes do not decide', () => {
    const plan = planRestore(manifestOf([sampleTopic('orders', 8)]), plainOptions())
    const pins = [...assignShards(plan, sharing, { timeWindow: {} }).values()]
    const counts = [0, 1, 2, 3].map(index => pins.filter(pin => pin.index === index).length)
    assert.deepEqual(counts, [2, 2, 2, 2])
  })

  test('are the same for the same plan, and together they are the plan', () => {
    const plan = planOf({ orders: [3, 1, 4, 1, 5, 9, 2, 6], audit: [5, 3, 5] })
    assert.deepEqual(assignShards(plan, sharing, { timeWindow: {} }), assignShards(plan, sharing, { timeWindow: {} }))
    const parts = [0, 1, 2, 3].map(index => planOwn(plan, prepared(plan), index))
    assert.deepEqual(parts.flatMap(keysOf).sort(), keysOf(plan).sort())
    for (const { topics } of parts) {
      for (const { name, legs } of topics) {
        assert.equal(legs.length, plan.topics.find(one => one.name === name)?.legs.length, 'all records decide on IDs')
      }
    }
  })

  test('share the topics that come first among all of them', () => {
    const plan = planOf({ big: [900, 900, 900, 900], important: [10, 10, 10, 10] })
    const pins = assignShards(plan, sharing, { timeWindow: {}, order: ['imp*'] })
    const own = [...pins].filter(([key]) => key.startsWith('important/')).map(([, { index }]) => index)
    assert.deepEqual(own.toSorted(), [0, 1, 2, 3])
  })

  test('more than there are partitions leave some without work', () => {
    const plan = planOf({ orders: [1, 1] })
    const pins = [...assignShards(plan, { count: 5, version: '1.0' }, { timeWindow: {} }).values()]
    assert.deepEqual(
      pins.map(({ index }) => index),
      [0, 1],
    )
  })
})

test('more shards than notes can name are refused', () => {
  assert.throws(() => assignShards(planOf({ orders: [1] }), { count: 1025, version: '1' }, { timeWindow: {} }), {
    code: 'USAGE',
  })
})

describe('a restore that is not prepared', () => {
  const plan = planOf({ orders: [1, 1, 1], audit: [1] })
  const cases: [string, RestoreProgress | undefined, RegExp][] = [
    ['at all', undefined, /the target has no record of it/],
    [
      'for all partitions',
      { ...prepared(plan), streams: new Map([...prepared(plan).streams].slice(1)) },
      /not prepared for orders\/0$/,
    ],
    [
      'for another number of shards',
      prepared(plan, () => ({ shard: { ...sharing, index: 0, count: 3 } })),
      /for 3 shards, and not for 4/,
    ],
    [
      'by this version',
      prepared(plan, () => ({ shard: { ...sharing, index: 0, version: '0.9' } })),
      /version 0.9 has prepared it, and this is version 1.0/,
    ],
    ['by one process alone', { ...prepared(plan), isMixed: true }, /two processes have prepared it/],
  ]
  for (const [name, progress, message] of cases) {
    test(`${name} says so`, () => assert.match(findUnprepared(plan, progress, sharing) ?? '', message))
  }

  test('because one process has begun it says so', () => {
    const progress = prepared(plan)
    const bare = [...progress.streams].map(([key, { shard: _, ...rest }]): [string, StreamProgress] => [key, rest])
    const begun = { ...progress, streams: new Map(bare) }
    assert.match(findUnprepared(plan, begun, sharing) ?? '', /one process has begun it/)
    assert.throws(() => refuseMissing(plan, begun, 'r1'), { code: 'RESTORE_REFUSED', message: /one process has begun/ })
  })

  test('is distinguished from one that is, also where a part is filled without a shard', () => {
    assert.equal(findUnprepared(plan, prepared(plan), sharing), undefined)
    const filled = prepared(plan, one => (one.partition === 1 ? { isFilled: true } : {}))
    assert.equal(findUnprepared(plan, filled, sharing), undefined)
  })
})

describe('what finishes a restore', () => {
  const plan = planOf({ orders: [4, 3, 2, 1] })

  test('accepts one whose shards are all done', () => {
    refuseMissing(
      plan,
      prepared(plan, () => ({ isFilledByShard: true })),
      'r1',
    )
    refuseMissing(
      plan,
      prepared(plan, () => ({ isFilled: true })),
      'r1',
    )
  })

  test('names the shards that are missing, with their partitions', () => {
    const progress = prepared(plan, ({ partition }) => {
      if (partition === 1) return { sequence: 7 }
      return partition === 3 ? {} : { isFilledByShard: true }
    })
    assert.throws(() => refuseMissing(plan, progress, 'r1'), {
      code: 'SHARDS_INCOMPLETE',
      message:
        'records are missing for the restore r1: shard 1 of 4 (begun, not finished: orders/1); shard 3 of 4 (not begun: orders/3)',
    })
  })

  test('refuses one that the target has no record of, and names partitions that were not prepared', () => {
    assert.throws(() => refuseMissing(plan, undefined, 'r1'), { code: 'RESTORE_REFUSED', message: /no record of it/ })
    const progress = prepared(plan, () => ({ isFilledByShard: true }))
    progress.streams.delete('orders/2')
    assert.throws(() => refuseMissing(plan, progress, 'r1'), {
      code: 'SHARDS_INCOMPLETE',
      message: /: not prepared: orders\/2$/,
    })
  })
})
