import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { ManifestPartition, Segment } from '../../src/archive/manifest.ts'
import { emptyPartition, withGap, withSegment } from '../../src/archive/summary.ts'
import { checkPartition } from '../../src/archive/verify-objects.ts'
import { judgeTrim, trimPartition } from '../../src/retention/plan-trim.ts'
import { createRandom } from '../fakes/faulty-storage.ts'

function segment(start: number, end: number, changes: Partial<Segment> = {}): Segment {
  return {
    key: `b1/kafka/orders/0/${start}`,
    size: 100,
    blake3: '',
    compression: 'none',
    plain_size: 150,
    start_offset: BigInt(start),
    end_offset: BigInt(end),
    batches: 1,
    records: end - start,
    aborted_records: 0,
    first_timestamp: BigInt(start),
    last_timestamp: BigInt(end),
    ...changes,
  }
}

/** A partition of these segments, with a gap wherever they do not meet. */
function partitionOf(segments: readonly Segment[]): ManifestPartition {
  let partition = emptyPartition(0, segments[0]?.start_offset ?? 0n)
  for (const one of segments) {
    if (one.start_offset > partition.end_offset) {
      const gap = { from: partition.end_offset, to: one.start_offset, reason: 'retention', found_at: '' } as const
      partition = withGap(partition, gap)
    }
    partition = withSegment(partition, one, 3, [])
  }
  return partition
}

/** Stored at the time of its first offset. */
const storedMs = (key: string) => Number(key.split('/').at(-1))
const trim = (partition: ManifestPartition, segments: readonly Segment[], cutoffMs: number) =>
  trimPartition(partition, segments, ({ key }) => storedMs(key), cutoffMs)

const three = [segment(0, 10), segment(10, 20), segment(20, 30)]

describe('the leading segments that are old enough', () => {
  test('go, and the sums and times are those of the rest', () => {
    const cut = trim(partitionOf(three), three, 15)
    assert.deepEqual(
      cut?.removed.map(({ key }) => key),
      [three[0]?.key, three[1]?.key],
    )
    const { high_watermark, last_stable_offset } = partitionOf(three)
    assert.deepEqual(
      { ...cut?.partition, indexes: [] },
      { ...partitionOf(three.slice(2)), high_watermark, last_stable_offset },
    )
  })

  test('are none where the first is young, though later ones are old, or where nothing is known of it', () => {
    assert.equal(trim(partitionOf(three), three, 0), undefined)
    const times = new Map([[three[0]?.key, 100]])
    assert.equal(
      trimPartition(partitionOf(three), three, ({ key }) => times.get(key) ?? 0, 50),
      undefined,
    )
    assert.equal(
      trimPartition(partitionOf(three), three, () => undefined, 50),
      undefined,
    )
  })

  test('may be all of them; the partition stays, empty, at its end', () => {
    const cut = trim(partitionOf(three), three, 99)
    const { start_offset, end_offset, records, last_epoch, last_timestamp } = cut?.partition ?? assert.fail()
    assert.deepEqual([start_offset, end_offset, records, last_epoch, last_timestamp], [30n, 30n, 0, 3, null])
  })

  test('take the gaps before the cut with them, and leave those behind it', () => {
    const segments = [segment(0, 10), segment(15, 20), segment(25, 30)]
    const whole = partitionOf(segments)
    assert.deepEqual(
      trim(whole, segments, 1)?.partition.gaps.map(({ from }) => from),
      [20n],
    )
    const lost = { from: 30n, to: null, reason: 'topic_deleted', found_at: '' } as const
    const all = trim({ ...whole, gaps: [...whole.gaps, lost] }, segments, 99)?.partition
    assert.deepEqual([all?.start_offset, all?.gaps.map(({ from }) => from)], [30n, [30n]])
  })

  test('take rolled back transactions with them whose every record is gone, and no others', () => {
    const open_aborted = [
      { producer_id: 1n, first_offset: 2n, last_offset: 8n },
      { producer_id: 2n, first_offset: 8n, last_offset: 10n },
      { producer_id: 3n, first_offset: 8n, last_offset: null },
    ]
    const cut = trim({ ...partitionOf(three), open_aborted }, three, 1)
    assert.deepEqual(
      cut?.partition.open_aborted.map(({ producer_id }) => producer_id),
      [2n, 3n],
    )
  })
})

test('whatever is cut, what is left adds up and covers its offsets without a hole', () => {
  const random = createRandom(3)
  for (let round = 0; round < 500; round++) {
    const segments: Segment[] = []
    let at = Math.floor(random() * 50)
    for (let left = 1 + Math.floor(random() * 8); left > 0; left--) {
      if (random() < 0.3) at += 1 + Math.floor(random() * 9)
      const end = at + 1 + Math.floor(random() * 20)
      segments.push(segment(at, end))
      at = end
    }
    const cut = trim(partitionOf(segments), segments, Math.floor(random() * (at + 10)))
    if (!cut) continue
    const left = segments.slice(cut.removed.length)
    assert.deepEqual(checkPartition({ name: 'orders' }, { ...cut.partition, indexes: [] }, left), [])
  }
})

describe('whether a topic may be cut', () => {
  const judge = (effective_configs: Record<string, string>, configs = {}) => judgeTrim({ configs, effective_configs })

  test('follows the policy in force, not only the one that is set on the topic', () => {
    assert.equal(judge({ 'cleanup.policy': 'delete' }), 'cut')
    assert.equal(judge({ 'cleanup.policy': 'compact' }), 'compacted')
    assert.equal(judge({}, { 'cleanup.policy': 'compact' }), 'compacted')
  })

  test('is yes for a compacted topic whose records expire as well, and no where they never do', () => {
    const both = (ms: string, bytes: string) =>
      judge({ 'cleanup.policy': 'delete,compact', 'retention.ms': ms, 'retention.bytes': bytes })
    assert.equal(both('1000', '-1'), 'cut')
    assert.equal(both('-1', '1000'), 'cut')
    assert.equal(both('-1', '-1'), 'compacted')
    assert.equal(judge({ 'cleanup.policy': 'compact,delete' }), 'compacted')
  })

  test('is no where the backup does not say how the topic is cleaned up', () => {
    assert.equal(judgeTrim({ configs: {} }), 'unknown')
  })
})
