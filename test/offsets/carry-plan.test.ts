import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { GroupsSection, StoredGroup } from '../../src/archive/groups-section.ts'
import { tellType } from '../../src/offsets/carried-type.ts'
import { type CarriedStream, type CarryOptions, type CarrySource, planCarry } from '../../src/offsets/carry-plan.ts'

const group = (name: string, places: [string, number][], error: string | null = null): StoredGroup => ({
  group: name,
  type: 'classic',
  state: 'Empty',
  members: 0,
  error,
  positions: places.map(([topic, partition]) => ({
    topic,
    partition,
    offset: 5n,
    leader_epoch: 0,
    metadata: '',
    lag: 1n,
  })),
})
/** Without records by default. */
const stream = (topic: string, partition: number, target = `${topic}-2`, end = 0n): CarriedStream => ({
  topic,
  partitions: [{ partition, start: 0n, end, sourceEnd: 9n }],
  targetTopic: target,
  targetPartition: partition,
})
const taken: GroupsSection = {
  state: 'taken',
  taken_at: '',
  key: 'k',
  size: 1,
  blake3: '',
  groups: 1,
  positions: 1,
  errors: 0,
}
const source = (changes: Partial<CarrySource> = {}): CarrySource => ({
  section: taken,
  groups: [
    group('a', [['t', 0]]),
    group('b', [
      ['t', 1],
      ['u', 0],
    ]),
    group('c', [['u', 0]]),
  ],
  generation: 4,
  streams: [stream('t', 0), stream('t', 1)],
  isSameCluster: false,
  ...changes,
})
const desired = (changes: Partial<CarryOptions> = {}): CarryOptions => ({ exclude: [], mapping: new Map(), ...changes })

describe('which groups are carried over', () => {
  test('all that have a position on what is restored; the rest of their positions is counted', () => {
    const { groups, findings, reason } = planCarry(desired(), source())
    const rows = groups.map(one => [one.group, one.target, one.streams.map(each => each.targetPartition), one.leftOut])
    assert.deepEqual(rows, [
      ['a', 'a', [0], 0],
      ['b', 'b', [1], 1],
    ])
    assert.deepEqual([findings, reason], [[], undefined])
  })

  test('those that are selected, under their names on the target', () => {
    const options = desired({ include: ['*'], exclude: ['b'], mapping: new Map([['a', 'other']]) })
    assert.deepEqual(
      planCarry(options, source()).groups.map(({ target }) => target),
      ['other'],
    )
  })

  test('none by itself where the target is the cluster that was backed up, and those that are asked for', () => {
    const same = source({ isSameCluster: true })
    assert.match(planCarry(desired(), same).reason ?? '', /the cluster that was backed up/)
    assert.deepEqual(
      planCarry(desired({ include: ['a'] }), same).groups.map(({ target }) => target),
      ['a'],
    )
  })

  test('none where the job says so', () => {
    const { groups, findings, reason } = planCarry(desired({ include: [] }), source())
    assert.deepEqual([groups, findings], [[], []])
    assert.match(reason ?? '', /is empty/)
  })
})

