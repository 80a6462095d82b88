import assert from 'node:assert/strict'
import { test } from 'node:test'
import { KafkaBackupError } from '../../src/errors.ts'
import { parseMapping } from '../../src/offsets/mapping.ts'
import type { Origin } from '../../src/offsets/origin.ts'
import { planOffsets } from '../../src/offsets/plan-offsets.ts'
import { expectedOutcome, NONE_COMMITTED, type OffsetsPlan } from '../../src/offsets/plan-reset.ts'
import type { ResetRequest } from '../../src/offsets/reset-request.ts'
import type { PositionSelection } from '../../src/offsets/select-groups.ts'
import { type FakeOffsets, fakeOffsets, plainLog, restoredLog } from './fake-offsets.ts'

const never = new AbortController().signal
const select = (groups: string[], changes: Partial<PositionSelection> = {}): PositionSelection => ({
  ...{ groups, topics: [], partitions: [], ...changes },
})
const rows = (plan: OffsetsPlan) =>
  plan.groups.flatMap(({ now, positions }) =>
    positions.map(({ topic, partition, from, to, problem, note }) => [
      ...[now.group, `${topic}/${partition}`, from === null ? null : Number(from), to === null ? null : Number(to)],
      ...((problem ?? note) ? [problem ?? note] : []),
    ]),
  )
const plan = async (fake: FakeOffsets, request: ResetRequest) => rows(await planOffsets(request, fake, never))
const planSet = async (fake: FakeOffsets, request: ResetRequest) =>
  (await plan(fake, request)).filter(row => row[4] !== NONE_COMMITTED.note)

function cluster(): FakeOffsets {
  const fake = fakeOffsets({ orders: [plainLog(10), plainLog(20, 5)], audit: [plainLog(3)] })
  fake.put('billing', { 'orders/0': 4, 'orders/1': 7, 'audit/0': 1 })
  fake.put('billing-2', { 'orders/1': 25 })
  fake.put('__kafka-backup.restore.x', { 'orders/0': 1 })
  return fake
}

test('earliest and latest are the ends of the log, of every partition that a group has a position on', async () => {
  const fake = cluster()
  assert.deepEqual(await plan(fake, { strategy: 'earliest', selection: select(['billing']) }), [
    ['billing', 'audit/0', 1, 0],
    ['billing', 'orders/0', 4, 0],
    ['billing', 'orders/1', 7, 5],
  ])
  assert.deepEqual(await plan(fake, { strategy: 'latest', selection: select(['b*']) }), [
    ['billing', 'audit/0', 1, 3],
    ['billing', 'orders/0', 4, 10],
    ['billing', 'orders/1', 7, 25],
    ['billing-2', 'orders/1', 25, 25],
  ])
  assert.deepEqual(fake.at('billing'), { 'orders/0': 4, 'orders/1': 7, 'audit/0': 1 })
})

test('a partition with a newer offset in an open transaction is left as it is, and the others are set', async () => {
  const fake = cluster()
  const undecided = [{ topic: 'orders', partition: 1 }]
  fake.put('app', { 'orders/0': 4, 'orders/1': 7 }, { undecided })
  const found = await plan(fake, { strategy: 'earliest', selection: select(['app']) })
  assert.deepEqual(found[0], ['app', 'orders/0', 4, 0])
  assert.deepEqual(found[1]?.slice(0, 4), ['app', 'orders/1', 7, null])
  assert.match(String(found[1]?.[4]), /^an open transaction holds a newer offset/)
})

test('a pattern finds no groups of this program, and must find some', async () => {
  const all = await planOffsets({ strategy: 'earliest', selection: select(['*']) }, cluster(), never)
  assert.deepEqual(
    all.groups.map(({ now }) => now.group),
    ['billing', 'billing-2'],
  )
  await assert.rejects(plan(cluster(), { strategy: 'earliest', selection: select(['x*']) }), {
    code: 'GROUP_NOT_FOUND',
  })
})

test('notes of a restore are not reset, also where they are named, as it would begin anew', async () => {
  const selection = select(['__kafka-backup.restore.x'])
  await assert.rejects(plan(cluster(), { strategy: 'earliest', selection }), { code: 'OFFSETS_REFUSED' })
})

