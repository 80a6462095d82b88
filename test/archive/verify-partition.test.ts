import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Gap, ManifestPartition, Segment } from '../../src/archive/manifest.ts'
import { emptyPartition, withGap, withSegment } from '../../src/archive/summary.ts'
import { checkPartition } from '../../src/archive/verify-objects.ts'

function segment(start: bigint, end: bigint): Segment {
  return {
    key: `s${start}`,
    size: 10,
    blake3: '0'.repeat(64),
    compression: 'none',
    plain_size: 20,
    start_offset: start,
    end_offset: end,
    batches: 1,
    records: Number(end - start),
    aborted_records: 1,
    first_timestamp: null,
    last_timestamp: null,
  }
}

function gap(from: bigint, to: bigint | null, reason: Gap['reason'] = 'retention'): Gap {
  return { from, to, reason, found_at: 'then' }
}

/** The partition that the parts make up, in their order. */
function partitionOf(start: bigint, ...parts: (Segment | Gap)[]): ManifestPartition {
  let partition = emptyPartition(4, start)
  for (const part of parts) partition = 'key' in part ? withSegment(partition, part, 0, []) : withGap(partition, part)
  return partition
}

const segmentsOf = (...parts: (Segment | Gap)[]) => parts.filter(part => 'key' in part)
const problemsOf = (partition: ManifestPartition, segments: Segment[]) =>
  checkPartition({ name: 'orders' }, partition, segments).map(({ key, problem }) => `${key}: ${problem}`)

const whole: [name: string, start: bigint, parts: (Segment | Gap)[]][] = [
  ['nothing at all', 7n, []],
  ['one segment', 0n, [segment(0n, 10n)]],
  ['segments that meet', 5n, [segment(5n, 10n), segment(10n, 11n), segment(11n, 90n)]],
  ['a gap between segments', 0n, [segment(0n, 10n), gap(10n, 50n), segment(50n, 60n)]],
  ['a gap at the start and one at the end', 0n, [gap(0n, 5n), segment(5n, 10n), gap(10n, 20n)]],
  ['gaps one behind the other', 0n, [segment(0n, 10n), gap(10n, 20n), gap(20n, 30n), segment(30n, 31n)]],
  ['a gap without end', 0n, [segment(0n, 10n), gap(10n, null, 'topic_deleted')]],
  [
    'a gap without end that was read after all',
    0n,
    [segment(0n, 10n), gap(10n, null, 'unreadable'), segment(10n, 20n)],
  ],
  [
    'a gap without end, lost to retention later',
    0n,
    [segment(0n, 10n), gap(10n, null, 'unreadable'), gap(10n, 30n), segment(30n, 40n)],
  ],
]
for (const [name, start, parts] of whole) {
  test(`${name}: nothing is wrong`, () => {
    assert.deepEqual(problemsOf(partitionOf(start, ...parts), segmentsOf(...parts)), [])
  })
}

const three = [segment(0n, 10n), segment(10n, 20n), segment(20n, 30n)]
const good = partitionOf(0n, ...three)
const [one, two, last] = three as [Segment, Segment, Segment]

const broken: [name: string, partition: ManifestPartition, segments: Segment[], problems: RegExp[]][] = [
  [
    'a hole',
    partitionOf(0n, one, segment(12n, 20n)),
    [one, segment(12n, 20n)],
    [/offsets 10 to 12 are in no segment and no gap/],
  ],
  ['a hole at the start', partitionOf(0n, segment(3n, 9n)), [segment(3n, 9n)], [/offsets 0 to 3 /]],
  ['an overlap', partitionOf(0n, one, segment(8n, 20n)), [one, segment(8n, 20n)], [/offsets 10 to 8 /]],
  ['segments in the wrong order', good, [two, one, last], [/0 to 10/, /20 to 0/, /10 to 20/]],
  [
    'a segment that stands twice',
    good,
    [one, two, two, last],
    [/20 to 10/, /3 segments, its indexes 4/, /30 records/, /3 aborted/, /3 batches/, /bytes/, /stored bytes/],
  ],
  [
    'a missing segment at the end',
    good,
    [one, two],
    [
      /reach offset 20, the manifest says 30/,
      /3 segments, its indexes 2/,
      /30 records, its indexes 20/,
      /aborted records/,
      /batches/,
      /bytes/,
      /stored bytes/,
    ],
  ],
  ['a segment that covers nothing', partitionOf(0n, segment(0n, 0n)), [segment(0n, 0n)], [/s0 covers no offset/]],
  [
    'a gap that does not reach the next segment',
    partitionOf(0n, one, gap(10n, 15n), segment(16n, 20n)),
    [one, segment(16n, 20n)],
    [/offsets 15 to 16 /],
  ],
  ['a wrong sum of records', { ...good, records: 31 }, three, [/31 records, its indexes 30/]],
  [
    'a wrong sum of bytes',
    { ...good, bytes: 1, stored_bytes: 2 },
    three,
    [/1 bytes, its indexes 60/, /2 stored bytes, its indexes 30/],
  ],
]
for (const [name, partition, segments, problems] of broken) {
  test(`${name} is found`, () => {
    const found = problemsOf(partition, segments)
    assert.equal(found.length, problems.length, found.join('\n'))
    found.forEach((line, i) => {
      assert.match(line, problems[i] ?? /nothing/)
      assert.ok(line.startsWith('orders/4: '))
    })
  })
}

test('a gap that is known is not counted again', () => {
  const partition = partitionOf(0n, one, gap(10n, null, 'topic_deleted'), gap(10n, null, 'topic_deleted'))
  assert.equal(partition.gaps.length, 1)
})
