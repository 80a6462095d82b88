import assert from 'node:assert/strict'
import { test } from 'node:test'
import { verifySnapshot } from '../../src/offsets/compare-snapshot.ts'
import { parseMapping } from '../../src/offsets/mapping.ts'
import { originOfBackup } from '../../src/offsets/origin.ts'
import { planOffsets } from '../../src/offsets/plan-offsets.ts'
import { planRollback } from '../../src/offsets/plan-rollback.ts'
import { runPlan } from '../../src/offsets/run-plan.ts'
import { takeSnapshot } from '../../src/offsets/take-snapshot.ts'
import { type FakeOffsets, fakeOffsets, memoryBook, plainLog } from './fake-offsets.ts'

const never = new AbortController().signal
const RECREATED = /^the topic was deleted and created again since then/
const latest = {
  strategy: 'latest',
  selection: { groups: ['g'], topics: ['orders', 'audit'], partitions: [] },
} as const

function cluster(): FakeOffsets {
  const fake = fakeOffsets({ orders: [plainLog(10), plainLog(10)], audit: [plainLog(10)] })
  fake.put('g', { 'orders/0': 4, 'audit/0': 3 })
  return fake
}

/** The topic is deleted, with the committed offsets on it, and created again; the group reads it from its first record. */
function recreateOrders(fake: FakeOffsets): void {
  fake.topicIds.set('orders', '2-orders')
  fake.put('g', { 'orders/0': 1, 'orders/1': 2, 'audit/0': 10 })
}

test('a snapshot records the IDs of topics, also of those that get their first offset, where the cluster has them', async () => {
  const fake = cluster()
  const { book } = memoryBook()
  const topics = [
    { topic: 'audit', id: '1-audit' },
    { topic: 'orders', id: '1-orders' },
  ]
  const taken = await takeSnapshot([], { port: fake, book }, never)
  assert.deepEqual((await book.read(taken.snapshot_id, never)).topics, topics)
  fake.put('new', {})
  const selection = { groups: ['new'], topics: ['audit'], partitions: [] }
  const report = await runPlan(
    await planOffsets({ strategy: 'latest', selection }, fake, never),
    { port: fake, book },
    never,
  )
  assert.deepEqual((await book.read(report.snapshotId ?? '', never)).topics, [topics[0]])
  fake.topicIds.clear()
  assert.equal((await takeSnapshot([], { port: fake, book }, never)).topics, undefined)
})

test('a rollback leaves offsets on a topic that was created again, and rolls the others back', async () => {
  const fake = cluster()
  const parts = { port: fake, book: memoryBook().book }
  const { snapshotId } = await runPlan(await planOffsets(latest, fake, never), parts, never)
  const snapshot = await parts.book.read(snapshotId ?? '', never)
  assert.deepEqual(snapshot.groups[0]?.absent, [{ topic: 'orders', partition: 1 }])
  recreateOrders(fake)
  const plan = await planRollback(snapshot, [], fake, never)
  const report = await runPlan(plan, parts, never)
  assert.equal(report.groups[0]?.outcome, 'partly')
  assert.deepEqual(fake.at('g'), { 'orders/0': 1, 'orders/1': 2, 'audit/0': 3 })
  const [audit, ...orders] = report.groups[0]?.planned.positions ?? []
  assert.equal(audit?.problem, undefined)
  assert.equal(orders.length, 2)
  for (const { to, problem } of orders) {
    assert.equal(to, null)
    assert.match(problem ?? '', RECREATED)
  }
})

test('a snapshot without IDs, and a cluster without them, are rolled back as before', async () => {
  const fake = cluster()
  const parts = { port: fake, book: memoryBook().book }
  const { topics: _, ...old } = await takeSnapshot(['g'], parts, never)
  recreateOrders(fake)
  await runPlan(await planRollback(old, [], fake, never), parts, never)
  assert.deepEqual(fake.at('g'), { 'orders/0': 4, 'orders/1': 2, 'audit/0': 3 })
  assert.equal((await verifySnapshot(old, true, fake, never)).groups[0]?.positions[0]?.change, 'same')
  fake.topicIds.clear()
  fake.put('g', { 'orders/0': 9 })
  await runPlan(await planRollback({ ...old, topics: [{ topic: 'orders', id: 'x' }] }, [], fake, never), parts, never)
  assert.equal(fake.at('g')['orders/0'], 4)
})