test('a topic that is named has all its partitions set, also for a group that is new', async () => {
  const selection = select(['new'], { topics: ['orders'] })
  assert.deepEqual(await plan(cluster(), { strategy: 'earliest', selection }), [
    ['new', 'orders/0', null, 0],
    ['new', 'orders/1', null, 5],
  ])
  const pattern = select(['billing'], { topics: ['ord*'], partitions: [1] })
  assert.deepEqual(await plan(cluster(), { strategy: 'earliest', selection: pattern }), [['billing', 'orders/1', 7, 5]])
})

test('a group without positions, and a topic that is not there, are told', async () => {
  const nothing = await planOffsets({ strategy: 'latest', selection: select(['typo', 'billing']) }, cluster(), never)
  assert.equal(nothing.groups.find(({ now }) => now.group === 'typo')?.error?.code, 'GROUP_NOT_FOUND')
  const selection = select(['billing'], { topics: ['absent'] })
  await assert.rejects(plan(cluster(), { strategy: 'latest', selection }), { code: 'TOPIC_NOT_FOUND' })
  const fake = cluster()
  fake.topics.delete('audit')
  assert.deepEqual((await plan(fake, { strategy: 'latest', selection: select(['billing']) }))[0], [
    ...['billing', 'audit/0', 1, null],
    'the topic does not exist on this cluster',
  ])
  const beyond = select(['billing'], { topics: ['orders'], partitions: [9] })
  assert.deepEqual(await plan(fake, { strategy: 'latest', selection: beyond }), [
    ['billing', 'orders/9', null, null, 'the topic has 2 partitions on this cluster'],
  ])
})

test('a time is the first record of it or later, or the end', async () => {
  const selection = select(['billing'])
  assert.deepEqual(await plan(cluster(), { strategy: 'timestamp', timestampMs: 3500n, selection }), [
    ['billing', 'audit/0', 1, 3, 'no record is that late'],
    ['billing', 'orders/0', 4, 4],
    ['billing', 'orders/1', 7, 9],
  ])
})

test('a time that a broker leaves out of its answer is a problem, and not the end of the log', async () => {
  const fake = cluster()
  const { findByTime } = fake
  fake.findByTime = async (places, time, signal) =>
    findByTime(
      places.filter(({ topic }) => topic !== 'audit'),
      time,
      signal,
    )
  const found = await plan(fake, { strategy: 'timestamp', timestampMs: 1000n, selection: select(['billing']) })
  assert.deepEqual(found[0], ['billing', 'audit/0', 1, null, 'no broker reports the first record of that time'])
  assert.deepEqual(found[1], ['billing', 'orders/0', 4, 1])
})

test('an offset outside of the log becomes its beginning or its end, and that is said', async () => {
  const selection = select(['billing'], { topics: ['orders'] })
  assert.deepEqual(await plan(cluster(), { strategy: 'offset', offset: 2n, selection }), [
    ['billing', 'orders/0', 4, 2],
    ['billing', 'orders/1', 7, 5, '2 is before the log, which begins here'],
  ])
  assert.deepEqual(await plan(cluster(), { strategy: 'offset', offset: 12n, selection }), [
    ['billing', 'orders/0', 4, 10, '12 is behind the end of the log'],
    ['billing', 'orders/1', 7, 12],
  ])
})

test('a group that cannot be read has its error, and the others their plan', async () => {
  const fake = cluster()
  fake.put('billing-2', {}, { unreadable: new KafkaBackupError('KAFKA_DENIED', 'not yours') })
  const { groups } = await planOffsets({ strategy: 'earliest', selection: select(['b*']) }, fake, never)
  assert.deepEqual(
    groups.map(({ error, positions }) => [error?.message, positions.length]),
    [
      [undefined, 3],
      ['not yours', 0],
    ],
  )
})

const origin = (positions: Record<string, number>, changes: Partial<Origin> = {}): Origin => ({
  name: 'the snapshot s1',
  clusterId: 'cluster-a',
  groups: [
    {
      group: 'billing',
      positions: Object.entries(positions).map(([key, offset]) => {
        const [topic = '', partition] = key.split('/')
        return { topic, partition: Number(partition), offset: BigInt(offset), metadata: 'then' }
      }),
    },
  ],
  ...changes,
})

test('positions of a backup are taken as they were, on their own cluster alone', async () => {
  const request = { strategy: 'from_backup', selection: select(['bill*']), origin: origin({ 'orders/0': 9 }) } as const
  assert.deepEqual(await plan(cluster(), request), [['billing', 'orders/0', 4, 9]])
  const elsewhere = origin({ 'orders/0': 9 }, { clusterId: 'cluster-b' })
  await assert.rejects(plan(cluster(), { ...request, origin: elsewhere }), { code: 'OFFSETS_REFUSED' })
})

