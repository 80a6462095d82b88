import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Segment } from '../../src/archive/manifest.ts'
import { restoreFilter } from '../../src/inspect/restore-filter.ts'
import { planRestore } from '../../src/restore/plan.ts'
import type { RestoreProgress, StreamProgress } from '../../src/restore/progress.ts'
import type { RestoreOptions } from '../../src/restore/restore-options.ts'
import { readWorkload, type Workload } from '../../src/restore/workload.ts'
import { never } from '../archive/sample-archive.ts'
import { openMemoryStorage } from '../fakes/memory-storage.ts'
import { plainOptions } from './plain-options.ts'
import { identity, manifestOf, sampleTopic } from './samples.ts'

/** Two segments of 50 offsets each, which take a tenth of their bytes in the store. */
const segmentAt = (start: bigint, time: bigint): Segment => ({
  ...{ key: `k${start}`, size: 100, blake3: '', compression: 'zstd', plain_size: 1000 },
  ...{ start_offset: start, end_offset: start + 50n, batches: 1, records: 50, aborted_records: 0 },
  ...{ first_timestamp: time, last_timestamp: time },
})
const segments = [segmentAt(100n, 1000n), segmentAt(150n, 2000n)]

function workOf(changes: Partial<RestoreOptions> = {}, notes: Partial<StreamProgress>[] = [], isComplete = false) {
  const options = plainOptions(changes)
  const plan = planRestore(manifestOf([sampleTopic('orders', 2)]), options)
  const known = new Map(plan.topics.flatMap(({ legs }) => legs.map(({ source }) => [source, segments] as const)))
  const streams = notes.map(note => {
    const place = { topic: 'orders', partition: 0, targetOffset: 0n, sequence: 0, isFilled: false, isDone: false }
    return { ...place, sourcePartition: 0, sourceOffset: 100n, ...note }
  })
  const progress: RestoreProgress | undefined =
    streams.length === 0
      ? undefined
      : {
          ...{ identity, generation: 1, fingerprint: 'f' },
          streams: new Map(streams.map(one => [`${one.topic}/${one.partition}`, one])),
        }
  return readWorkload({ plan, options, progress, segments: known, isComplete }, openMemoryStorage(), never)
}
const amounts = ({ bytes, records, storeBytes }: Workload) => [bytes, records, storeBytes]

describe('the work that is left for a restore', () => {
  test('is everything before it has begun', async () => {
    const work = await workOf()
    assert.deepEqual([amounts(work), work.streams.length, work.isMost], [[4000, 200, 400], 2, false])
    assert.deepEqual(work.largest, { name: 'orders/0', bytes: 2000 })
  })

  test('is read from the lists of a backup that keeps them, since no survey does', async () => {
    const options = plainOptions({})
    const topic = sampleTopic('orders', 2)
    const reads = new Map<number, number>()
    const partitions = topic.partitions.map(one => {
      const read = async () => {
        reads.set(one.partition, (reads.get(one.partition) ?? 0) + 1)
        return segments
      }
      return { ...one, indexes: [], list: { read } }
    })
    const repartition = { repartition: 'by_key' as const, partitionCount: new Map([['orders', 4]]) }
    for (const changes of [{}, repartition]) {
      reads.clear()
      const wanted = { ...options, ...changes }
      const plan = planRestore(manifestOf([{ ...topic, partitions }]), wanted)
      const survey = { plan, options: wanted, progress: undefined, segments: new Map(), isComplete: false }
      const work = await readWorkload(survey, openMemoryStorage(), never)
      assert.deepEqual(
        [work.bytes, work.records, [...reads]],
        [
          4000,
          200,
          [
            [0, 1],
            [1, 1],
          ],
        ],
      )
    }
  })

  test('is what a resumed restore has not written; a partition that is filled is none', async () => {
    assert.deepEqual(amounts(await workOf({}, [{ sourceOffset: 175n }])), [2500, 125, 300])
    for (const done of [{ isFilled: true }, { isFilledByShard: true }, { isDone: true }]) {
      const { largest, ...work } = await workOf({}, [done])
      assert.deepEqual([amounts({ ...work, largest }), largest?.name], [[2000, 100, 200], 'orders/1'])
    }
  })

  test('is nothing after a complete restore, nor where a range has no records', async () => {
    const done = await workOf({}, [], true)
    assert.deepEqual([amounts(done), done.largest, done.streams], [[0, 0, 0], undefined, []])
    const empty = { timeWindow: { start: 9000n } }
    assert.deepEqual([amounts(await workOf(empty)), (await workOf(empty)).largest], [[0, 0, 400], undefined])
  })

  test('is the most that there can be in a time window, of segments that may have such records; all are read', async () => {
    const work = await workOf({ timeWindow: { start: 1500n } })
    assert.deepEqual([amounts(work), work.isMost], [[2000, 100, 400], true])
    assert.deepEqual(amounts(await workOf({ timeWindow: { end: 1500n } })), [4000, 200, 400])
  })

  test('is the most that there can be where a filter selects records', async () => {
    const conditions = { keys: ['a'], keyPrefixes: [], headers: [], texts: [], paths: [], notDecoded: 'fail' as const }
    const work = await workOf({ filter: restoreFilter(conditions) })
    assert.deepEqual([amounts(work), work.isMost], [[4000, 200, 400], true])
  })

  test('is a share of a segment where a range cuts it, which is read as a whole', async () => {
    const offsetRanges = new Map([['orders/0', { start: 140n, end: 150n }]])
    assert.deepEqual(amounts(await workOf({ offsetRanges, partitions: new Map([['orders', [0]]]) })), [200, 10, 100])
  })

  test('reads the backup once for each partition where keys decide', async () => {
    const work = await workOf({ repartition: 'by_key', partitionCount: new Map([['orders', 4]]) })
    assert.deepEqual(amounts(work), [4000, 200, 1600])
  })
})