test('verify reports the offsets on a topic that was created again, also where the numbers are the same', async () => {
  const fake = cluster()
  const snapshot = await takeSnapshot(['g'], { port: fake, book: memoryBook().book }, never)
  assert.equal((await verifySnapshot(snapshot, true, fake, never)).ok, true)
  fake.topicIds.set('orders', '2-orders')
  for (const isStrict of [true, false]) {
    const { ok, groups } = await verifySnapshot(snapshot, isStrict, fake, never)
    assert.equal(ok, false)
    assert.deepEqual(
      groups[0]?.positions.map(({ topic, change }) => [topic, change]),
      [
        ['audit', 'same'],
        ['orders', 'recreated'],
      ],
    )
  }
})

test('offsets of a backup are not set on a topic that was created again', async () => {
  const fake = cluster()
  const topic = { state: 'current' } as const
  const manifest = {
    ...{ backup_id: 'b', generation: 1, cluster: { id: 'cluster-a' } },
    topics: [
      { ...topic, state: 'replaced' as const, name: 'orders', id: '0-orders' },
      { ...topic, name: 'orders', id: '1-orders' },
      { ...topic, name: 'audit', id: 'of its name', id_source: 'name' as const },
    ],
  }
  const positions = [
    { topic: 'orders', partition: 0, offset: 7n, metadata: '' },
    { topic: 'audit', partition: 0, offset: 7n, metadata: '' },
  ]
  const origin = originOfBackup(manifest, [{ group: 'g', error: null, positions }])
  const plan = () =>
    planOffsets(
      { strategy: 'from_backup', origin, selection: { groups: ['g'], topics: [], partitions: [] } },
      fake,
      never,
    )
  const rows = async () => (await plan()).groups[0]?.positions.map(({ to, problem }) => [to, problem])
  assert.deepEqual(await rows(), [
    [7n, undefined],
    [7n, undefined],
  ])
  recreateOrders(fake)
  const [audit, orders] = (await rows()) ?? []
  assert.deepEqual(audit, [7n, undefined])
  assert.equal(orders?.[0], null)
  assert.match(String(orders?.[1]), RECREATED)
})

test('a map of offsets is not used for a topic of the target that was created again since', async () => {
  const fake = cluster()
  const run = { partition: 0, offset: 0, target_partition: 0, target_offset: 0, count: 9 }
  const runs = ['orders', 'audit'].map(topic => ({ ...run, topic, target_topic: topic }))
  const ids = ['orders', 'audit'].map(topic => ({ topic, id: fake.topicIds.get(topic) }))
  const positions = ['orders', 'audit'].map(topic => ({ topic, partition: 0, offset: 2n, metadata: '' }))
  const origin = { name: 'the snapshot', clusterId: 'source', groups: [{ group: 'g', positions }] }
  const selection = { groups: ['g'], topics: [], partitions: [] }
  const rows = async (document: object) => {
    const mapping = parseMapping(JSON.stringify(document), 'm.json')
    const plan = await planOffsets({ strategy: 'from_mapping', mapping, origin, selection }, fake, never)
    return plan.groups[0]?.positions.map(({ to, problem }) => [to, problem])
  }
  const both = [
    [2n, undefined],
    [2n, undefined],
  ]
  assert.deepEqual(await rows({ runs, target_topics: ids }), both)
  recreateOrders(fake)
  const [audit, orders] = (await rows({ runs, target_topics: ids })) ?? []
  assert.deepEqual([audit, orders?.[0]], [[2n, undefined], null])
  assert.match(String(orders?.[1]), RECREATED)
  assert.deepEqual(await rows({ runs }), both, 'maps of older versions have no IDs')
})

test('an attempt after one that was killed keeps the offsets of a topic that was created again in another snapshot', async () => {
  const fake = cluster()
  const parts = { port: fake, book: memoryBook().book, snapshotAs: 'run-1' }
  await runPlan(await planOffsets(latest, fake, never), parts, never)
  recreateOrders(fake)
  await runPlan(await planOffsets(latest, fake, never), parts, never)
  const snapshots = await parts.book.list(never)
  const other = snapshots.find(({ snapshotId }) => snapshotId !== 'run-1')?.snapshot
  assert.deepEqual(other?.topics?.at(-1), { topic: 'orders', id: '2-orders' })
})