test('a topic or a partition that is named and has no positions is refused instead of left out', async () => {
  const from = origin({ 'orders/0': 9, 'audit/0': 1 })
  const request = { strategy: 'from_backup', origin: from } as const
  const mapping = parseMapping('{"positions": [{"topic": "orders", "partition": 0, "offset": 3}]}', 'm.json')
  for (const [changes, message] of [
    [{ topics: ['orders', 'typo'] }, /on topic typo$/],
    [{ topics: ['orders'], partitions: [0, 7] }, /on partition 7$/],
  ] as const) {
    const selection = select(['billing'], {
      ...changes,
      partitions: [...('partitions' in changes ? changes.partitions : [])],
      topics: [...changes.topics],
    })
    await assert.rejects(plan(cluster(), { ...request, selection }), { code: 'TOPIC_NOT_FOUND', message })
    await assert.rejects(plan(cluster(), { strategy: 'from_mapping', mapping, selection }), {
      code: 'TOPIC_NOT_FOUND',
      message,
    })
  }
  const pattern = select(['billing'], { topics: ['orders', 'typo*'] })
  assert.deepEqual(await plan(cluster(), { ...request, selection: pattern }), [['billing', 'orders/0', 4, 9]])
})

test('a mapping of positions is set as it is written, for one group or for all', async () => {
  const text = `{"positions": [{"group": "billing", "topic": "orders", "partition": 0, "offset": 3},
    {"topic": "orders", "partition": 1, "offset": 8}]}`
  const mapping = parseMapping(text, 'm.json')
  assert.deepEqual(await plan(cluster(), { strategy: 'from_mapping', mapping, selection: select(['b*']) }), [
    ['billing', 'orders/0', 4, 3],
    ['billing', 'orders/1', 7, 8],
    ['billing-2', 'orders/1', 25, 8],
  ])
})

test('a pattern picks among the groups that a mapping names, also where the cluster has none of them yet', async () => {
  const own = { group: 'fresh', topic: 'orders', partition: 0, offset: 3 }
  const mapping = parseMapping(JSON.stringify({ positions: [own] }), 'm.json')
  const request = { strategy: 'from_mapping', mapping, selection: select(['*']) } as const
  const { groups } = await planOffsets(request, cluster(), never)
  assert.deepEqual(
    groups.map(({ now, error }) => [now.group, error]),
    [['fresh', undefined]],
  )
  const forAll = parseMapping(JSON.stringify({ positions: [own, { ...own, group: undefined }] }), 'm.json')
  const all = await planOffsets({ ...request, mapping: forAll }, cluster(), never)
  assert.deepEqual(
    all.groups.map(({ now }) => now.group),
    ['billing', 'billing-2', 'fresh'],
  )
})

test('a position for one group goes before that for all, and two for the same are refused', async () => {
  const row = { topic: 'orders', partition: 0, offset: 0 }
  const read = (...positions: object[]) => parseMapping(JSON.stringify({ positions }), 'm.json')
  const mapping = read({ ...row, group: 'billing', offset: 3 }, row)
  assert.deepEqual(await plan(cluster(), { strategy: 'from_mapping', mapping, selection: select(['b*']) }), [
    ['billing', 'orders/0', 4, 3],
    ['billing-2', 'orders/0', null, 0],
  ])
  const message = /^m\.json .*orders\/0 twice/
  assert.throws(() => read(row, { ...row, offset: 7 }), { code: 'CONFIG_INVALID', message })
  const own = { ...row, group: 'billing' }
  assert.throws(() => read(own, { ...own, offset: 7 }), { code: 'CONFIG_INVALID', message })
})

