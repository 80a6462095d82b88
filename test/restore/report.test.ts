import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { planRestore } from '../../src/restore/plan.ts'
import type { RestoreProgress, StreamProgress } from '../../src/restore/progress.ts'
import { reportGaps, reportTopics, sumTopics } from '../../src/restore/report.ts'
import { TopicTimes } from '../../src/restore/restore-records.ts'
import { plainOptions } from './plain-options.ts'
import { identity, manifestOf, samplePartition, sampleStream, sampleTopic } from './samples.ts'

const gapAt = (from: bigint, to: bigint | null) => ({ from, to, reason: 'retention' as const, found_at: 'now' })

function progressOf(...streams: StreamProgress[]): RestoreProgress {
  const byKey = streams.map(one => [`${one.topic}/${one.partition}`, one] as const)
  return { identity, generation: 1, fingerprint: '', streams: new Map(byKey) }
}

function noted(topic: string, targetOffset: bigint, sequence: number): StreamProgress {
  return {
    topic,
    partition: 0,
    targetOffset,
    sourcePartition: 0,
    sourceOffset: 0n,
    sequence,
    isFilled: false,
    isDone: false,
  }
}

function report(topics: string[], existing: string[], progress?: RestoreProgress, streams = [sampleStream(0, 1)]) {
  const plan = planRestore(manifestOf(topics.map(name => sampleTopic(name, 2))), plainOptions())
  const preflight = { findings: [], existing: new Set(existing), ends: new Map() }
  return reportTopics({ plan, progress, preflight }, streams, topic => topic.length)
}

describe('the report of a restore', () => {
  test('says of each topic whether it was made, was there, or was begun with before', () => {
    const origins = report(['a', 'b', 'c'], ['b', 'c'], progressOf(noted('c', 5n, 5))).map(({ origin }) => origin)
    assert.deepEqual(origins, ['created', 'existed', 'resumed'])
  })

  test('counts what this run wrote, why batches were rebuilt, and what was there already', async () => {
    const stream = sampleStream(10, 2)
    await stream.skip(4, 4n)
    for (const conversion of ['merged', 'holes', undefined] as const) {
      const batch = (await stream.peek()) ?? assert.fail()
      stream.stored({ ...batch, ...(conversion && { conversion }) }, stream.progress.targetOffset)
    }
    const [orders] = report(['orders'], [], progressOf(noted('orders', 3n, 3)), [stream])
    assert.ok(orders)
    const { records, found, rebuilt, conversions, durationMs, partitions } = orders
    assert.deepEqual([records, found, rebuilt, durationMs, partitions], [6, 3 + 4, 2, 6, 2])
    assert.deepEqual(conversions, { merged: 1, holes: 1 })
    const { topics, ...totals } = sumTopics([orders, orders])
    assert.deepEqual([topics, totals.records, totals.found, totals.rebuilt], [2, 12, 14, 4])
    assert.deepEqual(totals.conversions, { merged: 2, holes: 2 })
  })

  test('counts beyond the point where sequences begin anew', () => {
    const [topic] = report(['a'], ['a'], progressOf(noted('a', 2n ** 32n + 7n, 7)))
    assert.equal(topic?.found, 2 ** 32 + 7)
  })

  test('has the gaps that touch what is restored', () => {
    const gaps = [gapAt(10n, 100n), gapAt(120n, 130n), gapAt(150n, 160n), gapAt(195n, null)]
    const manifest = manifestOf([sampleTopic('a', 0, { partitions: [samplePartition(0, { gaps })] })])
    const froms = (range: { start?: bigint; end?: bigint }) => {
      const plan = planRestore(manifest, plainOptions({ offsetRanges: new Map([['a/0', range]]) }))
      return reportGaps(plan.topics).map(({ from }) => from)
    }
    assert.deepEqual(froms({}), [120n, 150n, 195n])
    assert.deepEqual(froms({ start: 130n, end: 151n }), [150n])
  })
})

test('the time of a topic is from its first partition to the last batch of any', () => {
  let now = 0
  const times = new TopicTimes(() => now)
  const tell = (ms: number, type: 'begun' | 'copied', topic: string) => {
    now = ms
    times.add({ type, topic, partition: 0, offsets: 1n, records: 1, bytes: 1 })
  }
  tell(5, 'begun', 'a')
  tell(7, 'begun', 'b')
  tell(9, 'copied', 'a')
  tell(12, 'copied', 'a')
  tell(20, 'begun', 'a')
  assert.deepEqual(
    ['a', 'b', 'c'].map(topic => times.durationOf(topic)),
    [7, 0, 0],
  )
})