describe('what cannot be met', () => {
  const told = (options: CarryOptions, from = source()) =>
    planCarry(options, from).findings.map(({ severity, subject, problem }) => `${severity} ${subject}: ${problem}`)

  test('names that would be ignored, and two groups that would become one', () => {
    const options = desired({
      include: ['a', 'b', 'z', 'y*'],
      mapping: new Map([
        ['a', 'one'],
        ['b', 'one'],
        ['c', 'd'],
      ]),
    })
    assert.deepEqual(told(options), [
      'error group z: is not in the backup',
      'error group c: is not carried over',
      'warning consumer groups: no group of the backup matches y* of restore.consumer_groups.include',
      'error group one: several groups would become it: a, b',
    ])
  })

  test('a group that is named, and has no position on what is restored', () => {
    const problem = 'warning group c: has no committed offset on the restored partitions, and is not restored'
    assert.deepEqual(told(desired({ include: ['a', 'c'] })), [problem])
    assert.deepEqual(told(desired({ mapping: new Map([['c', 'd']]) })), [problem])
    assert.deepEqual(told(desired({ include: ['*'] })), [], 'a pattern names none')
  })

  test('start offsets that a share group does not have, apart from those whose records go into partitions with others', () => {
    const queue = { ...group('queue', [['t', 0]]), type: 'share' as const, unset: [{ topic: 't', partition: 1 }] }
    const [kept] = planCarry(desired(), source({ groups: [queue] })).groups
    const both = [0, 1].flatMap(partition => stream('t', partition).partitions)
    const streams = [0, 1].map(partition => ({ ...stream('t', partition), partitions: both }))
    const [byKey] = planCarry(desired(), source({ groups: [queue], streams })).groups
    assert.ok(kept && byKey)
    const state = { type: 'absent', state: 'Dead', members: 0 } as const
    const problems = [kept, byKey].map(one => tellType(one, state).map(({ problem }) => problem))
    assert.match(problems[0]?.[0] ?? '', /because no broker reports them$/)
    assert.match(problems[0]?.[1] ?? '', /no start offset of 1 partition: there it starts where its share/)
    assert.match(problems[1]?.[0] ?? '', /if an unread record of another partition is before them$/)
    assert.match(problems[1]?.[1] ?? '', /no start offset of 1 partition: all their records count as unread/)
  })

  test('partitions with records, of topics that a group reads, on which it has no position', () => {
    const streams = [stream('t', 0, 't-2', 9n), stream('t', 1, 't-2', 9n), stream('t', 2), stream('v', 0, 'v-2', 9n)]
    const [text, ...more] = told(desired(), source({ streams }))
    assert.match(
      text ?? '',
      /^warning consumer groups: groups had no committed offset on some partitions .*: a \(1\), b \(1\)\. .*auto\.offset\.reset/,
    )
    assert.deepEqual(more, [])
    const all = group('a', [
      ['t', 0],
      ['t', 1],
    ])
    assert.deepEqual(told(desired(), source({ streams, groups: [all] })), [])
  })

  test('a mapping of names where none is carried over by itself', () => {
    const mapping = new Map([['a', 'a-2']])
    const same = source({ isSameCluster: true })
    assert.deepEqual(told(desired({ mapping }), same), ['error group a: is not carried over'])
    assert.deepEqual(told(desired({ include: [], mapping }), same), [], 'it is turned off')
    assert.deepEqual(told(desired({ include: ['a'], mapping }), same), [])
  })

  test('a group that could not be read when it was backed up is told, and the others go on', () => {
    const from = source({ groups: [group('a', [['t', 0]]), group('x', [], 'the broker was away')] })
    assert.deepEqual(told(desired(), from), [
      'warning group x: its committed offsets are not in the backup, and not restored: the broker was away',
    ])
    assert.equal(planCarry(desired(), from).groups.length, 1)
  })

  test('a group of which only an older incarnation could be read keeps that, and is told', () => {
    const from = source({ groups: [group('x', [['t', 0]], 'denied')] })
    assert.deepEqual(told(desired(), from), [
      'warning group x: some of its committed offsets are not in the backup, and not restored: denied',
    ])
    assert.deepEqual(
      planCarry(desired(), from).groups.map(one => [one.group, one.streams.length]),
      [['x', 1]],
    )
  })

  test('a generation without positions: silent where nobody asks, an error where somebody does', () => {
    const sections: [GroupsSection | undefined, RegExp][] = [
      [undefined, /version that did not take them/],
      [{ state: 'off' }, /backup.consumer_groups.include was empty/],
    ]
    for (const [section, reason] of sections) {
      const from = source({ section, groups: [] })
      assert.deepEqual(told(desired(), from), [])
      assert.match(planCarry(desired(), from).reason ?? '', reason)
      assert.match(told(desired({ include: ['a'] }), from).join(), /^error consumer groups: generation 4/)
    }
    const failed = source({ section: { state: 'failed', taken_at: '', error: 'no leader' }, groups: [] })
    assert.match(told(desired(), failed).join(), /^warning consumer groups: .*no leader/)
  })
})