test('the output of offset-map translates positions, into topics of other names, too', async () => {
  const run = { topic: 'src', partition: 0, target_topic: 'orders', target_partition: 0 }
  const runs = [
    { ...run, offset: 10, target_offset: 0, count: 4 },
    { ...run, offset: 20, target_offset: 4, count: 6 },
  ]
  const mapping = parseMapping(JSON.stringify({ backup_id: 'b1', runs }), 'm.json')
  const to = async (offset: number) => {
    const from = origin({ 'src/0': offset }, { clusterId: 'other' })
    const request = { strategy: 'from_mapping', mapping, origin: from, selection: select(['billing']) } as const
    return (await plan(cluster(), request)).map(row => row[3])
  }
  assert.deepEqual(
    [await to(0), await to(12), await to(14), await to(17), await to(25), await to(26)],
    [...[[0], [2], [4], [4], [9], [10]]],
  )
  const request = { strategy: 'from_mapping', mapping, selection: select(['billing']) } as const
  await assert.rejects(plan(cluster(), request), { code: 'USAGE' })
  const other = origin({ 'src/1': 7, 'unknown/0': 3 })
  assert.deepEqual(await plan(cluster(), { ...request, origin: other }), [
    ['billing', 'orders/1', 7, 5, 'nothing of this partition was restored'],
    ['billing', 'unknown/0', null, null, 'the topic does not exist on this cluster'],
  ])
})

test('what is no mapping is refused with what is wrong', () => {
  assert.throws(() => parseMapping('{', 'm.json'), { code: 'CONFIG_INVALID', message: 'm.json is not JSON' })
  for (const text of ['{}', '{"runs": []}', '{"positions": [{"topic": "a", "partition": 0, "offset": "x"}]}']) {
    assert.throws(() => parseMapping(text, 'm.json'), { code: 'CONFIG_INVALID', message: /^m\.json is not a mapping/ })
  }
})

function restored(): FakeOffsets {
  return fakeOffsets({
    copy: [
      restoredLog([...Array(10).keys()].map(i => ['orders', 0, 2 * i])),
      restoredLog([...Array(4).keys()].map(i => ['orders', 1, i])),
      [],
    ],
  })
}

const byHeaders = (positions: Record<string, number>, sinceMs?: bigint): ResetRequest => ({
  strategy: 'header_based',
  origin: origin(positions, { clusterId: 'source' }),
  selection: select(['billing']),
  topicMapping: new Map([['orders', 'copy']]),
  sinceMs,
})

test('headers tell the first record that was not read, inside a gap, at the end and where nothing was restored', async () => {
  assert.deepEqual(await plan(restored(), byHeaders({ 'orders/0': 7, 'orders/1': 4, 'orders/2': 0 })), [
    ['billing', 'copy/0', null, 4],
    ['billing', 'copy/1', null, 4],
    ['billing', 'copy/2', null, 0],
  ])
})

test('a restored partition on which the group had no offset gets none, with a note, unless the group has one there', async () => {
  const fake = restored()
  const own = ['billing', 'copy/1', null, 0]
  const { note } = NONE_COMMITTED
  assert.deepEqual(await plan(fake, byHeaders({ 'orders/1': 0 })), [['billing', 'copy/0', null, null, note], own])
  const { groups } = await planOffsets(byHeaders({ 'orders/1': 0 }), fake, never)
  const [group] = groups
  assert.ok(group)
  assert.deepEqual([group.positions[0]?.isChange, expectedOutcome(group)], [false, 'done'])
  const one = { ...byHeaders({ 'orders/1': 0 }), selection: select(['billing'], { partitions: [1] }) }
  assert.deepEqual(await plan(fake, one), [own], 'a reset of one partition says nothing of others')
  fake.put('billing', { 'copy/0': 3 })
  assert.deepEqual(await plan(fake, byHeaders({ 'orders/1': 0 })), [own])
  fake.groups.delete('billing')
  const lost = await planOffsets(byHeaders({ 'gone/0': 1, 'orders/9': 3 }), fake, never)
  assert.deepEqual(lost.groups.map(expectedOutcome), ['failed'], 'nothing of the group is set')
  const run = { partition: 0, offset: 0, target_partition: 0, target_offset: 0, count: 4 }
  const runs = [0, 1].map(partition => ({
    ...run,
    topic: 'orders',
    partition,
    target_topic: 'copy',
    target_partition: partition,
  }))
  const mapping = parseMapping(JSON.stringify({ runs }), 'm.json')
  const request = {
    strategy: 'from_mapping',
    mapping,
    origin: origin({ 'orders/1': 0 }),
    selection: select(['billing']),
  } as const
  assert.deepEqual(await plan(fake, request), [['billing', 'copy/0', null, null, note], own])
})

test('headers of an older incarnation are not taken for those of the newest', async () => {
  const older = fakeOffsets({ copy: [restoredLog([...Array(10).keys()].map(i => ['orders@1a2b3c4d', 0, i]))] })
  const { groups } = await planOffsets(byHeaders({ 'orders/0': 5 }), older, never)
  assert.deepEqual(
    groups.map(({ positions, error }) => [positions.length, error?.code]),
    [[0, 'OFFSETS_REFUSED']],
  )
})

test('a time since when all unread records are is compared with the first one', async () => {
  assert.deepEqual(await planSet(restored(), byHeaders({ 'orders/0': 16 }, 14_000n)), [['billing', 'copy/0', null, 8]])
  await assert.rejects(planSet(restored(), byHeaders({ 'orders/0': 6 }, 14_000n)), {
    code: 'OFFSETS_REFUSED',
    message: /--since is too late for group billing on copy\/0/,
  })
  await assert.rejects(planSet(restored(), byHeaders({ 'orders/0': 16 }, 99_000n)), { message: /--since is too late/ })
  const late = await planSet(restored(), byHeaders({ 'orders/0': 19 }, 99_000n))
  assert.deepEqual(late, [['billing', 'copy/0', null, 10]], 'all is read')
})

test('records without headers are refused by name, and a topic that is missing is a problem of its row', async () => {
  const fake = fakeOffsets({ copy: [plainLog(5)] })
  await assert.rejects(planSet(fake, byHeaders({ 'orders/0': 2 })), {
    code: 'OFFSETS_REFUSED',
    message: /no record of copy\/0 .*x-original-/,
  })
  assert.deepEqual(await planSet(restored(), byHeaders({ 'orders/1': 2, 'gone/0': 1 })), [
    ['billing', 'copy/1', null, 2],
    ['billing', 'gone/0', null, null, 'the topic does not exist on this cluster'],
  ])
})

test('a partition to which only other producers wrote does not keep the others from being set', async () => {
  const log = restoredLog([...Array(5).keys()].map(i => ['orders', 0, i]))
  const fake = fakeOffsets({ copy: [log, plainLog(1)] })
  const [first, ...more] = await planSet(fake, byHeaders({ 'orders/0': 2, 'orders/1': 40 }))
  assert.deepEqual(first, ['billing', 'copy/0', null, 2])
  assert.equal(more.length, 1)
  assert.deepEqual(more[0]?.slice(0, 4), ['billing', 'copy/1', null, null])
  assert.match(String(more[0]?.[4]), /^no record of copy\/1 shows where it came from/)
  assert.deepEqual(await planSet(fake, byHeaders({ 'orders/0': 2 })), [['billing', 'copy/0', null, 2]])
})

test('a topic is not refused for records without headers where an open transaction may hide others', async () => {
  for (const shown of [[], plainLog(3)]) {
    const fake = fakeOffsets({ copy: [shown, plainLog(2)] })
    const { readBounds } = fake
    fake.readBounds = async (places, signal) => {
      const all = await readBounds(places, signal)
      const bounds = all.get('copy/0')
      if (bounds) all.set('copy/0', { ...bounds, highWatermark: bounds.highWatermark + 4n })
      return all
    }
    const rows = await planSet(fake, byHeaders({ 'orders/0': 2, 'orders/1': 1 }))
    assert.deepEqual(
      rows.map(([, place, , to]) => [place, to]),
      [
        ['copy/0', null],
        ['copy/1', null],
      ],
    )
    assert.match(String(rows[0]?.[4]), /an open transaction hides .*Wait until it ends/)
  }
})

test('a position of which no record is found is a problem of its row, and so is a partition without bounds', async () => {
  assert.deepEqual(await planSet(restored(), byHeaders({ 'orders/0': 7, 'orders/9': 3 })), [
    ['billing', 'copy/0', null, 4],
    ['billing', 'copy/9', null, null, 'the topic has 3 partitions on this cluster'],
  ])
  const fake = restored()
  const { readBounds } = fake
  fake.readBounds = async (places, signal) => {
    const found = await readBounds(places, signal)
    found.delete('copy/1')
    return found
  }
  assert.deepEqual(await planSet(fake, byHeaders({ 'orders/0': 7, 'orders/1': 3 })), [
    ['billing', 'copy/0', null, 4],
    ['billing', 'copy/1', null, null, 'no broker reports where the partition begins and ends'],
  ])
})

test('a group of whose partitions no record is found fails, instead of being where it should be', async () => {
  const { groups } = await planOffsets(byHeaders({ 'orders/9': 3 }), restored(), never)
  assert.equal(groups[0]?.error?.code, 'OFFSETS_REFUSED')
})
